import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { runTask } from '../../src/app/tasks.ts'
import { openCredentials, openDestination, sealCredentials } from '../../src/copies/connector.ts'
import type { ConnectorRow } from '../../src/copies/store.ts'
import { systemOf } from '../../src/platform/context.ts'
import { newId } from '../../src/platform/db/id.ts'
import { silenceQueues } from '../support/queues.ts'
import { organization } from '../support/tenants.ts'
import { connector, DRAFTS, rowOf, s3 } from './support/connectors.ts'
import { destinationsAre } from './support/destinations.ts'

const acme = await organization('enterprise_gold')
const KEY = new Uint8Array(32).fill(8).toBase64()

beforeEach(() => {
  silenceQueues()
})
afterEach(() => {
  vi.restoreAllMocks()
})

const systemWith = (more: object = {}) => systemOf({ ...env, ...more } as Env, new Date(), 'req_test')
const stored = async (made: { connector_id: string }) => (await rowOf(made)) as unknown as ConnectorRow
const set = (made: { connector_id: string }, assignment: string, value: unknown) =>
  env.EVENTS_0.prepare(`update storage_connectors set ${assignment} where connector_id = ?1`).bind(made.connector_id, value).run()

describe('stored credentials', () => {
  it('open for their connector, and are sealed anew each time', async () => {
    const [one, two] = [await stored(await connector(acme)), await stored(await connector(acme))]
    expect(await openCredentials(systemWith(), one)).toEqual(DRAFTS.s3.credentials)
    expect(one.credentials).toMatch(/^1:[A-Za-z0-9+/=]+$/)
    expect(one.credentials).not.toBe(two.credentials)
  })

  it('cannot be opened for another connector, organization or environment, nor with another key', async () => {
    const [one, two] = [await stored(await connector(acme)), await stored(await connector(acme))]
    const refused = (row: ConnectorRow, more: object = {}) =>
      expect(openCredentials(systemWith(more), row)).rejects.toThrow(/cannot be opened/)
    await refused({ ...one, credentials: two.credentials })
    await refused({ ...one, organization_id: newId('org') })
    await refused({ ...one, credentials: `9${one.credentials.slice(1)}` })
    await refused({ ...one, credentials: '' })
    await refused(one, { ENVIRONMENT: 'live', TAX_AUTHORITY: 'sat' })
    await refused(one, { CIEC_KEYS: `1:${KEY}` })
  })

  it('are wrapped anew by the daily task, and the old key can leave; one that cannot be opened stops no other', async () => {
    const [broken, sound, deleted] = [await connector(acme), await connector(acme), await connector(acme)]
    await set(broken, 'credentials = ?2', `1:${btoa('nothing of the kind, but long enough')}`)
    await acme.ask('DELETE', deleted.path)
    const rotating = { CIEC_KEYS: `7:${KEY},${env.CIEC_KEYS}` }
    const before = await stored(sound)
    await expect(runTask(systemWith(rotating), { task: 'rewrapCredentials', at: Date.now(), cursor: '' })).rejects.toThrow()
    const after = await stored(sound)
    expect(after).toEqual({ ...before, credentials: expect.stringMatching(/^7:/) })
    expect(await openCredentials(systemWith({ CIEC_KEYS: `7:${KEY}` }), after)).toEqual(DRAFTS.s3.credentials)
    expect((await stored(broken)).credentials).toMatch(/^1:/)
    await set(broken, 'credentials = ?2', '')
    await acme.ask('DELETE', broken.path)
    // A repetition has nothing to do.
    await runTask(systemWith(rotating), { task: 'rewrapCredentials', at: Date.now(), cursor: '' })
    expect(await stored(sound)).toEqual(after)
  })
})

describe('credentials that a provider replaces', () => {
  const opened = async (made: { connector_id: string }) => {
    let replaced: (credentials: object) => Promise<void> = async () => {}
    destinationsAre((_, onLearned) => {
      replaced = async (credentials) => void (await onLearned({ credentials }))
      return { put: async () => {}, read: async () => null, remove: async () => {} }
    })
    await openDestination(systemWith(), env.EVENTS_0, await stored(made))
    return replaced
  }
  const NEW = { ...DRAFTS.onedrive.credentials, refresh_token: 'el-siguiente' }

  it('take the place of those with which the destination was opened', async () => {
    const made = await connector(acme, 'onedrive')
    const before = await stored(made)
    await (await opened(made))(NEW)
    const after = await stored(made)
    expect(after).toEqual({ ...before, credentials: expect.not.stringMatching(before.credentials.replaceAll('+', '\\+')) })
    expect(await openCredentials(systemWith(), after)).toEqual(NEW)
  })

  it('are dropped when the customer has replaced them first, or has deleted the connector', async () => {
    const [made, deleted] = [await connector(acme, 'onedrive'), await connector(acme, 'onedrive')]
    const [replace, late] = [await opened(made), await opened(deleted)]
    const own = { ...DRAFTS.onedrive.credentials, refresh_token: 'del-cliente' }
    await acme.ask('PATCH', made.path, { credentials: own })
    await acme.ask('DELETE', deleted.path)
    await replace(NEW)
    await late(NEW)
    expect(await openCredentials(systemWith(), await stored(made))).toEqual(own)
    expect((await stored(deleted)).credentials).toBe('')
  })
})

it('the test of a connector uses the credentials that are stored at the time', async () => {
  s3()
  const made = await connector(acme, 's3', { credentials: { ...DRAFTS.s3.credentials, secret_access_key: 'equivocado' } })
  expect((await acme.ask('POST', `${made.path}/test`)).body.ok).toBe(false)
  await acme.ask('PATCH', made.path, { credentials: DRAFTS.s3.credentials })
  const { organization_id, provider, config } = (await rowOf(made))!
  await env.COOLDOWNS.getByName(`connector-test:${organization_id}:${provider}:${config}`).release()
  expect((await acme.ask('POST', `${made.path}/test`)).body.ok).toBe(true)
  expect(await sealCredentials(systemWith(), await stored(made), DRAFTS.s3.credentials)).toMatch(/^1:/)
})
