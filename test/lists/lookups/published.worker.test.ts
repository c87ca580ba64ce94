import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { silenceQueues } from '../../support/queues.ts'
import { audited, freshRfc, organization } from '../../support/tenants.ts'

beforeEach(() => silenceQueues())
afterEach(() => vi.restoreAllMocks())

const PATH = '/v1/test-helpers/blacklists'
const loaded = (source: string) =>
  env.DB.prepare(
    "insert or replace into blacklist_lists (organization_id, source, version, notified_version, row_count) values ('', ?, 3, 3, 0)",
  )
    .bind(source)
    .run()
const stateOf = (source: string) =>
  env.DB.prepare("select version, notified_version, row_count from blacklist_lists where organization_id = '' and source = ?")
    .bind(source)
    .first()
const changesOf = async (rfc: string) =>
  (await env.DB.prepare('select change, situacion_before, situacion from blacklist_changes where rfc = ? order by version').bind(rfc).all())
    .results

it('a test helper puts an RFC on a public list, changes its situation there, and takes it off', async () => {
  await loaded('sat_69b')
  const of = await organization()
  const rfc = freshRfc()
  const put = async (more: object) => expect(await of.ask('POST', PATH, { rfc, source: 'sat_69b', ...more })).toMatchObject({ status: 200 })
  const hits = async () => (await of.ask('GET', `/v1/blacklists/lookup?rfc=${rfc}`)).body.hits
  expect(await hits()).toEqual([])
  await put({ situacion: 'presunto', name: 'Uno' })
  await put({ situacion: 'presunto', name: 'Uno' })
  expect(await hits()).toEqual([expect.objectContaining({ source: 'sat_69b', situacion: 'presunto', severity: 'high' })])
  await put({ situacion: 'definitivo' })
  expect(await hits()).toEqual([expect.objectContaining({ situacion: 'definitivo', severity: 'critical' })])
  expect(await stateOf('sat_69b')).toEqual({ version: 6, notified_version: 3, row_count: 1 })
  await put({ is_listed: false })
  expect([await hits(), await stateOf('sat_69b')]).toEqual([[], { version: 7, notified_version: 3, row_count: 0 }])
  expect(await changesOf(rfc)).toEqual([
    { change: 'listed', situacion_before: null, situacion: 'presunto' },
    { change: 'situacion_changed', situacion_before: 'presunto', situacion: 'definitivo' },
    { change: 'removed', situacion_before: 'definitivo', situacion: null },
  ])
  expect(await audited(of, 'test_helper.blacklist_published')).toHaveLength(4)
})

it('it is refused before the list is loaded, and with a situation that the list cannot have', async () => {
  const of = await organization()
  const ask = async (body: object) => {
    const { status, body: notified } = await of.ask('POST', PATH, { rfc: freshRfc(), ...body })
    return `${status} ${notified.code}`
  }
  expect(await ask({ source: 'sat_csd_sin_efectos' })).toBe('409 blacklist.not_loaded')
  expect(await ask({ source: 'sat_69b' })).toBe('422 request.invalid')
  expect(await ask({ source: 'sat_69_firmes', situacion: 'definitivo' })).toBe('422 request.invalid')
  expect(await ask({ source: 'custom:x' })).toBe('422 request.invalid')
})
