import type { ReportCatalog, ReportKey } from './contract.ts'
import type { PartKind } from './parts/cells.ts'

interface ReportEntry {
  title: string
  description: string
  /** The parts that it is made of. */
  kinds: readonly PartKind[]
  formulas: Record<string, string>
}

const NET = '(subtotal − descuento of I) − (the same of E), in MXN'

export const REPORTS: Readonly<Record<ReportKey, ReportEntry>> = {
  'fiscal-summary': {
    title: 'Resumen fiscal por año',
    description: 'Ingresos, egresos, IVA trasladado, acreditable y retenido, ISR retenido y nómina de cada año.',
    kinds: ['sums'],
    formulas: {
      ...{ ingresos: `${NET}, issued`, egresos: `${NET}, received`, iva_trasladado: 'IVA of I − E, issued, accrued' },
      ...{
        iva_acreditable: 'IVA of I − E, received, accrued',
        nomina: 'Σ subtotal of issued N, by Fecha',
        nomina_isr: 'Σ ISR withheld by issued N',
      },
      ...{ iva_retenido_por_clientes: 'IVA withheld of I − E, issued', iva_retenido_a_terceros: 'the same, received' },
      ...{ isr_retenido_por_clientes: 'ISR withheld of I − E, issued', isr_retenido_a_terceros: 'the same, received' },
    },
  },
  'revenue-expenses': {
    title: 'Ingresos y gastos por mes',
    description: 'Ingresos, gastos, costo de mercancías, nómina y margen bruto de cada mes, según los CFDI.',
    kinds: ['sums'],
    formulas: {
      ...{ net_revenue: 'revenue − credit_notes', net_expenses: 'expenses − credit_notes_received', payroll: 'Σ subtotal of issued N' },
      ...{ cost_of_goods: `${NET}, received, UsoCFDI G01`, gross_profit: 'net_revenue − cost_of_goods' },
      ...{ gross_margin: 'gross_profit ÷ net_revenue', operating_result: 'net_revenue − net_expenses − payroll' },
    },
  },
  'annual-comparison': {
    title: 'Comparativo anual',
    description: 'Lo emitido, recibido y cancelado de cada mes, comparado con el mismo mes del año anterior.',
    kinds: ['sums'],
    formulas: {
      ...{
        issued: `${NET}, issued`,
        received: `${NET}, received`,
        cancelled_issued: 'Σ total of cancelled I in MXN, but for cancelled_issued_without_amount of them',
      },
      issued_change_pct: 'issued ÷ issued of the same month of the year before − 1',
    },
  },
  'counterparty-network': {
    title: 'Red de contrapartes',
    description: 'Clientes y proveedores con sus montos, su participación, sus meses activos y las listas en que aparecen hoy.',
    kinds: ['documents'],
    formulas: { issued: `${NET}, issued`, received: `${NET}, received`, issued_share: 'issued ÷ Σ issued', cancelled_count: 'cancelled I' },
  },
  cancellations: {
    title: 'Cancelaciones',
    description: 'CFDI cancelados por motivo: cuántos, cuánto, con cuántos días de retraso y cuántos después del cierre del mes.',
    kinds: ['sums'],
    formulas: {
      ...{
        count: 'cancelled I and E',
        amount: 'Σ total of I − Σ total of E, in MXN, but for without_amount of them',
        share: 'count ÷ Σ count of the direction',
      },
      lag_days: 'Σ days from Fecha to the cancellation ÷ those with a date',
      after_month_close: 'those that were cancelled in a later month than that of Fecha',
    },
  },
  'payment-behavior': {
    title: 'Comportamiento de pago',
    description: 'Facturas PPD por contraparte: lo pagado, días de pago, puntualidad, parcialidades y saldos abiertos.',
    kinds: ['payments'],
    formulas: {
      ...{
        paid: 'Σ ImpPagado of complements that count, with a FechaPago up to today, at the rate of the invoice',
        invoice_count: 'PPD invoices whose rate is known',
        on_time_rate: 'paid until due ÷ paid',
      },
      weighted_days_to_pay: 'Σ paid × days from Fecha to FechaPago ÷ paid',
      ...{ average_installments: 'payment_count ÷ invoices with a payment', overdue: 'outstanding that was due before today' },
    },
  },
  diot: {
    title: 'DIOT',
    description: 'Lo pagado a cada proveedor por mes: bases e IVA por tasa, e IVA retenido.',
    kinds: ['cash'],
    formulas: {
      base_16: 'bases of the cash events of received documents: PUE on the day of Fecha, else complements by FechaPago',
      tipo_operacion: '03 honorarios, 06 arrendamiento, 85 others, by the class of the withholding rules',
      tipo_tercero: '05 foreign, 15 global, 04 others',
    },
  },
  compliance: {
    title: 'Cumplimiento',
    description: 'Opiniones 32-D, cambios de la constancia, obligaciones por periodo y certificados por vencer.',
    kinds: [],
    formulas: { status: 'as GET /v1/fiscal-entities/{id}/obligations' },
  },
  payroll: {
    title: 'Nómina',
    description: 'Recibos pagados por mes: personas, percepciones, deducciones, ISR y salario diario integrado promedio.',
    kinds: ['payroll'],
    formulas: {
      ...{ headcount: 'distinct receivers of issued N by the month of FechaPago', isr: 'Σ deductions 002' },
      ...{ percepciones: 'Σ TotalPercepciones', deducciones: 'Σ TotalDeducciones', otros_pagos: 'Σ TotalOtrosPagos' },
      average_salario_diario_integrado: 'Σ SalarioDiarioIntegrado ÷ receipts that state it',
    },
  },
}

export const listReports = (): ReportCatalog => ({
  data: Object.entries(REPORTS).map(([key, { title, description }]) => ({
    ...{ key: key as ReportKey, title, description },
    inputs: ['fiscal_entity_id'],
  })),
})
