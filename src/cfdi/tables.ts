import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/**
 * A book: what is kept of one RFC. The authority's documents of an entity are in the book of its own number; what an organization
 * imported itself is in a book of its own, numbered with its connection negated, until the authority delivers the same UUID.
 */
export const entities = sqliteTable('entities', {
  entity: integer('entity').primaryKey(),
  rfc: text('rfc').notNull(),
  /** The fence: a batch that was computed from an older version fails as a whole. */
  version: integer('version').notNull(),
})

/** Money shown is the document's own decimal text; money that is added stands beside it as integer millionths (micros). */
export const cfdi = sqliteTable(
  'cfdi',
  {
    entity: integer('entity').notNull(),
    uuid: text('uuid').notNull(),
    /** 0 issued, 1 received, as seen from the entity. */
    direction: integer('direction').notNull(),
    /** 1 when estatus is cancelado: for the indexes. */
    cancelled: integer('cancelled').notNull(),
    estatus: text('estatus').notNull(),
    /** Seconds since 1970 in UTC: `fecha` in the zone of LugarExpedicion. */
    issued_at: integer('issued_at').notNull(),
    /** Minutes to add to UTC for the local time. */
    utc_offset: integer('utc_offset').notNull(),
    /** Literal Fecha. Its first ten characters are the document's day, its first seven the month. */
    fecha: text('fecha').notNull(),
    kind: text('kind').notNull(),
    version: text('version'),
    tipo_comprobante: text('tipo_comprobante'),
    serie: text('serie'),
    folio: text('folio'),
    certified_at: text('certified_at'),
    pac_rfc: text('pac_rfc'),
    emisor_rfc: text('emisor_rfc').notNull(),
    emisor_nombre: text('emisor_nombre'),
    emisor_regimen_fiscal: text('emisor_regimen_fiscal'),
    receptor_rfc: text('receptor_rfc').notNull(),
    receptor_nombre: text('receptor_nombre'),
    receptor_regimen_fiscal: text('receptor_regimen_fiscal'),
    receptor_domicilio_fiscal: text('receptor_domicilio_fiscal'),
    counterparty_rfc: text('counterparty_rfc').notNull(),
    uso_cfdi: text('uso_cfdi'),
    metodo_pago: text('metodo_pago'),
    forma_pago: text('forma_pago'),
    condiciones_pago: text('condiciones_pago'),
    currency: text('currency'),
    tipo_cambio: text('tipo_cambio'),
    subtotal: text('subtotal'),
    descuento: text('descuento'),
    total: text('total'),
    exportacion: text('exportacion'),
    lugar_expedicion: text('lugar_expedicion'),
    /** Micros in the document's currency. */
    total_micros: integer('total_micros'),
    iva_trasladado: integer('iva_trasladado'),
    iva_retenido: integer('iva_retenido'),
    isr_retenido: integer('isr_retenido'),
    ieps_trasladado: integer('ieps_trasladado'),
    /** Micros in MXN; null when the document's currency needs a rate that it does not say. */
    total_mxn: integer('total_mxn'),
    /** paid, partially_paid or unpaid; null where not applicable. */
    payment_status: text('payment_status'),
    /** Micros in the document's currency. */
    paid: integer('paid').notNull(),
    credited: integer('credited').notNull(),
    /** Literal local times of the payments, as their complements say. */
    last_payment_at: text('last_payment_at'),
    fully_paid_at: text('fully_paid_at'),
    /** Greatest issued_at of what is counted in `paid` and `credited`: a window that ends before it must not show those. */
    applied_until: integer('applied_until'),
    /** ISO 8601 with offset. */
    cancelled_at: text('cancelled_at'),
    cancellation_reason: text('cancellation_reason'),
    folio_sustitucion: text('folio_sustitucion'),
    /** Where the XML's compressed bytes are: an object of FILES and a range of it. Null when only metadata is known. */
    xml_object: text('xml_object'),
    xml_offset: integer('xml_offset'),
    xml_length: integer('xml_length'),
    /** ZIP method: 0 stored, 8 deflate. */
    xml_method: integer('xml_method'),
    xml_size: integer('xml_size'),
    /** CRC-32 over the inflated bytes, computed here. */
    xml_crc: integer('xml_crc'),
    /** Milliseconds since 1970. */
    first_seen_at: integer('first_seen_at').notNull(),
    updated_at: integer('updated_at').notNull(),
    /** UUIDs that a P pays or an E credits, JSON: whom to rebalance when this document is cancelled. */
    related: text('related'),
    /** What the document says beyond these columns and its lines, as JSON: last, so that a page does not touch it. */
    detail: text('detail'),
  },
  (table) => [
    primaryKey({ columns: [table.entity, table.uuid] }),
    // No filter, direction, estatus, a range.
    index('cfdi_dirc').on(table.entity, table.direction, table.cancelled, table.issued_at, table.uuid),
    // counterparty_rfc; emisor_rfc and receptor_rfc map onto it.
    index('cfdi_cpd').on(table.entity, table.counterparty_rfc, table.direction, table.issued_at, table.uuid),
    // tipo_comprobante.
    index('cfdi_tipoc').on(table.entity, table.tipo_comprobante, table.direction, table.cancelled, table.issued_at, table.uuid),
    // payment_status.
    index('cfdi_pay')
      .on(table.entity, table.payment_status, table.direction, table.issued_at, table.uuid)
      .where(sql`payment_status is not null`),
  ],
)

/** The lines (conceptos) of a document, as it has them. */
export const cfdiLines = sqliteTable(
  'cfdi_lines',
  {
    entity: integer('entity').notNull(),
    uuid: text('uuid').notNull(),
    n: integer('n').notNull(),
    clave_prod_serv: text('clave_prod_serv'),
    no_identificacion: text('no_identificacion'),
    cantidad: text('cantidad'),
    clave_unidad: text('clave_unidad'),
    unidad: text('unidad'),
    descripcion: text('descripcion'),
    valor_unitario: text('valor_unitario'),
    importe: text('importe'),
    descuento: text('descuento'),
    objeto_imp: text('objeto_imp'),
    /** The rest of a Concepto as JSON: impuestos, a_cuenta_terceros_rfc, cuenta_predial, pedimentos. */
    detail: text('detail').notNull(),
  },
  (table) => [primaryKey({ columns: [table.entity, table.uuid, table.n] })],
)

/**
 * What was applied to an invoice: by a payment complement (P) or a credit note (E, relation 01 or 03). All of an invoice's lie
 * together; whether one counts is read from its source's row, so a cancellation writes none of these.
 */
export const cfdiPayments = sqliteTable(
  'cfdi_payments',
  {
    entity: integer('entity').notNull(),
    invoice: text('invoice').notNull(),
    source: text('source').notNull(),
    n: integer('n').notNull(),
    kind: text('kind', { enum: ['P', 'E'] }).notNull(),
    /** Micros in the invoice's currency for a P; in `currency` for an E. */
    amount: integer('amount').notNull(),
    currency: text('currency'),
    /** Of an E: MXN for one unit of `currency`, decimal text. */
    tipo_cambio: text('tipo_cambio'),
    /** Literal local time of the payment; of the credit note's Fecha. */
    fecha_pago: text('fecha_pago').notNull(),
    forma_pago: text('forma_pago'),
    num_parcialidad: text('num_parcialidad'),
    imp_saldo_ant: text('imp_saldo_ant'),
    imp_pagado: text('imp_pagado'),
    imp_saldo_insoluto: text('imp_saldo_insoluto'),
  },
  (table) => [primaryKey({ columns: [table.entity, table.invoice, table.source, table.n] })],
)

/** Daily totals of a month and direction, one row: `{"dd|tipo|metodo|estatus": [n, missing_rate, micros in MXN as text …]}` (totals.ts). */
export const cfdiMonths = sqliteTable(
  'cfdi_months',
  {
    entity: integer('entity').notNull(),
    month: text('month').notNull(),
    direction: integer('direction').notNull(),
    cells: text('cells').notNull(),
  },
  (table) => [primaryKey({ columns: [table.entity, table.month, table.direction] })],
)

/**
 * What suppliers invoiced in a month, over a few rows: `{"rfc": [invoices, credit notes, missing_rate, micros in MXN as text]}` of the
 * received documents that are valid (supplier-totals.ts). A row for each supplier would cost ingest a row written for almost each document.
 */
export const cfdiSuppliers = sqliteTable(
  'cfdi_suppliers',
  {
    entity: integer('entity').notNull(),
    month: text('month').notNull(),
    /** Which suppliers are in it (`partOf`). */
    part: integer('part').notNull(),
    totals: text('totals').notNull(),
  },
  (table) => [primaryKey({ columns: [table.entity, table.month, table.part] })],
)
