import * as z from 'zod'
import { Instant } from '../../platform/http/shapes.ts'
import { isRfc, normalRfc } from '../../taxpayers/rfc.ts'
import { isSource, PUBLIC_LISTS, SEVERITIES, SITUACIONES } from '../catalog.ts'

const AS_OF =
  'What was published by this day, `YYYY-MM-DD`, inclusive: on the authority’s page or in the Diario Oficial, whichever came first.'
const MOST_RFCS = 500

const Severity = z.enum(SEVERITIES).meta({ id: 'BlacklistSeverity' })
const Situacion = z.enum(SITUACIONES).meta({ id: 'BlacklistSituacion' })
const Source = z
  .string()
  .meta({ description: `One of ${Object.keys(PUBLIC_LISTS).join(', ')}, or \`custom:<slug>\` for a list of the organization’s own.` })

const as_of = z.iso.date().optional().meta({ description: AS_OF })

export const LookupQuery = z.strictObject({
  rfc: z
    .string()
    .transform(normalRfc)
    .refine(isRfc, 'Not an RFC.')
    .meta({ documented: { type: 'string', description: 'In any case; spaces and hyphens are passed over.' } }),
  as_of,
})
export type LookupQuery = z.infer<typeof LookupQuery>

export const LookupBatch = z
  .strictObject({
    rfcs: z
      .array(z.string())
      .min(1)
      .max(MOST_RFCS)
      .meta({ description: 'In any case; spaces and hyphens are passed over. What is no RFC is answered with an `error` of its own.' }),
    as_of: as_of.nullable().meta({ description: AS_OF }),
    sources: z
      .array(z.string().refine(isSource, 'Not a list.'))
      .min(1)
      .max(100)
      .optional()
      .meta({ description: 'Only these lists are asked; all that are held otherwise.' }),
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
    list_label: z.string().meta({ description: 'The list’s name in Spanish.', examples: ['Art. 69-B (EFOS)'] }),
    situacion: Situacion.nullable().meta({ description: 'Null on lists without situations.' }),
    severity: Severity,
    name: z.string().meta({ description: 'As the list writes it.' }),
    is_active: z.boolean().meta({ description: 'False once the taxpayer disproved it or a court did (desvirtuado, sentencia_favorable).' }),
    published_sat_at: day.meta({ description: 'When this situation was published on the authority’s page.' }),
    published_dof_at: day.meta({ description: 'When it was published in the Diario Oficial de la Federación.' }),
    since: day.meta({ description: 'The day from which it was listed without a break.' }),
    until: day.meta({ description: 'The day on which that ended; null while it lasts.' }),
    oficio: z.string().nullable(),
    history: z.array(HistoryItem).meta({ description: 'Every step, the latest last; with `as_of` those published by then.' }),
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
    list_updated_at: day.meta({ description: 'The day up to which the list says that it is.' }),
    fetched_at: Instant.nullable().meta({ description: 'When the service received it.' }),
    row_count: z.int(),
    is_stale: z.boolean().meta({ description: 'A list of the authority’s is of more than 60 days ago: a newer one is probably out.' }),
    refused: Refusal.nullable().meta({ description: 'The last file since then that was not taken in its place, and why.' }),
  })
  .meta({ id: 'BlacklistCheckedSource' })
export type CheckedSource = z.infer<typeof CheckedSource>

const found = {
  rfc: z.string(),
  is_listed: z
    .boolean()
    .nullable()
    .meta({ description: 'Whether any list that was checked has it, active or not; null when none could be checked.' }),
  severity: Severity.nullable().meta({ description: 'The gravest of the hits; null without one.' }),
  hits: z.array(BlacklistHit),
}
const asked = {
  as_of: day,
  checked_sources: z.array(CheckedSource).meta({ description: 'Every list that was asked. One that is not here was not.' }),
}

export const BlacklistLookup = z.strictObject({ ...found, ...asked }).meta({ id: 'BlacklistLookup' })
export type BlacklistLookup = z.infer<typeof BlacklistLookup>

const BlacklistItem = z
  .strictObject({
    ...found,
    checked_sources: asked.checked_sources,
    error: z
      .strictObject({ code: z.literal('rfc.invalid'), detail: z.string() })
      .nullable()
      .meta({ description: 'Why this one was not looked up; `rfc` is then what was sent.' }),
  })
  .meta({ id: 'BlacklistItem' })
export type BlacklistItem = z.infer<typeof BlacklistItem>

export const BlacklistBatch = z
  .strictObject({
    data: z.array(BlacklistItem).meta({ description: 'One for each RFC sent, in their order; what was sent twice is answered twice.' }),
    hits: z.array(BlacklistHit).meta({ description: 'The hits of all items.' }),
    ...asked,
  })
  .meta({ id: 'BlacklistBatch' })
export type BlacklistBatch = z.infer<typeof BlacklistBatch>
