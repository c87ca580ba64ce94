import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { RuleValues } from '../../authority/rules/dated.ts'
import { listOf } from '../../cfdi/columns.ts'
import { cfdi, cfdiSuppliers, own } from '../../cfdi/population/aliases.ts'
import { populationOf } from '../../cfdi/population/population.ts'
import type { ReadRow } from '../../cfdi/read-row.ts'
import { all } from '../../platform/db/statement.ts'
import { boundsOf, partitionsToRead, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { Insight } from '../common/insight.ts'
import { IS_UNRATED } from '../common/insight.ts'
import {
  bitOf,
  FLAG_CODES,
  FLAGS,
  type FlagCode,
  type FlagReading,
  paymentsOf,
  type Related,
  relatedColumns,
  SHARED,
  SHARED_COLUMNS,
} from './flags.ts'
import type { Sets } from './sets.ts'

/** The position of a row: score and total_mxn (24 digits, or nothing) descending, UUID ascending. */
export type RiskPosition = readonly [score: number, pesos: string, uuid: string]

/** The filters of a row. Scores are from the first bound up to below the second. */
export interface Chosen {
  scores: readonly (readonly [number, number])[] | null
  codes: readonly FlagCode[] | null
  min_total: string | null
}

/** Columns of a document that a row shows, or that the evidence of its flags needs. */
const SHOWN = [
  ...(['direction', 'cancelled', 'tipo_comprobante', 'issued_at', 'utc_offset', 'fecha', 'counterparty_rfc', 'emisor_rfc'] as const),
  ...([
    'emisor_nombre',
    'receptor_nombre',
    'emisor_regimen_fiscal',
    'receptor_regimen_fiscal',
    'total',
    'total_micros',
    'currency',
  ] as const),
  ...(['metodo_pago', 'forma_pago', 'uso_cfdi', 'certified_at', 'first_paid_on', 'cancelled_at', 'cancellation_reason'] as const),
  ...(['estatus', 'folio_sustitucion', 'subtotal', 'descuento', 'iva_trasladado', 'iva_retenido', 'isr_retenido', 'products'] as const),
]
export type RiskyDocument = { uuid: string; mask: number; score: number; pesos: string; unrated: 0 | 1; counts: 0 | 1 } & Related & {
    /** Another document of the same parties, day, total and currency; null without one. */
    twin: string | null
  } & Pick<ReadRow & { products: string | null; first_paid_on: string | null; cancelled: 0 | 1 }, (typeof SHOWN)[number]>

const DIGITS = 24
export const padded = (micros: string): string => micros.padStart(DIGITS, '0')
const PESOS = sql`case when ${own.version} is null or ${own.total_mxn} is null then '' else substr(${sql.raw(`'${'0'.repeat(DIGITS)}'`)} || ${own.total_mxn}, -${sql.raw(String(DIGITS))}) end`
const SAME = sql`${own.direction} || ${own.counterparty_rfc} || ' ' || coalesce(${own.currency}, '') || ' ' || coalesce(${own.total_micros}, '0') || ' ' || substr(${own.fecha}, 1, 10)`

/** The documents that state no exchange rate, and are therefore ranked outside SQL: they are rare, because the law wants one. */
const MOST_UNRATED = 1_000

/** A select of the visible documents of a partition, direction and status with their flags. */
function flagged(reading: FlagReading, days: { first: string; last: string }): SQL | null {
  const { partition, direction, cancelled } = reading
  const population = populationOf(partition, { ...days, direction, cancelled, substituted: true })
  const bits = FLAG_CODES.flatMap((code) => {
    const condition = FLAGS[code](reading)
    return condition === null ? [] : [sql`iif(${condition}, ${sql.raw(String(bitOf(code)))}, 0)`]
  })
  const isCounted = reading.cancelled === 1 ? sql`0` : sql`not (${FLAGS.substituted_not_cancelled(reading)!})`
  return (
    population &&
    sql`select ${own.entity}, ${own.uuid}, ${sql.join(bits, sql` + `)} as mask, ${PESOS} as pesos, ${IS_UNRATED} as unrated,
      ${isCounted} as counts, iif(${own.tipo_comprobante} = 'I' and ${isCounted}, ${SAME}, null) as same,
      ${direction === 1 && cancelled === 0 ? sql`iif(${own.tipo_comprobante} = 'I' and ${own.version} is not null, ${paymentsOf(partition)}, '[]')` : sql`'[]'`} as payments,
      ${listOf(SHARED_COLUMNS.map((name) => own[name]))} ${population}`
  )
}

const within = ({ scores, codes, min_total }: Chosen, after: RiskPosition | undefined): SQL =>
  all([
    sql`mask <> 0`,
    ...(scores === null ? [] : [sql.raw(`(${scores.map(([least, below]) => `(score >= ${least} and score < ${below})`).join(' or ')})`)]),
    ...(codes === null ? [] : [sql.raw(`mask & ${codes.reduce((sum, code) => sum + bitOf(code), 0)} <> 0`)]),
    ...(min_total === null ? [] : [sql`pesos >= ${padded(min_total)}`]),
    ...(after === undefined
      ? []
      : [sql`(score < ${after[0]} or (score = ${after[0]} and (pesos < ${after[1]} or (pesos = ${after[1]} and uuid > ${after[2]}))))`]),
  ])

/** Points of a mask of flags, at most `most`. */
export const scoreOf = (mask: number, weights: RuleValues['risk.weights'], most: number): number =>
  Math.min(
    most,
    FLAG_CODES.reduce((sum, code) => sum + ((mask & bitOf(code)) === 0 ? 0 : weights[code]), 0),
  )

/**
 * The statements that select documents of a range with flags, the worst first, at most `take` each: those that are not cancelled, and those
 * that are. All that state no exchange rate come before them, flagged or not and whatever the filters, without `pesos` as yet. They read
 * each visible document of the range once.
 */
export function riskStatements(
  { ledger, span, rules, today, ctx }: Insight,
  { ctes, sets }: Sets,
  chosen: Chosen,
  after: RiskPosition | undefined,
  take: number,
): SQL[] {
  const [weights, { most }] = [rules.get('risk.weights'), rules.get('risk.levels')]
  const points = FLAG_CODES.map((code) => `iif(mask & ${bitOf(code)}, ${weights[code]}, 0)`).join(' + ')
  const reading = { rules, days: span, ledger, today, now: ctx.now.getTime(), sets }
  return ([0, 1] as const).flatMap((cancelled) => {
    const selects = partitionsToRead(ledger).flatMap((partition) =>
      span.directions.flatMap((direction) => flagged({ ...reading, partition, direction, cancelled }, span) ?? []),
    )
    if (selects.length === 0) return []
    const order = (alias: string) => sql.raw(`${alias}.unrated desc, ${alias}.score desc, ${alias}.pesos desc, ${alias}.uuid`)
    const conditions = Object.entries(SHARED).flatMap(([code, of]) => {
      const condition = cancelled === 1 ? null : of(reading)
      return condition === null ? [] : [sql` + iif(same is not null and ${condition}, ${sql.raw(String(bitOf(code as FlagCode)))}, 0)`]
    })
    const shared = sql.join(conditions)
    const twin = sql.raw(String(bitOf('duplicate_suspected')))
    const twins = cancelled === 1 ? sql`` : sql` + iif(same is not null and count(same) over (partition by same) > 1, ${twin}, 0)`
    return [
      // The limit keeps SQLite from writing the conditions of all flags out wherever `mask` stands, for which it lacks the memory.
      sql`with ${ctes} documents as (${sql.join([...selects], sql` union all `)} limit -1),
        known as (select entity, uuid, pesos, unrated, counts, same, mask${shared} as mask from documents own limit -1),
        flagged as (select entity, uuid, pesos, unrated, counts, mask${twins} as mask,
          iif(same is null, null, coalesce(nullif(min(uuid) over (partition by same), uuid), nullif(max(uuid) over (partition by same), uuid))) as twin
          from known),
        scored as (select *, min(${sql.raw(String(most))}, ${sql.raw(points)}) as score from flagged),
        page as materialized (select * from scored where unrated or (${within(chosen, after)}) order by ${order('scored')} limit ${sql.raw(String(take + MOST_UNRATED))})
        select page.uuid, page.mask, page.score, page.pesos, page.unrated, page.counts, page.twin,
          ${sql.join(
            SHOWN.map((name) => sql`${own[name]}`),
            sql`, `,
          )}, ${relatedColumns(partitionsToRead(ledger))}
        from page cross join ${cfdi} ${own} on ${own.entity} = page.entity and ${own.uuid} = page.uuid
        order by ${order('page')} limit ${sql.raw(String(take))} + (select coalesce(sum(unrated), 0) from page)`,
    ]
  })
}

const s = alias(cfdiSuppliers, 's')

/**
 * Selects the RFCs of the suppliers whose documents count in a range, and maybe others of its months: from the totals of suppliers, and
 * from the documents that only this window shows as not substituted yet.
 */
export const supplierStatements = (ledger: ScopedLedger, { first, last }: { first: string; last: string }): SQL[] =>
  partitionsToRead(ledger).flatMap((partition) => {
    const { number } = partition
    const until = boundsOf(partition, 1)?.until ?? null
    const months = sql`select distinct j.key as rfc from ${cfdiSuppliers} ${s} cross join json_each(${s.totals}) j
      where ${s.entity} = ${number} and ${s.month} >= ${first.slice(0, 7)} and ${s.month} <= ${last.slice(0, 7)}`
    const later = sql`select distinct ${own.counterparty_rfc} as rfc from ${cfdi} ${own} indexed by cfdi_substituted
      where ${own.entity} = ${number} and ${own.direction} = 1 and ${own.substituted_from} > ${until}`
    return until === null ? [months] : [months, later]
  })
