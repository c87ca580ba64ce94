import { CODES as codes } from '../../../../src/cfdi/codes.ts'
import { count, dayOfYear, decimal, money, rate } from '../../../format.ts'
import type { Language } from '../../../language.ts'
import { words as flagged } from '../flagged/words.ts'
import { words } from './rule-words.ts'

type Texts = Record<string, string>
interface Fraction {
  numerator: number
  denominator: number
}
interface Class {
  emisor: string
  detection: { emisor_regimenes: string[] | null; claves: string[] | null }[]
  isr: Fraction | null
  iva: (Fraction & { of: 'net' | 'iva'; claves: string[] | null }) | null
}
interface Operation {
  operacion: string
  emisor_regimenes: string[] | null
  claves: string[] | null
}
interface Deduction {
  cap_group: string | null
  limit: Texts | null
  payment: string
  review: boolean
}

/** A part of a whole, as percent where the rule says hundredths or ten-thousandths; the point of `125 / 10000` is placed, nothing is divided. */
function partOf({ numerator, denominator }: Fraction): string {
  const text = String(numerator)
  if (denominator === 100) return `${text} %`
  return denominator === 10_000 ? `${text.padStart(3, '0').replace(/(\d\d)$/, '.$1')} %` : `${text}/${String(denominator)}`
}

/** How rules and their values are said: percentages, lists, days and amounts. */
export function sayingRules(language: Language) {
  const t = words[language]
  const c = codes[language]
  const flags: Texts = flagged[language].short
  const list = (some: readonly string[]): string => new Intl.ListFormat(language, { type: 'conjunction' }).format(some)
  const entries = (value: unknown, say: (name: string, value: never) => string): string =>
    Object.entries(value as Record<string, never>)
      .map(([name, one]) => say(name, one))
      .join('; ')
  const number = (value: unknown): string => (typeof value === 'number' ? count(value) : decimal(String(value)))
  const regimes = (some: readonly string[]): string => list(some.map((one) => `${one} (${(c.regimen_fiscal as Texts)[one] ?? one})`))
  const uses = (some: readonly string[]): string => list(some.map((one) => `${one} (${(c.uso_cfdi as Texts)[one] ?? one})`))
  const forms = (some: readonly string[]): string => list(some.map((one) => (c.forma_pago as Texts)[one] ?? one))
  const counted = (say: (n: string) => string) => (value: unknown) => say(number(value))
  const keys = (value: unknown): string => t.ofKeys(list(value as string[])).replace(/^./, (first) => first.toUpperCase())

  const limitOf = (limit: Texts): string => {
    const { uma, income, prior_income, amount } = limit
    const parts = [
      uma && t.uma(number(uma)),
      income && t.income(rate(income)),
      prior_income && t.priorIncome(rate(prior_income)),
      amount && money(amount),
    ]
    const said = parts.filter((part): part is string => Boolean(part))
    return said.length > 1 ? t.lesser(list(said)) : said.join('')
  }
  const deduction = (value: unknown): string => {
    const { cap_group, limit, payment, review } = value as Deduction
    const group = cap_group === null ? t.noGroup : (t.group[cap_group] ?? cap_group)
    return [limit ? t.limit(limitOf(limit)) : t.noLimit, group, t.payment[payment] ?? payment, review && t.review]
      .filter(Boolean)
      .join('; ')
  }
  const detectedOf = ({ emisor_regimenes, claves }: Class['detection'][number]): string =>
    [emisor_regimenes && t.ofRegimes(list(emisor_regimenes)), claves ? t.ofKeys(list(claves)) : emisor_regimenes ? '' : t.anyService]
      .filter(Boolean)
      .join(' ')
  const withholding = (value: unknown): string => {
    const { emisor, detection, isr, iva } = value as Class
    const detected = detection.map(detectedOf)
    const tax = [
      isr ? t.isr(partOf(isr)) : t.noIsr,
      iva && t.iva[iva.of](partOf(iva)) + (iva.claves ? ` (${t.ofKeys(list(iva.claves))})` : ''),
    ]
    return [`${t.emisor[emisor] ?? emisor} ${detected.join(t.or)}`, ...tax].filter(Boolean).join('; ')
  }

  const percentOf = (value: unknown): string => rate(String(value))
  const amountOf = (value: unknown): string => money(String(value))
  const SAY: Record<string, (value: unknown) => string> = {
    uma: (value) =>
      entries(value, (name, amount) => `${{ daily: t.daily, monthly: t.monthly, annual: t.annual }[name] ?? name} ${money(amount)}`),
    'isr.tariff': (value) =>
      (value as { lower: string; fixed: string; rate: string }[])
        .map(({ lower, fixed, rate: part }) => t.tariff(money(lower), money(fixed), rate(part)))
        .join('; '),
    'isr.resico_pf': (value) =>
      (value as { up_to: string; rate: string }[]).map(({ up_to, rate: part }) => t.upTo(money(up_to), rate(part))).join('; '),
    'cash.threshold': amountOf,
    'cancellation.without_acceptance': amountOf,
    'cash.several_payments': (value) => t.several[String(value)] ?? String(value),
    'balance.tolerance': amountOf,
    payment_forms: (value) => entries(value, (name, some) => `${t.forms[name] ?? name}: ${forms(some)}`),
    'risk.weights': (value) => entries(value, (name, weight) => `${flags[name] ?? t.other(name)}: ${count(weight)}`),
    'risk.levels': (value) => entries(value, (name, least) => `${t.levels[name] ?? name}: ${count(least)}`),
    'concentration.levels': (value) => entries(value, (name, least) => `${t.concentration[name] ?? name}: ${count(least)}`),
    'rep.grace_days': counted(t.days),
    'rep.due_day': counted(t.dayOfNext),
    'sat.not_found_hours': counted(t.hours),
    'repse.claves': keys,
    'indicator.tax_compliance': (value) => t.opinion[String(value)] ?? String(value),
    'deduction.global_cap': (value) => limitOf(value as Texts),
    'deduction.tuition': (value) => entries(value, (level, amount) => `${level}: ${money(amount)}`),
    'deduction.excluded_regimes': (value) => regimes(value as string[]),
    'deduction.paid_only': (value) => {
      const { emisor_regimenes, nombres } = value as { emisor_regimenes: string[]; nombres: string[] }
      return `${regimes(emisor_regimenes)}; ${list(nombres)}`
    },
    'deduction.flow_basis': (value) => regimes(value as string[]),
    'deduction.business': (value) => entries(value, (name, some) => `${t.uses[name] ?? name}: ${uses(some)}`),
    'deduction.fuel': (value) => keys((value as { claves: string[] }).claves),
    'deduction.restaurants': (value) => {
      const { claves, formas, rate: part } = value as { claves: string[]; formas: string[]; rate: string }
      return `${rate(part)}; ${keys(claves)}; ${forms(formas)}`
    },
    'deduction.vehicles': (value) => {
      const { claves, electric, limit, electric_limit } = value as {
        claves: string[]
        electric: string[]
        limit: string
        electric_limit: string
      }
      return `${money(limit)}: ${keys(claves)}; ${money(electric_limit)}: ${keys(electric)}`
    },
    'vat.border_regions': (value) => entries(value, (name, some) => `${name}: ${list(some as string[])}`),
    'deduction.car_rental': (value) => {
      const { claves, limit } = value as { claves: string[]; limit: string }
      return `${money(limit)}: ${keys(claves)}`
    },
    'concepts.outlier_mad': counted(t.mad),
    'concepts.outlier_least': counted(t.prices),
    'concepts.unclassified': keys,
    'concentration.trend_months': counted(t.months),
    'financing.advance_rate': percentOf,
    'financing.debtor_cap': percentOf,
    'financing.payment_months': counted(t.months),
    'financing.aging_days': (value) => t.buckets(list((value as number[]).map(number))),
    'efos.correction_business_days': counted(t.businessDays),
    'fx.sensitivity': (value) => list((value as string[]).map((one) => rate(one))),
    'fx.series': (value) => entries(value, (series, currency) => `${currency}: ${series}`),
    'obligation.due_day': counted(t.dayOfNext),
    'obligation.extension_days': (value) => t.extension(entries(value, (digit, days) => t.digit(digit, count(days)))),
    'obligation.notice_days': (value) => t.before(list((value as number[]).map(number))),
    'obligation.annual_due': (value) => entries(value, (person, on) => `${t.person[person] ?? person}: ${dayOfYear(on)}`),
    'withholding.tolerance': percentOf,
    'vat.proportion': (value) => (value as { claves: string[] }[]).map(({ claves }) => keys(claves)).join('; '),
    'diot.file': (value) =>
      entries((value as { operaciones: Record<string, string[]> }).operaciones, (tercero, some) => `${tercero}: ${list(some as string[])}`),
    'diot.operation': (value) => (value as Operation[]).map(({ operacion, ...of }) => `${operacion}: ${detectedOf(of)}`).join('; '),
  }
  const sayerOf = (key: string, value: unknown): ((value: unknown) => string) | undefined => {
    if (SAY[key]) return SAY[key]
    if (key.startsWith('withholding.')) return withholding
    if (key.startsWith('deduction.')) return deduction
    if (key.startsWith('investment.')) return (of) => t.perYear(rate((of as { annual_rate: string }).annual_rate))
    if (/^financing\..*_days$/.test(key)) return counted(t.days)
    if (/^(vat|isr)\.|^indicator\..*_(share|rate)$/.test(key)) return percentOf
    return typeof value === 'number' || typeof value === 'string' ? number : undefined
  }

  return {
    nameOf: (key: string): string => {
      const [head, use = ''] = key.split('.')
      const named = (c.uso_cfdi as Texts)[use]
      if (named && head === 'deduction') return t.deduction(`${use}, ${named}`)
      if (named && head === 'investment') return t.investment(`${use}, ${named}`)
      return t.names[key] ?? key
    },
    /** An operator's rule can have another shape some day: it is shown as it is. */
    valueOf: (key: string, value: unknown): string => {
      if (value === null) return t.catalog
      const say = sayerOf(key, value)
      return say ? say(value) : JSON.stringify(value)
    },
  }
}
