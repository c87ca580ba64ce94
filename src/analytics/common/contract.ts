import * as z from 'zod'
import { RuleBasis } from '../../authority/rules/contract.ts'
import { MONTHS_MISSING } from '../../cfdi/quality/data-quality.ts'
import { Month, monthOrDay } from '../../cfdi/summary/contract.ts'
import { SITUACIONES } from '../../lists/catalog.ts'
import { Paging, pageOf } from '../../platform/http/shapes.ts'
import { ofFiscalEntity } from '../../taxpayers/contract.ts'
import { CfdiWindows, WindowStateName } from '../../taxpayers/visibility/contract.ts'

/** Decimal text with two places. */
export const money = z.string().meta({ description: 'Decimal with two places, in MXN.' })
export const percent = z.string().nullable().meta({ description: 'Percent with two places. Null when it is not defined.' })
export const Drilldown = z
  .record(z.string(), z.string())
  .meta({ description: 'Path and query of the documents behind each figure: they add up to it exactly.' })

/** `fiscal_entity_id`, `from` and `to` of every surface with a range. */
export const Range = {
  ...ofFiscalEntity,
  from: monthOrDay('The first month or day. The default is eleven months before the month of `to`.'),
  to: monthOrDay('The last month or day. The default is the current month in America/Mexico_City. The range has at most 120 months.'),
}

/** The rules behind an answer. */
export const Basis = z
  .strictObject({
    rules: z.array(RuleBasis).meta({ description: 'The dated rules that were used.' }),
    formulas: z.record(z.string(), z.string()).meta({ description: 'How each figure is computed.' }),
    notes: z.array(z.string()),
  })
  .meta({ id: 'InsightBasis' })
export type Basis = z.infer<typeof Basis>

const count = (description: string | undefined) => z.int().meta({ description })

const CutMonth = z.strictObject({ month: z.string(), from: z.iso.date(), to: z.iso.date() })

const MissingMonths = z.strictObject({ issued: z.array(z.string()), received: z.array(z.string()) }).meta({ id: 'MissingMonths' })
const CutMonths = z.strictObject({ issued: z.array(CutMonth), received: z.array(CutMonth) }).meta({ id: 'CutMonths' })

/** How far the figures can be relied upon, and what they leave out. */
export const InsightQuality = z
  .strictObject({
    cfdi_total: count('Documents of the range that are vigente and to others, substituted ones included.'),
    with_xml: count('Those whose XML is known.'),
    without_xml: count('Those of which only metadata is known. They are in no amount.'),
    missing_rate: count('Documents in another currency whose exchange rate nobody states. They are in no amount.'),
    dof_rate: count('Documents in another currency that are converted at the published rate, because they state none.'),
    unreconciled_payments: count(
      'Paid parts of invoices, as complements state them, that could not be matched with an invoice. Null where no figure rests on payments.',
    ).nullable(),
    other_parties: count(
      'Paid parts and credit notes that name an invoice of other parties. Null where no figure rests on payments.',
    ).nullable(),
    repse_unknown: z
      .int()
      .nullable()
      .meta({
        description:
          'Suppliers of the months of the range about which the REPSE registry has not answered yet, mostly because nobody asked: once it answers ' +
          '(`GET /v1/cfdi/repse-suppliers` asks), figures on REPSE and what is deductible can change. Null where no figure rests on the registry.',
      }),
    substituted: count('Documents that another vigente one substitutes.'),
    not_counted: count('Documents in no amount, because one of theirs has more than 18 digits before the point in MXN.'),
    months_missing: count(MONTHS_MISSING),
    missing_months: MissingMonths.meta({ description: 'These months.' }),
    cut_months: CutMonths.meta({
      description:
        'Months of the range of which the window shows only some of the days that are asked for, or that are not over: from which day, and up to ' +
        'which. What is summed by month is of these days alone.',
    }),
    months_downloading: count('The same of the data_status `downloading`.'),
    drilldown: Drilldown,
  })
  .meta({ id: 'InsightQuality' })
export type InsightQuality = z.infer<typeof InsightQuality>

/** The members of every aggregate. */
export const Envelope = {
  fiscal_entity_id: z.string(),
  from: z.string(),
  to: z.string(),
  currency: z.literal('MXN'),
  basis: Basis,
  windows: CfdiWindows,
  window_state: WindowStateName,
  as_of: z.string().meta({
    description:
      'As of when the figures hold. A day, YYYY-MM-DD, where `as_of` can be asked for: that day, by default today. Else an instant: the later ' +
      'ceiling of the windows, or the time of the request.',
  }),
  data_quality: InsightQuality,
}
export type Envelope = z.infer<z.ZodObject<typeof Envelope>>

/** The most severe list on which a taxpayer is. */
export const Listed = z
  .strictObject({ source: z.string(), situacion: z.enum(SITUACIONES).nullable() })
  .nullable()
  .meta({ id: 'Listed' })
export type WorstListing = z.infer<typeof Listed>

/** A document behind a figure, with what it adds. */
export const Entry = z
  .strictObject({
    uuid: z.string(),
    amount: z
      .string()
      .meta({ description: 'Decimal with six places. The sum of all entries, rounded half up to two places, is the figure.' }),
    applies_to: z
      .string()
      .nullable()
      .meta({ description: 'UUID of the invoice that a payment complement pays, or of which a credit note returns something. Else null.' }),
  })
  .meta({ id: 'InsightEntry' })
export type Entry = z.infer<typeof Entry>

/** Documents that a surface leaves out, and lists as entries. */
export const LEFT_OUT = ['missing_rate', 'dof_rate', 'not_counted'] as const
/** Counts of payments in data_quality, to be listed. */
export const UNMATCHED = ['unreconciled_payments', 'other_parties'] as const
export const OMITTED = [...LEFT_OUT, ...UNMATCHED] as const

export const EntriesPage = pageOf(Entry).meta({ id: 'InsightEntriesPage' })
export type EntriesPage = z.infer<typeof EntriesPage>

/** The query of a page of entries: that of its surface, and the name of a figure. `figures` are the surface's own. */
export const entriesOf = <const Names extends readonly [string, ...string[]]>(figures: Names) => ({
  ...Paging,
  figure: z.enum([...figures, ...LEFT_OUT]).meta({ description: 'The figure, as `drilldown` names it.' }),
})

/**
 * Refuses a row key that the figure does not have, because it would filter nothing, and a figure in `of` without a required key, because it
 * would add up several rows, or none.
 */
export const keyOfRow =
  <Key extends string>(key: Key, of: readonly string[], is: 'required' | 'optional') =>
  (query: { figure: string } & { [name in Key]?: string | undefined }, context: z.RefinementCtx): void => {
    const hasKey = of.includes(query.figure)
    const message =
      query[key] !== undefined && !hasKey
        ? `Can be given with these figures only: ${of.join(', ')}.`
        : query[key] === undefined && hasKey && is === 'required'
          ? 'Is required with this figure.'
          : null
    if (message !== null) context.addIssue({ code: 'custom', path: [key], message })
  }

/** A month of the range, as a row of `by_month` names it. */
export const EntryMonth = Month.optional().meta({ description: 'Only the documents of this month.' })

/** The RFC of a counterparty, as a row names it. */
export const CounterpartyRfc = z
  .string()
  .regex(/^[A-ZÑ&\d]{3,13}$/, 'Must be an RFC.')
  .optional()
  .meta({ documented: { type: 'string', description: 'Only the documents of this counterparty.' } })
