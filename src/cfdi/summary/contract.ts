import * as z from 'zod'
import { GivenDay, pageOf } from '../../platform/http/shapes.ts'
import { ofFiscalEntity, requireFiscalEntity } from '../../taxpayers/contract.ts'
import { CfdiWindows, WindowStateName } from '../../taxpayers/visibility/contract.ts'
import { Direction } from '../contract.ts'
import { DataQuality, DataStatusName } from '../quality/data-quality.ts'

export const Month = z.string().regex(/^2[01]\d\d-(0[1-9]|1[0-2])$/, 'Must be a month, YYYY-MM, from 2000-01 to 2199-12.')
export const monthOrDay = (description: string) =>
  z
    .string()
    .refine(
      (text) => Month.safeParse(text).success || GivenDay.safeParse(text).success,
      'Must be a month, YYYY-MM, or a day, YYYY-MM-DD, in a year from 2000 to 2199.',
    )
    .optional()
    .meta({ documented: { type: 'string', pattern: '^2[01]\\d\\d-(0[1-9]|1[0-2])(-\\d\\d)?$', description } })
const money = z.string().meta({ description: 'Decimal, in MXN.' })

/** The query of GET /v1/cfdi/summary/monthly. */
export const MonthlySummaryQuery = z
  .strictObject({
    ...ofFiscalEntity,
    from: monthOrDay('The first month or day. The default is eleven months before the month of `to`.'),
    to: monthOrDay('The last month or day. The default is the current month in America/Mexico_City. The range has at most 120 months.'),
    direction: Direction.optional().meta({ description: 'By default there is a row for each direction.' }),
  })
  .superRefine(requireFiscalEntity)
export type MonthlySummaryQuery = z.infer<typeof MonthlySummaryQuery>

const CfdiMonth = z
  .strictObject({
    month: z.string(),
    direction: Direction,
    count: z.int().meta({ description: 'Number of documents with status vigente that no other one substitutes.' }),
    cancelled_count: z.int().meta({ description: 'Number of cancelled documents.' }),
    substituted_count: z.int().meta({
      description: 'Number of documents with status vigente that another vigente document substitutes. They are in no amount.',
    }),
    by_tipo: z
      .strictObject({ I: z.int(), E: z.int(), P: z.int(), N: z.int(), T: z.int() })
      .meta({ description: '`count` by tipo_comprobante.' }),
    subtotal: money,
    descuento: money,
    iva_trasladado: money,
    iva_retenido: money,
    isr_retenido: money,
    ieps: money,
    total: money,
    credit_notes: money.meta({ description: 'subtotal − descuento of the documents of type E.' }),
    credit_notes_iva: money.meta({
      description: 'iva_trasladado of the documents of type E, which the row’s iva_trasladado leaves out.',
    }),
    net: money.meta({ description: 'subtotal − descuento of the documents of type I, minus credit_notes.' }),
    pue_total: money,
    ppd_total: money,
    is_partial: z.boolean().meta({
      description:
        'Whether the row is not the whole month: the window, `from` or `to` divides it, it lies outside the window, or it is not over.',
    }),
    data_status: DataStatusName,
    drilldown: z.string().meta({ description: 'Path and query of the search that returns exactly the documents of `count`.' }),
    through_date: z.iso
      .date()
      .nullable()
      .meta({ description: 'Last day that is included. Null for a month outside the window in which only your imports are counted.' }),
  })
  .meta({ id: 'CfdiMonth' })
export type CfdiMonth = z.infer<typeof CfdiMonth>

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
    windows: CfdiWindows,
    window_state: WindowStateName,
    as_of: z.iso
      .datetime()
      .meta({ description: 'The later ceiling of the directions that are summed, or the time of the request when there is none.' }),
    data_quality: DataQuality,
    ...pageOf(CfdiMonth).shape,
  })
  .meta({ id: 'CfdiMonthlySummary' })
export type MonthlySummary = z.infer<typeof MonthlySummary>
