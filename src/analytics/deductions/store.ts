import { type SQL, sql } from 'drizzle-orm'
import type { Rules } from '../../authority/rules/dated.ts'
import { cfdi, i, own } from '../../cfdi/population/aliases.ts'
import { type Days, NOT_COUNTED, populationOf, sumOf } from '../../cfdi/population/population.ts'
import { inlined } from '../../platform/db/statement.ts'
import { isVisible, type Partition, partitionsToRead } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { Insight } from '../common/insight.ts'
import { IS_UNRATED, unratedList } from '../common/insight.ts'
import { composedByDay, creditedOf, paidOf } from '../risk/flags.ts'
import type { Sets } from '../risk/sets.ts'
import {
  bitOf,
  type DeductionReading,
  deductedPartOf,
  INVESTMENTS,
  isFlow,
  isPersonal,
  NOT_DEDUCTIBLE,
  openPart,
  paidInCash,
  REASONS,
  REASONS_OF,
  REVIEW,
  type Reason,
  rateOf,
  reasonsOf,
  studentsOf,
  tuition,
  type Uses,
} from './uses.ts'

/** A received invoice or credit note, as SQL decides about it. Micros are text. */
export interface DeductionDocument {
  uuid: string
  fecha: string
  issued_at: number
  utc_offset: number
  /** Its own use, and the one that decides: for a personal credit note, that of the credited invoice. */
  uso_cfdi: string | null
  uso: string | null
  counterparty_rfc: string
  tipo: 'I' | 'E'
  mask: number
  is_personal: 0 | 1
  is_known: 0 | 1
  is_unrated: 0 | 1
  /** An invoice of a business, without a stated exchange rate, that was paid in cash. */
  is_cash: 0 | 1
  /** Whether only the paid part is deducted, and whether something is then left to pay. */
  is_flow: 0 | 1
  is_open: 0 | 1
  /** The part that a business deducts, in millionths. */
  deducted_part: number
  net_mxn: string | null
  total_mxn: string | null
  total: string
  paid: string
  credited: string
  currency: string | null
  subtotal: string | null
  descuento: string | null
}
const COLUMNS = [
  ...([
    'uuid',
    'fecha',
    'issued_at',
    'utc_offset',
    'uso_cfdi',
    'uso',
    'counterparty_rfc',
    'tipo',
    'mask',
    'is_personal',
    'is_known',
  ] as const),
  ...([
    'is_unrated',
    'is_cash',
    'is_flow',
    'is_open',
    'deducted_part',
    'net_mxn',
    'total_mxn',
    'total',
    'paid',
    'credited',
    'currency',
    'subtotal',
    'descuento',
  ] as const),
]
const JSON_ROW = sql.raw(`json_array(${COLUMNS.join(', ')})`)
const parseDocument = (text: string): DeductionDocument =>
  Object.fromEntries((JSON.parse(text) as unknown[]).map((value, n) => [COLUMNS[n], value])) as unknown as DeductionDocument

/** Sums of the business documents of one year by category, and by use for investments. They are for `parseSum`. */
export interface BusinessTotals {
  year: string
  category: 'expense' | 'investment' | 'returns'
  /** For an investment. */
  uso: string | null
  gross: string
  review: string
  /** Deductions outside `parts`. */
  whole: string
  /** `[gross, paid, credited, total, deducted_part]` of partly open documents, and of investments that need exact arithmetic, separated by commas. */
  parts: string | null
}

/**
 * The use that decides, and whether it is personal. A credit note has the use of the visible invoice of the same issuer that it credits, if
 * that use is personal. Many conditions name `personalOwn`, and D1 takes statements of at most 100,000 bytes.
 */
function decisiveUse({ partition, personal }: DeductionReading): { uso: SQL; personalOwn: SQL } {
  if (personal.length === 0) return { uso: sql`${own.uso_cfdi}`, personalOwn: sql`0` }
  const credited = sql`(select ${i.uso_cfdi} from json_each(${own.related}) r cross join ${cfdi} ${i} where ${i.uuid} = r.value and ${i.emisor_rfc} = ${own.emisor_rfc}
    and ${i.tipo_comprobante} = 'I' and ${isVisible(partition, 'i')} order by ${i.issued_at} desc, ${i.uuid} desc limit 1)`
  const isCredit = sql`${own.tipo_comprobante} = 'E' and ${isPersonal(personal, credited)}`
  return { uso: sql`iif(${isCredit}, ${credited}, ${own.uso_cfdi})`, personalOwn: sql`iif(${isCredit}, 1, ${isPersonal(personal)})` }
}

/** Selects documents of some days: all, or the personal ones of a type. */
function documents(
  partition: Partition,
  cancelled: 0 | 1,
  { first, last }: Days,
  { rules }: Insight,
  { sets }: Sets,
  uses: Uses,
  only?: 'I' | 'E',
): SQL | null {
  const reading: DeductionReading = { partition, cancelled, rules, days: { first, last }, sets, personal: uses.personal }
  const { uso, personalOwn } = decisiveUse(reading)
  const population = populationOf(partition, {
    ...{ first, last, direction: 1, cancelled, substituted: true, types: only === undefined ? ['I', 'E'] : [only] },
    isPersonal: only === 'I',
    conditions: [sql`not ${sql.raw(NOT_COUNTED('own'))}`, ...(only === undefined ? [] : [personalOwn])],
  })
  if (population === null) return null
  const conditions = Object.entries(reasonsOf(reading)) as [Reason, SQL | null][]
  const maskOfSome = (isMeant: (reason: Reason) => boolean): SQL =>
    sql.join(
      [
        sql`0`,
        ...conditions.flatMap(([reason, condition]) =>
          condition === null || !isMeant(reason) ? [] : [sql`iif(${condition}, ${maskOf([reason])}, 0)`],
        ),
      ],
      sql` + `,
    )
  const { personal, business } = REASONS_OF
  const mask = sql`${maskOfSome((reason) => !personal.has(reason) && !business.has(reason))}
    + iif(${personalOwn}, ${maskOfSome((reason) => personal.has(reason))}, ${maskOfSome((reason) => business.has(reason))})`
  return sql`select ${own.entity}, ${own.uuid}, ${own.fecha}, ${own.issued_at}, ${own.utc_offset}, ${own.uso_cfdi}, ${uso} as uso, ${own.counterparty_rfc},
    ${own.tipo_comprobante} as tipo, ${mask} as mask, ${personalOwn} as is_personal, ${own.xml_object} is not null as is_known,
    ${IS_UNRATED} as is_unrated, iif(${IS_UNRATED}, ${paidInCash(partition, personalOwn)}, 0) as is_cash,
    coalesce(${isFlow(reading)}, 0) as is_flow, coalesce(${openPart(reading)}, 0) as is_open, ${deductedPartOf(reading, personalOwn)} as deducted_part,
    iif(${own.version} is null, null, ${own.net_mxn}) as net_mxn, iif(${own.version} is null, null, ${own.total_mxn}) as total_mxn,
    coalesce(${own.total_micros}, '0') as total, cast(${paidOf(partition)} as text) as paid,
    cast(${creditedOf(partition)} as text) as credited, ${own.currency}, ${own.subtotal}, ${own.descuento} ${population}`
}

const maskOf = (reasons: readonly (typeof REASONS)[number][]): SQL =>
  sql.raw(String(reasons.reduce((sum, reason) => sum + bitOf(reason), 0)))
/** No cancelled document is in a total, because whether its XML is known says when it was downloaded. */
const IS_VALID = sql`mask & ${maskOf(['cancelled'])} = 0`
const IS_ELIGIBLE = sql`mask & ${maskOf(REASONS)} = 0`
const IS_REVIEW = sql`(mask & ${maskOf(NOT_DEDUCTIBLE)} = 0 and mask & ${maskOf(REVIEW)} <> 0)`
const CATEGORY = sql`case when tipo = 'E' or uso = 'G02' then 'returns' when uso in ${sql`${INVESTMENTS}`.inlineParams()} then 'investment' else 'expense' end`

/** The documents of a range, or the personal ones of some days, as the common table expression `marked`. Null when the window shows none. */
function marked(insight: Insight, sets: Sets, uses: Uses, personalOf?: Days): SQL | null {
  const selects = partitionsToRead(insight.ledger).flatMap((partition) =>
    personalOf
      ? (['I', 'E'] as const).flatMap((only) => documents(partition, 0, personalOf, insight, sets, uses, only) ?? [])
      : ([0, 1] as const).flatMap((cancelled) => documents(partition, cancelled, insight.span, insight, sets, uses) ?? []),
  )
  if (selects.length === 0) return null
  const names = sql.raw(COLUMNS.filter((name) => name !== 'mask').join(', '))
  return sql`with ${sets.ctes} documents as (${sql.join([...selects], sql` union all `)}),
    marked as materialized (select entity, ${names}, mask + iif(is_flow and paid + credited <= 0, ${maskOf(['not_paid'])}, 0) as mask from documents)`
}

/** An investment whose rate SQL cannot apply: the product does not fit SQLite’s integers, or would be rounded the other way. */
const NEEDS_EXACT = sql`(category = 'investment' or deducted_part <> 1000000) and (length(net) > 12 or net like '-%')`

/** The deduction from a whole `net`: an investment at its annual rate, rounded half up. */
const claimed = ({ rules, span }: Insight): SQL => composedByDay(rules, sql`(year || '-12-31')`, span, claimedUnder, 'year')
function claimedUnder(rules: Rules): SQL {
  const rate = (uso: string): number => Math.round(Number(rateOf(rules, uso) ?? 1) * 1_000_000)
  const ofUse = (uso: string) =>
    sql`when category = 'investment' and uso = ${uso} then cast((net * ${rate(uso)} + 500000) / 1000000 as text)`
  return sql`case ${sql.join(INVESTMENTS.map(ofUse), sql` `)} when deducted_part <> 1000000 then cast((net * deducted_part + 500000) / 1000000 as text) else net end`
}

export type DeductionPosition = readonly [fecha: string, uuid: string]

/**
 * The statement that reads the documents of a range once: `single` rows are decided one by one, because they use up limits or state no
 * exchange rate; `page` has the others after a position, and `total` the sums over all others; `place` and `chunk` say whose tuition some
 * are. Rows of JSON, for `parsedRows`.
 */
export function deductionsStatement(
  insight: Insight,
  sets: Sets,
  uses: Uses,
  after: DeductionPosition | undefined,
  take: number,
): SQL | null {
  const documents = marked(insight, sets, uses)
  if (documents === null) return null
  const isSingle = sql`(is_personal or is_unrated)`
  const isAfter = after ? sql`(fecha, uuid) > (${after[0]}, ${after[1]})` : sql`1`
  const isPart = sql`is_flow and paid + credited < total + 0`
  const signed = sql`iif(tipo = 'E', iif(net_mxn like '-%', substr(net_mxn, 2), '-' || net_mxn), net_mxn)`
  const { tables, selects } = tuition(insight.ledger, uses.tuition)
  return sql`${documents}${tables}
    select 'single' as kind, ${JSON_ROW} as row from marked where ${isSingle}
    union all select 'page', ${JSON_ROW} from (select * from marked where not ${isSingle} and ${isAfter} order by fecha, uuid limit ${sql.raw(String(take))})
    union all select 'total', json_array(year, category, iif(category = 'investment', uso, null), ${sumOf('net')}, ${sumOf(inlined(sql`iif(${IS_REVIEW}, net, null)`))},
        ${sumOf(inlined(sql`iif(${IS_ELIGIBLE} and not (${isPart}) and not (${NEEDS_EXACT}), ${claimed(insight)}, null)`))},
        group_concat(case when not (${IS_ELIGIBLE}) then null when ${isPart} then json_array(net, paid, credited, total, deducted_part) when ${NEEDS_EXACT} then json_array(net, 1, 0, 1, deducted_part) end))
      from (select substr(fecha, 1, 4) as year, ${CATEGORY} as category, uso, mask, is_flow, paid, credited, total, deducted_part, ${signed} as net
        from marked where not ${isSingle} and is_known and ${IS_VALID})
      group by year, category, iif(category = 'investment', uso, null)${selects}`
}

/** The same for the personal documents of some days, all of them `single`. Cancelled ones use up nothing, and are left out. */
export function personalStatement(insight: Insight, sets: Sets, uses: Uses, days: Days): SQL | null {
  const documents = marked(insight, sets, uses, days)
  if (documents === null) return null
  const { tables, selects } = tuition(insight.ledger, uses.tuition)
  return sql`${documents}${tables} select 'single' as kind, ${JSON_ROW} as row from marked${selects}`
}

export function parsedRows(rows: readonly { kind: string; row: string }[]) {
  const of = (kind: string) => rows.filter((one) => one.kind === kind).map(({ row }) => row)
  return {
    single: of('single').map(parseDocument),
    page: of('page').map(parseDocument),
    students: studentsOf(of('place'), of('chunk')),
    totals: of('total').map((text): BusinessTotals => {
      const [year, category, uso, gross, review, whole, parts] = JSON.parse(text) as unknown[]
      return { year, category, uso, gross, review, whole, parts } as BusinessTotals
    }),
  }
}

/** The statement that reads a page of the business documents of a category, newest first, in the states that a figure adds up. */
export function businessEntries(
  insight: Insight,
  sets: Sets,
  uses: Uses,
  { category, figure }: { category: string; figure: string },
  after: readonly [number, string, string] | undefined,
  take: number,
): SQL | null {
  const documents = marked(insight, sets, uses)
  if (documents === null) return null
  const state = figure === 'gross_amount' ? IS_VALID : figure === 'review_amount' ? IS_REVIEW : IS_ELIGIBLE
  const isAfter = after ? sql`(issued_at, uuid) < (${after[0]}, ${after[1]})` : sql`1`
  return sql`${documents} select uuid, issued_at, ${JSON_ROW} as row from marked
    where not is_personal and is_known and ${CATEGORY} = ${category} and (is_unrated or ${state}) and ${isAfter}
    order by issued_at desc, uuid desc limit ${sql.raw(String(take))}`
}
export const documentIn = parseDocument

/**
 * The statements that add up what a person earned by year: wages (the subtotal of received payroll) and issued net amounts.
 */
export const incomeStatements = ({ ledger }: Insight, years: { first: string; last: string }): SQL[] =>
  partitionsToRead(ledger).flatMap((partition) => {
    const days = { first: `${years.first}-01-01`, last: `${years.last}-12-31` }
    const wages = populationOf(partition, { ...days, direction: 1, types: ['N'] })
    const sales = populationOf(partition, { ...days, direction: 0, types: ['I', 'E'] })
    const year = sql`substr(${own.fecha}, 1, 4)`
    const isKnown = sql`(${own.net_mxn} is not null or ${IS_UNRATED})`
    const perceived = sql`cast(cast(round(${own.subtotal} * 1000000) as integer) as text)`
    const ofType = (tipo: 'I' | 'E') => sumOf(inlined(sql`iif(${own.tipo_comprobante} = ${tipo}, ${own.net_mxn}, null)`))
    return [
      ...(wages
        ? [
            sql`select ${year} as year, ${sumOf(inlined(perceived))} as income, '0' as credit, null as unrated ${wages} and ${own.net_mxn} is not null group by 1`,
          ]
        : []),
      ...(sales
        ? [
            sql`select ${year} as year, ${ofType('I')} as income,
              ${ofType('E')} as credit, ${unratedList('emisor_nombre')} as unrated ${sales} and ${isKnown} group by 1`,
          ]
        : []),
    ]
  })
