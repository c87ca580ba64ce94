import { type SQL, sql } from 'drizzle-orm'
import type { Rules } from '../../authority/rules/dated.ts'
import { isSeen } from '../../cfdi/applied/applied.ts'
import { refundedInvoice } from '../../cfdi/cash/events.ts'
import { listOf, relatedIn } from '../../cfdi/columns.ts'
import { cfdi, cfdiPayments, i, own, p } from '../../cfdi/population/aliases.ts'
import { type Days, isSubstituted, NOT_COUNTED, populationOf, sumOf } from '../../cfdi/population/population.ts'
import { inlined } from '../../platform/db/statement.ts'
import { isVisible, type Partition, partitionsToRead } from '../../taxpayers/visibility/scoped-ledger.ts'
import { CAPS, FOUND, inCurrencyOf, judgeOf, OUT, type Purchase, partIn, purchaseOf } from '../common/deductible.ts'
import type { Insight } from '../common/insight.ts'
import { IS_UNRATED, unratedList } from '../common/insight.ts'
import { composedByDay, creditedOf, isOpen, PAID_DAYS, paidOf, paymentsOf } from '../risk/flags.ts'
import type { Sets } from '../risk/sets.ts'
import {
  bitOf,
  type DeductionReading,
  INVESTMENTS,
  isFlow,
  isPersonal,
  NOT_DEDUCTIBLE,
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
  /** Not 0 of an invoice of a business, without a stated exchange rate, that was paid in cash. */
  is_cash: number
  /** Whether only the paid part is deducted, and whether something is then left to pay. */
  is_flow: 0 | 1
  is_open: 0 | 1
  /** What a business must know of its payments and of what it is (`FOUND`). */
  found: number
  /** The part of its payments that is not deductible, in micros of its currency, unless all of it is (the mask says so). */
  out: number
  /** The part that is not deductible by what it is: JSON of `thingFound`. */
  thing: string | null
  /** The invoices that a credit note lowers: JSON of `Lowered`. */
  lowered: string | null
  /** The part that a business deducts by what it is, in millionths, as SQL applies it. */
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
    'found',
    'out',
    'thing',
    'lowered',
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
 * The invoices that the credit note `own` lowers, as JSON: columns of `Purchase`, payments, the part of the note, and what `returnedPart` needs
 * to know of each.
 */
const bought = (partition: Partition): SQL => {
  return sql`(select json_group_array(json_array(${listOf([i.products, i.total_mxn, i.net_mxn, i.uso_cfdi, i.fecha, i.lugar_expedicion, i.receptor_domicilio_fiscal])},
      json(${paymentsOf(partition, i)}), ${p.amount}, ${i.metodo_pago}, ${refundedInvoice(partition, 1)}, ${i.issued_at}, ${i.uuid}))
    from json_each(${relatedIn(own)}) r cross join ${cfdiPayments} ${p} cross join ${cfdi} ${i} where ${p.entity} = ${own.entity} and ${p.invoice} = r.value and ${p.source} = ${own.uuid} and ${isSeen(partition, 'own')}
      and ${i.uuid} = ${p.invoice} and ${isVisible(partition, 'i')} and ${i.tipo_comprobante} = 'I' and ${i.emisor_rfc} = ${own.emisor_rfc} and ${i.receptor_rfc} = ${own.receptor_rfc})`
}
const BOUGHT: Purchase = { products: '0', total: '1', net: '2', uso: '3', fecha: '4', there: '5', here: '6' }

/** The columns of documents that are judged, whatever their partition. */
const JUDGED = [
  ...(['entity', 'uuid', 'fecha', 'issued_at', 'utc_offset', 'uso_cfdi', 'counterparty_rfc', 'emisor_rfc', 'emisor_nombre'] as const),
  ...(['emisor_regimen_fiscal', 'receptor_rfc', 'receptor_regimen_fiscal', 'receptor_domicilio_fiscal', 'lugar_expedicion'] as const),
  ...(['tipo_comprobante', 'metodo_pago', 'currency', 'tipo_cambio', 'subtotal', 'descuento', 'total_micros', 'total_mxn'] as const),
  ...(['net_mxn', 'version', 'xml_object', 'products'] as const),
]

/** Selects documents of some days: all, or the personal ones of a type. A statement has this text once for each partition. */
function documents(partition: Partition, cancelled: 0 | 1, { first, last }: Days, uses: Uses, only?: 'I' | 'E'): SQL | null {
  const population = populationOf(partition, {
    ...{ first, last, direction: 1, cancelled, substituted: true, types: only === undefined ? ['I', 'E'] : [only] },
    isPersonal: only === 'I',
    conditions: [
      sql`not ${sql.raw(NOT_COUNTED('own'))}`,
      ...(only === 'I' ? [isPersonal(uses.personal, own.uso_cfdi)] : only === 'E' ? [sql`${own.related} is not null`] : []),
    ],
  })
  return (
    population &&
    sql`select ${listOf(JUDGED.map((name) => own[name]))}, ${sql.raw(String(cancelled))} as is_cancelled,
      ${cancelled === 1 ? sql`0` : isSubstituted(partition, 'own')} as is_substituted, coalesce(${isOpen(partition)}, 0) as is_left,
      cast(${paidOf(partition)} as text) as paid, cast(${creditedOf(partition)} as text) as credited,
      iif(${own.tipo_comprobante} = 'I', ${paymentsOf(partition)}, '[]') as payments,
      iif(${own.tipo_comprobante} = 'E', ${bought(partition)}, '[]') as bought ${population}`
  )
}

const maskOf = (reasons: readonly (typeof REASONS)[number][]): SQL =>
  sql.raw(String(reasons.reduce((sum, reason) => sum + bitOf(reason), 0)))
/** No cancelled document is in a total, because whether its XML is known says when it was downloaded. */
const IS_VALID = sql`mask & ${maskOf(['cancelled'])} = 0`
const IS_ELIGIBLE = sql`mask & ${maskOf(REASONS)} = 0`
const IS_REVIEW = sql`(mask & ${maskOf(NOT_DEDUCTIBLE)} = 0 and mask & ${maskOf(REVIEW)} <> 0)`
const IN_INVESTMENTS = sql`${INVESTMENTS}`.inlineParams()
const CATEGORY = sql`case when tipo = 'E' or uso = 'G02' then 'returns' when uso in ${IN_INVESTMENTS} then 'investment' else 'expense' end`

/**
 * The documents of a range, or the personal ones of some days, as the common table expression `marked`. Null when the window shows none.
 * Limits keep SQLite from writing an expression out wherever its name stands.
 */
function marked({ ledger, rules, span }: Insight, { ctes, sets }: Sets, uses: Uses, personalOf?: Days): SQL | null {
  const days = personalOf ?? span
  const selects = partitionsToRead(ledger).flatMap((partition) =>
    personalOf
      ? (['I', 'E'] as const).flatMap((only) => documents(partition, 0, days, uses, only) ?? [])
      : ([0, 1] as const).flatMap((cancelled) => documents(partition, cancelled, days, uses) ?? []),
  )
  if (selects.length === 0) return null
  const reading: DeductionReading = { rules, days, sets, personal: uses.personal }
  const judge = judgeOf(rules, PAID_DAYS)
  // A credit note has the use of the newest invoice that it credits, if that use is personal.
  const credited = sql`(select value->>3 from json_each(own.bought) order by value->>11 desc, value->>12 desc limit 1)`
  const isCredit = uses.personal.length === 0 ? sql`0` : isPersonal(uses.personal, credited)
  const personalOwn = uses.personal.length === 0 ? sql`0` : sql`max(${isCredit}, ${isPersonal(uses.personal, own.uso_cfdi)})`
  const b = Object.fromEntries(Object.entries(BOUGHT).map(([name, n]) => [name, `(b.value->>${n})`])) as unknown as Purchase
  const invoice = ['(b.value->10->>1)', '(b.value->10->>2)'] as const
  const before = `(select total(${inCurrencyOf('(value->>3)', ['(value->>4)', '(value->>5)'], invoice)}) from json_each(b.value->10->3) where value->>0 = 'E' and (value->>1, value->>2) < (own.fecha, own.uuid))`
  const noted = { before, part: inCurrencyOf('(b.value->>8)', ['own.currency', 'own.tipo_cambio'], invoice), of: '(b.value->10->>0)' }
  const lowered = sql`(select json_group_array(json_array(b.value->>8, b.value->>9, json(b.value->10),
      (select json_group_array(json_array(found, amount, at)) from (${sql.raw(judge.paymentsFound('b.value->7', b))})), json(${sql.raw(judge.thingFound({ ...b, noted }))}), b.value->>3, b.value->>4))
    from json_each(own.bought) b)`
  const paid = sql`(select json_array(${sql.raw(
    Object.values(FOUND)
      .map((bit) => `max(found & ${bit})`)
      .join(' | '),
  )}, cast(total(case when found & ${sql.raw(String(OUT))} then amount when found & ${sql.raw(String(FOUND.fuel_not_electronic))} then ${sql.raw(partIn('(amount + 0)', 'thing->>3', '(thing->>1) - (thing->>0)'))} else 0 end) as integer))
    from (${sql.raw(judge.paymentsFound('own.payments', purchaseOf(own)))}))`
  const conditions = Object.entries(reasonsOf(reading)) as [Reason, SQL | null][]
  const { personal, business } = REASONS_OF
  const mask = conditions.flatMap(([reason, condition]) => {
    const kind = personal.has(reason) ? sql`is_personal and ` : business.has(reason) ? sql`not is_personal and ` : sql``
    return condition === null ? [] : [sql`iif(${kind}(${condition}), ${maskOf([reason])}, 0)`]
  })
  return sql`with ${ctes} documents as (${sql.join([...selects], sql` union all `)} limit -1),
    personal as (select own.*, iif(${isCredit}, ${credited}, ${own.uso_cfdi}) as uso, ${personalOwn} as is_personal, ${IS_UNRATED} as is_unrated from documents own limit -1),
    judged as (select own.*, ${isFlow(reading, sql`is_personal`)} as is_flow, coalesce(${own.total_micros}, '0') as total,
      case when is_personal or own.bought <> '[]' then null else ${sql.raw(judge.thingFound(purchaseOf(own)))} end as thing,
      case when not is_personal and own.bought <> '[]' then ${lowered} end as lowered from personal own limit -1),
    paying as (select own.*, case when is_personal or ${own.version} is null then null when ${own.tipo_comprobante} = 'I' then ${paid} end as form from judged own limit -1),
    facts as (select own.*, coalesce(form->>0, 0) | coalesce(thing->>2, 0) as found, coalesce(form->>1, 0) as out,
      coalesce(form->>1 >= iif(is_flow, min(paid + credited, total + 0), total + 0) and form->>1 > 0, 0) as is_out,
      coalesce(iif(own.bought = '[]', ${own.tipo_comprobante} = 'E' and uso in ${IN_INVESTMENTS}, exists (select 1 from json_each(lowered) b where b.value->>4 is not null or b.value->>5 in ${IN_INVESTMENTS} or exists (select 1 from json_each(b.value->3) f where f.value->>0 <> 0))), 0) as is_note
      from paying own limit -1),
    marked as materialized (select entity, uuid, fecha, issued_at, utc_offset, uso_cfdi, uso, counterparty_rfc, tipo_comprobante as tipo, ${sql.join(mask, sql` + `)} as mask, is_personal,
      ${own.xml_object} is not null as is_known, is_unrated, iif(is_unrated and ${own.metodo_pago} is not 'PPD', found & ${sql.raw(String(FOUND.unknown_amount))}, 0) as is_cash,
      is_flow, is_flow and is_left as is_open, found, iif(is_out, 0, out) as out, thing, lowered,
      iif(thing->>1 = 1000000, 1000000 - (thing->>0), 1000000) as deducted_part,
      is_personal or is_unrated or is_note or (out > 0 and not is_out) or (found & ${sql.raw(String(CAPS))}) as is_single,
      iif(${own.version} is null, null, net_mxn) as net_mxn, iif(${own.version} is null, null, total_mxn) as total_mxn, total, paid, credited, currency, subtotal, descuento
      from facts own${personalOf ? sql` where is_personal` : sql``})`
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
  const isAfter = after ? sql`(fecha, uuid) > (${after[0]}, ${after[1]})` : sql`1`
  const isPart = sql`is_flow and paid + credited < total + 0`
  const signed = sql`iif(tipo = 'E', iif(net_mxn like '-%', substr(net_mxn, 2), '-' || net_mxn), net_mxn)`
  const { tables, selects } = tuition(insight.ledger, uses.tuition)
  return sql`${documents}${tables}
    select 'single' as kind, ${JSON_ROW} as row from marked where is_single
    union all select 'page', ${JSON_ROW} from (select * from marked where not is_single and ${isAfter} order by fecha, uuid limit ${sql.raw(String(take))})
    union all select 'total', json_array(year, category, iif(category = 'investment', uso, null), ${sumOf('net')}, ${sumOf(inlined(sql`iif(${IS_REVIEW}, net, null)`))},
        ${sumOf(inlined(sql`iif(${IS_ELIGIBLE} and not (${isPart}) and not (${NEEDS_EXACT}), ${claimed(insight)}, null)`))},
        group_concat(case when not (${IS_ELIGIBLE}) then null when ${isPart} then json_array(net, paid, credited, total, deducted_part) when ${NEEDS_EXACT} then json_array(net, 1, 0, 1, deducted_part) end))
      from (select substr(fecha, 1, 4) as year, ${CATEGORY} as category, uso, mask, is_flow, paid, credited, total, deducted_part, ${signed} as net
        from marked where not is_single and is_known and ${IS_VALID})
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
    where not is_personal and is_known and ${CATEGORY} = ${category} and (is_single or ${state}) and ${isAfter}
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
