import { type SQL, sql } from 'drizzle-orm'
import { all, inlined } from '../../platform/db/statement.ts'
import { inPesos, type Micros } from '../../platform/money.ts'
import { boundsOf, type DirectionNumber, isAfterCeiling, type Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import { earliestOf, latestOf } from '../../taxpayers/visibility/window.ts'
import { countedOn } from '../applied/applied.ts'
import { cfdiAs } from '../columns.ts'
import { afterDay } from '../literal-day.ts'
import { cfdi } from '../tables.ts'
import { BREAKDOWN } from '../taxes/breakdown.ts'

/** The most digits of micros that SQLite adds up: 900,000 such amounts fit its integers. Others are listed beside the sum. */
const DIGITS = 13

/** The exact sum of micros over a group, for `parseSum`. SQLite’s own sum would lose or refuse large amounts. */
export const sumOf = (micros: string): SQL =>
  sql.raw(
    `cast(coalesce(sum(case when length(${micros}) <= ${DIGITS} then ${micros} + 0 else 0 end), 0) as text)` +
      ` || coalesce('+' || group_concat(${micros}, '+') filter (where length(${micros}) > ${DIGITS}), '')`,
  )

/** Parses a sum that `sumOf` selected, in micros. */
export const parseSum = (text: string): Micros => text.split('+').reduce((sum, part) => sum + BigInt(part), 0n)

/**
 * An amount of the taxes by rate of a document with this alias, as SQL: from its `taxes`, or derived when it has none because the general
 * rate applies to all of it.
 */
export const taxOf = (alias: string, name: (typeof BREAKDOWN)[number]): string => {
  const { taxes, net_mxn, iva_trasladado } = cfdiAs(alias)
  const plain = name === 'base_16' ? net_mxn : name === 'iva_16' ? iva_trasladado : 0
  return inlined(sql`case when ${taxes} is null then ${plain} else coalesce(${taxes}->>${BREAKDOWN.indexOf(name)}, 0) end`)
}

/** The conditions that an invoice or credit note adds no amount: its exchange rate is not known, or one of its amounts does not fit. */
export const MISSING_RATE = (alias: string): string => {
  const { version, currency, tipo_cambio } = cfdiAs(alias)
  const isPesos = sql.raw(inPesos(inlined(sql`${currency}`)))
  return inlined(sql`(${version} is null or (not ${isPesos} and (${tipo_cambio} is null or ${tipo_cambio} + 0 <= 0)))`)
}
export const NOT_COUNTED = (alias: string): string =>
  inlined(sql`(${cfdiAs(alias).net_mxn} is null and not ${sql.raw(MISSING_RATE(alias))})`)

const own = cfdiAs('own')

/** Literal days, both inclusive. */
export interface Days {
  first: string
  last: string
}

/** The filters of a population. */
export interface Population extends Days {
  direction: DirectionNumber
  /** 1 for cancelled documents. Without it, those that are not cancelled. */
  cancelled?: 0 | 1
  /** Whether documents that another one substitutes are among them, although they do not count. */
  substituted?: boolean
  /** Types of document, to be found by their index. */
  types?: readonly ('I' | 'E' | 'P' | 'N')[]
  /** Only received ones with a use of personal deductions, to be found by their index. */
  isPersonal?: boolean
  /** The documents of one counterparty or of some, to be found by their index. */
  counterparty?: string | readonly string[] | undefined
  /** Only documents after this position in the order of issued_at and UUID, both descending. */
  after?: readonly [issued_at: number, uuid: string] | undefined
  /** The documents that counted at the end of this day before today, instead of those that count now. */
  past?: string | null | undefined
  /** Documents as they act on balances: up to the ceiling, those below the floor too, whether they are shown or not. */
  acting?: boolean
  /** Further conditions on the alias `own`. */
  conditions?: readonly SQL[]
}

/** The condition that a row does not count, because a document that the window shows substitutes it. */
export function isSubstituted(partition: Partition, alias: string): SQL {
  const isBeyond = isAfterCeiling(partition, alias, 'substituted_from')
  return isBeyond === null
    ? sql`${cfdiAs(alias).substituted_from} is not null`
    : sql`(${cfdiAs(alias).substituted_from} is not null and not ${isBeyond})`
}

/** The condition that `own` is a document of one counterparty, or of some. */
export const isCounterparty = (counterparty: string | readonly string[]): SQL =>
  typeof counterparty === 'string'
    ? sql`${own.counterparty_rfc} = ${counterparty}`
    : sql`${own.counterparty_rfc} in (select value from json_each(${JSON.stringify(counterparty)}))`

/** As the index `cfdi_personal` has it: the uses D01 to D10 of c_UsoCFDI. */
const PERSONAL = sql`${own.uso_cfdi} > 'D' and ${own.uso_cfdi} < 'E'`

/**
 * Selects from the visible documents of a partition that count: CFDIs with different issuer and receiver that no other one
 * substitutes, of one direction and some literal days, as `from cfdi own … where …`. It reads the documents of these days alone, by an
 * index. Null when the window shows nothing of the direction.
 */
export function populationOf(
  partition: Partition,
  {
    direction,
    first,
    last,
    cancelled = 0,
    substituted = false,
    types,
    isPersonal = false,
    counterparty,
    after,
    past = null,
    acting = false,
    conditions = [],
  }: Population,
): SQL | null {
  const bounds = boundsOf(partition, direction)
  if (!bounds) return null
  const since = Math.max(earliestOf(first), (acting ? null : bounds.since) ?? 0)
  const until = Math.min(latestOf(last), bounds.until ?? Number.MAX_SAFE_INTEGER)
  const index = isPersonal ? 'cfdi_personal' : counterparty === undefined ? (types ? 'cfdi_tipoc' : 'cfdi_dirc') : 'cfdi_cpd'
  const where = all([
    sql`${own.entity} = ${partition.number}`,
    ...(counterparty === undefined ? [] : [isCounterparty(counterparty)]),
    ...(isPersonal ? [PERSONAL] : []),
    ...(types ? [sql`${own.tipo_comprobante} in (${sql.raw(types.map((type) => `'${type}'`).join())})`] : []),
    sql`${own.direction} = ${sql.raw(String(direction))} and ${own.cancelled} ${sql.raw(past === null ? `= ${cancelled}` : 'in (0, 1)')}`,
    sql`${own.issued_at} >= ${since}`,
    // An index takes one upper bound.
    after && after[0] <= until ? sql`(${own.issued_at}, ${own.uuid}) < (${after[0]}, ${after[1]})` : sql`${own.issued_at} <= ${until}`,
    sql`${own.fecha} >= ${first} and ${own.fecha} < ${afterDay(last)}`,
    sql`${own.kind} = 'cfdi' and ${own.emisor_rfc} <> ${own.receptor_rfc}`,
    ...(past !== null
      ? [countedOn(partition, 'own', past)]
      : cancelled === 0 && !substituted
        ? [sql`not ${isSubstituted(partition, 'own')}`]
        : []),
    ...(acting ? [] : partition.conditions('own')),
    ...conditions,
  ])
  return sql`from ${cfdi} ${own} indexed by ${sql.raw(index)} where ${where}`
}
