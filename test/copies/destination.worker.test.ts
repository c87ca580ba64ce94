import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { openDestination } from '../../src/copies/connector.ts'
import { DestinationError } from '../../src/copies/drivers/port.ts'
import type { ConnectorRow } from '../../src/copies/store.ts'
import { systemOf } from '../../src/platform/context.ts'
import { restore } from '../support/clock.ts'
import { silenceQueues } from '../support/queues.ts'
import { organization } from '../support/tenants.ts'
import { connector, type DraftedProvider, rowOf } from './support/connectors.ts'
import { destinationsAre, destinationsOver } from './support/destinations.ts'
import { GoogleDriveStandIn } from './support/google-drive-stand-in.ts'
import { OneDriveStandIn } from './support/onedrive-stand-in.ts'
import { S3StandIn } from './support/s3-stand-in.ts'
import { objectOf } from './support/wire.ts'

const acme = await organization('enterprise_gold')

afterEach(restore)

/** Opens a connector as the service does. */
async function opened(provider: DraftedProvider = 's3', more: object = {}, variables: object = {}) {
  silenceQueues()
  const made = await connector(acme, provider, more)
  const row = (await rowOf(made)) as unknown as ConnectorRow
  return openDestination(systemOf({ ...env, ...variables } as Env, new Date(), 'req_test'), env.EVENTS_0, row)
}
const faultOf = async (operation: Promise<unknown>) => {
  const error = await operation.then(
    () => null,
    (thrown) => thrown,
  )
  expect(error).toBeInstanceOf(DestinationError)
  const { code, message, retry_after_seconds } = error as DestinationError
  return { code, message, retry_after_seconds }
}

describe('a destination', () => {
  it('runs the drivers, and what they throw arrives as the same error', async () => {
    const destination = await opened()
    const fault = {
      code: 'connection_failed',
      message: 'The connection to the destination could not be made, or it broke.',
      retry_after_seconds: null,
    }
    expect(await faultOf(destination.put('a.xml', await objectOf('<a/>')))).toEqual(fault)
    expect(await faultOf(destination.read('a.xml'))).toEqual(fault)
    expect(await faultOf(destination.remove('a.xml'))).toEqual(fault)
  })

  it('calls no host of the service, whatever was allowed when the connector was saved', async () => {
    const config = { bucket: 'fiscal', region: 'mx-central-1', endpoint: 'https://objects.example.com' }
    const before = await opened('s3', { config })
    expect((await faultOf(before.read('a'))).code).toBe('connection_failed')
    const after = await opened('s3', { config }, { PUBLIC_HOSTS: 'other.example.net,example.com' })
    expect(await faultOf(after.read('a'))).toMatchObject({ code: 'address_refused', message: expect.stringContaining('call itself') })
  })
})

describe('an open destination', () => {
  const OBJECT = objectOf('<a/>')

  it('carries objects byte for byte, and says of one that is not there that there is none', async () => {
    const standIn = new S3StandIn()
    destinationsOver((url, init) => standIn.answer(new Request(url, init)))
    const destination = await opened()
    const bytes = crypto.getRandomValues(new Uint8Array(60_000))
    await destination.put('a/b.xml', await objectOf(bytes.subarray(7, 50_001)))
    expect(await destination.read('a/b.xml')).toEqual(bytes.slice(7, 50_001))
    expect(standIn.objects()).toMatchObject([{ path: 'a/b.xml', content_type: 'application/xml' }])
    await destination.remove('a/b.xml')
    expect([standIn.objects(), await destination.read('a/b.xml')]).toEqual([[], null])
  })

  it('carries the largest object that a driver reads', async () => {
    destinationsOver(async () => new Response(new Uint8Array(31 * 1_048_576), { headers: { etag: '"0"' } }))
    const destination = await opened()
    expect(await destination.read('a')).toHaveLength(31 * 1_048_576)
  })

  it('passes on how long a provider asks to wait', async () => {
    destinationsOver(async () => new Response('<Error><Code>SlowDown</Code></Error>', { status: 503, headers: { 'retry-after': '77' } }))
    const destination = await opened()
    expect(await faultOf(destination.put('a', await OBJECT))).toMatchObject({ code: 'rate_limited', retry_after_seconds: 77 })
  })

  it('asks Google for a token once and reads a folder once, however many objects it gets at once', async () => {
    const google = new GoogleDriveStandIn()
    destinationsOver((url, init) => google.answer(new Request(url, init)))
    const { config, credentials } = google.spec('right')
    const destination = await opened('google_drive', { config, credentials })
    const objects = await Promise.all(Array.from({ length: 12 }, (_, n) => objectOf(`${n}`)))
    await Promise.all(objects.map((object, n) => destination.put(`a/${n}.xml`, object)))
    expect(google.objects()).toHaveLength(12)
    expect(google.calls.filter((call) => call.endsWith('/token'))).toHaveLength(1)
    expect(google.calls.filter((call) => call === 'GET www.googleapis.com/drive/v3/files').length).toBeLessThan(4)
    expect(google.undocumented).toEqual([])
  })

  const microsoft = () => {
    const drive = new OneDriveStandIn()
    destinationsOver((url, init) => drive.answer(new Request(url, init)))
    return { drive, draft: { config: drive.config, credentials: drive.credentials } }
  }
  const tokensOf = () =>
    env.EVENTS_0.prepare('select credentials from storage_connectors order by connector desc limit 1').first<string>('credentials')

  it('stores new credentials before anything is done with them', async () => {
    const { drive, draft } = microsoft()
    const destination = await opened('onedrive', draft)
    const before = await tokensOf()
    await destination.put('a.xml', await OBJECT)
    expect(await tokensOf()).not.toBe(before)
    expect(drive.refreshTokens).toHaveLength(2)
  })

  it('fails as the storing of new credentials failed, and does nothing with them', async () => {
    const { drive, draft } = microsoft()
    const broken = new Error('The database is down.')
    const EVENTS_0 = { prepare: (sql: string) => env.EVENTS_0.prepare(sql), batch: () => Promise.reject(broken) }
    silenceQueues()
    const made = await connector(acme, 'onedrive', draft)
    const system = systemOf(env, new Date(), 'req_test')
    const destination = await openDestination(system, EVENTS_0 as never, (await rowOf(made)) as unknown as ConnectorRow)
    await expect(destination.put('a.xml', await OBJECT)).rejects.toBe(broken)
    expect(drive.calls.filter((call) => !call.endsWith('/token'))).toEqual([])
  })

  it('keeps the drive of the account in the config from the first use on: the credentials of another account lead to no other', async () => {
    const { drive, draft } = microsoft()
    Object.assign(drive.config, { drive_id: null, folder_id: null })
    silenceQueues()
    const made = await connector(acme, 'onedrive', draft)
    const configOf = async () => (await acme.ask('GET', made.path)).body.config
    const putTo = async () => {
      const row = (await rowOf(made)) as unknown as ConnectorRow
      const destination = await openDestination(systemOf(env, new Date(), 'req_test'), env.EVENTS_0, row)
      await destination.put('a.xml', await OBJECT)
      return JSON.parse(row.config)
    }
    expect(await configOf()).toMatchObject({ drive_id: null })
    expect((await acme.ask('POST', `${made.path}/test`)).body.ok).toBe(true)
    expect(await configOf()).toMatchObject({ drive_id: 'b!account-1', folder_id: null })
    await putTo()
    // Credentials of another account, which has another drive and no access to this one.
    const credentials = { ...drive.credentials, refresh_token: 'M.refresh-token-0.other' }
    expect((await acme.ask('PATCH', made.path, { credentials })).body.config).toMatchObject({ drive_id: 'b!account-1' })
    drive.accountDrive = 'b!account-2'
    await expect(putTo()).rejects.toMatchObject({ code: 'not_found' })
    expect(await configOf()).toMatchObject({ drive_id: 'b!account-1' })
    // The customer moves it.
    expect((await acme.ask('PATCH', made.path, { config: { drive_id: null } })).body.config).toMatchObject({ drive_id: null })
    expect(await putTo()).toMatchObject({ drive_id: 'b!account-2' })
    expect(await configOf()).toMatchObject({ drive_id: 'b!account-2' })
    expect(drive.calls.filter((call) => call.endsWith('/me/drive'))).toHaveLength(2)
    expect(drive.undocumented).toEqual([])
  })

  it('says nothing of a destination when a driver itself fails', async () => {
    destinationsAre(() => ({ put: () => Promise.reject(new TypeError('A bug.')), read: async () => null, remove: async () => {} }))
    const destination = await opened()
    const error = await destination.put('a', await OBJECT).catch((thrown) => thrown)
    expect(error).not.toBeInstanceOf(DestinationError)
    expect(error).toMatchObject({ message: 'A bug.' })
  })

  it('ends a call that hangs after fifteen seconds', async () => {
    const { promise: called, resolve } = Promise.withResolvers<void>()
    destinationsOver(async () => {
      resolve()
      return new Promise(() => {})
    })
    const destination = await opened()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const hanging = faultOf(destination.put('a', await OBJECT))
    await called
    vi.advanceTimersByTime(15_000)
    expect((await hanging).code).toBe('timeout')
  })

  it('is not waited for any longer than the platform lets a message work in the background', async () => {
    destinationsAre(() => ({ put: () => new Promise(() => {}), read: async () => null, remove: async () => {} }))
    silenceQueues()
    const made = await connector(acme)
    const system = systemOf(env, new Date(), 'req_test')
    const destination = await openDestination(system, env.EVENTS_0, (await rowOf(made)) as unknown as ConnectorRow)
    // A turn has ended twelve seconds ago.
    system.budget.restart(-11_980)
    const began = performance.now()
    expect(await faultOf(destination.put('a', await OBJECT))).toMatchObject({ code: 'timeout' })
    expect(performance.now() - began).toBeLessThan(5_000)
  })
})
