import * as z from 'zod'
import { Month } from '../../cfdi/summary/contract.ts'
import { Paging, pageOf } from '../../platform/http/shapes.ts'
import { ofFiscalEntity, requireFiscalEntity } from '../../taxpayers/contract.ts'
import { Drilldown, Envelope, entriesOf, keyOfRow, money, UNMATCHED } from '../common/contract.ts'
import { REASONS } from './uses.ts'

const own = {
  ...ofFiscalEntity,
  from: Month.optional().meta({ description: 'The first month. The default is eleven months before `to`.' }),
  to: Month.optional().meta({ description: 'The last month. The default is the current month in America/Mexico_City.' }),
  profile: z
    .enum(['auto', 'personal', 'business'])
    .default('auto')
    .meta({ description: '`auto`: personal for the uses D01 to D10 of a natural person, business for all others.' }),
  annual_income: z
    .string()
    .regex(/^\d{1,12}(\.\d{1,6})?$/, 'Must be a decimal number.')
    .optional()
    .meta({ description: 'Income of each year, in MXN. By default what received payroll and issued CFDIs of the year show.' }),
}

/** The query of GET /v1/cfdi/deductions. */
export const DeductionsQuery = z.strictObject({ ...own, ...Paging }).superRefine(requireFiscalEntity)
export type DeductionsQuery = z.infer<typeof DeductionsQuery>

export const FIGURES = ['gross_amount', 'deductible_amount', 'review_amount'] as const

export const DeductionEntriesQuery = z
  .strictObject({
    ...own,
    ...entriesOf([...FIGURES, ...UNMATCHED]),
    year: z
      .string()
      .regex(/^\d{4}$/, 'Must be a year.')
      .optional(),
    category: z
      .string()
      .regex(/^[a-z_]{1,30}$/, 'Must be a category.')
      .optional(),
  })
  .superRefine(requireFiscalEntity)
  .superRefine(keyOfRow('year', FIGURES, 'required'))
  .superRefine(keyOfRow('category', FIGURES, 'required'))
export type DeductionEntriesQuery = z.infer<typeof DeductionEntriesQuery>

const rate = z.string().nullable().meta({ description: 'Decimal with six places.' })

/** The limit that cuts a deduction: a common one, or that of its category. */
export const CAP_REASONS = [
  ...(['cap_global', 'cap_donations', 'cap_retirement_voluntary', 'cap_retirement_185', 'cap_tuition'] as const),
  ...(['cap_health', 'cap_funeral', 'cap_mortgage', 'cap_insurance', 'cap_school_transport', 'cap_vehicle', 'cap_car_rental'] as const),
] as const

const DeductionRow = z
  .strictObject({
    uuid: z.string(),
    issued_at: z.string(),
    counterparty_rfc: z.string(),
    uso_cfdi: z.string().nullable(),
    category: z.string().nullable().meta({ description: 'Null while only metadata is known.' }),
    cap_group: z.string().nullable(),
    gross_amount: money.nullable().meta({
      description: 'Personal: the total; business: before taxes. Negative for a credit note. Null without XML or exchange rate.',
    }),
    deductible_amount: money,
    annual_rate: rate,
    status: z.enum(['eligible', 'capped', 'not_deductible', 'review']),
    reasons: z.array(z.enum([...REASONS, ...CAP_REASONS])).meta({
      description: 'Why it is not deductible, is under review, or was capped: the guide [Codes](/docs/codes) explains each.',
    }),
    questions: z.array(z.string()).meta({ description: 'What the CFDI cannot decide: a question for each reason for a review.' }),
  })
  .meta({ id: 'DeductionRow' })
export type DeductionRow = z.infer<typeof DeductionRow>

const DeductionTotals = z
  .strictObject({
    year: z.string(),
    category: z.string(),
    cap_group: z
      .string()
      .nullable()
      .meta({ description: 'For retirement, which has two limits (D06, D09), the group of its first document.' }),
    gross_amount: money,
    deductible_amount: money,
    review_amount: money,
    limit: money.nullable().meta({
      description:
        'The global limit for a category under it, the sum of both limits for retirement, and the limit of all students for tuition.',
    }),
    used: money.meta({
      description:
        'The part of the limit that all categories sharing it have used since 1 January of the year, including before the range.',
    }),
    remaining: money.nullable(),
    cap_unknown: z.boolean().meta({ description: 'Whether an unknown income could lower the limit.' }),
    drilldown: Drilldown,
  })
  .meta({ id: 'DeductionTotals' })
export type DeductionTotals = z.infer<typeof DeductionTotals>

export const Deductions = z
  .strictObject({ ...Envelope, totals: z.array(DeductionTotals), cap_unknown: z.boolean(), ...pageOf(DeductionRow).shape })
  .meta({ id: 'Deductions' })
export type Deductions = z.infer<typeof Deductions>
