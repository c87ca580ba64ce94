import * as z from 'zod'
import { SourceWarnings } from '../../authority/contract.ts'
import { RuleBasis } from '../../authority/rules/contract.ts'
import { Id, pageOf } from '../../platform/http/shapes.ts'

const day = z.iso.date().nullable()

export const Obligation = z
  .strictObject({
    description: z.string().meta({ description: 'The obligation, in the tax authority’s words.' }),
    periodicity: z.enum(['monthly', 'annual', 'unknown']).meta({ description: 'As `due_rule` says; `unknown` for any other text.' }),
    due_rule: z.string().nullable().meta({ description: 'When it is due, in the tax authority’s words.' }),
    period: z
      .string()
      .nullable()
      .meta({ description: 'The month, `YYYY-MM`, or the year, `YYYY`. Null when the periodicity is not known.' }),
    due_date: day.meta({
      description:
        'The last day to file for the period, without the extension: on a weekend or holiday, the next business day (CFF, article 12).',
    }),
    extended_due_date: day.meta({
      description:
        'The last day with the 1 to 5 business days that the decree of 2013-12-26 gives by the sixth digit of the RFC. It has exceptions. ' +
        'Null for what is not due on the 17th. They are counted from the 17th.',
    }),
    status: z.enum(['pending', 'filed', 'overdue', 'unknown']).meta({
      description:
        '`filed`: a return of the period was downloaded that shows the same tax or form. `pending`: there is none, and it is not due yet. ' +
        '`overdue`: it was due, your runs download returns, and there is none of the period. `unknown`: your runs have not downloaded returns, ' +
        'there is one of the period that does not show this, no return is known to show it, as of the DIOT, or the periodicity is not known.',
    }),
    declaration_id: z.string().nullable().meta({ description: 'The document that is the latest return of the period that shows it.' }),
  })
  .meta({ id: 'Obligation' })
export type Obligation = z.infer<typeof Obligation>

export const Obligations = z
  .strictObject({
    fiscal_entity_id: z.string(),
    rfc: z.string(),
    as_of: z.iso.date().meta({ description: 'The day in America/Mexico_City for which `status` holds.' }),
    source: z
      .strictObject({ document_id: Id('doc'), data_source_key: z.string(), document_date: z.iso.date() })
      .nullable()
      .meta({ description: 'The document that names the obligations. Null while you can read none: then there are no rows.' }),
    basis: z.strictObject({ rules: z.array(RuleBasis), notes: z.array(z.string()) }),
    warnings: SourceWarnings,
    ...pageOf(Obligation).shape,
  })
  .meta({ id: 'Obligations' })
export type Obligations = z.infer<typeof Obligations>
