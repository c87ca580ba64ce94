import { describe, expect, it } from 'vitest'
import { AzureStandIn } from '../support/azure-stand-in.ts'
import { objectOf, Wire } from '../support/wire.ts'
import { faultSuite } from './fault-suite.ts'
import { destinationSuite, type Rig } from './suite.ts'

const rigOf = (standIn: AzureStandIn): (() => Rig) => {
  const wire = new Wire(standIn)
  const typeOf = async (path: string) => standIn.objects().find((object) => object.path === path)?.content_type ?? null
  return () => ({ open: (knowledge) => wire.open(knowledge), typeOf })
}

destinationSuite('Azure Blob, with an account key', rigOf(new AzureStandIn('key')))
destinationSuite(
  'Azure Blob at an endpoint with the account in its path, with a SAS token',
  rigOf(new AzureStandIn('sas', 'https://blob.provider.example/fiscalarchive')),
)
faultSuite('Azure Blob with an account key', async () => new AzureStandIn('key'))
faultSuite('Azure Blob with a SAS token', async () => new AzureStandIn('sas'))

describe('what Azure answers to a put', () => {
  it.each([
    [403, 'AuthenticationFailed', 'access_denied'],
    [403, 'AuthorizationPermissionMismatch', 'access_denied'],
    [403, 'AuthorizationFailure', 'access_denied'],
    [403, 'KeyBasedAuthenticationNotPermitted', 'access_denied'],
    [409, 'PublicAccessNotPermitted', 'access_denied'],
    [404, 'ContainerNotFound', 'not_found'],
    [409, 'ContainerBeingDeleted', 'not_found'],
    [503, 'ServerBusy', 'rate_limited'],
    [500, 'OperationTimedOut', 'unavailable'],
    [400, 'Md5Mismatch', 'connection_failed'],
    [412, 'LeaseIdMissing', 'refused'],
    [409, 'BlobImmutableDueToPolicy', 'refused'],
    [409, 'SomethingNew', 'refused'],
  ])('%i %s is the fault %3$s, by the header or by the body', async (status, code, fault) => {
    for (const answer of [
      new Response(null, { status, headers: { 'x-ms-error-code': code } }),
      new Response(`<Error><Code>${code}</Code><Message>Text of the provider.</Message></Error>`, { status }),
    ]) {
      const wire = new Wire(new AzureStandIn('key'))
      wire.fail(0, async () => answer)
      await expect(wire.open().put('one.xml', await objectOf('one'))).rejects.toMatchObject({
        code: fault,
        message: expect.stringMatching(new RegExp(`^[A-Z][^<>]+ \\(${code}, status ${status}\\)\\.$`)),
      })
    }
  })
})

describe('what leaves for Azure', () => {
  it('names the account in the host, or where the endpoint has it', async () => {
    for (const [endpoint, base] of [
      [null, 'https://fiscalarchive.blob.core.windows.net'],
      ['https://blob.example.com/fiscalarchive', 'https://blob.example.com/fiscalarchive'],
    ]) {
      const wire = new Wire(new AzureStandIn('sas', endpoint))
      await wire.open().read('año/a+b.xml')
      expect(wire.requests[0]!.url).toMatch(new RegExp(`^${base}/cfdi-archive/a%C3%B1o/a%2Bb\\.xml\\?sv=`))
    }
  })

  it('is one request a call, and a put has the MD5 of its body', async () => {
    const wire = new Wire(new AzureStandIn('key'))
    const destination = wire.open()
    await destination.put('one.xml', await objectOf('hello'))
    await destination.read('one.xml')
    await destination.remove('one.xml')
    expect(wire.requests.map(({ method }) => method)).toEqual(['PUT', 'GET', 'DELETE'])
    expect(wire.requests[0]!.headers.get('content-md5')).toBe('XUFAKrxLKna5cZ2REBfFkg==')
  })

  it('an account key that is not base64 is refused in a sentence, and nothing leaves', async () => {
    const wire = new Wire(new AzureStandIn('key'))
    const spec = { ...new AzureStandIn('key').spec('right'), credentials: { account_key: 'not base64 %%' } }
    const destination = wire.openSpec(spec)
    await expect(destination.read('one.xml')).rejects.toMatchObject({ code: 'access_denied', message: expect.stringContaining('base64') })
    expect(wire.requests).toEqual([])
  })

  it('goes nowhere when the endpoint is on a private network', async () => {
    const wire = new Wire(new AzureStandIn('sas', 'https://azurite.internal/fiscalarchive'))
    await expect(wire.open().read('one.xml')).rejects.toMatchObject({ code: 'address_refused' })
    expect(wire.requests).toEqual([])
  })
})
