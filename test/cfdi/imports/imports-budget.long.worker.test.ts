import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { filesIn } from '../../../src/cfdi/imports/results.ts'
import { Budget, BudgetUsedUp } from '../../../src/platform/work/budget.ts'
import { Platform } from '../../support/invocations.ts'
import { silenceQueues } from '../../support/queues.ts'
import { randomOf } from '../../support/random.ts'
import { connect, freshRfc, organization } from '../../support/tenants.ts'
import { zipOf } from '../../support/zip.ts'
import { plainOf, xmlOf } from '../support/documents.ts'

const utf8 = new TextEncoder()
const random = randomOf(14)
const COLUMNS =
  'Uuid~RfcEmisor~NombreEmisor~RfcReceptor~NombreReceptor~RfcPac~FechaEmision~FechaCertificacionSat~Monto~EfectoComprobante~Estatus~FechaCancelacion'

beforeEach(() => {
  silenceQueues()
})
afterEach(() => {
  vi.restoreAllMocks()
})

const uuidOf = (n: number): string => `00000000-0000-4000-8000-${n.toString(16).padStart(12, '0')}`.toUpperCase()
const txt = (rfc: string, from: number, count: number): Uint8Array =>
  utf8.encode(
    [
      COLUMNS,
      ...Array.from(
        { length: count },
        (_, n) => `${uuidOf(from + n)}~${rfc}~A~BBB020202BB1~B~SPR190613I52~2026-05-10 12:00:00~2026-05-10 12:00:05~100.00~I~1~`,
      ),
    ].join('\r\n'),
  )

/** An upload whose XML needs three slices and whose metadata needs nine, with what is not good in each. */
async function uploaded(platform: Platform) {
  const of = await organization('enterprise_gold')
  const rfc = freshRfc()
  const { fiscal_entity_id } = await connect(of.owner, rfc, { ciec: 'empty' })
  const path = `/v1/fiscal-entities/${fiscal_entity_id}/cfdi/imports`
  const xml = Array.from({ length: 6 }, () => plainOf(random, '2026-05', { emisor: rfc }))
  const body = zipOf([
    ...xml.map((one) => ({ name: `${one.uuid}.xml`, bytes: utf8.encode(xmlOf(one)) })),
    ...Array.from({ length: 2_400 }, (_, n) => ({ name: `${n}.xml`, bytes: utf8.encode('<broken') })),
    { name: 'uno.txt', bytes: txt(rfc, 1, 3_500) },
    { name: 'dos.txt', bytes: txt(rfc, 1, 2_000) },
    { name: 'tres.txt', bytes: txt(rfc, 3_000, 2_100) },
  ])
  const sent = await platform.fetch('POST import', of.owner, path, { body, type: 'application/zip' })
  const { import_id } = (await sent.json()) as { import_id: string }
  const outcome = async () => {
    const { body: found } = await of.ask('GET', `${path}/${import_id}`)
    const { results } = await env.LEDGER_0.prepare('select hex(data) as data from import_results where import_id = ?')
      .bind(import_id)
      .all<{ data: string }>()
    const files = filesIn(results, 10_000).map(({ status, code, detail }) => ({ status, code, detail }))
    const row = await env.LEDGER_0.prepare('select * from imports where import_id = ?').bind(import_id).first<Record<string, unknown>>()
    const stored = await env.LEDGER_0.prepare('select count(*) from cfdi where entity = ?').bind(row!['import_partition']).raw<[number]>()
    return { status: found.status, counts: found.counts, files, stored: stored[0]![0], attempts: row!['attempts'] }
  }
  return { import_id, outcome }
}

/** What breaks without it: an upload of many documents is tried five times, ended by the platform each time, and reported as failed. */
describe('an import that the budget of an invocation does not suffice for', () => {
  it.each([2, 3, 4])('has the results of one that it suffices for, when the budget ends before every %ith slice', async (nth) => {
    const whole = await uploaded(new Platform())
    await new Platform().deliver('imports', [{ shard: 0, import_id: whole.import_id }])
    const platform = new Platform()
    const parts = await uploaded(platform)
    let asked = 0
    vi.spyOn(Budget.prototype, 'require').mockImplementation(() => {
      if (++asked % nth === 0) throw new BudgetUsedUp()
    })
    await platform.run(['imports'])
    expect(platform.invocations.length).toBeGreaterThan(12 / nth)
    const expected = await whole.outcome()
    expect(expected).toMatchObject({ status: 'completed', stored: 5_105, attempts: 1 })
    expect(expected.files.slice(-3).map(({ status }) => status)).toEqual(['created', 'unchanged', 'created'])
    expect(await parts.outcome()).toEqual(expected)
    expect(platform.deadLetters).toEqual([])
  })
})
