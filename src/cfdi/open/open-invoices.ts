import { all, type Fragment, raw, sql } from '../../platform/db/fragment.ts'
import { boundsOf, type DirectionNumber, isAfterCeiling, isCounted, type Partition } from '../../visibility/scoped-ledger.ts'
import { earliestOf } from '../../visibility/window.ts'
import { appliedTo } from '../applied/applied.ts'
import { isSubstitutedOn, isValidOn } from '../applied/as-of.ts'
import { afterDay } from '../literal-day.ts'
import { isSubstituted, populationOf } from '../population/population.ts'
import { NOT_COUNTED } from '../population/sums.ts'
import { atRate, DIGITS, isOddAmount, isOddRate } from './in-pesos.ts'

/** As of when invoices are open. */
export interface OpenAt {
  day: string
  /** Only invoices from this day on. */
  first?: string
  /** The day, when it is before today. */
  past: string | null
  /** After how many days an invoice is due that states no terms. */
  terms: number
}

const EARLIEST = '1990-01-01'

/** What counts of the applications to the invoice `own`, in its currency; null when SQL cannot add it up. */
function settled(partition: Partition, past: string | null): Fragment {
  const isOdd = `${isOddAmount('p.amount')} or (p.kind = 'E' and coalesce(p.currency, 'MXN') <> coalesce(own.currency, 'MXN'))`
  const counts =
    past === null
      ? sql`source.cancelled = 0 and not ${isSubstituted(partition, 'source')}`
      : sql`p.fecha_pago < ${afterDay(past)} and ${isValidOn('source', past)} and not ${isSubstitutedOn(partition, 'source', past)}`
  return sql`(select ${raw(`iif(coalesce(max(${isOdd}), 0), null, coalesce(sum(p.amount + 0), 0))`)} from cfdi_payments p cross join cfdi source
    where p.entity = ${partition.number} and p.invoice = own.uuid and source.uuid = p.source and ${isCounted(partition, 'source')}
      and source.emisor_rfc = own.emisor_rfc and (p.kind = 'P' or source.receptor_rfc = own.receptor_rfc)
      and (p.kind = 'E' or coalesce(p.currency, own.currency, 'MXN') = coalesce(own.currency, 'MXN')) and ${counts})`
}

const STORED = raw(`iif(length(own.paid) > ${DIGITS} or length(own.credited) > ${DIGITS}, null, own.paid + own.credited)`)

/** The visible PPD invoices of a direction that may be open, as the alias `own`, with what settles them. */
function candidates(partition: Partition, direction: DirectionNumber, { day, past, first }: OpenAt, more: readonly Fragment[]): Fragment[] {
  const bounds = boundsOf(partition, direction)
  if (!bounds) return []
  const conditions = [raw(`own.metodo_pago = 'PPD' and own.version is not null and not ${NOT_COUNTED('own')}`), ...more]
  const columns = `own.uuid, own.issued_at, own.fecha, own.counterparty_rfc, own.currency, own.tipo_cambio, own.total_micros, own.terms_days,
    own.emisor_rfc, own.receptor_rfc, own.entity, own.direction, own.condiciones_pago, own.receptor_nombre, own.emisor_nombre, own.paid, own.credited`
  if (past !== null) {
    const population = populationOf(partition, { direction, first: first ?? EARLIEST, last: day, types: ['I'], past, conditions })
    return population ? [sql`select ${raw(columns)}, 1 as is_recomputed, ${settled(partition, past)} as settled ${population}`] : []
  }
  const isBeyond = isAfterCeiling(partition, 'own', 'applied_until')
  const select = (statuses: string, from: Fragment, ...own: Fragment[]) =>
    sql`select ${raw(columns)}, ${isBeyond ? sql`coalesce(${isBeyond}, 0)` : raw('0')} as is_recomputed,
      ${isBeyond ? sql`case when ${isBeyond} then ${settled(partition, null)} else ${STORED} end` : STORED} as settled
      from ${from} where ${all([
        sql`own.entity = ${partition.number} and own.payment_status in (${raw(statuses)}) and own.direction = ${raw(String(direction))}`,
        sql`own.issued_at >= ${Math.max(bounds.since ?? 0, first === undefined ? 0 : earliestOf(first))} and own.issued_at <= ${bounds.until ?? Number.MAX_SAFE_INTEGER} and own.fecha < ${afterDay(day)}`,
        raw("own.tipo_comprobante = 'I' and own.kind = 'cfdi' and own.cancelled = 0 and own.emisor_rfc <> own.receptor_rfc"),
        sql`not ${isSubstituted(partition, 'own')}`,
        ...partition.conditions('own'),
        ...conditions,
        ...own,
      ])}`
  const open = select("'unpaid', 'partially_paid'", raw('cfdi own indexed by cfdi_pay'))
  if (isBeyond === null) return [open]
  // What was issued after the ceiling may have settled an invoice that the window shows open. Usually nothing was.
  const later = (index: string, condition: string) =>
    sql`exists (select 1 from cfdi later indexed by ${raw(index)} where later.entity = ${partition.number} and later.direction = ${raw(String(direction))}
      and ${raw(condition)} > ${bounds.until})`
  const hidden = sql`(select 1 where ${later('cfdi_tipoc', "later.cancelled = 0 and later.tipo_comprobante in ('P', 'E') and later.issued_at")}
    or ${later('cfdi_substituted', 'later.substituted_from')}) hidden cross join cfdi own indexed by cfdi_pay`
  return [open, select("'paid'", hidden, isBeyond)]
}

/**
 * Selects the open PPD invoices of a direction that count (insights.md 8.0), one row each: less than half a cent is nothing. Columns: `uuid`,
 * `issued_at`, `day`, `rfc` and `name` of the counterparty, `currency`, `due`, `is_parsed` (its terms are stated), `balance` in micros of its
 * currency, `pesos` in micros at its own exchange rate, and `odd`: a JSON list for `measureOpen` where SQL cannot compute the two, else null.
 * Such a row may not be open after all. `more` are conditions on the alias `own`. Null when the window shows nothing of the direction.
 */
export function openInvoices(
  partition: Partition,
  direction: DirectionNumber,
  at: OpenAt,
  more: readonly Fragment[] = [],
): Fragment | null {
  const [first, second] = candidates(partition, direction, at, more)
  if (!first) return null
  const isOdd = `(own.settled is null or ${isOddAmount('own.total_micros')} or ${isOddRate('own')})`
  const balance = 'max(own.total_micros - own.settled, 0)'
  const applied = sql`case when own.is_recomputed then ${appliedTo(partition, 'own', at.past)} || '' end`
  return sql`select uuid, issued_at, day, rfc, name, currency, is_parsed, date(day, '+' || terms || ' days') as due, balance, pesos, odd
    from (select own.uuid, own.issued_at, substr(own.fecha, 1, 10) as day, own.counterparty_rfc as rfc, own.currency,
        ${raw(direction === 0 ? 'own.receptor_nombre' : 'own.emisor_nombre')} as name,
        own.terms_days is not null as is_parsed, coalesce(own.terms_days, ${raw(String(at.terms))}) as terms,
        ${raw(`iif(${isOdd}, null, ${balance}) as balance, iif(${isOdd}, null, ${atRate(balance, 'own')}) as pesos`)},
        case when ${raw(isOdd)} then json_array(own.uuid, substr(own.fecha, 1, 10), own.currency, own.tipo_cambio, own.total_micros, own.paid,
          own.credited, own.emisor_rfc, own.receptor_rfc, ${applied}) end as odd
      from (${second ? sql`${first} union all ${second}` : first}) own)
    where odd is not null or balance >= 5000`
}
