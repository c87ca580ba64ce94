import * as z from 'zod'
import { ofFiscalEntity, requireFiscalEntity } from '../../taxpayers/contract.ts'
import { Direction } from '../contract.ts'

const Month = z.string().regex(/^(19|20)\d\d-(0[1-9]|1[0-2])$/, 'Not a month, YYYY-MM.')
const monthOrDay = (description: string) =>
  z
    .union([Month, z.iso.date()], 'Neither a month, YYYY-MM, nor a day, YYYY-MM-DD.')
    .optional()
    .meta({ documented: { type: 'string', pattern: '^(19|20)\\d\\d-(0[1-9]|1[0-2])(-\\d\\d)?$', description } })
const money = z.string().meta({ description: 'Decimal, MXN.' })

/** The query of GET /v1/cfdi/summary/monthly. */
export const MonthlySummaryQuery = z
  .strictObject({
    ...ofFiscalEntity,
    from: monthOrDay('First month, or first day. Default: the month eleven months before that of `to`.'),
    to: monthOrDay('Last month, or last day. Default: the current month in America/Mexico_City. At most 120 months in all.'),
    direction: Direction.optional().meta({ description: 'Default: a row for each.' }),
  })
  .superRefine(requireFiscalEntity)
export type MonthlySummaryQuery = z.infer<typeof MonthlySummaryQuery>

const MonthRow = z
  .strictObject({
    month: z.string(),
    direction: Direction,
    count: z.int().meta({ description: 'Documents that are vigente.' }),
    cancelled_count: z.int(),
    by_tipo: z.strictObject({ I: z.int(), E: z.int(), P: z.int(), N: z.int(), T: z.int() }).meta({ description: 'Of `count`.' }),
    subtotal: money,
    descuento: money,
    iva_trasladado: money,
    iva_retenido: money,
    isr_retenido: money,
    ieps: money,
    total: money,
    credit_notes: money.meta({ description: 'subtotal − descuento of type E.' }),
    net: money.meta({ description: 'subtotal − descuento of type I, less credit_notes.' }),
    pue_total: money,
    ppd_total: money,
    is_partial: z.boolean().meta({ description: 'The window, `from` or `to` cuts the month, or the month is not over.' }),
    drilldown: z.string().meta({ description: 'Path and query of the search that answers the documents of `count`, and no others.' }),
    through_date: z.iso
      .date()
      .nullable()
      .meta({ description: 'Last day included. Null for a month outside the window that only your own imports are in.' }),
  })
  .meta({ id: 'CfdiMonth' })
export type MonthRow = z.infer<typeof MonthRow>

export const MonthlySummary = z
  .strictObject({
    fiscal_entity_id: z.string(),
    from: z.string(),
    to: z.string(),
    currency: z.literal('MXN'),
    basis: z.strictObject({
      population: z.string(),
      substitution: z.string(),
      amounts: z.string(),
      currency: z.string(),
      month: z.string(),
    }),
    window: z.strictObject({
      floor: z.iso.date().nullable(),
      ceiling: z.iso.datetime().nullable(),
      is_bounded: z.boolean().meta({ description: 'Something held, or holdable, for the RFC is outside your window.' }),
    }),
    as_of: z.iso.datetime().meta({ description: 'The ceiling; now without one.' }),
    data_quality: z.strictObject({
      cfdi_total: z.int().meta({ description: 'Documents counted in the rows, cancelled ones included.' }),
      missing_rate: z.int().meta({ description: 'Of those vigente, how many are in no amount because their exchange rate is not known.' }),
    }),
    data: z.array(MonthRow),
  })
  .meta({ id: 'CfdiMonthlySummary' })
export type MonthlySummary = z.infer<typeof MonthlySummary>
