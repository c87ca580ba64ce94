import * as z from 'zod'
import { Month } from '../../cfdi/summary/contract.ts'
import { pageOf } from '../../platform/http/shapes.ts'
import { ofFiscalEntity, requireFiscalEntity } from '../../taxpayers/contract.ts'
import { Drilldown, Envelope, entriesOf, money, UNMATCHED } from '../common/contract.ts'

/** The regimes of c_RegimenFiscal whose payment is computed. */
export const REGIMENES = ['601', '612', '626'] as const

const AMOUNT = /^\d{1,12}(\.\d{1,2})?$/
const given = (description: string) =>
  z.string().regex(AMOUNT, 'Must be an amount with at most two decimals.').optional().meta({ description })

const Payment = {
  ...ofFiscalEntity,
  period: Month.optional().meta({
    description:
      'The month of the payment, from 2018-01 on, of 626 from 2022-01 on. The default is the current month in America/Mexico_City.',
  }),
  regimen: z.enum(REGIMENES).meta({
    description:
      '601 for companies by coefficient, 612 for persons with a business or profession, or 626 (RESICO) for both. No other regime is computed.',
  }),
}

const Inputs = {
  coefficient: z
    .string()
    .regex(/^[01](\.\d{1,4})?$/, 'Must be a number from 0 to 1.9999 with at most four decimals.')
    .optional()
    .meta({ description: 'The coefficient of utility of 601 (LISR 14-I). Without it nothing after `ingresos_nominales` is computed.' }),
  other_deductions: given('What 612 and companies of 626 deduct since January and no invoice of a supplier states. The default is 0.'),
  losses: given('Losses of earlier years that are still to be deducted. The default is 0.'),
  ptu: given('Workers’ profit sharing that was paid in the year. The default is 0.'),
  earlier_payments: given(
    'Provisional payments of the earlier months of the year. The default is what the visible returns of these months declare, or 0.',
  ),
}

export const IsrQuery = z.strictObject({ ...Payment, ...Inputs }).superRefine(requireFiscalEntity)
export type IsrQuery = z.infer<typeof IsrQuery>

export const IsrFileQuery = z
  .strictObject({
    ...Payment,
    ...Inputs,
    format: z.enum(['pdf', 'xlsx']).meta({ description: 'A document to print, or a workbook with a sheet of lines and one of documents.' }),
    language: z.enum(['es', 'en']).default('es').meta({ description: 'The language of the file.' }),
  })
  .superRefine(requireFiscalEntity)
export type IsrFileQuery = z.infer<typeof IsrFileQuery>

/** The lines that documents add up to. */
export const ISR_FIGURES = [
  ...(['ingresos', 'anticipos_aplicados', 'notas_de_credito'] as const),
  ...(['deducciones', 'no_deducible', 'inversiones', 'retenido'] as const),
] as const
export type IsrFigure = (typeof ISR_FIGURES)[number]

export const IsrEntriesQuery = z.strictObject({ ...Payment, ...entriesOf([...ISR_FIGURES, ...UNMATCHED]) }).superRefine(requireFiscalEntity)
export type IsrEntriesQuery = z.infer<typeof IsrEntriesQuery>

export const QUESTIONS = {
  coefficient: 'What is the coefficient of utility of the last year that had one (LISR 14-I)?',
  notas_de_credito: 'Are these credit notes returns or discounts? Then the annual return deducts them, and not this payment (LISR 25-I).',
  inversiones: 'What part of these investments is deducted this year? Give it in other_deductions.',
  other_deductions: 'What was deducted that no supplier invoices, such as wages, imports and depreciation?',
  earlier_payments: 'What was paid for the earlier months of the year of which no return is visible?',
  limit: 'Is the person still in regime 626? The table of LISR 113-E ends below the income of the month.',
} as const

const Line = z
  .strictObject({
    line: z.string().meta({ description: 'Its name in `basis.formulas`, or that of a parameter: `otras_deducciones`, `perdidas`.' }),
    value: z.string().nullable().meta({
      description: 'Decimal in MXN with two places; of `coeficiente` and `tasa` a factor. Null where an input is missing.',
    }),
    source: z.enum(['documents', 'given', 'declared', 'supposed', 'law', 'computed']).meta({
      description:
        'Where it comes from: documents, your parameter, returns, nothing (it is taken as 0), a dated rule, or the lines before it.',
    }),
  })
  .meta({ id: 'IsrLine' })
export type IsrLine = z.infer<typeof Line>

export const IsrPayment = z
  .strictObject({
    ...Envelope,
    period: z.string().meta({ description: 'The month of the payment.' }),
    regimen: z.enum(REGIMENES).meta({ description: 'The regime that was asked for.' }),
    persona: z.enum(['moral', 'fisica']).meta({ description: 'A company or a person, by its RFC.' }),
    ...pageOf(Line).shape,
    a_pagar: money.nullable().meta({
      description: 'The last line. Null where an input is missing, or a month of the range is neither complete nor imported.',
    }),
    is_partial: z.boolean().meta({ description: 'Whether a window cuts a month of the range, or the month of the payment is not over.' }),
    declarado: z
      .strictObject({ isr_a_cargo: money, operation_number: z.string().nullable() })
      .nullable()
      .meta({ description: 'What the latest visible return of the month declares. Null without one.' }),
    diferencia: money.nullable().meta({ description: '`a_pagar` − `declarado.isr_a_cargo`. Null without either.' }),
    questions: z
      .array(
        z.strictObject({
          reason: z.enum(Object.keys(QUESTIONS) as (keyof typeof QUESTIONS)[]),
          question: z.string().meta({ description: 'It in a sentence, for people.' }),
        }),
      )
      .meta({ description: 'What no CFDI decides.' }),
    drilldown: Drilldown,
  })
  .meta({ id: 'IsrPayment' })
export type IsrPayment = z.infer<typeof IsrPayment>
