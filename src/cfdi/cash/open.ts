import { all, type Fragment, join, raw, sql } from '../../platform/db/fragment.ts'
import { boundsOf, type DirectionNumber, isCounted, isVisible, type Partition } from '../../visibility/scoped-ledger.ts'
import { afterDay } from '../literal-day.ts'
import { isSubstituted, populationOf } from '../population/population.ts'
import { MISSING_RATE, NOT_COUNTED, taxOf } from '../population/sums.ts'
import { complements, isLarge } from './events.ts'

/** After all documents. */
const END = '2199-12-31'

/** UUIDs of the invoices whose balance was not zero at the end of a day, and others: those that are open, and those settled since. */
function candidates(partition: Partition, direction: DirectionNumber, day: string): Fragment {
  const { until } = boundsOf(partition, direction)!
  const open = sql`select own.uuid from cfdi own indexed by cfdi_pay
    where own.entity = ${partition.number} and own.payment_status in ('unpaid', 'partially_paid') and own.direction = ${raw(String(direction))}
      ${until === null ? raw('') : sql`and own.issued_at <= ${until}`}`
  const notes = populationOf(partition, { direction, first: day, last: END, types: ['E'], conditions: [raw('own.related is not null')] })
  const settling = [...complements(partition, direction, { first: day, last: END }), ...(notes ? [sql`select own.related ${notes}`] : [])]
  const settled = settling.map((select) => sql`select named.value from (${select}) own cross join json_each(own.related) named`)
  // What was issued after the ceiling may have settled an invoice that the window shows open.
  const hidden =
    until === null
      ? null
      : sql`select named.value from cfdi own indexed by cfdi_tipoc cross join json_each(own.related) named
          where own.entity = ${partition.number} and own.tipo_comprobante in ('P', 'E') and own.direction = ${raw(String(direction))}
            and own.cancelled = 0 and own.issued_at > ${until}`
  return join([open, ...settled, ...(hidden ? [hidden] : [])], ' union ')
}

/** What is applied to the invoice `i` and counts, as JSON: `[[day, micros, kind, currency, tipo_cambio], …]`. */
const applied = (partition: Partition): Fragment => sql`(
  select json_group_array(json_array(substr(p.fecha_pago, 1, 10), p.amount, p.kind, p.currency, p.tipo_cambio))
  from cfdi_payments p cross join cfdi source
  where p.entity = ${partition.number} and p.invoice = i.uuid and source.uuid = p.source and source.cancelled = 0
    and source.emisor_rfc = i.emisor_rfc
    and iif(p.kind = 'P', coalesce(p.currency, i.currency, 'MXN') = coalesce(i.currency, 'MXN'), source.receptor_rfc = i.receptor_rfc)
    and not ${isSubstituted(partition, 'source')} and ${isCounted(partition, 'source')})`

/**
 * Selects the invoices paid in parts or later (PPD) that count today and may have been open at the end of a day or later, one row each, as
 * they stand today: what is cancelled or substituted since does not count. Columns: `uuid`, `issued_at`, `day`, `total` and `iva` in micros,
 * `is_odd` when `iva` is not to be used, `applied` and `source` for `openIvaOn`. Null when the window shows nothing of the direction.
 */
export function openInvoices(partition: Partition, direction: DirectionNumber, since: string, until: string): Fragment | null {
  if (!boundsOf(partition, direction)) return null
  const isOdd = `(${MISSING_RATE('i')} or ${isLarge('i')})`
  const iva = (['iva_16', 'iva_8', 'iva_otras'] as const).map((name) => `(${taxOf('i', name)})`).join(' + ')
  const where = all([
    sql`i.direction = ${raw(String(direction))} and i.cancelled = 0 and i.kind = 'cfdi' and i.version is not null`,
    sql`i.tipo_comprobante = 'I' and i.metodo_pago = 'PPD' and i.emisor_rfc <> i.receptor_rfc and i.fecha < ${afterDay(until)}`,
    raw(`not ${NOT_COUNTED('i')}`),
    sql`not ${isSubstituted(partition, 'i')}`,
    isVisible(partition, 'i'),
  ])
  return sql`select i.uuid, i.issued_at, substr(i.fecha, 1, 10) as day, i.total_micros as total, ${raw(`${isOdd} as is_odd, ${iva} as iva`)},
      ${applied(partition)} as applied,
      json_array(i.currency, i.tipo_cambio, i.total_micros, i.subtotal, i.descuento, i.taxes, i.iva_trasladado) as source
    from (${candidates(partition, direction, since)}) named cross join cfdi i on i.uuid = named.uuid where ${where}`
}
