import * as z from 'zod'
import { DEADLINE_BASES } from '../../authority/port/business-days.ts'
import { AsOf, Direction } from '../../cfdi/contract.ts'
import { monthOrDay } from '../../cfdi/summary/contract.ts'
import { SITUACIONES } from '../../lists/catalog.ts'
import { Paging, pageOf } from '../../platform/http/shapes.ts'
import { requireFiscalEntity } from '../../taxpayers/contract.ts'
import { CounterpartyRfc, Drilldown, Envelope, entriesOf, keyOfRow, money, percent, Range, UNMATCHED } from '../common/contract.ts'

export const EFOS_FIGURES = [
  ...(['amount', 'invoice_count', 'iva_acreditado', 'paid_amount', 'unpaid_amount'] as const),
  ...(['before_listing_amount', 'after_listing_amount'] as const),
] as const

/** Figures of the whole range, without an RFC. */
export const EFOS_TOTALS = ['active_amount', 'total_purchases', 'total_sales'] as const

const own = {
  ...Range,
  from: monthOrDay('The first month or day. The default is 119 months before the month of `to`: ten years.'),
  direction: Direction.default('received').meta({ description: '`received`: suppliers on the list. `issued`: customers on it.' }),
  as_of: AsOf,
}

/** The query of GET /v1/analytics/efos-exposure. */
export const EfosQuery = z.strictObject({ ...own, ...Paging }).superRefine(requireFiscalEntity)
export type EfosQuery = z.infer<typeof EfosQuery>

export const EfosEntriesQuery = z
  .strictObject({ ...own, ...entriesOf([...EFOS_FIGURES, ...EFOS_TOTALS, ...UNMATCHED]), rfc: CounterpartyRfc })
  .superRefine(requireFiscalEntity)
  .superRefine(keyOfRow('rfc', EFOS_FIGURES, 'required'))
export type EfosEntriesQuery = z.infer<typeof EfosEntriesQuery>

const Situacion = z.enum(SITUACIONES)
const day = z.string().nullable()
const effect = money.nullable().meta({ description: 'The rate of ISR of companies × amount. Null when the RFC is a natural person’s.' })

const EfosRow = z
  .strictObject({
    rfc: z.string(),
    name: z.string().nullable(),
    situacion: Situacion,
    ...{ presunto_dof_at: day, definitivo_dof_at: day, resolved_at: day },
    invoice_count: z.int(),
    amount: money,
    iva_acreditado: money.meta({
      description: 'The IVA of the paid part of the documents in the range. For customers, the IVA that was collected.',
    }),
    isr_effect: effect,
    ...{ paid_amount: money, unpaid_amount: money, before_listing_amount: money, after_listing_amount: money },
    correction_deadline: day.meta({ description: 'Business days after the definitive publication in the DOF. Only of definitivo.' }),
    deadline_basis: z
      .enum(DEADLINE_BASES)
      .nullable()
      .meta({
        description:
          '`published`: every day off that the authority published is counted. `estimated`: those of some days before 2024-12-23, or after the ' +
          'last ones that are published, are not known, so that the true deadline can be later. Null without a deadline.',
      }),
    is_active: z.boolean(),
    drilldown: Drilldown,
  })
  .meta({ id: 'EfosRow' })
export type EfosRow = z.infer<typeof EfosRow>

export const EfosExposure = z
  .strictObject({
    ...Envelope,
    direction: Direction,
    by_situacion: z.array(
      z.strictObject({
        ...{ situacion: Situacion, counterparty_count: z.int(), invoice_count: z.int() },
        ...{ amount: money, iva_acreditado: money, isr_effect: effect },
      }),
    ),
    active_amount: money.meta({
      description: 'Net amounts with active counterparties (presunto and definitivo). The share is computed from this amount.',
    }),
    total_purchases: money.nullable().meta({ description: 'Net purchases from everybody. Null for customers.' }),
    share_of_purchases: percent.meta({
      description: 'The share of active counterparties, in percent with two places. Null for customers.',
    }),
    total_sales: money.nullable().meta({ description: 'Net sales to everybody. Null for suppliers.' }),
    share_of_sales: percent.meta({ description: 'The share of active counterparties, in percent with two places. Null for suppliers.' }),
    drilldown: Drilldown,
    ...pageOf(EfosRow).shape,
  })
  .meta({ id: 'EfosExposure' })
export type EfosExposure = z.infer<typeof EfosExposure>
