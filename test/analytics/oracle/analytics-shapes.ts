import type {
  Basis,
  DataQuality,
  Day,
  Direction,
  Drilldown,
  Envelope,
  Listing,
  Money,
  Month,
  Page,
  Percent,
  Rate,
  Situacion,
} from './shapes.ts'

/** The answers of /v1/analytics, of obligations, and the frame of reports. */

export interface ConceptRow {
  key: string | null
  label: string | null
  amount: Money
  share: Percent
  quantity: Rate
  unit: string | null
  avg_unit_price: Money | null
  min_unit_price: Money | null
  max_unit_price: Money | null
  price_change_pct: Percent
  invoice_count: number
  counterparty_count: number
  top_counterparty: { rfc: string; nombre: string | null; amount: Money } | null
  iva_mix: Record<'16' | '8' | '0' | 'exento' | 'otras' | 'no_objeto' | 'sin_traslado', Money>
  outlier_count: number
  by_month: { month: Month; amount: Money }[]
  drilldown: Drilldown
}
export interface ConceptsHeader {
  direction: Direction
  level: 'segment' | 'family' | 'class' | 'key' | 'description'
  total: Money
  has_line_figures: boolean
  third_party_amount: Money
  line_count: number
  unclassified_amount: Money
  unclassified_share: Percent
  outlier_count: number
  drilldown: Drilldown
}
export type ConceptsAnswer = Envelope & ConceptsHeader & Page<ConceptRow>

export type Aging = Record<'current' | 'd1_30' | 'd31_60' | 'd61_90' | 'd90_plus', Money>
export interface OpenSide {
  outstanding: Money
  overdue: Money
  invoice_count: number
  aging: Aging
  /** `dso` of receivables, `dpo` of payables. */
  days_outstanding: string | null
  weighted_days_to_pay: string | null
  on_time_rate: Percent
  expected: { month: Month; amount: Money }[]
  due_sources: { parsed: number; default: number }
  drilldown: Drilldown
}
type WithoutNames = Omit<OpenSide, 'days_outstanding' | 'expected'>
export type Receivables = WithoutNames & { dso: string | null; expected_inflows: OpenSide['expected'] }
export type Payables = WithoutNames & { dpo: string | null; expected_outflows: OpenSide['expected'] }
export interface DebtorRow {
  rfc: string
  name: string | null
  outstanding: Money
  overdue: Money
  invoice_count: number
  aging: Aging
  oldest_due_date: Day
  weighted_days_to_pay: string | null
  on_time_rate: Percent
  eligible_amount: Money
  capped_amount: Money
  blacklist: Listing
  drilldown: Drilldown
}
export interface Pool {
  eligible_amount: Money
  eligible_count: number
  ineligible: { reason: string; count: number; amount: Money; drilldown: Drilldown }[]
  advance_rate: Rate
  max_age_days: number
  debtor_cap: Rate
  haircut: Money
  fundable: Money
  drilldown: Drilldown
}
export type FinancingAnswer = Envelope & Page<DebtorRow> & { receivables: Receivables; payables: Payables; pool: Pool }

export type CashSums<Withheld extends string> = Record<
  | 'base_16'
  | 'iva_16'
  | 'base_8'
  | 'iva_8'
  | 'base_0'
  | 'base_exento'
  | 'base_otras'
  | 'iva_otras'
  | 'base_no_objeto'
  | 'base_sin_traslado'
  | Withheld,
  Money
>
export interface VatMonth {
  period: Month
  cobrado: CashSums<'retenido_por_clientes'>
  pagado: CashSums<'retenido_a_terceros'>
  terceros: Record<'base_16' | 'iva_16' | 'base_8' | 'iva_8' | 'base_0' | 'base_exento' | 'base_no_objeto', Money>
  proporcion: Record<'gravado' | 'exento' | 'no_objeto' | 'fuera' | 'por_revisar', Money>
  devengado: { trasladado: Money; acreditable: Money }
  no_deducible_excluded: Money
  excluded: { reason: string; iva: Money }[]
  por_revisar: Money
  questions: { reason: string; question: string; iva: Money }[]
  retenido_acreditable: Money
  month_before: { period: Month; withheld_credited: Money }
  at_risk_69b: Money
  at_risk_repse: Money
  prorrateo: Rate | null
  acreditable: Money | null
  saldo: Money | null
  resultado: 'a_cargo' | 'a_favor' | null
  pendiente_por_cobrar_iva: Money
  pendiente_por_acreditar_iva: Money
  pagos_sin_conciliar: { count: number; iva: Money; iva_cobrado: Money; iva_pagado: Money }
  declarado: { iva_a_cargo: Money; iva_a_favor: Money; operation_number: string | null } | null
  requires_complementary: boolean
  diferencia: Money | null
  /** The months' downloads and windows, as the monthly summary has them. */
  is_partial: boolean
  through_date: Day | null
  drilldown: Drilldown
}
export type VatAnswer = Envelope & { data: VatMonth[] }

export interface EfosRow {
  rfc: string
  name: string | null
  situacion: Situacion
  presunto_dof_at: Day | null
  definitivo_dof_at: Day | null
  resolved_at: Day | null
  invoice_count: number
  amount: Money
  iva_acreditado: Money
  isr_effect: Money | null
  paid_amount: Money
  unpaid_amount: Money
  before_listing_amount: Money
  after_listing_amount: Money
  correction_deadline: Day | null
  deadline_basis: 'published' | 'estimated' | null
  is_active: boolean
  drilldown: Drilldown
}
export interface EfosHeader {
  direction: Direction
  by_situacion: {
    situacion: Situacion
    counterparty_count: number
    invoice_count: number
    amount: Money
    iva_acreditado: Money
    isr_effect: Money | null
  }[]
  /** Of presunto and definitivo. */
  active_amount: Money
  total_purchases: Money | null
  share_of_purchases: Percent
  total_sales: Money | null
  share_of_sales: Percent
}
export type EfosAnswer = Envelope & EfosHeader & Page<EfosRow>

export interface FxRow {
  currency: string
  issued_amount: Money
  received_amount: Money
  issued_mxn: Money
  received_mxn: Money
  share_of_sales: Percent
  share_of_purchases: Percent
  open_receivable: Money
  open_payable: Money
  net_open: Money
  booked_mxn: Money
  current_rate: string | null
  rate_date: Day | null
  rate_source: string | null
  current_mxn: Money | null
  unrealized_gain_loss: Money | null
  realized_gain_loss: Money
  sensitivity: Record<'plus_1pct' | 'plus_5pct' | 'plus_10pct', Money> | null
  drilldown: Drilldown
}
export type FxAnswer = Envelope & { data: FxRow[]; missing_rates: string[]; total_sales: Money; total_purchases: Money }

export interface Indicator {
  key: string
  value: string | number | null
  threshold: string | number
  risky: boolean
  sample_size: number
  formula: string
  drilldown: Drilldown
}
export type IndicatorsAnswer = Envelope & { data: Indicator[] }

export interface ObligationRow {
  description: string
  periodicity: 'monthly' | 'annual' | 'unknown'
  due_rule: string | null
  period: string | null
  due_date: Day | null
  extended_due_date: Day | null
  status: 'pending' | 'filed' | 'overdue' | 'unknown'
  declaration_id: string | null
}

export interface ReportAnswer<Row> {
  key: string
  generated_at: string
  source_watermark: string
  is_stale: boolean
  data: { basis: Basis; data_quality: DataQuality; rows: Row[] }
}
