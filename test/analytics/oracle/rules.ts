/**
 * The rules as the oracle takes them: those in force on a day. Rates are decimal text. The real values come from the dated tables of the
 * service; these defaults are what insights.md states.
 */

import type { Day } from './shapes.ts'

export interface Expectation {
  /** Decimal text, or null without one. */
  isr: string | null
  /** `two_thirds` or `all` of the IVA, a decimal rate of the net, or null. */
  iva: 'two_thirds' | 'all' | string | null
}

export interface Rules {
  risk_weights: Record<string, number>
  risk_levels: { critical: number; high: number; medium: number }
  rep_grace_days: number
  rep_due_day: number
  cash_limit: string
  /** Prefixes of c_ClaveProdServ. */
  claves: {
    freight: string[]
    rent: string[]
    commission: string[]
    /** Fees: professional and technical services. */
    service: string[]
    /** Agents of insurance and finance, whose commissions are fees. */
    agent: string[]
    scrap: string[]
    personnel: string[]
    /** Of which a natural person of 626 is exempt. */
    primary: string[]
    fuel: string[]
    repse: string[]
    unclassified: string[]
  }
  /** By class; what is withheld of a natural person of 626 also by what it bills. */
  withholding: Record<string, Expectation>
  /** Whether the DIOT knows goods, and rent of other things than real property (since 2025). */
  diot: { has_goods: boolean; rent: string[] }
  /** Sales that do not take part in the proportion of IVA (`out`), or may not (`review`). */
  proportion: { treatment: 'out' | 'review'; claves: string[] }[]
  /** Cars and their limit of cost; `review` may be cars. Goods (uses) have none. */
  vehicles: { claves: string[]; electric: string[]; review: string[]; limit: string; electric_limit: string; goods: string[] }
  /** Rented cars and their limit of a day. */
  car_rental: { claves: string[]; limit: string }
  /** The first two digits of the postal codes of the border regions. */
  border_regions: Record<'norte' | 'sur', string[]>
  withholding_tolerance: string
  withholding_due_day: number
  flow_regimes: string[]
  electronic_forms: string[]
  review_forms: string[]
  /** By uso: category, cap group, whether only electronic payment is allowed. */
  personal: Record<string, { category: string; cap_group: string | null; electronic: boolean }>
  global_cap: { uma: number; income: string }
  funeral_uma: number
  donation_income: string
  retirement: { income: string; uma: number; fixed: string }
  tuition: Record<string, string>
  /** Annual UMA by year. */
  uma: Record<string, string>
  investment_rates: Record<string, string>
  /** c_UsoCFDI: the regimes of the receiver that a uso allows. */
  uso_regimes: Record<string, string[]>
  hhi: { moderate: number; high: number }
  outlier: { mad: number; least: number }
  default_terms_days: number
  pool: { advance_rate: string; max_age_days: number; debtor_cap: string; overdue_days: number }
  isr_rate: string
  correction_days: number
  thresholds: Record<string, string>
  obligations: { due_day: number; extension: Record<string, number> }
}

export type RateTable = (currency: string, day: Day) => { rate: string; date: Day; source: string } | null

/** The rate that holds on a day: the latest of a table that was set before the day. */
export const rateTable =
  (rows: readonly { currency: string; date: Day; rate: string; source: string }[]): RateTable =>
  (currency, day) =>
    rows
      .filter((row) => row.currency === currency && row.date < day)
      .sort((a, b) => (a.date < b.date ? 1 : -1))
      .at(0) ?? null

const PERSONS = ['605', '606', '608', '611', '612', '614', '607', '615', '625']
const ALL_BUSINESS = ['601', '603', '606', '612', '620', '621', '622', '623', '624', '625', '626']

export const DEFAULT_RULES: Rules = {
  risk_weights: {
    ...{
      counterparty_69b_definitivo: 80,
      counterparty_69b_presunto: 50,
      counterparty_69b_bis: 40,
      csd_sin_efectos: 40,
      counterparty_69: 20,
    },
    ...{ cancelled_after_payment: 80, cancellation_in_process: 30, sat_not_found: 60, ppd_missing_complement: 30, complement_late: 15 },
    ...{ complement_cancelled: 50, pue_forma_99: 15, ppd_forma_not_99: 15, cash_over_2000: 25, cash_in_parts: 10, withholding_missing: 25 },
    ...{ repse_not_valid_at_payment: 40, duplicate_suspected: 20, substituted_not_cancelled: 25 },
    ...{ receptor_regimen_uso_invalid: 10, metadata_only: 5 },
  },
  risk_levels: { critical: 70, high: 40, medium: 20 },
  rep_grace_days: 45,
  rep_due_day: 5,
  cash_limit: '2000',
  claves: {
    freight: ['7810'],
    rent: ['801315'],
    commission: ['801416'],
    service: ['8010', '8012', '8110', '8111', '8211', '8411', '85', '86'],
    agent: ['8412', '8413'],
    scrap: ['1114', '1119'],
    personnel: ['801116'],
    primary: ['1010', '5012', '5030', '5040'],
    fuel: ['15101'],
    repse: ['7611', '9210', '8011'],
    unclassified: ['01010101'],
  },
  withholding: {
    honorarios: { isr: '0.1', iva: 'two_thirds' },
    arrendamiento: { isr: '0.1', iva: 'two_thirds' },
    resico_pf: { isr: '0.0125', iva: 'two_thirds' },
    resico_autotransporte: { isr: '0.0125', iva: '0.04' },
    resico_desperdicios: { isr: '0.0125', iva: 'all' },
    resico_primario: { isr: null, iva: null },
    comision: { isr: null, iva: 'two_thirds' },
    agentes: { isr: '0.1', iva: 'two_thirds' },
    autotransporte: { isr: null, iva: '0.04' },
    desperdicios: { isr: null, iva: 'all' },
    servicios_personal: { isr: null, iva: null },
    otros: { isr: null, iva: null },
  },
  diot: { has_goods: true, rent: ['801315', '721417', '78111808', '801618', '811124'] },
  proportion: [
    { treatment: 'out', claves: ['841017', '841215', '841219', '841216', '841218'] },
    { treatment: 'review', claves: ['9510', '2510', '9512', '9513'] },
  ],
  vehicles: {
    claves: ['25101500', '25101503', '25101504', '25101505', '25101506', '25101508'],
    electric: ['25101509'],
    review: ['25101507', '25101600', '25101604', '25101611', '251021'],
    ...{ limit: '175000', electric_limit: '250000', goods: ['G01'] },
  },
  car_rental: { claves: ['78111808'], limit: '200' },
  border_regions: {
    norte: ['21', '22', '25', '26', '27', '31', '32', '33', '64', '65', '66', '67', '83', '84', '85', '87', '88', '89'],
    sur: ['24', '29', '30', '77', '86'],
  },
  withholding_tolerance: '0.01',
  withholding_due_day: 17,
  flow_regimes: ['606', '612', '626'],
  electronic_forms: ['02', '03', '04', '05', '28', '29'],
  review_forms: ['06', '08'],
  personal: {
    D01: { category: 'health', cap_group: 'global', electronic: true },
    D02: { category: 'health_disability', cap_group: null, electronic: true },
    D03: { category: 'funeral', cap_group: 'global', electronic: false },
    D04: { category: 'donations', cap_group: 'global', electronic: false },
    D05: { category: 'mortgage', cap_group: 'global', electronic: false },
    D06: { category: 'retirement', cap_group: 'retirement_voluntary', electronic: false },
    D07: { category: 'insurance', cap_group: 'global', electronic: true },
    D08: { category: 'school_transport', cap_group: 'global', electronic: true },
    D09: { category: 'retirement', cap_group: 'retirement_185', electronic: false },
    D10: { category: 'tuition', cap_group: 'tuition', electronic: true },
  },
  global_cap: { uma: 5, income: '0.15' },
  funeral_uma: 1,
  donation_income: '0.07',
  retirement: { income: '0.10', uma: 5, fixed: '152000' },
  tuition: {
    Preescolar: '14200',
    Primaria: '12900',
    Secundaria: '19900',
    'Profesional técnico': '17100',
    'Bachillerato o su equivalente': '24500',
  },
  uma: { '2023': '37844.40', '2024': '39606.36', '2025': '41273.52', '2026': '42794.64' },
  investment_rates: {
    ...{ I01: '0.05', I02: '0.10', I03: '0.25', I04: '0.30', I05: '0.35', I06: '0.10', I07: '0.10', I08: '0.10' },
  },
  uso_regimes: {
    ...Object.fromEntries(['G01', 'G02', 'G03', ...Array.from({ length: 8 }, (_, n) => `I0${n + 1}`)].map((uso) => [uso, ALL_BUSINESS])),
    ...Object.fromEntries(['D01', 'D02', 'D03', 'D04', 'D05', 'D06', 'D07', 'D08', 'D09', 'D10'].map((uso) => [uso, PERSONS])),
    S01: [...ALL_BUSINESS, '605', '607', '608', '610', '611', '614', '615', '616'],
  },
  hhi: { moderate: 1000, high: 1800 },
  outlier: { mad: 3, least: 5 },
  default_terms_days: 30,
  pool: { advance_rate: '0.80', max_age_days: 120, debtor_cap: '0.25', overdue_days: 30 },
  isr_rate: '0.30',
  correction_days: 30,
  thresholds: {
    ...{ tax_compliance: 'positivo', blacklist_status: '0', blacklisted_counterparties: '0', intercompany_share: '25' },
    ...{ customer_concentration: '1800', supplier_concentration: '1800', foreign_exchange_share: '30', cash_share: '10' },
    ...{ cancelled_issued_rate: '10', cancelled_received_rate: '10', ppd_overdue_share: '25', repse_at_risk_share: '0' },
  },
  obligations: { due_day: 17, extension: { '1': 1, '2': 1, '3': 2, '4': 2, '5': 3, '6': 3, '7': 4, '8': 4, '9': 5, '0': 5 } },
}
