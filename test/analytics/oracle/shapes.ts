/** The answers of the surfaces of fiscal insight. What is decided about them is in ../DECISIONS.md. */

/** Decimal text with two places, in MXN unless the row names a currency. */
export type Money = string
/** Percent, decimal text with two places; null when it is not defined. */
export type Percent = string | null
/** Decimal text with six places. */
export type Rate = string
export type Month = string
export type Day = string
export type Direction = 'issued' | 'received'
export type Drilldown = Record<string, string>
export type Situacion = 'presunto' | 'definitivo' | 'desvirtuado' | 'sentencia_favorable'
export type Listing = { source: string; situacion: Situacion | null } | null

export interface Basis {
  rules: {
    key: string
    value: unknown
    rule_ref: string
    valid_from: Day
    valid_to: Day | null
    source: string
    confidence: 'verified' | 'from_memory' | 'proposed'
  }[]
  formulas: Record<string, string>
  notes: string[]
}

export interface DataQuality {
  cfdi_total: number
  with_xml: number
  without_xml: number
  missing_rate: number
  dof_rate: number
  /** Null, like other_parties, where no figure rests on payments. */
  unreconciled_payments: number | null
  other_parties: number | null
  substituted: number
  not_counted: number
  months_missing: number
  months_downloading: number
  drilldown: Drilldown
}

interface SourceWindow {
  visible_from: Day | null
  visible_to: string | null
}

export interface Envelope {
  fiscal_entity_id: string
  from: Day
  to: Day
  currency: 'MXN'
  basis: Basis
  windows: { sat_cfdi_issued: SourceWindow; sat_cfdi_received: SourceWindow }
  window_state: 'empty' | 'bounded' | 'open'
  as_of: string
  data_quality: DataQuality
}

export interface Page<Row> {
  data: Row[]
  has_more: boolean
  next_cursor: string | null
}

/** A row of an `…/entries` page. The amount has six places. */
export interface Entry {
  uuid: string
  amount: string
  applies_to: string | null
}

export type Level = 'low' | 'medium' | 'high' | 'critical'

export interface RiskRow {
  uuid: string
  direction: Direction
  tipo_comprobante: string | null
  issued_at: string
  counterparty_rfc: string
  counterparty_name: string | null
  total: string | null
  currency: string | null
  total_mxn: Money | null
  score: number
  level: Level
  flags: { code: string; weight: number; severity: Level; message: string; rule_ref: string; evidence: Record<string, unknown> }[]
}
export type RiskAnswer = Envelope & Page<RiskRow>

export type Impuesto = 'ISR' | 'IVA' | 'IEPS'
export interface WithholdingRow {
  uuid: string
  /** The invoice that a complement pays. */
  applies_to: string | null
  source: 'cfdi' | 'pago' | 'retencion_cfdi'
  role: 'withheld_from_us' | 'withheld_by_us'
  impuesto: Impuesto
  concept_class: string | null
  /** The day of cash. */
  date: Day
  period: Month
  due_date: Day | null
  base: Money
  rate: Rate | null
  amount: Money
  expected_rate: Rate | null
  expected_amount: Money | null
  difference: Money | null
  missing: boolean
  counterparty_rfc: string
}
export interface WithholdingTotals {
  period: Month
  isr_a_favor: Money
  iva_a_favor: Money
  isr_por_enterar: Money
  iva_por_enterar: Money
  missing_count: number
  missing_amount: Money
  drilldown: Drilldown
}
export type WithholdingsAnswer = Envelope & Page<WithholdingRow> & { totals: WithholdingTotals[] }

export interface DeductionRow {
  uuid: string
  issued_at: string
  uso_cfdi: string | null
  category: string | null
  gross_amount: Money | null
  deductible_amount: Money
  status: 'eligible' | 'capped' | 'not_deductible' | 'review'
  reasons: string[]
  questions: string[]
  cap_group: string | null
  annual_rate: Rate | null
  counterparty_rfc: string
}
export interface DeductionTotals {
  year: string
  category: string
  cap_group: string | null
  gross_amount: Money
  deductible_amount: Money
  review_amount: Money
  limit: Money | null
  used: Money
  remaining: Money | null
  cap_unknown: boolean
  drilldown: Drilldown
}
export type DeductionsAnswer = Envelope & Page<DeductionRow> & { totals: DeductionTotals[]; cap_unknown: boolean }

export interface ConcentrationRow {
  rank: number | null
  rfc: string
  name: string | null
  total: Money
  share: Percent
  cumulative_share: Percent
  invoice_count: number
  first_issued_at: string | null
  last_issued_at: string | null
  active_months: number
  trend_pct: Percent
  cancelled_rate: Percent
  blacklist: Listing
  by_month: { month: Month; total: Money }[]
  drilldown: Drilldown
}
export interface ConcentrationHeader {
  direction: Direction
  total: Money
  concentration_total: Money
  counterparty_count: number
  hhi: number | null
  effective_n: string | null
  top1_share: Percent
  top3_share: Percent
  top5_share: Percent
  top10_share: Percent
  level: 'low' | 'moderate' | 'high' | null
  drilldown: Drilldown
}
export type ConcentrationAnswer = Envelope & ConcentrationHeader & Page<ConcentrationRow>
