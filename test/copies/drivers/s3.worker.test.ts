import { describe, expect, it } from 'vitest'
import { DestinationError } from '../../../src/copies/drivers/port.ts'
import { S3StandIn } from '../support/s3-stand-in.ts'
import { objectOf, Wire } from '../support/wire.ts'
import { faultSuite } from './fault-suite.ts'
import { destinationSuite, type Rig } from './suite.ts'

const rigOf = (standIn: S3StandIn): (() => Rig) => {
  const wire = new Wire(standIn)
  const typeOf = async (path: string) => standIn.objects().find((object) => object.path === path)?.content_type ?? null
  return () => ({ open: (knowledge) => wire.open(knowledge), typeOf })
}

destinationSuite('Amazon S3, bucket in the host name', rigOf(new S3StandIn()))
destinationSuite(
  'an S3-compatible service, bucket in the path',
  rigOf(new S3StandIn({ endpoint: 'https://s3.provider.example:8443/storage/v1' }, 'session-token-of-tests')),
)
destinationSuite(
  'an S3-compatible service, bucket in the host name',
  rigOf(new S3StandIn({ endpoint: 'https://oss.provider.example', path_style: false })),
)
faultSuite('S3', async () => new S3StandIn({}, 'session-token-of-tests'))

const codeAnswer =
  (status: number, code: string, more = '', headers: Record<string, string> = {}) =>
  async () =>
    new Response(`<Error><Code>${code}</Code>${more}<Message>Text of the provider.</Message></Error>`, { status, headers })

describe('what S3 answers to a put', () => {
  const failed = async (answer: () => Promise<Response>): Promise<DestinationError> => {
    const wire = new Wire(new S3StandIn())
    wire.fail(0, answer)
    return (await wire
      .open()
      .put('one.xml', await objectOf('one'))
      .catch((error: unknown) => error)) as DestinationError
  }

  it.each([
    [403, 'AccessDenied', 'access_denied'],
    [403, 'InvalidAccessKeyId', 'access_denied'],
    [400, 'AuthorizationHeaderMalformed', 'access_denied'],
    [403, 'SignatureDoesNotMatch', 'access_denied'],
    [400, 'ExpiredToken', 'access_denied'],
    [400, 'InvalidToken', 'access_denied'],
    [404, 'NoSuchBucket', 'not_found'],
    [403, 'QuotaExceeded', 'storage_full'],
    [507, 'XMinioStorageFull', 'storage_full'],
    [503, 'SlowDown', 'rate_limited'],
    [400, 'RequestTimeout', 'timeout'],
    [403, 'RequestTimeTooSkewed', 'unavailable'],
    [503, 'ServiceUnavailable', 'unavailable'],
    [409, 'OperationAborted', 'unavailable'],
    [400, 'BadDigest', 'connection_failed'],
    [400, 'XAmzContentSHA256Mismatch', 'connection_failed'],
    [400, 'KeyTooLongError', 'refused'],
    [418, 'SomethingNew', 'refused'],
    [400, 'constructor', 'refused'],
  ])('%i %s is the fault %3$s', async (status, code, fault) => {
    const error = await failed(codeAnswer(status, code))
    expect([error.code, error.message]).toEqual([fault, expect.stringContaining(`(${code}, status ${status}).`)])
    expect(error.message).not.toContain('Text of the provider')
  })

  it.each([
    ['a header', codeAnswer(301, 'PermanentRedirect', '', { 'x-amz-bucket-region': 'eu-west-1' })],
    ['the member Region', codeAnswer(400, 'AuthorizationHeaderMalformed', '<Region>eu-west-1</Region>')],
    ['the end point', codeAnswer(307, 'TemporaryRedirect', '<Endpoint>b.s3.eu-west-1.amazonaws.com</Endpoint>', { location: 'https://b' })],
  ])('a redirect to another region is a sentence with its name, which %s says', async (_, answer) => {
    expect(await failed(answer)).toMatchObject({
      code: 'refused',
      message: expect.stringContaining('not in the region mx-central-1 but in the region eu-west-1: set it in the connector'),
    })
  })

  it('a code that is part of a credential is not shown', async () => {
    const wire = new Wire(new S3StandIn())
    const { credentials, ...spec } = new S3StandIn().spec('right')
    wire.fail(0, codeAnswer(403, 'OnlyLetters'))
    const destination = wire.openSpec({ ...spec, credentials: { ...credentials, secret_access_key: 'SecretOfOnlyLetters' } })
    await expect(destination.read('one.xml')).rejects.toMatchObject({
      message: 'The provider refuses the credentials, or they lack a permission (status 403).',
    })
  })

  it('a redirect that names no other region says so, and repeats no credential', async () => {
    for (const region of ['mx-central-1', '', 'EU', 'session-token-of-tests']) {
      const wire = new Wire(new S3StandIn({}, 'session-token-of-tests'))
      wire.fail(0, codeAnswer(301, 'PermanentRedirect', `<Region>${region}</Region>`))
      await expect(wire.open().read('one.xml')).rejects.toMatchObject({
        code: 'refused',
        message: 'The bucket is not in the region mx-central-1 but in another region, or at another endpoint (status 301).',
      })
    }
  })

  it('an answer that does not end is given up after 31 MiB for an object, and after 1 MiB otherwise', async () => {
    for (const [operation, most] of [
      ['read', 31 * 1_048_576],
      ['remove', 1_048_576],
    ] as const) {
      let sent = 0
      const endless = new ReadableStream({
        pull: (controller) => {
          sent += 1_048_576
          controller.enqueue(new Uint8Array(1_048_576))
        },
      })
      const wire = new Wire(new S3StandIn())
      wire.fail(0, async () => new Response(endless))
      await expect(wire.open()[operation]('one.xml')).rejects.toMatchObject({
        code: 'refused',
        message: expect.stringContaining(`${most} bytes`),
      })
      expect(wire.aborted).toBe(1)
      expect(sent).toBeLessThan(most + 8 * 1_048_576)
    }
  })

  it('Retry-After may be a date', async () => {
    const at = new Date(Date.now() + 90_000).toUTCString()
    const { code, retry_after_seconds } = await failed(codeAnswer(503, 'SlowDown', '', { 'retry-after': at }))
    expect([code, Math.abs(retry_after_seconds! - 90) <= 2]).toEqual(['rate_limited', true])
  })
})

describe('what leaves for S3', () => {
  it('names the bucket in the host, or in the path where there is an endpoint or the bucket has dots', async () => {
    const urlOf = async (config: Partial<ReturnType<S3StandIn['spec']>['config']>) => {
      const wire = new Wire(new S3StandIn(config))
      await wire
        .open()
        .read('año 1/a+b.xml')
        .catch(() => null)
      return wire.requests[0]!.url
    }
    const path = 'a%C3%B1o%201/a%2Bb.xml'
    expect(await urlOf({})).toBe(`https://fiscal-archive.s3.mx-central-1.amazonaws.com/${path}`)
    expect(await urlOf({ region: 'cn-north-1' })).toBe(`https://fiscal-archive.s3.cn-north-1.amazonaws.com.cn/${path}`)
    expect(await urlOf({ bucket: 'cfdi.example.com' })).toBe(`https://s3.mx-central-1.amazonaws.com/cfdi.example.com/${path}`)
    expect(await urlOf({ endpoint: 'https://minio.example.com/s3' })).toBe(`https://minio.example.com/s3/fiscal-archive/${path}`)
    expect(await urlOf({ endpoint: 'https://oss.example.com', path_style: false })).toBe(`https://fiscal-archive.oss.example.com/${path}`)
    expect(await urlOf({ path_style: true })).toBe(`https://s3.mx-central-1.amazonaws.com/fiscal-archive/${path}`)
  })

  it('is one request a call, and a put has the hash and the MD5 of its body', async () => {
    const wire = new Wire(new S3StandIn())
    const destination = wire.open()
    await destination.put('one.xml', await objectOf('hello'))
    await destination.read('one.xml')
    await destination.remove('one.xml')
    expect(wire.requests.map(({ method }) => method)).toEqual(['PUT', 'GET', 'DELETE'])
    const { headers } = wire.requests[0]!
    expect([headers.get('x-amz-content-sha256'), headers.get('content-md5')]).toEqual([
      '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824',
      'XUFAKrxLKna5cZ2REBfFkg==',
    ])
    expect(headers.get('authorization')).toMatch(/SignedHeaders=content-md5;host;x-amz-content-sha256;x-amz-date,/)
  })

  it('a put with a false hash stores nothing', async () => {
    const standIn = new S3StandIn()
    const object = { ...(await objectOf('one')), sha256: (await objectOf('two')).sha256 }
    await expect(new Wire(standIn).open().put('one.xml', object)).rejects.toMatchObject({ code: 'connection_failed' })
    expect(standIn.objects()).toEqual([])
  })

  it.each([
    'http://s3.example.com',
    'https://127.0.0.1',
    'https://[::1]',
    'https://169.254.169.254',
    'https://0x7f000001',
    'https://localhost',
    'https://minio.internal',
    'https://api.service.example',
    'https://user:password@s3.example.com',
    'https://s3.example.com:9000',
    'https://s3.example.com\\@internal.corp',
  ])('goes nowhere when the endpoint is %s', async (endpoint) => {
    const wire = new Wire(new S3StandIn({ endpoint, path_style: true }))
    const error = await wire
      .open()
      .read('one.xml')
      .catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(DestinationError)
    expect([(error as DestinationError).code, wire.requests.length]).toEqual(['address_refused', 0])
    expect((error as DestinationError).message).not.toContain(endpoint)
  })

  it('credentials that no header can contain are refused in a sentence', async () => {
    const wire = new Wire(new S3StandIn({}, 'two\nlines'))
    await expect(wire.open().read('one.xml')).rejects.toMatchObject({ code: 'refused', message: expect.not.stringContaining('lines') })
  })
})
