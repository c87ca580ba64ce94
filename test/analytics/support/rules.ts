import type { RuleKey, RuleRow, RuleValues } from '../../../src/authority/rules/dated.ts'
import type { Rules } from '../oracle/rules.ts'
import type { Day } from '../oracle/shapes.ts'
import { addDays } from '../oracle/world.ts'

const decimal = ({ numerator, denominator }: { numerator: number; denominator: number }): string =>
  (numerator / denominator).toFixed(6).replace(/0+$/, '')

const YEARS = Array.from({ length: 12 }, (_, n) => String(2018 + n))
const CLASSES = [
  ...(['resico_primario', 'resico_autotransporte', 'resico_desperdicios', 'resico_pf', 'autotransporte', 'desperdicios'] as const),
  ...(['servicios_personal', 'arrendamiento', 'comision', 'agentes', 'honorarios'] as const),
]
const USES = ['D01', 'D02', 'D03', 'D04', 'D05', 'D06', 'D07', 'D08', 'D09', 'D10'] as const
const INVESTMENTS = ['I01', 'I02', 'I03', 'I04', 'I05', 'I06', 'I07', 'I08'] as const
const INDICATORS = [
  'intercompany_share',
  'foreign_exchange_share',
  'cash_share',
  'cancelled_issued_rate',
  'cancelled_received_rate',
] as const
const SHARES = [...INDICATORS, 'ppd_overdue_share', 'repse_at_risk_share'] as const
const OTHERS = [
  'tax_compliance',
  'blacklist_status',
  'blacklisted_counterparties',
  'customer_concentration',
  'supplier_concentration',
] as const

/** The value of a day: of the own rows, else of the defaults, the one that began last; before all defaults the next that begins. */
function valueOn(own: readonly RuleRow[], defaults: readonly RuleRow[], key: RuleKey, day: Day): unknown {
  const byDay = (list: readonly RuleRow[]) => list.filter((row) => row.key === key).sort((a, b) => (a.valid_from < b.valid_from ? -1 : 1))
  const [mine, given] = [byDay(own), byDay(defaults)]
  const holds = ({ valid_from, valid_to }: RuleRow) => valid_from <= day && (valid_to === null || valid_to >= day)
  const found = mine.findLast(holds) ?? given.findLast(holds)
  if (found) return found.value
  const next = byDay([...mine, ...given]).find(({ valid_from }) => day < valid_from)
  if (!next || given[0]!.valid_from <= day) throw new Error(`${key} has no value on ${day}`)
  return next.value
}

/** The service's dated rules by day, in the oracle's form, with an operator's own values. */
export function rulesFrom(defaults: readonly RuleRow[], own: readonly RuleRow[] = []): (day: Day) => Rules {
  const rows = [...own, ...defaults]
  const changes = [
    ...new Set(rows.flatMap(({ valid_from, valid_to }) => [valid_from, valid_to === null ? [] : addDays(valid_to, 1)].flat())),
  ].sort()
  const known = new Map<number, Rules>()
  return (day) => {
    const since = changes.findLastIndex((change) => change <= day)
    const rules = known.get(since) ?? rulesOnDay((key, on = day) => valueOn(own, defaults, key, on) as never)
    known.set(since, rules)
    return rules
  }
}

type Get = <Key extends RuleKey>(key: Key, day?: Day) => RuleValues[Key]

/** Annual UMAs are those of the 31st of December. */
function rulesOnDay(get: Get): Rules {
  const rules = { get }
  const classes = CLASSES.map((name) => [name, rules.get(`withholding.${name}`)] as const)
  const claveOf = (name: (typeof CLASSES)[number]) =>
    classes.find(([one]) => one === name)![1].detection.flatMap(({ claves }) => claves ?? [])
  const deductions = USES.map((uso) => [uso, rules.get(`deduction.${uso}`)] as const)
  const [donation, voluntary, fixed] = (['D04', 'D06', 'D09'] as const).map((uso) => rules.get(`deduction.${uso}`).limit!)
  const kinds = rules.get('diot.operation')
  const forms = rules.get('payment_forms')
  const global = rules.get('deduction.global_cap')
  return {
    ...{ risk_weights: rules.get('risk.weights'), risk_levels: rules.get('risk.levels') },
    ...{ rep_grace_days: rules.get('rep.grace_days'), rep_due_day: rules.get('rep.due_day'), cash_limit: rules.get('cash.threshold') },
    claves: {
      ...{
        freight: claveOf('autotransporte'),
        rent: claveOf('arrendamiento'),
        commission: claveOf('comision'),
        service: claveOf('honorarios'),
        ...{ agent: claveOf('agentes'), scrap: claveOf('desperdicios'), personnel: claveOf('servicios_personal') },
        primary: claveOf('resico_primario'),
      },
      ...{ fuel: rules.get('deduction.fuel').claves, repse: rules.get('repse.claves'), unclassified: rules.get('concepts.unclassified') },
    },
    withholding: {
      ...Object.fromEntries(
        classes.map(([name, { isr, iva }]) => [
          name,
          { isr: isr && decimal(isr), iva: iva && (iva.of === 'net' ? decimal(iva) : iva.numerator === 1 ? 'all' : 'two_thirds') },
        ]),
      ),
      otros: { isr: null, iva: null },
    },
    diot: {
      has_goods: kinds.some(({ operacion }) => operacion === '02'),
      rent: kinds.flatMap((one) => (one.operacion === '06' ? (one.claves ?? []) : [])),
    },
    ...{ proportion: rules.get('vat.proportion'), vehicles: rules.get('deduction.vehicles') },
    ...{ car_rental: rules.get('deduction.car_rental'), border_regions: rules.get('vat.border_regions') },
    ...{ withholding_tolerance: rules.get('withholding.tolerance'), withholding_due_day: rules.get('obligation.due_day') },
    flow_regimes: rules.get('deduction.flow_basis'),
    ...{ electronic_forms: forms.electronic, review_forms: forms.review },
    personal: Object.fromEntries(
      deductions.map(([uso, { category, cap_group, payment }]) => [uso, { category, cap_group, electronic: payment === 'electronic' }]),
    ),
    global_cap: { uma: Number(global.uma), income: global.income },
    funeral_uma: Number(rules.get('deduction.D03').limit!.uma),
    donation_income: donation!.prior_income!,
    retirement: { income: voluntary!.income!, uma: Number(voluntary!.uma), fixed: fixed!.amount! },
    tuition: rules.get('deduction.tuition'),
    uma: Object.fromEntries(YEARS.map((year) => [year, get('uma', `${year}-12-31`).annual])),
    investment_rates: Object.fromEntries(INVESTMENTS.map((uso) => [uso, rules.get(`investment.${uso}`).annual_rate])),
    uso_regimes: Object.fromEntries(Object.entries(rules.get('catalog.uso_cfdi')).map(([uso, { regimenes }]) => [uso, regimenes])),
    hhi: rules.get('concentration.levels'),
    outlier: { mad: Number(rules.get('concepts.outlier_mad')), least: rules.get('concepts.outlier_least') },
    default_terms_days: rules.get('financing.default_terms_days'),
    pool: {
      ...{ advance_rate: rules.get('financing.advance_rate'), max_age_days: rules.get('financing.max_age_days') },
      ...{ debtor_cap: rules.get('financing.debtor_cap'), overdue_days: rules.get('financing.max_overdue_days') },
    },
    isr_rate: rules.get('isr.company'),
    correction_days: rules.get('efos.correction_business_days'),
    // Shares are answered in percent.
    thresholds: {
      ...Object.fromEntries(SHARES.map((key) => [key, (Number(rules.get(`indicator.${key}`)) * 100).toFixed(2)])),
      ...Object.fromEntries(OTHERS.map((key) => [key, String(rules.get(`indicator.${key}`))])),
    },
    obligations: { due_day: rules.get('obligation.due_day'), extension: rules.get('obligation.extension_days') },
  }
}

/** The members in which the service's rules must say what the oracle's state: what insights.md gives as numbers. */
const STATED = ['risk_weights', 'rep_grace_days', 'rep_due_day', 'cash_limit', 'withholding', 'withholding_tolerance', 'hhi'] as const
export const statedOf = (rules: Rules): Partial<Rules> => {
  const { uma, global_cap, funeral_uma, donation_income, retirement, personal, pool, isr_rate, correction_days, obligations } = rules
  const stated = Object.fromEntries(STATED.map((name) => [name, rules[name]]))
  const years = { '2025': uma['2025']!, '2026': uma['2026']! }
  return {
    ...stated,
    uma: years,
    global_cap,
    funeral_uma,
    donation_income,
    retirement,
    personal,
    pool,
    isr_rate,
    correction_days,
    obligations,
  }
}
