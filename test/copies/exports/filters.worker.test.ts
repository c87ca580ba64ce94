import { env } from 'cloudflare:workers'
import { beforeAll, expect, it, vi } from 'vitest'
import { workOnExport } from '../../../src/copies/exports/making/work.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { api } from '../../support/client.ts'
import { runs } from '../../support/fuzz.ts'
import { costOf } from '../../support/meter.ts'
import { silenceQueues } from '../../support/queues.ts'
import { randomOf } from '../../support/random.ts'
import { connect, organization, synced } from '../../support/tenants.ts'
import { csvRows } from './support/readers.ts'
import { begun, contentOf, walked } from './support/world.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})

type Row = Record<string, unknown>

let of: Awaited<ReturnType<typeof organization>>
let fiscal_entity_id: string
let all: Row[]

beforeAll(async () => {
  of = await organization('enterprise_gold')
  await api(of.owner, 'POST', '/v1/extractors', {
    ...{ name: 'Al conectar', trigger_kind: 'connection_created', scope: 'last_n_months', scope_months: 1 },
    data_source_keys: ['sat_cfdi_issued', 'sat_cfdi_received'],
  })
  fiscal_entity_id = (await connect(of.owner, undefined, { ciec: 'busy220' })).fiscal_entity_id
  await synced(of.owner, fiscal_entity_id)
  all = await walked(of.owner, '/v1/cfdi', { fiscal_entity_id })
  expect(all.length).toBeGreaterThan(300)
}, 240_000)

const SETS = runs(3, 300)

/** How a filter is made of what a document says; nothing when it says nothing of it. */
const FILTERS: Record<string, (row: Row) => string | null | undefined> = {
  direction: (row) => row['direction'] as string,
  estatus: (row) => row['estatus'] as string,
  tipo_comprobante: (row) => row['tipo_comprobante'] as string | null,
  payment_status: (row) => row['payment_status'] as string | null,
  counterparty_rfc: (row) => (row['counterparty'] as { rfc: string } | null)?.rfc,
  emisor_rfc: (row) => row['emisor_rfc'] as string,
  receptor_rfc: (row) => row['receptor_rfc'] as string,
  uuid: (row) => row['uuid'] as string,
  issued_from: (row) => (row['fecha'] as string).slice(0, 10),
  issued_to: (row) => row['issued_at'] as string,
  metodo_pago: (row) => row['metodo_pago'] as string | null,
  forma_pago: (row) => row['forma_pago'] as string | null,
  uso_cfdi: (row) => row['uso_cfdi'] as string | null,
  currency: (row) => row['currency'] as string | null,
  serie: (row) => row['serie'] as string | null,
  folio: (row) => row['folio'] as string | null,
  version: (row) => row['version'] as string | null,
  cancelled_from: (row) => (row['cancelled_at'] as string | null)?.slice(0, 10),
  paid_from: (row) => (row['last_payment_at'] as string | null)?.slice(0, 10),
  total_min: (row) => row['total'] as string | null,
  total_max: (row) => row['total'] as string | null,
  balance_min: (row) => row['balance'] as string | null,
  as_of: (row) => (row['fecha'] as string).slice(0, 10),
  q: (row) => (row['counterparty'] as { name?: string } | null)?.name?.slice(0, 6).trim() ?? (row['emisor_rfc'] as string).slice(0, 5),
  overdue_days_min: () => '1',
  has_xml: () => 'true',
  kind: (row) => row['kind'] as string,
  is_substituted: () => 'false',
  to_itself: () => 'false',
}
/** The ends of these would be the wrong way round with others’ beginnings. */
const RANGES = [
  ['issued_from', 'issued_to'],
  ['total_min', 'total_max'],
]

function filtersOf(seed: number): Record<string, string> {
  const random = randomOf(seed + 700)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  // Mostly those of one document, so that something is found.
  const row = pick(all)
  const filters: Record<string, string> = {}
  for (let n = 1 + Math.floor(random() * 4); n > 0; n--) {
    const name = pick(Object.keys(FILTERS))
    const value = FILTERS[name]!(random() < 0.85 ? row : pick(all))
    if (value !== null && value !== undefined && value.length > 0) filters[name] = value
  }
  for (const [from, to] of RANGES) if (from! in filters && to! in filters) delete filters[to!]
  return filters
}

async function exportedNow(format: string, filters: Record<string, string>): Promise<Uint8Array> {
  const export_id = await begun(of.owner, { fiscal_entity_id, kind: 'cfdi', format, filters })
  await workOnExport(systemOf(env, new Date(), 'req_test'), export_id)
  const bytes = await contentOf(of.owner, export_id)
  await env.DB.prepare('delete from exports where export_id = ?').bind(export_id).run()
  return bytes
}

it(`the filters of exports are those of the list, with ${SETS} random sets of them`, { timeout: runs(120_000, 1_800_000) }, async () => {
  silenceQueues()
  let found = 0
  for (let seed = 0; seed < SETS; seed++) {
    const filters = filtersOf(seed)
    const listed = await walked(of.owner, '/v1/cfdi', { fiscal_entity_id, ...filters })
    const text = new TextDecoder().decode(await exportedNow('ndjson', filters))
    const lines = text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Row)
    expect([seed, filters, lines]).toEqual([seed, filters, listed])
    const [headings, ...rows] = csvRows(new TextDecoder().decode(await exportedNow('csv', filters)))
    const column = headings!.indexOf('uuid')
    expect([seed, rows.map((row) => row[column])]).toEqual([seed, listed.map(({ uuid }) => uuid)])
    found += listed.length
  }
  expect(found).toBeGreaterThan(SETS)
  vi.restoreAllMocks()
})

it('a list that includes what lines say reads at most one chunk a document, and five for 100 neighbours of one download', async () => {
  const rowsOf = async (query: Record<string, string>) => {
    const path = `/v1/cfdi?${new URLSearchParams({ fiscal_entity_id, ...query })}`
    const { cost, result } = await costOf(env.LEDGER_0, env.FILES, () => api(of.owner, 'GET', path))
    expect(result.status).toBe(200)
    return { ...cost, found: result.body.data.length as number }
  }
  const month = (all.find(({ direction }) => direction === 'issued')!['fecha'] as string).slice(0, 7)
  for (const query of [
    { limit: '100', direction: 'issued', issued_from: `${month}-01` },
    { limit: '100' },
    { limit: '10' },
    { limit: '1' },
  ]) {
    const [bare, included] = [await rowsOf(query), await rowsOf({ ...query, include: 'conceptos' })]
    expect(included.found).toBe(bare.found)
    // Of each document its place is read, and then the chunks, each with the element of the list that names it.
    const chunks = (included.rows_read - bare.rows_read - 2 * bare.found) / 2
    expect([query, chunks <= bare.found]).toEqual([query, true])
    if ('direction' in query) expect([bare.found, chunks <= 5]).toEqual([100, true])
    expect([included.d1_statements - bare.d1_statements, included.r2_gets]).toEqual([2, 0])
    expect((await rowsOf({ ...query, include: 'conceptos,pagos,relacionados' })).rows_read).toBe(included.rows_read)
  }
})
