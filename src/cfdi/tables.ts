import { sql } from 'drizzle-orm'
import { customType, index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { REPLIES } from '../authority/port/status.ts'
import type { Micros } from '../platform/money.ts'

/**
 * An amount that is added up, in micros. It is stored as decimal text, because 18 digits before the point do not fit the integers of
 * SQLite. In SQL, arithmetic makes a number of it, which is exact below 2^63.
 */
const micros = customType<{ data: Micros; driverData: string }>({ dataType: () => 'text' })

/**
 * The partitions of a ledger. An RFC's partition, under its entity number, holds what the authority delivered. What an organization
 * imports for the RFC is in a partition of its own, under its connection number negated.
 */
export const entities = sqliteTable('entities', {
  entity: integer('entity').primaryKey(),
  rfc: text('rfc').notNull(),
  /** The first organization whose run asked for jobs of the RFC; null in a partition of imports. */
  organization_id: text('organization_id'),
})

/**
 * The CFDIs. A text column without a comment holds what the XML attribute of that name says. Amounts are the document's own decimal text;
 * amounts that are added up are kept beside it in micros. Every column is stored and shown unless columns.ts says otherwise.
 */
export const cfdi = sqliteTable(
  'cfdi',
  {
    entity: integer('entity').notNull(),
    uuid: text('uuid').notNull(),
    /** 0 issued, 1 received, as seen from the RFC of the partition. */
    direction: integer('direction').$type<0 | 1>().notNull(),
    /** 1 when estatus is cancelado, for the indexes. */
    cancelled: integer('cancelled').$type<0 | 1>().notNull(),
    estatus: text('estatus', { enum: ['vigente', 'cancelado'] }).notNull(),
    /** Seconds since 1970: `fecha` in the time zone of LugarExpedicion. */
    issued_at: integer('issued_at').notNull(),
    /** Minutes to add to UTC to get the local time. */
    utc_offset: integer('utc_offset').notNull(),
    /** The literal local time, `YYYY-MM-DDTHH:mm:ss`. Its first ten characters are the document's day, its first seven its month. */
    fecha: text('fecha').notNull(),
    /** `cfdi` for a Comprobante, `retenciones` for a CFDI de retenciones. */
    kind: text('kind', { enum: ['cfdi', 'retenciones'] }).notNull(),
    /** `3.2`, `3.3` or `4.0`; `1.0` or `2.0` of retenciones. Null when only metadata is known. */
    version: text('version'),
    /** I, E, P, N or T (ingreso, egreso and traslado of 3.2 are I, E and T). Null for retenciones. An unknown value is kept as it is. */
    tipo_comprobante: text('tipo_comprobante'),
    serie: text('serie'),
    folio: text('folio'),
    /** FechaTimbrado, literal local time. */
    certified_at: text('certified_at'),
    /** RfcProvCertif. */
    pac_rfc: text('pac_rfc'),
    emisor_rfc: text('emisor_rfc').notNull(),
    emisor_nombre: text('emisor_nombre'),
    emisor_regimen_fiscal: text('emisor_regimen_fiscal'),
    /** A foreign receiver of retenciones has no RFC: XEXX010101000. */
    receptor_rfc: text('receptor_rfc').notNull(),
    receptor_nombre: text('receptor_nombre'),
    receptor_regimen_fiscal: text('receptor_regimen_fiscal'),
    receptor_domicilio_fiscal: text('receptor_domicilio_fiscal'),
    /** The receiver of an issued document, the issuer of a received one. */
    counterparty_rfc: text('counterparty_rfc').notNull(),
    uso_cfdi: text('uso_cfdi'),
    /** TipoRelacion of its related documents, each once, separated by commas. */
    tipo_relacion: text('tipo_relacion'),
    metodo_pago: text('metodo_pago'),
    forma_pago: text('forma_pago'),
    condiciones_pago: text('condiciones_pago'),
    /** Moneda. */
    currency: text('currency'),
    tipo_cambio: text('tipo_cambio'),
    subtotal: text('subtotal'),
    descuento: text('descuento'),
    total: text('total'),
    exportacion: text('exportacion'),
    lugar_expedicion: text('lugar_expedicion'),
    /** In the document's currency, like the taxes. */
    total_micros: micros('total_micros'),
    iva_trasladado: micros('iva_trasladado'),
    iva_retenido: micros('iva_retenido'),
    isr_retenido: micros('isr_retenido'),
    ieps_trasladado: micros('ieps_trasladado'),
    /** In MXN; null when the document is in another currency and does not state its exchange rate, or when it does not fit (money.ts). */
    total_mxn: micros('total_mxn'),
    /** Null where it does not apply. */
    payment_status: text('payment_status', { enum: ['paid', 'partially_paid', 'unpaid'] }),
    /** In the document's currency. */
    paid: micros('paid').notNull(),
    credited: micros('credited').notNull(),
    /** Literal local times of the payments, from their complements. */
    last_payment_at: text('last_payment_at'),
    fully_paid_at: text('fully_paid_at'),
    /** When the last document behind `paid` and `credited` was issued: a window that ends before it shows other amounts. */
    applied_until: integer('applied_until'),
    /** The least ceiling, in seconds, that shows a valid document which substitutes this valid one. Null: never. */
    substituted_from: integer('substituted_from'),
    /** The least ceiling that shows that this valid document substitutes a valid one. */
    substitutes_from: integer('substitutes_from'),
    /** ISO 8601 with offset. */
    cancelled_at: text('cancelled_at'),
    cancellation_reason: text('cancellation_reason'),
    folio_sustitucion: text('folio_sustitucion'),
    /** The XML's compressed bytes: an object of FILES and a range of it. Null when only metadata is known. */
    xml_object: text('xml_object'),
    xml_offset: integer('xml_offset'),
    xml_length: integer('xml_length'),
    /** ZIP method: 0 stored, 8 deflate. */
    xml_method: integer('xml_method'),
    xml_size: integer('xml_size'),
    /** CRC-32 of the inflated bytes, computed here. */
    xml_crc: integer('xml_crc'),
    /**
     * When the document itself was last stored, got its XML or changed its status, in milliseconds since 1970. Its balance does not count.
     */
    updated_at: integer('updated_at').notNull(),
    /**
     * The UUIDs that a P pays or an E lowers, as JSON: their balances change when this document is cancelled. Of more than 100, how many they
     * are: then they stand in `cfdi_related` (columns.ts).
     */
    related: text('related'),
    /** The first of the chunks that hold its detail and lines. Null when only metadata is known. */
    chunk: integer('chunk'),
    /** Its place in the chunk, from 0. */
    chunk_at: integer('chunk_at'),
    /** In how many chunks it is: one, unless it is longer than a chunk may be. */
    chunk_parts: integer('chunk_parts'),
    /** The commit that stored it first, with its XML or without. */
    stored_by: integer('stored_by'),
    /** For an imported document, the parts with its import sources, `1,7`. It counts through the import of the first (imports/store.ts). */
    stored: text('stored'),
    /**
     * subtotal − descuento in MXN, of an I, E or N whose XML is known. Null when the document is in another currency and does not state its
     * exchange rate, or when an amount does not fit.
     */
    net_mxn: micros('net_mxn'),
    /**
     * The taxes of an I or E by rate (taxes/breakdown.ts), in MXN; in its own currency when that has no exchange rate. Null when all of
     * the document is subject to the general rate and nothing is withheld: then base_16 is net_mxn and iva_16 is iva_trasladado. Of an N
     * and of retenciones: what they withhold (`WITHHELD`).
     */
    taxes: text('taxes'),
    /**
     * The first and the last day of the payments of a P or N, by FechaPago; of retenciones the last day of their period, and so of a global
     * invoice (InformacionGlobal) whose Fecha is outside of it. Of a credit note that may count on another day than its own, because it
     * applies an advance or returns an act whose IVA was withheld: the last such day.
     */
    first_paid_on: text('first_paid_on'),
    last_paid_on: text('last_paid_on'),
    /**
     * What payments in form 30 of an invoice move beyond its advances, as JSON: `[[source, n, micros of its currency, seen_from, seen_until], …]`
     * shown from one ceiling on and before another; the invoice itself, with n 0, where it is paid at once (ingest/beyond-advances.ts). Null
     * where advances cover them.
     */
    beyond_advances: text('beyond_advances'),
    /** The days until an I is due, as its condiciones_pago state them (payment-terms.ts). */
    terms_days: integer('terms_days'),
    /** The last answers of the authority's status service to organizations about the document, as JSON (checks/checks.ts). */
    status_checks: text('status_checks'),
    /** What of its XML is beyond the limits of the service (xml/parse.ts): only its first lines are read, or it cannot be kept at all. */
    beyond_limits: text('beyond_limits', { enum: ['lines', 'xml'] }),
    /** The sums of the lines of an I or E by product key (products.ts). It is the last column, because it may be long. */
    products: text('products'),
  },
  (table) => [
    primaryKey({ columns: [table.entity, table.uuid] }),
    // No filter; direction, estatus, a range.
    index('cfdi_dirc').on(table.entity, table.direction, table.cancelled, table.issued_at, table.uuid),
    // counterparty_rfc; emisor_rfc and receptor_rfc are mapped to it.
    index('cfdi_cpd').on(table.entity, table.counterparty_rfc, table.direction, table.issued_at, table.uuid),
    // tipo_comprobante.
    index('cfdi_tipoc').on(table.entity, table.tipo_comprobante, table.direction, table.cancelled, table.issued_at, table.uuid),
    // payment_status.
    index('cfdi_pay')
      .on(table.entity, table.payment_status, table.direction, table.issued_at, table.uuid)
      .where(sql`payment_status is not null`),
    // Strays, which are few: their literal day is another than that in UTC−6, by which pages of whole days are bounded.
    index('cfdi_dated_in_another_zone')
      .on(table.entity, table.issued_at, table.uuid)
      .where(sql`substr(fecha, 1, 10) <> date(issued_at - 21600, 'unixepoch')`),
    // Payment complements that are over 45 days from a payment of theirs, which are few: the others are found by when they were issued.
    index('cfdi_late')
      .on(table.entity, table.direction, table.first_paid_on)
      .where(sql`first_paid_on < date(substr(fecha, 1, 10), '-45 days') or last_paid_on > date(substr(fecha, 1, 10), '+45 days')`),
    // Global invoices that count in another month than that of their Fecha, and credit notes that may.
    index('cfdi_elsewhere')
      .on(table.entity, table.direction, table.last_paid_on)
      .where(sql`tipo_comprobante in ('I', 'E') and last_paid_on is not null`),
    // Documents that a ceiling shows as not substituted yet.
    index('cfdi_substituted').on(table.entity, table.direction, table.substituted_from).where(sql`substituted_from is not null`),
    // Personal deductions, whose limits are of a year.
    index('cfdi_personal')
      .on(table.entity, table.cancelled, table.issued_at, table.uuid)
      .where(sql`direction = 1 and uso_cfdi > 'D' and uso_cfdi < 'E'`),
  ],
)

/** A BLOB that crosses as hexadecimal text: `unhex` writes it, and `hex` reads it (platform/db/packed.ts). */
const packed = customType<{ data: string; driverData: string }>({ dataType: () => 'blob' })

/**
 * The contents of documents that pages do not show: the detail and lines of up to 100 of a slice, packed together (chunks/). A chunk is
 * numbered after the commit that wrote it.
 */
export const cfdiChunks = sqliteTable(
  'cfdi_chunks',
  {
    entity: integer('entity').notNull(),
    chunk: integer('chunk').notNull(),
    data: packed('data').notNull(),
  },
  (table) => [primaryKey({ columns: [table.entity, table.chunk] })],
)

/**
 * The commits of a partition, and what each touched, for those that mirror it. They are the fence of ingest: a batch that was computed
 * before another one was committed has the same sequence, and fails as a whole. They are kept for 90 days, and the last one for ever.
 */
export const cfdiCommits = sqliteTable(
  'cfdi_commits',
  {
    entity: integer('entity').notNull(),
    /** Its number in the partition, from 1. Chunks and parts of import sources are numbered after it. */
    sequence: integer('sequence').notNull(),
    /** Milliseconds since 1970. */
    committed_at: integer('committed_at').notNull(),
    /** The documents by what happened to them, as packed JSON (commits/commits.ts). Null when it changed too many to name them. */
    touched: packed('touched'),
  },
  (table) => [primaryKey({ columns: [table.entity, table.sequence] })],
)

/**
 * Applications: what a payment complement (P) or a credit note (E, relation 01, 03 or 07) applies to an invoice. Those of one invoice lie
 * together. A credit note of several invoices is divided among them, and one that names an advance lowers the invoice to which the advance
 * is applied (cash/credits.ts). Whether one counts depends on its source's row, so that a cancellation writes none of these rows.
 */
export const cfdiPayments = sqliteTable(
  'cfdi_payments',
  {
    entity: integer('entity').notNull(),
    invoice: text('invoice').notNull(),
    source: text('source').notNull(),
    n: integer('n').notNull(),
    kind: text('kind', { enum: ['P', 'E'] }).notNull(),
    /** In `currency`. */
    amount: micros('amount').notNull(),
    currency: text('currency'),
    /** MXN for one unit of `currency`, decimal text. Null for a P. */
    tipo_cambio: text('tipo_cambio'),
    /**
     * How an amount of a P in another currency becomes MXN: EquivalenciaDR, by which it is divided, a space, and TipoCambioP, by which it is
     * multiplied; in the place of the latter the currency of the payment, where it is not stated. Null when EquivalenciaDR is not known.
     */
    conversion: text('conversion'),
    /** `amount` of a P in MXN so far. Null when that is not known, and when `currency` is MXN. */
    amount_mxn: micros('amount_mxn'),
    /** What the payment is of that pays this part of a P, in MXN (Monto). Null where this part is all of it, and where its rate is not known. */
    payment_mxn: micros('payment_mxn'),
    /**
     * The taxes that a P states of the paid part (taxes/breakdown.ts), in MXN; in `currency` when its rate is not known. Null when it states
     * none: then they are in proportion to those of the invoice. Those of a part of an E that is divided by rate, in `currency`, and its amount
     * before taxes; null when they are in proportion to those of the E.
     */
    taxes: text('taxes'),
    /** Literal local time: FechaPago of a P, Fecha of an E. */
    fecha_pago: text('fecha_pago').notNull(),
    forma_pago: text('forma_pago'),
    num_parcialidad: text('num_parcialidad'),
    imp_saldo_ant: text('imp_saldo_ant'),
    imp_pagado: text('imp_pagado'),
    imp_saldo_insoluto: text('imp_saldo_insoluto'),
    /**
     * The ceilings, in seconds, that show an E here: from the first on, and before the second. Null where nothing changes. Something issued
     * after a credit note can decide that it lowers another invoice (ingest/credit-notes.ts).
     */
    seen_from: integer('seen_from'),
    seen_until: integer('seen_until'),
  },
  (table) => [primaryKey({ columns: [table.entity, table.invoice, table.source, table.n] })],
)

/**
 * The UUIDs that a document pays or lowers, as JSON, where they are more than 100: SQLite copies the whole of a long row wherever it compares
 * its key, so that each look-up near it would take half a millisecond. For the same reason the rows of this table are not in their key.
 */
export const cfdiRelated = sqliteTable(
  'cfdi_related',
  {
    entity: integer('entity').notNull(),
    uuid: text('uuid').notNull(),
    related: text('related').notNull(),
  },
  (table) => [primaryKey({ columns: [table.entity, table.uuid] })],
)

/** Relations 04: the document `source` states that it substitutes another one, stored or not. */
export const cfdiSubstitutions = sqliteTable(
  'cfdi_substitutions',
  {
    entity: integer('entity').notNull(),
    substituted: text('substituted').notNull(),
    source: text('source').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.entity, table.substituted, table.source] }),
    index('cfdi_substitutions_source').on(table.entity, table.source),
  ],
)

/** Relations 07 of I and E: the document `source` applies an advance, or says to which invoice one is applied, stored or not. */
export const cfdiAdvances = sqliteTable(
  'cfdi_advances',
  {
    entity: integer('entity').notNull(),
    advance: text('advance').notNull(),
    source: text('source').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.entity, table.advance, table.source] }),
    index('cfdi_advances_source').on(table.entity, table.source),
  ],
)

/**
 * The totals of a month and direction: `cells` by day, `{"dd|tipo|metodo|state": [n, with_xml, missing_rate, not_counted, micros in MXN as
 * text …]}` (totals.ts), and `sums` over the days, without `dd|`. A summary reads the days of a month only where something divides it.
 */
export const cfdiMonths = sqliteTable(
  'cfdi_months',
  {
    entity: integer('entity').notNull(),
    month: text('month').notNull(),
    direction: integer('direction').$type<0 | 1>().notNull(),
    sums: text('sums').notNull(),
    cells: text('cells').notNull(),
    /** The sums over lines by product key (products.ts). Null when there are too many keys. */
    products: text('products'),
  },
  (table) => [primaryKey({ columns: [table.entity, table.month, table.direction] })],
)

/**
 * The totals of each supplier in a month, spread over a few rows: `{"rfc": [invoices, credit notes, with_xml, missing_rate, not_counted,
 * micros in MXN]}` of the valid received documents (supplier-totals.ts). With a row for each supplier, ingest would write one more row for
 * almost every document.
 */
export const cfdiSuppliers = sqliteTable(
  'cfdi_suppliers',
  {
    entity: integer('entity').notNull(),
    month: text('month').notNull(),
    /** Determines which suppliers the row holds (`partOf`). */
    part: integer('part').notNull(),
    totals: text('totals').notNull(),
  },
  (table) => [primaryKey({ columns: [table.entity, table.month, table.part] })],
)

/**
 * Documents about whose status something is left to do in the background, in the ledger that holds them. There is a row only while there is a
 * recheck.
 */
export const statusRechecks = sqliteTable(
  'status_rechecks',
  {
    /** The partition of the document. */
    entity: integer('entity').notNull(),
    uuid: text('uuid').notNull(),
    /** Milliseconds since 1970. */
    due_at: integer('due_at').notNull(),
    /**
     * `found`: the status service called it cancelled, which is to be committed and reported. `asked`: an organization asked, and the answer leaves
     * a recheck. `unproven`: metadata lists a received document as valid, and the package of valid ones did not hold it. `watch`: a round of
     * questions about the documents of the partition on which money hangs; its UUID is empty.
     */
    recheck: text('recheck', { enum: ['asked', 'unproven', 'found', 'watch'] }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.entity, table.uuid] }), index('status_rechecks_due').on(table.due_at)],
)

/**
 * How a request of an issuer to cancel a document stands, from the answers of the status service. `accepted`: the receiver accepted it;
 * `expired`: nobody answered in time, which accepts it too; `cancelled`: the document is cancelled, and the authority does not say how;
 * `rejected`: the document stays valid.
 */
export const REQUEST_STATUSES = ['pending', 'accepted', 'rejected', 'expired', 'cancelled'] as const

/** Requests to cancel documents, in the ledger that holds these. A document has one row, for the last of its requests. */
export const cancellationRequests = sqliteTable(
  'cancellation_requests',
  {
    entity: integer('entity').notNull(),
    uuid: text('uuid').notNull(),
    status: text('status', { enum: REQUEST_STATUSES }).notNull(),
    /** Counts the requests of the document that were seen: a refused one can be followed by another. */
    number: integer('number').notNull(),
    /** When the authority last answered that there was no such request, and when it first answered that there was. Milliseconds since 1970. */
    clear_at: integer('clear_at'),
    detected_at: integer('detected_at').notNull(),
    /** When it gave the last answer that says something. */
    seen_at: integer('seen_at').notNull(),
    /** When an answer first said how it ended. */
    decided_at: integer('decided_at'),
    /** The receiver's answer through the service, and when it was sent: null while nobody knows whether it was. */
    reply: text('reply', { enum: REPLIES }),
    replied_at: integer('replied_at'),
  },
  (table) => [
    primaryKey({ columns: [table.entity, table.uuid] }),
    // GET /cancellation-requests.
    index('cancellation_requests_detected').on(table.entity, table.detected_at, table.uuid),
    // Asking how they go on.
    index('cancellation_requests_pending').on(table.entity, table.uuid).where(sql`status = 'pending'`),
  ],
)

/** What the status service was asked of a partition to find such requests. */
export const cancellationWatches = sqliteTable('cancellation_watches', {
  entity: integer('entity').primaryKey(),
  /** The day in central Mexico that both counts are of: questions that looked for requests, and those about known ones. */
  day: text('day').notNull(),
  searched: integer('searched').notNull(),
  followed: integer('followed').notNull(),
  /** The last answers about documents that may be asked about again, as JSON (downloads/status/rule.ts). */
  answers: text('answers').notNull(),
})
