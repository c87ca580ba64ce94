import * as z from 'zod'
import { DataStatusName } from '../../cfdi/quality/data-quality.ts'
import { Month } from '../../cfdi/summary/contract.ts'
import { OF_THIRD_PARTIES } from '../../cfdi/taxes/breakdown.ts'
import { Paging, pageOf } from '../../platform/http/shapes.ts'
import { ofFiscalEntity, requireFiscalEntity } from '../../taxpayers/contract.ts'
import { CounterpartyRfc, Drilldown, Envelope, InsightQuality, keyOfRow, money, OMITTED } from '../common/contract.ts'
import { EXCLUSIONS, QUESTIONS_OF } from '../common/deductible.ts'
import { PROPORTION_FIGURES, type ProportionFigure } from './proportion.ts'

const month = (description: string | undefined) => Month.optional().meta({ description })

const Months = {
  ...ofFiscalEntity,
  period: month('One month, in the place of `from` and `to`.'),
  from: month('The first month. The default is eleven months before `to`.'),
  to: month('The last month. The default is the current month in America/Mexico_City. The range has at most 120 months.'),
}

const RFC = /^[A-ZÑ&\d]{3,13}$/
const rfcs = (description: string) =>
  z
    .string()
    .max(4_000)
    .transform((text) => text.split(','))
    .pipe(z.array(z.string().regex(RFC, 'Must be RFCs, separated by commas.')).max(200))
    .optional()
    .meta({ description })
const PRORRATEO = /^(attributed|0(\.\d{1,6})?|1(\.0{1,6})?)$/

/** What the taxpayer decides. */
const Choices = {
  terceros: z
    .enum(['include', 'exclude'])
    .default('include')
    .meta({
      description:
        '`exclude` leaves out of `cobrado`, and of all that follows from it, what lines invoice on behalf of third parties (ACuentaTerceros): the ' +
        'sales of the principals of an agent.',
    }),
}
const Proportion = {
  prorrateo: z
    .string()
    .regex(PRORRATEO, 'Must be a number from 0 to 1 with at most six decimals, or attributed.')
    .optional()
    .meta({
      description:
        'Your own proportion, for all months. `attributed`: IVA of the suppliers in `taxed_suppliers` is credited whole, of those in ' +
        '`exempt_suppliers` not at all, and of all others by the computed proportion (LIVA 5-V). Without these lists, as ' +
        'GET /v1/fiscal-entities/{fiscal_entity_id}/diot-settings says.',
    }),
  no_objeto: z
    .enum(['not_taxed', 'left_out'])
    .default('not_taxed')
    .meta({
      description:
        'Whether sales with ObjetoImp 01, known since CFDI 4.0, count in the proportion as not taxed, or not at all. Not subject to tax is only a ' +
        'sign of it.',
    }),
  taxed_suppliers: rfcs('RFCs of suppliers, separated by commas: what they bill is used for taxed sales alone.'),
  exempt_suppliers: rfcs('RFCs of suppliers, separated by commas: what they bill is used for exempt sales alone.'),
}

const onePeriod = (
  { period, from, to }: { period?: string | undefined; from?: string | undefined; to?: string | undefined },
  context: z.RefinementCtx,
) => {
  if (period !== undefined && (from !== undefined || to !== undefined))
    context.addIssue({ code: 'custom', path: ['period'], message: 'Must not be given with `from` or `to`.' })
}

export const VatQuery = z
  .strictObject({ ...Months, ...Choices, ...Proportion })
  .superRefine(requireFiscalEntity)
  .superRefine(onePeriod)
  .superRefine(({ prorrateo, taxed_suppliers, exempt_suppliers }, context) => {
    const fault = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message })
    for (const [path, given] of Object.entries({ taxed_suppliers, exempt_suppliers }))
      if (given !== undefined && prorrateo !== 'attributed') fault(path, 'Can be given with prorrateo=attributed only.')
    // Of a faulty list there is only its text here.
    if (Array.isArray(exempt_suppliers) && Array.isArray(taxed_suppliers) && exempt_suppliers.some((rfc) => taxed_suppliers.includes(rfc)))
      fault('exempt_suppliers', 'A supplier has one use.')
  })
export type VatQuery = z.infer<typeof VatQuery>

const RATES = [
  ...(['base_16', 'iva_16', 'base_8', 'iva_8', 'base_0', 'base_exento', 'base_otras', 'iva_otras'] as const),
  ...(['base_no_objeto', 'base_sin_traslado'] as const),
] as const
const rates = Object.fromEntries(RATES.map((name) => [name, money])) as Record<(typeof RATES)[number], typeof money>

export const VAT_FIGURES = [
  ...RATES.map((name) => `cobrado.${name}` as const),
  'cobrado.retenido_por_clientes',
  ...OF_THIRD_PARTIES.map((name) => `terceros.${name}` as const),
  ...PROPORTION_FIGURES.map((name) => `proporcion.${name}` as const),
  ...RATES.map((name) => `pagado.${name}` as const),
  ...(['pagado.retenido_a_terceros', 'devengado.trasladado', 'devengado.acreditable', 'no_deducible_excluded', 'por_revisar'] as const),
  'retenido_acreditable',
  ...(['at_risk_69b', 'at_risk_repse', 'pendiente_por_cobrar_iva', 'pendiente_por_acreditar_iva'] as const),
  ...(['pagos_sin_conciliar', 'pagos_sin_conciliar.iva_cobrado', 'pagos_sin_conciliar.iva_pagado'] as const),
] as const
type ThirdParties = Record<(typeof OF_THIRD_PARTIES)[number], typeof money>
type ProportionShape = Record<ProportionFigure, typeof money>
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
    returned: z.enum(['true', 'false']).optional().meta({
      description: 'Only what credit notes return, as positive amounts (true), or only the rest (false).',
    }),
    border_region: z.enum(['norte', 'sur', 'unknown']).optional().meta({
      description:
        'Only what was billed at a place in this border region of the DIOT (the dated rule vat.border_regions), or in neither (unknown).',
    }),
    ...Choices,
    ...Paging,
  })
  .superRefine(requireFiscalEntity)
  .superRefine(onePeriod)
  .superRefine(keyOfRow('border_region', ['pagado.base_8', 'pagado.iva_8'], 'optional'))
  .superRefine(
    keyOfRow(
      'rfc',
      VAT_FIGURES.filter((figure) => figure.startsWith('pagado.') || ['no_deducible_excluded', 'retenido_acreditable'].includes(figure)),
      'optional',
    ),
  )
  .superRefine(({ figure, returned }, context) => {
    if (returned !== undefined && !figure.startsWith('pagado.'))
      context.addIssue({ code: 'custom', path: ['returned'], message: 'Can be given with figures of pagado only.' })
  })
export type VatEntriesQuery = z.infer<typeof VatEntriesQuery>

export const VatMonth = z
  .strictObject({
    period: z.string(),
    cobrado: z.strictObject({ ...rates, retenido_por_clientes: money }).meta({
      description:
        'What was collected in the month: bases and IVA by rate, and IVA that customers withheld. `base_no_objeto` is not subject to IVA ' +
        '(ObjetoImp 01). `base_sin_traslado` is subject and transfers none (02 to 08): whether it takes part in the proportion is yours to review.',
    }),
    terceros: z.strictObject(Object.fromEntries(OF_THIRD_PARTIES.map((name) => [name, money])) as ThirdParties).meta({
      description:
        'What of `cobrado` lines invoice on behalf of third parties (ACuentaTerceros), whose sales these are. `terceros=exclude` leaves it out of ' +
        '`cobrado`.',
    }),
    proporcion: z.strictObject(Object.fromEntries(PROPORTION_FIGURES.map((name) => [name, money])) as ProportionShape).meta({
      description:
        'What `prorrateo` is made of: `gravado`, `exento` and `no_objeto` (ObjetoImp 01) of what was collected. `fuera`: sales whose product keys are ' +
        'all out of it by LIVA 5-C (the dated rule vat.proportion). `por_revisar`: sales that may be out of it, such as fixed assets and land, ' +
        'which count until you say otherwise with `prorrateo`.',
    }),
    pagado: z.strictObject({ ...rates, retenido_a_terceros: money }).meta({ description: 'The same of what was paid.' }),
    devengado: z
      .strictObject({ trasladado: money, acreditable: money })
      .meta({ description: 'IVA of what was issued and received in the month, whenever it is paid.' }),
    no_deducible_excluded: money.meta({ description: 'IVA of `pagado` that the law does not let you credit.' }),
    excluded: z.array(z.strictObject({ reason: z.enum(EXCLUSIONS), iva: money })).meta({
      description: '`no_deducible_excluded` by reason; an amount that several reasons exclude has the first of them.',
    }),
    por_revisar: money.meta({
      description:
        'IVA of `pagado` of what a CFDI cannot decide. Until you do, what may be one purchase in cash is credited, what may be a car too, and what may be of a trip is excluded as of a restaurant.',
    }),
    questions: z
      .array(
        z.strictObject({
          reason: z.enum(Object.keys(QUESTIONS_OF) as (keyof typeof QUESTIONS_OF)[]),
          question: z.string().meta({ description: 'The question in words.' }),
          iva: money,
        }),
      )
      .meta({ description: '`por_revisar` by what has to be answered.' }),
    retenido_acreditable: money.meta({
      description:
        '`pagado.retenido_a_terceros` without what was withheld on excluded purchases: it is not credited in this month, and × `prorrateo` it is ' +
        'credited in the next one.',
    }),
    month_before: z
      .strictObject({
        period: z.string(),
        withheld_credited: money,
        is_known: z.boolean().meta({ description: 'Whether all that was withheld in it is known.' }),
      })
      .meta({
        description:
          'The month before, and what this month credits of its `retenido_acreditable`. `is_known`: the window shows all of that month, both ' +
          'directions are `complete`, and each payment to a supplier has its invoice. Else more may have been withheld than is known, such as ' +
          'on an invoice from before the window.',
      }),
    at_risk_69b: money.meta({
      description:
        'The IVA in `pagado` from suppliers that are presumed under article 69-B today, without the IVA already in `no_deducible_excluded`. This amount is not excluded from the position.',
    }),
    at_risk_repse: money.meta({
      description: 'IVA of `pagado` of specialized services whose supplier had no valid REPSE registration on the day of payment.',
    }),
    prorrateo: z
      .string()
      .nullable()
      .meta({
        description:
          'The proportion of LIVA 5-V: yours, or the taxed part of `proporcion`, with six places, never below 0 or above 1; 1 without exempt ' +
          'sales. Null when nothing is known of what was issued.',
      }),
    acreditable: money.nullable().meta({
      description:
        '(IVA of `pagado` − `no_deducible_excluded` − `retenido_acreditable`) × `prorrateo` + `month_before.withheld_credited`, unless ' +
        '`prorrateo=attributed`. Null as `saldo` is.',
    }),
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
      'Credit notes (E, relación 01, 03 or 07) of the range that lower a PPD invoice of which no payment is known: once for each invoice. They are ' +
      'no money, as far as something is open.',
  }),
}).meta({ id: 'VatQuality' })

export const VatPosition = z
  .strictObject({
    ...Envelope,
    data_quality: VatQuality,
    ...pageOf(VatMonth).shape,
  })
  .meta({ id: 'VatPosition' })
export type VatPosition = z.infer<typeof VatPosition>
