import * as z from 'zod'
import { Certificate, OpinionSense } from '../../authority/port/fields-contract.ts'
import { Month } from '../../cfdi/summary/contract.ts'
import { Clients, client } from '../../documents/contract.ts'
import { columnsOf } from '../../platform/csv.ts'
import { documented, Instant, Paging, pageMembers, pageOf } from '../../platform/http/shapes.ts'
import { ofFiscalEntity, requireFiscalEntity } from '../../taxpayers/contract.ts'
import { Basis, Drilldown, InsightQuality, Listed, money, percent } from '../common/contract.ts'

export const REPORT_KEYS = [
  ...(['fiscal-summary', 'revenue-expenses', 'annual-comparison', 'counterparty-network', 'cancellations'] as const),
  ...(['payment-behavior', 'diot', 'compliance', 'payroll'] as const),
]
export type ReportKey = (typeof REPORT_KEYS)[number]

export const ReportPath = z.strictObject({
  key: documented(
    z
      .string()
      .max(40)
      .regex(/^[a-z]+(-[a-z]+)*$/, 'Must be the key of a report. GET /v1/reports lists them.'),
    { type: 'string', enum: [...REPORT_KEYS] },
  ),
})
export const ReportQuery = z.strictObject(ofFiscalEntity).superRefine(requireFiscalEntity)

/** The query of GET /v1/reports/{key}. */
export const ReportPageQuery = z
  .strictObject({
    ...ofFiscalEntity,
    from: Month.optional().meta({
      description:
        'The first month. The default is the first one with a document. Rows by counterparty or reason are of the documents of the range; rows of ' +
        '`compliance` have their date in it.',
    }),
    to: Month.optional().meta({
      description: 'The last month. The default is the current month in America/Mexico_City. A range with `from` has at most 120 months.',
    }),
    global_suppliers: z
      .string()
      .regex(/^[A-ZÑ&\d]{3,13}(,[A-ZÑ&\d]{3,13}){0,199}$/, 'Must be RFCs, separated by commas, at most 200.')
      .optional()
      .meta({ description: 'Suppliers that the DIOT groups as global (third party 15, operation 87; 85 before 2025): only for `diot`.' }),
    ...Paging,
  })
  .superRefine(requireFiscalEntity)
export type ReportPageQuery = z.infer<typeof ReportPageQuery>

const Key = z.enum(REPORT_KEYS).meta({ id: 'ReportKey' })

const CatalogItem = z
  .strictObject({ key: Key, title: z.string(), description: z.string(), inputs: z.array(z.string()) })
  .meta({ id: 'ReportCatalogItem' })
export const ReportCatalog = pageOf(CatalogItem).meta({ id: 'ReportCatalog' })
export type ReportCatalog = z.infer<typeof ReportCatalog>

const count = z.int()
const day = z.iso.date()
const direction = z.enum(['issued', 'received'])
const monies = <const Names extends readonly string[]>(...names: Names) =>
  Object.fromEntries(names.map((name) => [name, money])) as Record<Names[number], typeof money>
const is_partial = z.boolean().meta({
  description:
    'Whether the year or month was not over at source_watermark, so that documents of it are still to come, or `from` or `to` divides the year.',
})
const row = <Shape extends z.ZodRawShape>(id: string, shape: Shape) =>
  z.strictObject({ ...shape, drilldown: Drilldown }).meta({ id: `Report${id}Row` })

const FiscalSummary = row('FiscalSummary', {
  ...{ year: z.string(), is_partial },
  ...monies('ingresos', 'egresos', 'iva_trasladado', 'iva_acreditable', 'iva_retenido_por_clientes', 'iva_retenido_a_terceros'),
  ...monies('isr_retenido_por_clientes', 'isr_retenido_a_terceros', 'nomina', 'nomina_isr'),
})
const RevenueExpenses = row('RevenueExpenses', {
  ...{ month: z.string(), is_partial },
  ...monies('revenue', 'credit_notes', 'net_revenue', 'expenses', 'credit_notes_received', 'net_expenses', 'cost_of_goods', 'payroll'),
  gross_profit: money,
  gross_margin: percent,
  operating_result: money,
})
const lost = money.nullable().meta({ description: 'Of cancelled documents. Null when no amount of any of them is known.' })
const without_amount = count.meta({
  description: 'How many of these are in no amount: only their metadata is known, or their exchange rate is not.',
})
const AnnualComparison = row('AnnualComparison', {
  ...{ year: z.string(), month: z.string(), is_partial },
  ...monies('issued', 'received'),
  ...{ cancelled_issued: lost, cancelled_received: lost },
  ...{ issued_count: count, received_count: count, cancelled_issued_count: count, cancelled_received_count: count },
  ...{ cancelled_issued_without_amount: without_amount, cancelled_received_without_amount: without_amount },
  ...{ issued_change_pct: percent, received_change_pct: percent },
})
const CounterpartyNetwork = row('CounterpartyNetwork', {
  ...{ rfc: z.string(), name: z.string().nullable(), relation: z.enum(['customer', 'supplier', 'both']) },
  ...{ issued: money, received: money, issued_share: percent, received_share: percent },
  ...{ invoice_count: count, credit_note_count: count, cancelled_count: count },
  ...{ first_day: day, last_day: day, active_months: count, blacklist: Listed },
})
const Cancellations = row('Cancellations', {
  ...{ direction, reason: z.enum(['01', '02', '03', '04', 'unknown']), count, amount: lost, without_amount, share: percent },
  lag_days: z.string().nullable().meta({ description: 'Average days from Fecha to the cancellation, with two places.' }),
  after_month_close: count.meta({ description: 'Those that were cancelled in a later month than that of their Fecha.' }),
})
const ratio = z.string().nullable()
const PaymentBehavior = row('PaymentBehavior', {
  ...{ direction, rfc: z.string(), name: z.string().nullable(), paid: money, payment_count: count, invoice_count: count },
  ...{ weighted_days_to_pay: ratio, on_time_rate: percent, average_installments: ratio, outstanding: money, overdue: money },
})
const Diot = row('Diot', {
  ...{ period: z.string(), is_partial, rfc: z.string().nullable(), name: z.string().nullable() },
  ...{ tipo_tercero: z.enum(['04', '05', '15']), tipo_operacion: z.string() },
  ...monies('base_16', 'iva_16', 'base_8', 'iva_8', 'base_0', 'base_exento', 'base_otras', 'iva_otras', 'iva_retenido'),
  ...monies('base_no_objeto', 'base_sin_traslado'),
  ...monies('devuelto_base_16', 'devuelto_iva_16', 'devuelto_base_8', 'devuelto_iva_8', 'devuelto_base_otras', 'devuelto_iva_otras'),
  ...monies('no_acreditable_iva_16', 'no_acreditable_iva_8', 'no_acreditable_iva_otras'),
  ...monies('acreditable_iva_16', 'acreditable_iva_8', 'acreditable_iva_otras'),
  ...monies('base_8_norte', 'iva_8_norte', 'devuelto_base_8_norte', 'devuelto_iva_8_norte'),
  ...monies('no_acreditable_iva_8_norte', 'acreditable_iva_8_norte'),
  ...monies('base_8_sur', 'iva_8_sur', 'devuelto_base_8_sur', 'devuelto_iva_8_sur'),
  ...monies('no_acreditable_iva_8_sur', 'acreditable_iva_8_sur'),
})
const Payroll = row('Payroll', {
  ...{ month: z.string(), is_partial, headcount: count, receipts: count },
  ...monies('percepciones', 'deducciones', 'otros_pagos', 'isr'),
  average_salario_diario_integrado: ratio,
})
const COMPLIANCE = [
  row('Opinion', { kind: z.literal('opinion'), date: day, sense: OpinionSense }),
  row('CsfChange', { kind: z.literal('csf_change'), date: day, field: z.string(), from: z.json(), to: z.json() }),
  row('Return', {
    ...{ kind: z.literal('return'), description: z.string(), periodicity: z.enum(['monthly', 'annual', 'unknown']), period: z.string() },
    due_date: day,
    ...{ status: z.enum(['pending', 'filed', 'overdue', 'unknown']), declaration_id: z.string().nullable() },
  }),
  row('Certificate', {
    ...{ kind: z.literal('certificate'), serial: z.string(), certificate_kind: Certificate.shape.kind, valid_to: day },
    ...{ status: Certificate.shape.status, days_to_expiry: count },
  }),
] as const

const ROWS = {
  'fiscal-summary': [FiscalSummary],
  'revenue-expenses': [RevenueExpenses],
  'annual-comparison': [AnnualComparison],
  'counterparty-network': [CounterpartyNetwork],
  cancellations: [Cancellations],
  'payment-behavior': [PaymentBehavior],
  diot: [Diot],
  compliance: COMPLIANCE,
  payroll: [Payroll],
} as const satisfies Record<ReportKey, readonly z.ZodObject[]>
const rows = z.union(Object.values(ROWS).flat() as unknown as [typeof FiscalSummary, ...(typeof ROWS)[ReportKey][number][]])

/** The columns of a report as a table. Rows of several kinds have those of all. */
export const columnsOfReport = (key: ReportKey) => [
  ...new Map(ROWS[key].flatMap((one) => columnsOf(one).map((column) => [column.heading, column]))).values(),
]

export const Report = z
  .strictObject({
    key: Key,
    from: z.string().nullable().meta({ description: 'The first month that was asked for. Null for the first one with a document.' }),
    to: z.string().nullable().meta({ description: 'The last month that was asked for. Null for the current one.' }),
    generated_at: Instant.meta({
      description: 'When the report was last brought up to date because something of it had changed, or on request.',
    }),
    source_watermark: Instant.meta({
      description:
        'Up to when documents were known then: the later ceiling of your windows, or the last download or import for an organization ' +
        'without extractors. It moves on with your runs while nothing changes.',
    }),
    through: Instant.nullable().meta({
      description:
        'Your own last extraction of both sources, up to which the report has all documents: the earlier ceiling of your windows. What others ' +
        'downloaded later is not in it. Null for an organization without extractors, which sees everything that the service has.',
    }),
    is_stale: z.boolean().meta({
      description: 'Whether a document that you can read has come or changed, or a rule has changed, since the report was made.',
    }),
    data: z.strictObject({
      basis: Basis,
      data_quality: InsightQuality,
      rows: z.array(rows).meta({ description: 'Rows of the shape that is named after the report: a page of them.' }),
    }),
    ...pageMembers,
  })
  .meta({ id: 'Report' })
export type Report = z.infer<typeof Report>

export const ReportBuilding = z
  .strictObject({ status: z.literal('building'), key: Key, retry_after_seconds: z.int() })
  .meta({ id: 'ReportBuilding', description: 'The report is made for the first time.' })
export type ReportBuilding = z.infer<typeof ReportBuilding>

export const ReportQueued = z
  .strictObject({ status: z.literal('queued'), key: Key, fiscal_entity_id: z.string() })
  .meta({ id: 'ReportQueued' })
export type ReportQueued = z.infer<typeof ReportQueued>

export const PortfolioVatQuery = z.strictObject({
  ...Clients,
  month: Month.optional().meta({
    description: 'The current month in America/Mexico_City, which is the default, or the one before. Nothing is kept of other months.',
  }),
})
export type PortfolioVatQuery = z.infer<typeof PortfolioVatQuery>

export const PortfolioVat = z
  .strictObject({
    ...client,
    month: z.string(),
    saldo: money.nullable().meta({
      description:
        'As in the row of GET /v1/analytics/vat-position: IVA to be paid; below zero, in favour of the taxpayer. Null where `reason` says why.',
    }),
    resultado: z.enum(['a_cargo', 'a_favor']).nullable().meta({ description: 'Null as `saldo` is.' }),
    reason: z
      .enum(['window_bounded', 'not_made', 'building', 'not_kept', 'month_unknown'])
      .nullable()
      .meta({
        description:
          'Why `saldo` is null. `window_bounded`: no reports are made of an RFC whose windows do not show its whole history. `not_made`: nobody has asked ' +
          'for a report of the RFC. `building`: its reports are made for the first time. `not_kept`: nothing is kept of this month. ' +
          '`month_unknown`: nothing issued, or nothing received, of the month is known yet.',
      }),
    as_of: Instant.nullable().meta({ description: 'When it was computed. Null where nothing is kept.' }),
    is_stale: z.boolean().nullable().meta({
      description:
        'Whether your runs, your imports or a rule may have changed it since. What a list under article 69-B changes is only seen when it is computed again. Null as `as_of` is.',
    }),
    refresh: z.string().nullable().meta({
      description:
        'The path to which a POST has it computed again. Null where the windows forbid it: GET /v1/analytics/vat-position answers there.',
    }),
  })
  .meta({ id: 'PortfolioVat' })
export type PortfolioVat = z.infer<typeof PortfolioVat>
