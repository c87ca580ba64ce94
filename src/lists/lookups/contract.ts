import * as z from 'zod'
import { GivenDay, Instant } from '../../platform/http/shapes.ts'
import { isRfc, normalRfc } from '../../taxpayers/rfc.ts'
import { isSource, PUBLIC_LISTS, SEVERITIES, SITUACIONES, SOURCE_FAULT } from '../catalog.ts'

const AS_OF =
  'Considers only what had been published by the end of this day, `YYYY-MM-DD`. A step counts from its first publication, on the ' +
  'authority’s page or in the Diario Oficial. A day after today is refused, and days of publications after it are null.'
const RFC_FORMAT = 'Case, spaces and hyphens are ignored.'
const MAX_RFCS = 500
/** The most hits of an answer about several RFCs, and the most steps that it shows of each. */
export const MOST_HITS = 2_000
export const MOST_STEPS = 10

const Severity = z.enum(SEVERITIES).meta({ id: 'BlacklistSeverity' })
const Situacion = z.enum(SITUACIONES).meta({ id: 'BlacklistSituacion' })
const Source = z
  .string()
  .meta({ description: `One of ${Object.keys(PUBLIC_LISTS).join(', ')}, or \`custom:<slug>\` for an organization’s own list.` })

const as_of = GivenDay.optional().meta({ description: AS_OF })

export const LookupQuery = z.strictObject({
  rfc: z
    .string()
    .transform(normalRfc)
    .refine(isRfc, 'Must be an RFC: 12 or 13 characters with a valid date, of which the last is a digit or A.')
    .meta({ documented: { type: 'string', description: RFC_FORMAT } }),
  as_of,
})
export type LookupQuery = z.infer<typeof LookupQuery>

export const LookupBatch = z
  .strictObject({
    rfcs: z
      .array(z.string())
      .min(1)
      .max(MAX_RFCS)
      .meta({ description: `${RFC_FORMAT} The result of a text that is not an RFC has an \`error\`.` }),
    as_of: as_of.nullable().meta({ description: AS_OF }),
    sources: z
      .array(z.string().refine(isSource, SOURCE_FAULT))
      .min(1)
      .max(100)
      .optional()
      .meta({ description: 'The lists to check; by default all that are loaded.' }),
  })
  .meta({ id: 'BlacklistLookupBatch' })
export type LookupBatch = z.infer<typeof LookupBatch>

const day = z.iso.date().nullable()

const HistoryItem = z
  .strictObject({ situacion: Situacion.nullable(), sat_at: day, dof_at: day, oficio: z.string().nullable() })
  .meta({ id: 'BlacklistHistoryItem' })

export const BlacklistHit = z
  .strictObject({
    rfc: z.string(),
    source: Source,
    list_label: z.string().meta({ description: 'The Spanish name of the list.', examples: ['Art. 69-B (EFOS)'] }),
    situacion: Situacion.nullable().meta({ description: 'The current situation; null on lists without situations.' }),
    severity: Severity,
    name: z.string().meta({ description: 'The taxpayer’s name as the list spells it.' }),
    is_active: z
      .boolean()
      .meta({ description: 'False once the taxpayer or a court has disproved the listing (desvirtuado, sentencia_favorable).' }),
    published_sat_at: day.meta({ description: 'The day on which the situation was published on the authority’s page.' }),
    published_dof_at: day.meta({
      description: 'The day on which the situation was published in the Diario Oficial de la Federación.',
    }),
    since: day.meta({ description: 'The first day of the uninterrupted listing.' }),
    until: day.meta({ description: 'The day on which the listing ended; null while it lasts.' }),
    oficio: z.string().nullable(),
    history: z
      .array(HistoryItem)
      .meta({ description: 'The steps, the latest last; with `as_of` only those that had been published by then.' }),
    history_cut: z.boolean().meta({
      description: `Whether earlier steps are left out: the POST shows the last ${MOST_STEPS} of each hit, and the GET all.`,
    }),
  })
  .meta({ id: 'BlacklistHit' })
export type BlacklistHit = z.infer<typeof BlacklistHit>

const Refusal = z
  .strictObject({ code: z.string().meta({ examples: ['list.older'] }), detail: z.string(), refused_at: Instant })
  .meta({ id: 'BlacklistRefusal' })

export const CheckedSource = z
  .strictObject({
    source: Source,
    list_label: z.string(),
    list_updated_at: day.meta({ description: 'The day up to which the list states that it is current.' }),
    fetched_at: Instant.nullable().meta({ description: 'When the service received the list.' }),
    row_count: z.int(),
    is_stale: z
      .boolean()
      .meta({ description: 'True when a public list is more than 60 days old. A newer one has probably been published.' }),
    refused: Refusal.nullable().meta({ description: 'The last file that was refused since the list was loaded, and why.' }),
  })
  .meta({ id: 'BlacklistCheckedSource' })
export type CheckedSource = z.infer<typeof CheckedSource>

const found = {
  rfc: z.string(),
  is_listed: z
    .boolean()
    .nullable()
    .meta({ description: 'Whether any checked list contains the RFC, actively or not; null when no list was checked.' }),
  severity: Severity.nullable().meta({ description: 'The highest severity of the hits; null without hits.' }),
  hits: z.array(BlacklistHit),
}
const checked = {
  as_of: day,
  checked_sources: z.array(CheckedSource).meta({ description: 'The lists that were checked. A list that is absent here was not checked.' }),
}

export const BlacklistLookup = z.strictObject({ ...found, ...checked }).meta({ id: 'BlacklistLookup' })
export type BlacklistLookup = z.infer<typeof BlacklistLookup>

const BlacklistItem = z
  .strictObject({
    ...found,
    error: z
      .strictObject({ code: z.literal('rfc.invalid'), detail: z.string() })
      .nullable()
      .meta({
        description: 'Why this RFC was not looked up. In that case `rfc` is the text of the request, at most its first 64 characters.',
      }),
  })
  .meta({ id: 'BlacklistItem' })
export type BlacklistItem = z.infer<typeof BlacklistItem>

export const BlacklistBatch = z
  .strictObject({
    data: z.array(BlacklistItem).meta({ description: 'One result per RFC of the request, in the same order, duplicates included.' }),
    hits: z.array(BlacklistHit).meta({ description: `The hits of all results, ${MOST_HITS} at most.` }),
    ...checked,
  })
  .meta({ id: 'BlacklistBatch' })
export type BlacklistBatch = z.infer<typeof BlacklistBatch>
