import assert from 'node:assert/strict'
import { measure, median } from './measures.ts'
import { ingested } from './packages.ts'
import { type Rig, withRig } from './rig.ts'
import { named, sized } from './sizes.ts'
import { signUp } from './tenants.ts'

const SEED = 903
/** Two RFCs by how many documents they have over the same months, some of them on the day of the ceiling. */
const BOOKS = { 5: 10_000, 6: sized(1_000_000, 50_000) }
const FROM = '2023-07'
const TO = '2026-06'
const MONTHS = 36
const BEGIN = Date.parse(`${FROM}-01T06:00:00Z`) / 1_000
const CEILING = Date.parse(`${TO}-30T20:00:00Z`) / 1_000
const AT_ONCE = 50_000
const ROUNDS = sized(31, 1)

/** What a summary reads of a document; the rest would only make the file longer. */
const READ = [
  ...[
    'kind',
    'version',
    'tipo_comprobante',
    'metodo_pago',
    'estatus',
    'currency',
    'tipo_cambio',
    'subtotal',
    'descuento',
    'total',
    'total_micros',
  ],
  ...['iva_trasladado', 'iva_retenido', 'isr_retenido', 'ieps_trasladado', 'paid', 'credited', 'updated_at'],
]

/** Spreads copies of 1,000 ingested documents evenly, half of them received. */
async function fill({ query }: Rig, entity: number, documents: number): Promise<void> {
  const step = (CEILING - BEGIN) / documents
  for (let from = 0; from < documents; from += AT_ONCE)
    await query(
      'ledger',
      `insert into cfdi (entity, uuid, direction, cancelled, issued_at, utc_offset, fecha, emisor_rfc, receptor_rfc, counterparty_rfc, ${READ.join(', ')})
       select ?1, printf('%08X', i) || substr(uuid, 9), i % 2, cancelled, at, -360, strftime('%Y-%m-%dT%H:%M:%S', at - 21600, 'unixepoch'),
         iif(i % 2, counterparty_rfc, emisor_rfc), iif(i % 2, emisor_rfc, counterparty_rfc), counterparty_rfc, ${READ.join(', ')}
       from (
         select c.*, k.value * 1000 + n as i, cast(?2 + (k.value * 1000 + n) * ?3 as integer) as at
         from json_each(?4) k cross join (select *, row_number() over (order by uuid) - 1 as n from cfdi where entity = ?5) c)`,
      ...[entity, BEGIN, step, JSON.stringify(thousandsOf(from, Math.min(documents, from + AT_ONCE))), SEED],
    )
  await query('ledger', FILL_MONTHS, entity)
}

const thousandsOf = (from: number, to: number): number[] => Array.from({ length: (to - from) / 1_000 }, (_, n) => from / 1_000 + n)

const inMicros = (column: string): string => `cast(round(coalesce(${column}, 0) * 1000000) as integer)`
const sums = (group: string): string =>
  `select month, direction, ${group} as key, json_array(sum(n), sum(with_xml), 0, 0, ${[
    'subtotal',
    'descuento',
    'total',
    'iva_trasladado',
    'iva_retenido',
    'isr_retenido',
    'ieps',
  ]
    .map((name) => `cast(sum(${name}) as text)`)
    .join(', ')}) as totals from cells group by 1, 2, 3`

/** Fills the month rows from the documents, as ingest would have kept them of documents in pesos. */
export const FILL_MONTHS = `
  with cells as materialized (
    select substr(fecha, 1, 7) as month, direction, substr(fecha, 9, 2) || '|' as day,
      coalesce(tipo_comprobante, '') || '|' || coalesce(metodo_pago, '') || '|' || estatus as key, count(*) as n, count(version) as with_xml,
      sum(${inMicros('subtotal')}) as subtotal, sum(${inMicros('descuento')}) as descuento, sum(${inMicros('total')}) as total,
      sum(iva_trasladado + 0) as iva_trasladado, sum(iva_retenido + 0) as iva_retenido, sum(isr_retenido + 0) as isr_retenido,
      sum(ieps_trasladado + 0) as ieps
    from cfdi where entity = ?1 and emisor_rfc <> receptor_rfc group by 1, 2, 3, 4)
  insert into cfdi_months (entity, month, direction, sums, cells)
  select ?1, s.month, s.direction, s.totals, d.totals
  from (select month, direction, json_group_object(key, json(totals)) as totals from (${sums('key')}) group by 1, 2) s
  join (select month, direction, json_group_object(key, json(totals)) as totals from (${sums('day || key')}) group by 1, 2) d using (month, direction)`

interface Summary {
  data: unknown[]
  data_quality: { cfdi_total: number }
}

/** Asks for the summary of both in turns: how long one takes, to the other. */
async function ratioOf(rig: Rig): Promise<number> {
  const asks: (() => Promise<Summary>)[] = []
  for (const entity of [5, 6] as const) {
    await fill(rig, entity, BOOKS[entity])
    const { authorization, fiscal_entity_id } = await signUp(rig, entity, CEILING * 1_000)
    const url = `${rig.service}/v1/cfdi/summary/monthly?${new URLSearchParams({ fiscal_entity_id, from: FROM, to: TO })}`
    const ask = async () => (await (await fetch(url, { headers: { authorization } })).json()) as Summary
    const { data, data_quality } = await ask()
    assert.deepEqual([data.length, data_quality.cfdi_total], [2 * MONTHS, BOOKS[entity]])
    asks.push(ask)
  }
  const times: number[][] = [[], []]
  for (let round = 0; round < ROUNDS; round++) {
    for (const [n, ask] of asks.entries()) {
      const began = performance.now()
      await ask()
      times[n]!.push(performance.now() - began)
    }
  }
  const [few, many] = times.map(median)
  return many! / few!
}

const RATIO = `summary.ratio_${named(BOOKS[6])}_vs_${named(BOOKS[5])}`

export const summary = measure({
  figures: {
    [RATIO]: {
      isRatioOfTimes: true,
      atMost: 1.5,
      digits: 2,
      meaning: `Time of a monthly summary over ${MONTHS} months of an RFC with ${BOOKS[6].toLocaleString('en')} documents, to that of one with ${BOOKS[5].toLocaleString('en')}`,
    },
  },
  take: () =>
    withRig(async (rig) => {
      await ingested(rig, SEED)
      return { [RATIO]: await ratioOf(rig) }
    }),
})
