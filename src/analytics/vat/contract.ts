import * as z from 'zod'
import { DataStatusName } from '../../cfdi/quality/data-quality.ts'
import { Month } from '../../cfdi/summary/contract.ts'
import { Paging, pageOf } from '../../platform/http/shapes.ts'
import { ofFiscalEntity, requireFiscalEntity } from '../../taxpayers/contract.ts'
import { CounterpartyRfc, Drilldown, Envelope, InsightQuality, keyOfRow, money, OMITTED } from '../common/contract.ts'

const month = (description: string | undefined) => Month.optional().meta({ description })

const Months = {
  ...ofFiscalEntity,
  period: month('One month, in the place of `from` and `to`.'),
  from: month('The first month. The default is eleven months before `to`.'),
  to: month('The last month. The default is the current month in America/Mexico_City. The range has at most 120 months.'),
}

const onePeriod = (
  { period, from, to }: { period?: string | undefined; from?: string | undefined; to?: string | undefined },
  context: z.RefinementCtx,
) => {
  if (period !== undefined && (from !== undefined || to !== undefined))
    context.addIssue({ code: 'custom', path: ['period'], message: 'Must not be given with `from` or `to`.' })
}

export const VatQuery = z.strictObject(Months).superRefine(requireFiscalEntity).superRefine(onePeriod)
export type VatQuery = z.infer<typeof VatQuery>

const RATES = ['base_16', 'iva_16', 'base_8', 'iva_8', 'base_0', 'base_exento', 'base_otras', 'iva_otras'] as const
const rates = Object.fromEntries(RATES.map((name) => [name, money])) as Record<(typeof RATES)[number], typeof money>

export const VAT_FIGURES = [
  ...RATES.map((name) => `cobrado.${name}` as const),
  'cobrado.retenido_por_clientes',
  ...RATES.map((name) => `pagado.${name}` as const),
  ...(['pagado.retenido_a_terceros', 'devengado.trasladado', 'devengado.acreditable', 'no_deducible_excluded'] as const),
  ...(['at_risk_69b', 'at_risk_repse', 'pendiente_por_cobrar_iva', 'pendiente_por_acreditar_iva'] as const),
  ...(['pagos_sin_conciliar', 'pagos_sin_conciliar.iva_cobrado', 'pagos_sin_conciliar.iva_pagado'] as const),
] as const
export type VatFigure = (typeof VAT_FIGURES)[number]

/** A count of data_quality that other surfaces do not have, to be listed. */
export const CREDITS_OF_UNPAID = 'credit_notes_of_unpaid'

export const VatEntriesQuery = z
  .strictObject({
    ...Months,
    figure: z
      .enum([...VAT_FIGURES, ...OMITTED, CREDITS_OF_UNPAID])
      .meta({ description: 'The path of the figure in its row, or a count of data_quality.' }),
    rfc: CounterpartyRfc,
    ...Paging,
  })
  .superRefine(requireFiscalEntity)
  .superRefine(onePeriod)
  .superRefine(
    keyOfRow(
      'rfc',
      VAT_FIGURES.filter((figure) => figure.startsWith('pagado.')),
      'optional',
    ),
  )
export type VatEntriesQuery = z.infer<typeof VatEntriesQuery>

export const VatMonth = z
  .strictObject({
    period: z.string(),
    cobrado: z
      .strictObject({ ...rates, retenido_por_clientes: money })
      .meta({ description: 'What was collected in the month: bases and IVA by rate, and IVA that customers withheld.' }),
    pagado: z.strictObject({ ...rates, retenido_a_terceros: money }).meta({ description: 'The same of what was paid.' }),
    devengado: z
      .strictObject({ trasladado: money, acreditable: money })
      .meta({ description: 'IVA of what was issued and received in the month, whenever it is paid.' }),
    no_deducible_excluded: money.meta({ description: 'IVA of `pagado` that the law does not let you credit.' }),
    at_risk_69b: money.meta({
      description:
        'The IVA in `pagado` from suppliers that are presumed under article 69-B today, without the IVA already in `no_deducible_excluded`. This amount is not excluded from the position.',
    }),
    at_risk_repse: money.meta({
      description: 'IVA of `pagado` of specialized services whose supplier had no valid REPSE registration on the day of payment.',
    }),
    prorrateo: z.string().nullable().meta({
      description:
        'The taxed part of what was collected, with six places, never below 0 or above 1; 1 without exempt sales. Null when nothing is known of what was issued.',
    }),
    acreditable: money.nullable().meta({ description: 'Null as `saldo` is.' }),
    saldo: money.nullable().meta({
      description:
        'IVA to be paid; below zero, in favour of the taxpayer. Null when nothing of a direction of the month is known ' +
        'yet: its data_status is `missing` or `downloading`.',
    }),
    resultado: z.enum(['a_cargo', 'a_favor']).nullable().meta({ description: 'Null as `saldo` is.' }),
    pendiente_por_cobrar_iva: money.meta({ description: 'IVA of what customers owed at the end of the month, or owe today.' }),
    pendiente_por_acreditar_iva: money.meta({
      description: 'IVA of what was owed to suppliers at the end of the month, or is today.',
    }),
    pagos_sin_conciliar: z
      .strictObject({ count: z.int(), iva: money, iva_cobrado: money, iva_pagado: money })
      .meta({ description: 'Paid parts that no visible invoice matches, and the IVA that they state. They are in no other figure.' }),
    declarado: z
      .strictObject({ iva_a_cargo: money, iva_a_favor: money, operation_number: z.string().nullable() })
      .nullable()
      .meta({ description: 'What the latest visible return of the month declares. Null without one.' }),
    diferencia: money.nullable().meta({ description: 'saldo − (iva_a_cargo − iva_a_favor) of `declarado`. Null without either.' }),
    requires_complementary: z.boolean().meta({
      description:
        'Whether something that was collected or paid in the month with IVA withheld was returned in a later one: its figures are without it, and ' +
        'a return that was filed before has to be restated (LIVA 7, third paragraph).',
    }),
    data_status: z
      .strictObject({ issued: DataStatusName, received: DataStatusName })
      .meta({ description: 'The data status of the month. If a direction is `missing`, its zeros mean that the amounts are unknown.' }),
    is_partial: z.boolean().meta({ description: 'Whether a window divides the month, or it is not over.' }),
    through_date: z.iso.date().nullable().meta({ description: 'The last day of which both directions are shown. Null without one.' }),
    drilldown: Drilldown,
  })
  .meta({ id: 'VatMonth' })
export type VatMonth = z.infer<typeof VatMonth>

const VatQuality = InsightQuality.extend({
  [CREDITS_OF_UNPAID]: z.int().meta({
    description:
      'Credit notes (E, PUE, relación 01, 03 or 07) of the range that lower a PPD invoice of which no payment is known: once for each invoice. They are ' +
      'no money, as far as something is open.',
  }),
}).meta({ id: 'VatQuality' })

export const VatPosition = z.strictObject({ ...Envelope, data_quality: VatQuality, ...pageOf(VatMonth).shape }).meta({ id: 'VatPosition' })
export type VatPosition = z.infer<typeof VatPosition>
