import { applyD1Migrations, env } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import rules from '../../assets/rules.json' with { type: 'json' }
import { Risk } from '../../src/analytics/risk/contract.ts'
import { ingestMetadata } from '../../src/cfdi/ingest/ingest.ts'
import { columnsOf, csvOf } from '../../src/platform/csv.ts'
import { all, newBook, reported } from '../cfdi/support/book.ts'
import { type Plain, paymentOf, plainOf, RFC, substituteOf, xmlOf } from '../cfdi/support/documents.ts'
import { ingestZip } from '../cfdi/support/ingest-zip.ts'
import { contextOf } from '../support/context.ts'
import { costOf } from '../support/meter.ts'
import { randomOf } from '../support/random.ts'
import { zipOf } from '../support/zip.ts'
import { requester } from './support/seeded.ts'

const [CUSTOMER, SUPPLIER] = ['BBB020202BB1', 'DDD040404DD3']
const random = randomOf(61)
const RANGE = { from: '2026-01', to: '2026-03' }

const invoice = (day: string, total: number, given: Partial<Plain>): Plain =>
  plainOf(random, day.slice(0, 7), {
    ...{ tipo: 'I', metodo: 'PUE', fecha: `${day}T10:00:00`, receptor: CUSTOMER, lines: 1 },
    ...{ subtotal: total.toFixed(2), iva: '0.00', total: total.toFixed(2) },
    ...given,
  })

/**
 * On 10 March 2026: a sale on credit that two complements paid, both cancelled; a sale that a newer one substitutes; a purchase in cash for
 * 2,000.01 of a supplier whose seals are without effect since 2026-02-01; a cancelled sale of which only metadata is known.
 */
const sale = invoice('2026-03-01', 500, { metodo: 'PPD' })
const paid = [paymentOf(random, '2026-03', [sale], 0.5), paymentOf(random, '2026-03', [sale], 0.5)].map((one, n) => ({
  ...one,
  fecha: `2026-03-0${n + 2}T12:00:00`,
}))
const wrong = invoice('2026-03-01', 300, {})
const right = substituteOf(random, [wrong])
const cash = invoice('2026-01-05', 2_000.01, { emisor: SUPPLIER, receptor: RFC })
const listed = invoice('2026-02-10', 44, {})

type Flag = { code: string; weight: number; evidence: object }
let answer: { data: (Record<string, unknown> & { flags: Flag[] })[] }
let calls: number
const flagOf = ({ uuid }: Plain, code: string) => answer.data.find((row) => row['uuid'] === uuid)?.flags.find((flag) => flag.code === code)

beforeAll(async () => {
  await applyD1Migrations(env.DB, env.CONTROL_MIGRATIONS)
  await applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS)
  const book = { ...newBook(), rfc: RFC }
  const documents = [sale, ...paid, wrong, right, cash]
  const files = documents.map((one) => ({
    name: `${one.uuid}.xml`,
    bytes: new TextEncoder().encode(one === cash ? xmlOf(one).replace('FormaPago="99"', 'FormaPago="01"') : xmlOf(one)),
  }))
  const statuses = new Map(documents.map((one) => [one.uuid, reported(one, paid.includes(one))]))
  await all(ingestZip(book, zipOf(files), statuses))
  await all(ingestMetadata(book, () => [[reported(listed, true)]]))
  await env.DB.batch([
    env.DB.prepare("insert into blacklist_lists (organization_id, source, version, row_count) values ('', 'sat_csd_sin_efectos', 1, 1)"),
    env.DB.prepare(
      "insert into blacklist_entries (organization_id, source, rfc, name, history) values ('', 'sat_csd_sin_efectos', ?, 'X', ?)",
    ).bind(SUPPLIER, '[[null,"2026-02-01",null,null]]'),
  ])
  const listing = JSON.stringify({ 'sat_csd_sin_efectos|': [SUPPLIER] })
  const ask = requester(contextOf({ entity: book.entity, connection: book.entity, rfc: RFC, listed: listing }))
  // The first request reads the rules, and so does one that a busy machine delays until they are no longer fresh.
  const asked = [] as Awaited<ReturnType<typeof costOf>>[]
  for (let n = 0; n < 4; n++) asked.push(await costOf(env.LEDGER_0, env.FILES, () => ask('/cfdi/risk', RANGE)))
  answer = asked[0]!.result as never
  calls = Math.min(...asked.map(({ cost }) => cost.d1_calls))
})

describe('the evidence of a flag names what it rests on', () => {
  it('the complements that were cancelled', () => {
    expect(flagOf(sale, 'complement_cancelled')?.evidence).toEqual({ cancelled_complements: paid.map(({ uuid }) => uuid).sort() })
  })

  it('the document that substitutes another', () => {
    expect(flagOf(wrong, 'substituted_not_cancelled')?.evidence).toEqual({ substituted_by: [right.uuid] })
  })

  it('the total in MXN and the limit of cash', () => {
    expect(flagOf(cash, 'cash_over_2000')?.evidence).toEqual({ forma_pago: '01', total_mxn: '2000.01', limit: '2000.00' })
  })

  it('the day from which a list without situations has the counterparty', () => {
    expect(flagOf(cash, 'csd_sin_efectos')?.evidence).toEqual({
      ...{ source: 'sat_csd_sin_efectos', situacion: null, listed_at: '2026-02-01', dof_at: null, issued_before_listing: true },
    })
  })

  it('the status of a document of which only metadata is known, a cancelled one too', () => {
    expect(flagOf(listed, 'metadata_only')?.evidence).toEqual({ estatus: 'cancelado', certified_at: listed.fecha })
  })

  it('without a further D1 call', () => expect(calls).toBe(3))
})

it('each flag shows its weight, and they add up to the score', () => {
  const weights = rules.find(({ key }) => key === 'risk.weights')!.value as unknown as Record<string, number>
  for (const { flags, score } of answer.data) {
    for (const { code, weight } of flags) expect(weight, code).toBe(weights[code])
    expect(score).toBe(
      Math.min(
        100,
        flags.reduce((sum, { weight }) => sum + weight, 0),
      ),
    )
  }
})

it('the table of risky documents has the codes of their flags', () => {
  const [heading = '', first = ''] = csvOf(columnsOf(Risk.shape.data.element), answer.data.slice(0, 1)).split('\r\n')
  expect(heading.split(',')).toContain('flags.code')
  expect(first.split(',')[heading.split(',').indexOf('flags.code')]).toBe(answer.data[0]!.flags.map(({ code }) => code).join(' '))
})
