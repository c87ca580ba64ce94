import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { ANY_DAY, byDay } from '../../authority/rules/by-day.ts'
import type { Rules } from '../../authority/rules/dated.ts'
import { countedApplications } from '../../cfdi/cash/counted-applications.ts'
import { complements, type Judge, LARGE } from '../../cfdi/cash/events.ts'
import type { ExactEvent } from '../../cfdi/cash/exact-amounts.ts'
import { cfdi, cfdiPayments, i, p, source } from '../../cfdi/population/aliases.ts'
import { type Days, isSubstituted } from '../../cfdi/population/population.ts'
import { listedOf } from '../../lists/listed/counterparties.ts'
import { listedAs } from '../../lists/listed/listed.ts'
import { listedAmong } from '../../lists/listings/listing.ts'
import { type KnownRegistration, lapsedStatements, type RegistryRow, registrationsIn } from '../../lists/repse/registrations.ts'
import { inlined, readAll } from '../../platform/db/statement.ts'
import { type Micros, micros, sumAll, times } from '../../platform/money.ts'
import { isCounted, type Partition, partitionsToRead } from '../../taxpayers/visibility/scoped-ledger.ts'
import {
  EXCLUSIONS,
  FOUND,
  hasKey,
  inCurrencyOf,
  judgeOf,
  OUT,
  outOf,
  type Purchase,
  purchaseOf,
  QUESTIONS_OF,
  type Thing,
} from '../common/deductible.ts'
import type { Insight } from '../common/insight.ts'
import { supplierStatements } from '../risk/store.ts'
import { SUMS, type Sum } from './proportion.ts'

/** The suppliers under article 69-B today, and those without a REPSE registration at the end of the range. */
export interface KnownSuppliers {
  presumed: ReadonlySet<string>
  definitive: ReadonlySet<string>
  registrations: ReadonlyMap<string, KnownRegistration>
  /** How many suppliers the registry has not answered about. */
  repse_unknown: number
}

export const UNKNOWN_SUPPLIERS: KnownSuppliers = { presumed: new Set(), definitive: new Set(), registrations: new Map(), repse_unknown: 0 }

const SOURCE = 'sat_69b'

/** Selects the issuers of complements with a payment in the range. */
const paidStatement = (partition: Partition, { span }: Insight) =>
  complements(partition, 1, span).map((paid) => sql`select distinct counterparty_rfc as rfc from (${paid})`)

/**
 * Looks up suppliers that were paid in the range, and maybe others of its months: on the list of article 69-B and in the REPSE registry. One
 * call to the ledger and one to the control database.
 */
export async function knownSuppliers(insight: Insight): Promise<KnownSuppliers> {
  const { ctx, today, ledger, span } = insight
  const statements = [
    ...supplierStatements(ledger, span),
    ...partitionsToRead(ledger).flatMap((partition) => paidStatement(partition, insight)),
  ]
  const rfcs = new Set((await readAll<{ rfc: string }>(ledger.d1, statements)).map(({ rfc }) => rfc))
  const { listings, rest } = await listedAmong(
    { db: ctx.db, organization_id: ledger.organization_id },
    listedAs(await listedOf(ctx), [SOURCE]),
    today,
    [SOURCE],
    lapsedStatements([...rfcs], span.last),
  )
  const { lapsed, unknown } = registrationsIn(rest.flat() as RegistryRow[])
  const among = (situacion: string) =>
    new Set([...listings].flatMap(([rfc, all]) => (all.some((one) => one.situacion === situacion) ? [rfc] : [])))
  return {
    ...{ presumed: among('presunto'), definitive: among('definitivo') },
    ...{ registrations: lapsed, repse_unknown: unknown },
  }
}

/** A movement that is to be measured. */
export interface ExactRow {
  uuid: string
  applies_to: string | null
  tipo: string
  day: string
  /** As `cashEvents` has it; null when `sums` has the amounts. */
  source: string | null
  sums: number[]
  /** What excludes it (`EXCLUDED`), or is to be reviewed. */
  found: number
  /** The part that is not deductible by what it is, as `thingFound` has it. */
  thing: Thing | null
  /** What was found of the payments that a refund returns, where they are several. */
  judged: [found: number, amount: string | number][] | null
  payment_of: [amount: string | number, currency: string, day: string] | null
  is_presumed: 0 | 1
  is_lapsed: 0 | 1
  /** It is no cash event. */
  is_unmatched: 0 | 1
}

export const parseExactRow = (text: string): ExactRow => JSON.parse(text) as ExactRow

type Amounts = Record<Sum, Micros> & { paid: Micros; dof: boolean }

/** The amounts of a movement to be measured. Of some only what is excluded is to be measured. */
export function outcomeIn(
  { source, sums, ...row }: ExactRow,
  outcomeOf: (event: ExactEvent) => Amounts | 'missing_rate' | 'not_counted',
): Amounts | 'missing_rate' | 'not_counted' {
  if (source !== null) return outcomeOf({ ...row, source })
  const amounts = Object.fromEntries(SUMS.map((name, n) => [name, BigInt(sums[n]!)])) as Record<Sum, Micros>
  const paid = SUMS.reduce((all, name) => {
    if (name.startsWith('tercero_')) return all
    return name === 'iva_retenido' ? all - amounts[name] : all + amounts[name]
  }, 0n)
  return { ...amounts, paid, dof: false }
}

/** The movements whose amounts are to be measured. */
export const measured = (rows: readonly ExactRow[]) => rows.flatMap(({ source, ...row }) => (source === null ? [] : [{ ...row, source }]))

type RateOf = (currency: string, day: string) => string | null

/** Uso «Sin efectos fiscales» of c_UsoCFDI. */
const NO_TAX_EFFECTS = 'S01'

/** Why IVA is not credited, and why somebody has to look at it, as bits. The first reason that holds is named. */
export const EXCLUDED: Readonly<Record<(typeof EXCLUSIONS)[number], number>> = { ...FOUND, uso_s01: 1024, issuer_69b_definitivo: 2048 }
const TO_REVIEW = Object.keys(QUESTIONS_OF) as (keyof typeof QUESTIONS_OF)[]
export const OUTRIGHT = OUT | FOUND.bar | EXCLUDED.uso_s01 | EXCLUDED.issuer_69b_definitivo
export const REVIEW = TO_REVIEW.reduce((bits, name) => bits | FOUND[name], 0)

export const reasonOf = (found: number) => EXCLUSIONS.find((name) => (found & EXCLUDED[name]) !== 0)
export const reviewOf = (found: number) => ((found & OUTRIGHT) === 0 ? TO_REVIEW.find((name) => (found & FOUND[name]) !== 0) : undefined)

/** SQL on a cash event `e` of a received document, with columns of its invoice. A refund is judged as the payments that it returns. */
export interface Exclusions {
  /** What is found of its payment, and what it is (`ExactRow.thing`). */
  form: (partition: Partition) => SQL
  thing: (partition: Partition) => SQL
  /** What is found of several payments that it returns (`ExactRow.judged`). */
  judge: Judge
  /** It bills specialized services by its product keys. */
  isInScope: SQL
  /** The amount in micros of MXN above which cash is not deductible on a day. */
  limitOn: (day: string) => Micros
}

const columnOf = (name: string) => sql.raw(`e.${name}`)
const OF_EVENT = purchaseOf({
  ...{ products: columnOf('products'), total_mxn: columnOf('total_mxn'), net_mxn: columnOf('net_mxn'), uso_cfdi: columnOf('uso_cfdi') },
  ...{ fecha: columnOf('fecha'), lugar_expedicion: columnOf('lugar_expedicion') },
  receptor_domicilio_fiscal: columnOf('receptor_domicilio_fiscal'),
})

/** What credit notes took off the invoice of an event before it, and the part of the note that it is. */
function notedOf(partition: Partition): NonNullable<Purchase['noted']> {
  const text = (column: SQLWrapper) => inlined(sql`${column}`)
  const amount = inCurrencyOf(text(p.amount), [text(p.currency), text(p.tipo_cambio)], [text(i.currency), text(i.tipo_cambio)])
  const notes = (
    condition: SQL,
  ) => sql`(select (select total(${sql.raw(amount)}) ${countedApplications(partition, null, i)} and ${p.kind} = 'E' and ${condition})
    from ${cfdi} ${i} where ${i.entity} = ${partition.number} and ${i.uuid} = e.invoice)`
  const before = notes(sql`case e.tipo when 'P' then substr(${p.fecha_pago}, 1, 10) <= e.day when 'E' then (${p.fecha_pago}, ${p.source}) <
      (select own.fecha_pago, own.source from ${cfdiPayments} own where own.entity = ${partition.number} and own.invoice = e.invoice and own.source = e.uuid) end`)
  const part = sql`case e.tipo when 'E' then ${notes(sql`${p.source} = e.uuid`)} end`
  return { before: inlined(before), part: inlined(part), of: 'e.total_micros' }
}

/**
 * What the rules in force on the days of the events say; whether services are specialized, and what is bought, depends on the day of the
 * invoice.
 */
export function exclusionsOf(rules: Rules, days: Days): Exclusions {
  const judge = judgeOf(rules, days)
  const inCash = (partition: Partition) => sql`(select count(*) from ${cfdiPayments} ${p} cross join ${cfdi} ${source}
    where ${p.entity} = ${partition.number} and ${p.invoice} = e.invoice and ${p.kind} = 'P' and ${sql.raw(judge.isCash(inlined(sql`${p.forma_pago}`), inlined(sql`${p.fecha_pago}`)))}
      and ${source.uuid} = ${p.source} and ${source.cancelled} = 0 and not ${isSubstituted(partition, 'source')} and ${isCounted(partition, 'source')})`
  return {
    // A note on an invoice that is not shown returns a payment of which nothing is known.
    form: (partition) =>
      sql.raw(`iif(e.judged is null and (e.tipo <> 'E' or e.applies_to is not null),
        ${judge.paymentFound({ forma: 'e.forma', pesos: 'e.payment', day: 'e.day', in_cash: inlined(inCash(partition)) }, OF_EVENT)}, 0)
        + iif(e.uso_cfdi is '${NO_TAX_EFFECTS}', ${EXCLUDED.uso_s01}, 0)`),
    thing: (partition) => sql.raw(judge.thingFound({ ...OF_EVENT, noted: notedOf(partition) })),
    // Those of which the same is found are one, as far as they are not divided further or too large to be added up here.
    judge: (
      payments,
    ) => `select json_group_array(json_array(found, amount)) from (select found, iif(n is null, cast(sum(amount + 0) as text), amount) as amount
      from (select found, amount, iif(found & ${FOUND.fuel_not_electronic} or length(amount) > ${LARGE}, row_number() over (), null) as n
        from (${judge.paymentsFound(payments, purchaseOf(i))})) group by found, n)`,
    isInScope: sql.raw(byDay(rules, 'fecha', { ...days, first: ANY_DAY }, (on) => hasKey('products', on.find('repse.claves') ?? []))),
    limitOn: (day) => micros(rules.on(day).get('cash.threshold'))!,
  }
}

/**
 * The part of an event that the law does not let be credited: of what it pays or of the payments that it returns, and by what it is; and all
 * that was found. `paid` is in micros of MXN.
 */
export function excludedPart(
  { found, thing, judged, payment_of, day }: ExactRow,
  paid: Micros,
  exclusions: Exclusions,
  rateOf: RateOf,
): { part: readonly [part: Micros, of: Micros]; found: number } {
  let [out, all, bits] = [0n, 1n, found]
  if (judged !== null) {
    const lost = outOf(judged, thing)
    if (lost > 0n) [out, all] = [lost, sumAll(judged.map(([, amount]) => BigInt(amount)))]
    for (const [one] of judged) bits |= one
  } else if ((found & FOUND.unknown_amount) !== 0) {
    const rate = payment_of === null ? null : rateOf(payment_of[1], payment_of[2])
    const amount = payment_of === null ? paid : rate === null ? 0n : times(BigInt(payment_of[0]), rate)
    const limit = exclusions.limitOn(day)
    if (amount > limit || amount < -limit) bits |= FOUND.cash_over_2000
  }
  if (((judged === null ? bits : found) & OUTRIGHT) !== 0) return { part: [1n, 1n], found: bits }
  if (thing === null) return { part: [out, all], found: bits }
  const isFuel = judged === null && (bits & FOUND.fuel_not_electronic) !== 0
  const [x, of] = [BigInt(thing[0] + (isFuel ? thing[3] : 0)), BigInt(thing[1])]
  return { part: [out * of + (all - out) * x, all * of], found: bits }
}

/** The rate that `excludedPart` needs of an event. */
export const rateOfLimit = ({ payment_of }: Pick<ExactRow, 'payment_of'>): { currency: string; day: string }[] =>
  payment_of == null ? [] : [{ currency: payment_of[1], day: payment_of[2] }]
