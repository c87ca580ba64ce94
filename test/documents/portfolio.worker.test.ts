import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { newId } from '../../src/platform/db/id.ts'
import { losingMessages } from '../downloads/support/downloads.ts'
import { at, restore } from '../support/clock.ts'
import { costOf } from '../support/meter.ts'
import { freshRfc, organization } from '../support/tenants.ts'
import { reader, runsOn } from './support/documents.ts'

beforeEach(() => {
  at('2026-03-10T18:00:00Z')
  losingMessages()
})
afterEach(restore)

type Row = Record<string, unknown>

async function insert(d1: D1Database, table: string, rows: readonly Row[]): Promise<void> {
  const names = Object.keys(rows[0]!)
  const sql = `insert into ${table} (${names.join()}) values (${names.map(() => '?').join()})`
  await d1.batch(rows.map((row) => d1.prepare(sql).bind(...Object.values(row))))
}

const CLIENTS = 500

/** Gives the organization 499 more connections like its first one, each to an RFC with the same documents. */
async function multiply(organization_id: string): Promise<void> {
  const first = (await env.DB.prepare('select * from connections where organization_id = ?').bind(organization_id).first<Row>())!
  const entity = (await env.DB.prepare('select * from fiscal_entities where entity = ?').bind(first['entity']).first<Row>())!
  const ledger = (env as unknown as Record<string, D1Database>)[`LEDGER_${first['shard']}`]!
  const { results: documents } = await ledger
    .prepare("select * from documents where entity = ? and kind in ('csf', 'opinion_32d', 'obligations', 'declaracion')")
    .bind(first['entity'])
    .all<Row>()
  const more = Array.from({ length: CLIENTS - 1 }, (_, n) => ({ number: 7_000_000 + n, rfc: freshRfc() }))
  await insert(
    env.DB,
    'fiscal_entities',
    more.map(({ number, rfc }) => ({ ...entity, entity: number, rfc })),
  )
  await insert(
    env.DB,
    'connections',
    more.map(({ number, rfc }) => ({
      ...first,
      connection: number,
      entity: number,
      rfc,
      fiscal_entity_id: newId('fe'),
      external_id: null,
    })),
  )
  for (const { number } of more)
    await insert(
      ledger,
      'documents',
      documents.map((row) => ({ ...row, entity: number })),
    )
}

describe('the questions over all RFCs', () => {
  it('are answered in one page of 500, with as many calls as for one RFC, for the organization alone', async () => {
    const rfc = freshRfc()
    const of = await reader(rfc)
    await runsOn('2026-03-10', rfc, [of])
    const stranger = await organization()
    const PATHS = ['opinions', 'obligations?days=10', 'attention'].map((path) => `/v1/portfolio/${path}`)
    const ask = async (path: string) => {
      const { result, cost, most_of_database } = await costOf(env.LEDGER_0, env.FILES, () => of.ask('GET', path))
      return { status: result.status, body: result.body, calls: [cost.d1_calls, most_of_database] }
    }
    for (const path of PATHS) await ask(path)
    const alone = []
    for (const path of PATHS) alone.push(await ask(path))
    const [opinions, obligations] = alone.map(({ body }) => body.data)
    const [opinion] = await of.documents('&kind=opinion_32d')
    const { sense } = opinion!.fields as { sense: string }
    expect(opinions).toMatchObject([{ fiscal_entity_id: of.fiscal_entity_id, rfc, sense, document_id: opinion!.document_id }])
    const due = (await of.ask('GET', `${of.path}/obligations`)).body.data.filter(
      ({ due_date, status }: { due_date: string | null; status: string }) =>
        due_date !== null && due_date >= '2026-03-10' && due_date <= '2026-03-20' && status !== 'filed',
    )
    expect(due.length).toBeGreaterThan(0)
    expect(obligations.map(({ fiscal_entity_id: _, rfc: __, name: ___, days_left: ____, ...row }: Row) => row)).toEqual(due)
    await multiply(of.id)
    for (const [n, path] of PATHS.entries()) {
      const all = await ask(path)
      expect(all).toMatchObject({ status: 200, calls: alone[n]!.calls, body: { has_more: false, next_cursor: null } })
      if (n < 2) expect(all.body.data).toHaveLength(CLIENTS * alone[n]!.body.data.length)
    }
    expect((await ask(`/v1/portfolio/opinions?sense=${sense}`)).body.data).toHaveLength(CLIENTS)
    expect((await ask(`/v1/portfolio/opinions?sense=no_inscrito`)).body.data).toHaveLength(sense === 'no_inscrito' ? CLIENTS : 0)
    const page = (await ask('/v1/portfolio/opinions?limit=300')).body
    const rest = (await ask(`/v1/portfolio/opinions?limit=300&cursor=${encodeURIComponent(page.next_cursor)}`)).body
    expect([page.data.length, rest.data.length, rest.has_more]).toEqual([300, 200, false])
    for (const path of PATHS) expect((await stranger.ask('GET', path)).body.data).toEqual([])
    // The credential, the connections and, of the last, the extractors; and each ledger once.
    expect(alone.map(({ calls }) => calls)).toEqual([
      [3, 2],
      [3, 2],
      [4, 3],
    ])
  })
})
