import * as z from 'zod'
import { DataStatusName } from '../../cfdi/quality/data-quality.ts'
import { Month } from '../../cfdi/summary/contract.ts'
import { documented, Paging, pageOf, trimmedText } from '../../platform/http/shapes.ts'
import { FiscalEntityId, ofFiscalEntity, requireFiscalEntity } from '../../taxpayers/contract.ts'
import { isRfc, normalRfc } from '../../taxpayers/rfc.ts'
import { Basis, InsightQuality, money } from '../common/contract.ts'
import { LINE_FINDINGS, OPERATIONS, USES } from './lines.ts'

const ofMonth = {
  ...ofFiscalEntity,
  month: Month.meta({ description: 'The month of the payments, from 2025-01 on.' }),
}

export const DiotFileQuery = z
  .strictObject({
    ...ofMonth,
    incomplete: z
      .enum(['refuse', 'allow'])
      .default('refuse')
      .meta({ description: '`allow` gives the file of a month that is not complete, too.' }),
  })
  .superRefine(requireFiscalEntity)
export type DiotFileQuery = z.infer<typeof DiotFileQuery>

export const DiotCheckQuery = z.strictObject({ ...ofMonth, ...Paging }).superRefine(requireFiscalEntity)
export type DiotCheckQuery = z.infer<typeof DiotCheckQuery>

const drilldown = z.string().nullable().meta({ description: 'Path and query of the documents behind it. Null where no documents tell it.' })

const LineFinding = z
  .strictObject({
    code: z.enum(LINE_FINDINGS).meta({ description: 'The guide [Codes](/docs/codes) explains each.' }),
    field: z.int().nullable().meta({ description: 'The field of the line, 1 to 54. Null where the file has no field for it.' }),
    amount: money.nullable().meta({ description: 'What the field leaves out of its exact figure. Null where it leaves out nothing.' }),
    drilldown,
  })
  .meta({ id: 'DiotLineFinding' })

/** What is missing or to be decided of the whole file. */
export const FILE_FINDINGS = [
  ...(['month_incomplete', 'unreconciled_payments', 'proportion_unknown', 'under_review', 'complements_to_come'] as const),
  'customs_not_covered' as const,
]
const FileFinding = z
  .strictObject({
    code: z.enum(FILE_FINDINGS).meta({ description: 'The guide [Codes](/docs/codes) explains each.' }),
    amount: money.nullable().meta({ description: 'The IVA that it is about. Null where nobody knows it.' }),
    drilldown,
  })
  .meta({ id: 'DiotFileFinding' })

const Line = z
  .strictObject({
    line: z
      .int()
      .nullable()
      .meta({ description: 'Its number in the file. Null when all its amounts are zero, so that the file does not have it.' }),
    tipo_tercero: z.enum(['04', '05', '15']),
    tipo_operacion: z.string(),
    rfc: z.string().nullable().meta({ description: 'The RFC of the supplier. Null for those that are grouped as global.' }),
    name: z.string().nullable(),
    fields: z.array(z.string()).meta({ description: 'The 54 fields as the file has them.' }),
    exact: z
      .record(z.string(), money)
      .meta({ description: 'The amount of each field that has one before it is rounded to pesos, by the number of the field.' }),
    supposed: z.array(z.enum(['tipo_operacion', 'use', 'manifest'])).meta({
      description:
        'What nobody has set and the file supposes: the kind of operation by what was billed, the use of the purchase, and that effects were given.',
    }),
    findings: z.array(LineFinding).meta({ description: 'What is wrong with the line, or not known of it.' }),
  })
  .meta({ id: 'DiotLine' })

const Tie = z
  .strictObject({
    figure: z.string().meta({ description: 'The figure of GET /v1/analytics/vat-position.' }),
    vat_position: money.meta({ description: 'What it is in the VAT position of the month.' }),
    file: money.meta({ description: 'What the fields of the file that hold it add up to.' }),
    rounding: money.meta({ description: 'What the whole pesos of the file add to the exact amounts.' }),
    left_out: money.meta({ description: 'vat_position − (file − rounding): what no field has. The findings of the lines say why.' }),
    is_tied: z.boolean().meta({ description: 'Whether nothing is left out, but for cents.' }),
    drilldown,
  })
  .meta({ id: 'DiotTie' })

export const DiotCheck = z
  .strictObject({
    fiscal_entity_id: z.string(),
    month: z.string(),
    file_name: z.string().meta({ description: 'The name under which the file is downloaded.' }),
    basis: Basis,
    data_quality: InsightQuality,
    incomplete: z
      .array(z.strictObject({ month: z.string(), direction: z.enum(['issued', 'received']), data_status: DataStatusName }))
      .meta({
        description:
          'The months that are not complete, for which the file is refused unless it is asked for with `incomplete=allow`. What was issued matters as far as ' +
          'the proportion is computed from it.',
      }),
    proportion: z
      .strictObject({
        value: z.string().meta({ description: 'Decimal from 0 to 1.' }),
        source: z.enum(['set', 'computed', 'unknown']).meta({
          description: 'Whether it is set, computed from what was collected in the month, or taken as 1 because nothing is known of that.',
        }),
      })
      .meta({ description: 'The proportion of LIVA 5-V behind the file.' }),
    line_count: z.int().meta({ description: 'The lines of the file.' }),
    findings: z.array(FileFinding).meta({ description: 'What is missing or to be decided of the whole file.' }),
    ties: z.array(Tie).meta({ description: 'How the file ties to the VAT position of the month.' }),
    ...pageOf(Line).shape,
  })
  .meta({ id: 'DiotCheck' })
export type DiotCheck = z.infer<typeof DiotCheck>

const PURPOSE =
  '`taxed`: for taxed sales alone, `proportion`: for all sales, `exempt`: for exempt ones alone, `no_object`: for what is not subject to IVA.'

/** What can be set; null where it is not. */
const settable = <T extends z.ZodType>(schema: T, description: string) => schema.nullable().meta({ description })
/** The same in a request, which may leave it out. */
const unset = <T extends z.ZodNullable>(schema: T) => schema.default(null as never).meta(schema.meta()!)

const filer = {
  proportion: settable(
    z.string().regex(/^(0(\.\d{1,6})?|1(\.0{1,6})?)$/, 'Must be a number from 0 to 1 with at most six decimals.'),
    'Your own proportion (LIVA 5-V). Null: the one that is computed from what was collected in the month.',
  ),
  default_use: settable(
    z.enum(USES),
    `What purchases are used for where nothing is set of their supplier. ${PURPOSE} Null: taxed sales while the proportion is 1, else by it.`,
  ),
}
export const DiotSettingsDraft = z.strictObject({ proportion: unset(filer.proportion), default_use: unset(filer.default_use) })
export type DiotSettingsDraft = z.infer<typeof DiotSettingsDraft>

const supplier = {
  tipo_tercero: settable(
    z.enum(['04', '05', '15']),
    'National, foreign, or grouped with others as global (operation 87). Null: 05 of the generic RFC of foreigners, else 04.',
  ),
  tipo_operacion: settable(z.enum(OPERATIONS), 'The kind of operation. Null: by what each invoice bills (the dated rule diot.operation).'),
  use: settable(z.enum(USES), `What its purchases are used for. ${PURPOSE} Null: default_use.`),
  region: settable(z.enum(['norte', 'sur']), 'The border region of what it bills at the border rate from a place that tells none.'),
  tax_id: settable(trimmedText(1, 40), 'The tax identifier of a foreign supplier (05).'),
  name: settable(trimmedText(1, 300), 'The name of a foreign supplier (05).'),
  country: settable(
    z.string().regex(/^[A-Z]{3}$/, 'Must be three capital letters: ISO 3166-1 alpha-3, or ZZZ.'),
    'The residence of a foreign supplier (05): ISO 3166-1 alpha-3, or ZZZ for another place.',
  ),
  jurisdiction: settable(trimmedText(1, 300), 'With the country ZZZ: which place it is.'),
  manifest: settable(z.enum(['01', '02']), 'Whether effects were given to its CFDIs: 01 yes, 02 no. Null: yes.'),
}
const FOREIGN = ['tax_id', 'name', 'country', 'jurisdiction'] as const
const PIPE = 'Must not contain |, which separates the fields of the file.'

export const DiotSupplierDraft = z
  .strictObject({
    ...{ tipo_tercero: unset(supplier.tipo_tercero), tipo_operacion: unset(supplier.tipo_operacion), use: unset(supplier.use) },
    ...{ region: unset(supplier.region), tax_id: unset(supplier.tax_id), name: unset(supplier.name), country: unset(supplier.country) },
    ...{ jurisdiction: unset(supplier.jurisdiction), manifest: unset(supplier.manifest) },
  })
  .superRefine((draft, context) => {
    const fault = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message })
    for (const name of FOREIGN) {
      if (draft[name] === null) continue
      if (draft.tipo_tercero !== '05') fault(name, 'Can be given with tipo_tercero 05 only.')
      else if (draft[name].includes('|')) fault(name, PIPE)
    }
    if (draft.jurisdiction !== null && draft.country !== 'ZZZ') fault('jurisdiction', 'Can be given with country ZZZ only.')
    if (draft.tipo_tercero === '15' && draft.tipo_operacion !== null)
      fault('tipo_operacion', 'Cannot be given with tipo_tercero 15: global suppliers have operation 87.')
  })
export type DiotSupplierDraft = z.infer<typeof DiotSupplierDraft>

export const DiotSupplier = z.strictObject({ rfc: z.string(), ...supplier }).meta({ id: 'DiotSupplier' })
export type DiotSupplier = z.infer<typeof DiotSupplier>

export const DiotSuppliersQuery = z.strictObject(Paging)
export type DiotSuppliersQuery = z.infer<typeof DiotSuppliersQuery>
export const DiotSuppliers = pageOf(DiotSupplier).meta({ id: 'DiotSuppliers' })

export const DiotSettings = z.strictObject({ fiscal_entity_id: z.string(), ...filer }).meta({ id: 'DiotSettings' })
export type DiotSettings = z.infer<typeof DiotSettings>

export const DiotSupplierPath = z.strictObject({
  fiscal_entity_id: FiscalEntityId,
  rfc: documented(z.string().max(30).transform(normalRfc).refine(isRfc, 'Must be an RFC: 12 or 13 characters with a valid date.'), {
    type: 'string',
    description: 'The RFC of the supplier.',
    examples: ['EKU9003173C9'],
  }),
})
