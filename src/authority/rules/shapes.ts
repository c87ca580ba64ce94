import * as z from 'zod'
import { WITHHOLDING_CLASSES, WITHHOLDING_KEYS } from './contract.ts'

/** A day, `YYYY-MM-DD`. */
const day = z.iso.date()
/** A rate or an amount is exact decimal text. */
const rate = z.string().regex(/^\d{1,3}(\.\d{1,6})?$/, 'Must be decimal text with at most six places.')
const amount = z.string().regex(/^\d{1,12}(\.\d{1,6})?$/, 'Must be decimal text with at most six places.')
const count = z.int().min(0)
const regimes = z.array(z.string().regex(/^6\d{2}$/, 'Must be a key of c_RegimenFiscal.'))
/** Keys of c_ClaveProdServ, or what such keys begin with. */
const claves = z.array(z.string().regex(/^\d{2,8}$/, 'Must be 2 to 8 digits.'))
const codigos = z.array(z.string().regex(/^\d{2}$/, 'Must be the first 2 digits of postal codes.'))
const usos = z.array(z.string().regex(/^[A-Z]{1,2}\d{2}$/, 'Must be a key of c_UsoCFDI.'))
const formas = z.array(z.string().regex(/^\d{2}$/, 'Must be a key of c_FormaPago.'))
const operacion = z.string().regex(/^\d{2}$/, 'Must be 2 digits.')
const operaciones = z.array(operacion)
const fraction = { numerator: z.int().min(0), denominator: z.int().min(1) }

/** A withholding class. The classes are tried by rising priority; the first that fits is the class of a CFDI. */
const withholding = z.strictObject({
  class: z.enum(WITHHOLDING_CLASSES),
  priority: count,
  /** Whether the issuer must be a natural person. The payer is always a company. */
  emisor: z.enum(['fisica', 'any']),
  /** One of these is enough: the regime is among those named, and the key of the largest line begins with one of these. Null: any. */
  detection: z.array(z.strictObject({ emisor_regimenes: regimes.nullable(), claves: claves.nullable() })),
  /** A part of the net amount, null for none. */
  isr: z.strictObject(fraction).nullable(),
  /** A part of the net amount or of the IVA transferred; only where the key of the largest line begins with one of these, null for any. */
  iva: z.strictObject({ ...fraction, of: z.enum(['net', 'iva']), claves: claves.nullable() }).nullable(),
})

/** A kind of personal deduction. */
const deduction = z.strictObject({
  category: z.enum([
    ...(['health', 'health_disability', 'funeral', 'donations', 'mortgage', 'retirement', 'insurance'] as const),
    ...(['school_transport', 'tuition'] as const),
  ]),
  /** Deductions of a group share its limit; `global` is the limit of all of them (deduction.global_cap). Null: without a common limit. */
  cap_group: z.enum(['global', 'donations', 'retirement_voluntary', 'retirement_185', 'tuition']).nullable(),
  /** The limit of the category itself, a year; null for none. Several members: the smallest of them. */
  limit: z
    .strictObject({
      /** Annual UMAs. */
      uma: amount.optional(),
      /** A part of the income of the year, or of the year before. */
      income: rate.optional(),
      prior_income: rate.optional(),
      amount: amount.optional(),
    })
    .nullable(),
  payment: z.enum(['electronic', 'any']),
  /** Whether a CFDI alone cannot decide it. */
  review: z.boolean(),
})

const investment = z.strictObject({ annual_rate: rate })

const DEDUCTION_KEYS = (['D01', 'D02', 'D03', 'D04', 'D05', 'D06', 'D07', 'D08', 'D09', 'D10'] as const).map(
  (uso) => `deduction.${uso}` as const,
)
const INVESTMENT_KEYS = (['I01', 'I02', 'I03', 'I04', 'I05', 'I06', 'I07', 'I08'] as const).map((uso) => `investment.${uso}` as const)

/** The same shape for each of these keys. */
const each = <Key extends string, Shape>(keys: readonly Key[], shape: Shape) =>
  Object.fromEntries(keys.map((key) => [key, shape])) as Record<Key, Shape>

/** The shape of each rule's value. Only the types reach the Worker; an operator's values are checked before they are stored. */
export const SHAPES = {
  'vat.general': rate,
  'vat.border': rate,
  /** The regions whose border rate the DIOT tells apart: by what the postal codes of places of issue begin with. */
  'vat.border_regions': z.strictObject({ norte: codigos, sur: codigos }),
  'vat.zero': rate,
  /** Sales that do not take part in the proportion, or may not (`review`), by what their product keys begin with. */
  'vat.proportion': z.array(
    z.strictObject({
      reason: z.enum(['interest', 'credit_titles', 'currency', 'financial_lease', 'land', 'fixed_asset']),
      treatment: z.enum(['out', 'review']),
      claves,
    }),
  ),
  'isr.company': rate,
  /** The tariff of a month: lower limits, what is due on them, and the part of what exceeds them. */
  'isr.tariff': z.array(z.strictObject({ lower: amount, fixed: amount, rate })),
  /** The part of the income of a month that persons of regime 626 pay, up to an income. */
  'isr.resico_pf': z.array(z.strictObject({ up_to: amount, rate })),
  uma: z.strictObject({ daily: amount, monthly: amount, annual: amount }),
  /** Above this total in MXN, cash is not deductible. */
  'cash.threshold': amount,
  /** Several payments in cash up to it, of an invoice above it: whether somebody has to look at them, or they are not deductible. */
  'cash.several_payments': z.enum(['review', 'excluded']),
  payment_forms: z.strictObject({ cash: formas, electronic: formas, review: formas }),
  'balance.tolerance': amount,

  'risk.weights': z.strictObject({
    counterparty_69b_definitivo: count,
    counterparty_69b_presunto: count,
    counterparty_69b_bis: count,
    csd_sin_efectos: count,
    counterparty_69: count,
    cancelled_after_payment: count,
    cancellation_in_process: count,
    sat_not_found: count,
    ppd_missing_complement: count,
    complement_late: count,
    complement_cancelled: count,
    pue_forma_99: count,
    ppd_forma_not_99: count,
    cash_over_2000: count,
    cash_in_parts: count,
    withholding_missing: count,
    repse_not_valid_at_payment: count,
    duplicate_suspected: count,
    substituted_not_cancelled: count,
    receptor_regimen_uso_invalid: count,
    metadata_only: count,
  }),
  /** The least score of each level; lower scores are `low`. `most` limits the score. */
  'risk.levels': z.strictObject({ critical: count, high: count, medium: count, most: count }),
  /** Days after which a PPD with a balance lacks its complement. */
  'rep.grace_days': count,
  /** The day of the next month by which a payment complement is certified. */
  'rep.due_day': count,
  'sat.not_found_hours': count,
  /** Up to this total in MXN, an issuer cancels without the acceptance of the receiver. */
  'cancellation.without_acceptance': amount,
  'repse.claves': claves,

  'indicator.tax_compliance': z.string(),
  'indicator.blacklist_status': count,
  'indicator.blacklisted_counterparties': count,
  'indicator.intercompany_share': rate,
  'indicator.customer_concentration': count,
  'indicator.supplier_concentration': count,
  'indicator.foreign_exchange_share': rate,
  'indicator.cash_share': rate,
  'indicator.cancelled_issued_rate': rate,
  'indicator.cancelled_received_rate': rate,
  'indicator.ppd_overdue_share': rate,
  'indicator.repse_at_risk_share': rate,

  ...each(WITHHOLDING_KEYS, withholding),
  /** The part of the expected amount by which a retention may differ. */
  'withholding.tolerance': rate,
  /** Kinds of operation of the DIOT. They are tried in their order: the first that fits the issuer's regime and the key of the largest line. */
  'diot.operation': z.array(
    z.strictObject({
      operacion,
      emisor_regimenes: regimes.nullable(),
      claves: claves.nullable(),
    }),
  ),

  /** The file of the DIOT, and what no source settles of it. */
  'diot.file': z.strictObject({
    /** The first month that has this file: the one of earlier months had other fields. */
    first_month: z.string().regex(/^\d{4}-\d{2}$/, 'Must be a month.'),
    /** The kinds of operation that each kind of third party can have. */
    operaciones: z.strictObject({ '04': operaciones, '05': operaciones, '15': operaciones }),
    /** The RFC that stands for the suppliers that are grouped as global. */
    global_rfc: z.string(),
    /** The fields in which operations of imports have what is taxed at the general rate. */
    imports: z.record(operacion, z.enum(['tangibles', 'intangibles'])),
    /** Where half a peso goes. */
    half: z.enum(['up', 'down']),
    /** Whether effects were given to the CFDIs, where nobody has said it: 01 yes, 02 no. */
    manifest: z.enum(['01', '02']),
  }),

  ...each(DEDUCTION_KEYS, deduction),
  /** The smaller of so many annual UMAs and this part of the income. */
  'deduction.global_cap': z.strictObject({ uma: amount, income: rate }),
  /** A year and student, by `nivelEducativo` of the complement IEDU. */
  'deduction.tuition': z.record(z.string(), amount),
  /** Regimes in which natural persons deduct nothing. */
  'deduction.excluded_regimes': regimes,
  'deduction.business': z.strictObject({ expense: usos, returns: usos, none: usos }),
  /** The deductible part of what restaurants bill, if it is paid in these forms; nothing of bars. */
  'deduction.restaurants': z.strictObject({ claves, bars: claves, rate, formas }),
  /** Of an invoice that is paid in cash, the lines of these keys are not deductible in any amount. */
  'deduction.fuel': z.strictObject({ claves }),
  /** The deductible cost of a car, and of one with an electric motor; nobody decides of a clave in `review` whether it is one. Not of goods to be sold. */
  'deduction.vehicles': z.strictObject({ claves, electric: claves, review: claves, limit: amount, electric_limit: amount, goods: usos }),
  /** The deductible part of the rent of a car, a day. Only a line in days says how many they are. */
  'deduction.car_rental': z.strictObject({ claves, limit: amount }),
  /** Regimes in which only paid amounts count. */
  'deduction.flow_basis': regimes,
  /** Of whom a company deducts only what is paid, besides natural persons: issuers of these regimes, and those whose name ends so. */
  'deduction.paid_only': z.strictObject({
    emisor_regimenes: regimes,
    nombres: z.array(z.string()),
    /** Regimes of companies of which it is not settled. */
    review_regimenes: regimes,
  }),
  ...each(INVESTMENT_KEYS, investment),

  /** The least Herfindahl-Hirschman index of each level, 0 to 10000; lower ones are `low`. High is what exceeds it. */
  'concentration.levels': z.strictObject({ moderate: count, high: count }),
  'concentration.trend_months': count,
  /** A price is an outlier beyond so many median absolute deviations. */
  'concepts.outlier_mad': rate,
  /** The fewest prices among which one can be an outlier. */
  'concepts.outlier_least': count,
  'concepts.unclassified': claves,

  'financing.advance_rate': rate,
  'financing.max_age_days': count,
  'financing.debtor_cap': rate,
  'financing.default_terms_days': count,
  'financing.max_overdue_days': count,
  /** The days of sales that a DSO looks back on. */
  'financing.dso_days': count,
  /** The months of payments that averages look back on. */
  'financing.payment_months': count,
  /** The last day of each bucket of ageing. */
  'financing.aging_days': z.array(count),

  /** Business days after the publication of a definitive listing. */
  'efos.correction_business_days': count,
  'fx.sensitivity': z.array(rate),
  /** The columns of a file of the SIE of Banco de México, and their currencies. */
  'fx.series': z.record(z.string(), z.string().regex(/^[A-Z]{3}$/)),

  'obligation.due_day': count,
  /** Business days by the sixth digit of an RFC. */
  'obligation.extension_days': z.record(z.string().regex(/^\d$/), count),
  'obligation.notice_days': z.array(count),
  /** Month and day of the year after. */
  'obligation.annual_due': z.strictObject({ moral: z.string().regex(/^\d{2}-\d{2}$/), fisica: z.string().regex(/^\d{2}-\d{2}$/) }),

  'catalog.regimen_fiscal': z.record(
    z.string(),
    z.strictObject({ label: z.string(), fisica: z.boolean(), moral: z.boolean(), valid_from: day, valid_to: day.nullable() }),
  ),
  'catalog.uso_cfdi': z.record(
    z.string(),
    z.strictObject({
      label: z.string(),
      fisica: z.boolean(),
      moral: z.boolean(),
      /** The regimes of a receiver to whom the use is open. */
      regimenes: regimes,
      valid_from: day,
      valid_to: day.nullable(),
    }),
  ),
  'catalog.forma_pago': z.record(z.string(), z.string()),
  /** Labels of segments (2 digits), families (4), classes (6) and keys (8) of c_ClaveProdServ. */
  'catalog.clave_prod_serv': z.record(z.string().regex(/^\d{2}(\d{2}){0,3}$/), z.string()),
} satisfies Record<string, z.ZodType>

/** How sure we are: read in its source; written from memory; or a proposal of ours, because no rule says it. */
export const CONFIDENCES = ['verified', 'from_memory', 'proposed'] as const
