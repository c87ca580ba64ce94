import * as z from 'zod'
import { WITHHOLDING_CLASSES } from '../../authority/rules/contract.ts'
import { Month } from '../../cfdi/summary/contract.ts'
import { Paging, pageOf } from '../../platform/http/shapes.ts'
import { requireFiscalEntity } from '../../taxpayers/contract.ts'
import { Drilldown, Envelope, keyOfRow, money, OMITTED, Range } from '../common/contract.ts'

const Role = z.enum(['withheld_from_us', 'withheld_by_us']).meta({
  description: '`withheld_from_us`: creditable. `withheld_by_us`: to be paid to the authority by `due_date`.',
})
const Impuesto = z.enum(['ISR', 'IVA', 'IEPS'])
const Source = z.enum(['cfdi', 'pago', 'retencion_cfdi']).meta({
  description: 'An invoice, credit note or payroll receipt; what a payment complement pays; a CFDI de retenciones.',
})
/** The classes of the rules, others, and payroll. */
const CONCEPT_CLASSES = [...WITHHOLDING_CLASSES, 'otros', 'sueldos'] as const
const rate = z.string().nullable()

export const WithholdingsQuery = z
  .strictObject({
    ...Range,
    role: Role.optional(),
    impuesto: Impuesto.optional(),
    concept_class: z.enum(CONCEPT_CLASSES).optional(),
    source: Source.optional(),
    missing: z.literal('true').optional().meta({ description: 'Only rows of which what is withheld differs from what is expected.' }),
    ...Paging,
  })
  .superRefine(requireFiscalEntity)
export type WithholdingsQuery = z.infer<typeof WithholdingsQuery>

export const FIGURES = ['isr_a_favor', 'iva_a_favor', 'isr_por_enterar', 'iva_por_enterar', 'missing_amount'] as const

export const WithholdingEntriesQuery = z
  .strictObject({
    ...Range,
    period: Month.optional().meta({ description: 'The month of a row of `totals`. It cuts the range.' }),
    figure: z.enum([...FIGURES, ...OMITTED]).meta({ description: 'A figure of `totals`, or a count of data_quality.' }),
    ...Paging,
  })
  .superRefine(requireFiscalEntity)
  .superRefine(keyOfRow('period', FIGURES, 'optional'))
export type WithholdingEntriesQuery = z.infer<typeof WithholdingEntriesQuery>

export const Withholding = z
  .strictObject({
    uuid: z.string(),
    applies_to: z
      .string()
      .nullable()
      .meta({ description: 'UUID of the invoice that a payment complement pays, or of which a credit note returns something. Else null.' }),
    source: Source,
    role: Role,
    impuesto: Impuesto,
    concept_class: z
      .enum(CONCEPT_CLASSES)
      .nullable()
      .meta({
        description:
          'What is billed, by the issuer’s regime and the product key with the largest amount: `honorarios`, `arrendamiento`, `resico_pf`, ' +
          '`comision`, `autotransporte` or `otros`; `sueldos` of payroll; null of a CFDI de retenciones.',
      }),
    date: z.iso.date().meta({ description: 'The day of cash; the last day of the period of a CFDI de retenciones.' }),
    period: z.string(),
    due_date: z.iso
      .date()
      .nullable()
      .meta({ description: 'When it is due to the authority, before extensions. Null of what others withhold.' }),
    base: money,
    rate: rate.meta({ description: 'amount ÷ base, with six places.' }),
    amount: money,
    expected_rate: rate,
    expected_amount: money.nullable().meta({ description: 'Null where nothing is expected.' }),
    difference: money.nullable().meta({ description: 'amount − expected_amount.' }),
    missing: z.boolean().meta({ description: 'Whether the difference is more than the tolerance.' }),
    counterparty_rfc: z.string(),
  })
  .meta({ id: 'Withholding' })
export type Withholding = z.infer<typeof Withholding>

const WithholdingTotals = z
  .strictObject({
    period: z.string(),
    isr_a_favor: money,
    iva_a_favor: money,
    isr_por_enterar: money,
    iva_por_enterar: money,
    missing_count: z.int().meta({ description: 'How many rows of the month are missing; its drilldown lists them.' }),
    missing_amount: money.meta({ description: 'Σ expected − withheld, where less is withheld than expected.' }),
    drilldown: Drilldown,
  })
  .meta({ id: 'WithholdingTotals' })
export type WithholdingTotals = z.infer<typeof WithholdingTotals>

export const Withholdings = z
  .strictObject({
    ...Envelope,
    ...pageOf(Withholding).shape,
    totals: z.array(WithholdingTotals).meta({ description: 'All of each month of the range, whatever is filtered.' }),
  })
  .meta({ id: 'Withholdings' })
export type Withholdings = z.infer<typeof Withholdings>
