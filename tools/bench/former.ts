/** The statement of a page as it was in November 2026. A bare Worker and a bare server run it, to compare the page with. */

const COLUMNS =
  'entity uuid direction estatus issued_at utc_offset fecha kind version tipo_comprobante serie folio certified_at pac_rfc emisor_rfc emisor_nombre ' +
  'emisor_regimen_fiscal receptor_rfc receptor_nombre receptor_regimen_fiscal receptor_domicilio_fiscal counterparty_rfc uso_cfdi metodo_pago ' +
  'forma_pago condiciones_pago currency tipo_cambio subtotal descuento total exportacion lugar_expedicion total_micros iva_trasladado ' +
  'iva_retenido isr_retenido ieps_trasladado total_mxn payment_status paid credited last_payment_at fully_paid_at applied_until substituted_from ' +
  'substitutes_from cancelled_at cancellation_reason folio_sustitucion tipo_relacion updated_at status_checks terms_days beyond_limits'

const columns = (alias: string, has_xml: string): string =>
  [...COLUMNS.split(' '), has_xml].map((column) => `${alias}.${column}`).join(', ')

/** The first page of an entity through windows with this ceiling, in seconds. Its bound limits make SQLite prepare it again on every run. */
export function formerPage(entity: number, ceiling: number, limit: number): { sql: string; params: (string | number)[] } {
  const stream = (direction: number, cancelled: number) =>
    `select ${columns('cfdi', 'xml_object is not null as has_xml')} from cfdi indexed by cfdi_dirc
     where cfdi.entity = ${entity} and direction = ${direction} and cancelled = ${cancelled} and cfdi.issued_at >= ? and cfdi.issued_at <= ? and +cfdi.fecha >= ?`
  const streams = [stream(0, 0), stream(0, 1), stream(1, 0), stream(1, 1)]
  const sql = `select ${columns('page', 'has_xml')}, case when page.applied_until > ${ceiling} then (
      select json_group_array(json_object('source', p.source, 'n', p.n, 'kind', p.kind, 'amount', p.amount, 'currency', p.currency,
        'tipo_cambio', p.tipo_cambio, 'fecha_pago', p.fecha_pago, 'forma_pago', p.forma_pago, 'num_parcialidad', p.num_parcialidad,
        'imp_saldo_ant', p.imp_saldo_ant, 'imp_pagado', p.imp_pagado, 'imp_saldo_insoluto', p.imp_saldo_insoluto, 'by', json_object(
          'emisor_rfc', source.emisor_rfc, 'receptor_rfc', source.receptor_rfc, 'issued_at', source.issued_at, 'estatus', source.estatus,
          'substituted_from', case when not source.substituted_from > ${ceiling} then source.substituted_from end),
        'is_shown', +source.fecha >= ?))
      from cfdi_payments p cross join cfdi source
      where p.entity = ? and p.invoice = page.uuid and source.uuid = p.source and source.entity = ? and +source.issued_at <= ?) end as applied
    from (${streams.join(' union all ')} order by issued_at desc, uuid desc limit ?) page where 1 limit ?`
  const floor = '2018-01-01'
  const bounds = streams.flatMap(() => [Date.parse(`${floor}T05:00:00Z`) / 1_000, ceiling, floor])
  return { sql, params: [floor, entity, entity, ceiling, ...bounds, limit + 1, limit + 1] }
}
