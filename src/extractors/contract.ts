import * as z from 'zod'
import { DATA_SOURCE_KEYS } from '../authority/port/catalog.ts'
import { Id, Instant, trimmedText } from '../platform/http/shapes.ts'
import { isTimeZone } from '../platform/time/zones.ts'
import { type Dependent, faultsOf } from './rules.ts'
import { SCHEDULE_KINDS, SCOPES, TRIGGER_KINDS } from './tables.ts'

const TriggerKind = z.enum(TRIGGER_KINDS).meta({ id: 'TriggerKind' })
const ScheduleKind = z.enum(SCHEDULE_KINDS).meta({ id: 'ScheduleKind' })
const Scope = z.enum(SCOPES).meta({ id: 'Scope' })

const bounded = (minimum: number, maximum: number) => ({ type: 'integer', minimum, maximum })
const spec = (properties: Record<string, object>) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})
const specDocumented = {
  description: '`{}` with daily and with other triggers. weekday 0 is Monday; a month without the nth one is skipped.',
  anyOf: [spec({}), spec({ n: bounded(1, 365) }), spec({ weekday: bounded(0, 6), nth: bounded(1, 5) })],
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)

const ScheduleSpec = z
  .custom<Record<string, unknown>>(isObject, 'Must be an object.')
  .nullable()
  .transform((value) => value ?? {})
  .meta({ documented: { ...specDocumented, anyOf: [...specDocumented.anyOf, { type: 'null' }] } })

const timezoneMeta = { description: 'An IANA time zone or a link to one, in its exact spelling.', examples: ['America/Mexico_City'] }

const sent = {
  name: trimmedText(1, 120),
  trigger_kind: TriggerKind,
  scope: Scope,
  data_source_keys: z.array(z.string()).min(1, 'Must name at least one data source.').max(100),
  schedule_kind: ScheduleKind.nullable().meta({ description: 'Required with the trigger `schedule`, null with the others.' }),
  schedule_spec: ScheduleSpec,
  scope_months: z.int().min(1).max(240).nullable().meta({ description: 'Required with the scope `last_n_months`, null with the others.' }),
  timezone: z.string().refine(isTimeZone, 'Not an IANA time zone, spelled exactly.').meta(timezoneMeta),
  is_enabled: z.boolean(),
}

// What is wrong by itself is reported by its own schema and not judged a second time.
const Known = z.object({
  trigger_kind: TriggerKind.optional().catch(undefined),
  schedule_kind: sent.schedule_kind.optional().catch(undefined),
  schedule_spec: ScheduleSpec.optional().catch(undefined),
  scope: Scope.optional().catch(undefined),
  scope_months: sent.scope_months.optional().catch(undefined),
})

/** Reports what contradicts itself within the body, beside whatever else is wrong with it. */
const judged = <S extends z.ZodObject>(schema: S): S =>
  schema.superRefine(
    (value, context) => {
      const known = Known.safeParse(value)
      if (!known.success) return
      for (const { path, message } of faultsOf(known.data as Partial<Dependent>))
        context.addIssue({ code: 'custom', path: path.split('.'), message })
    },
    { when: () => true },
  )

export const ExtractorDraft = judged(
  z.strictObject({
    ...sent,
    schedule_kind: sent.schedule_kind.default(null),
    schedule_spec: ScheduleSpec.default({}),
    scope_months: sent.scope_months.default(null),
    timezone: sent.timezone.default('America/Mexico_City'),
    is_enabled: sent.is_enabled.default(true),
  }),
).meta({ id: 'ExtractorDraft' })
export type ExtractorDraft = z.infer<typeof ExtractorDraft>

export const ExtractorChanges = judged(
  z.strictObject({
    name: sent.name.exactOptional(),
    trigger_kind: sent.trigger_kind.exactOptional(),
    scope: sent.scope.exactOptional(),
    data_source_keys: sent.data_source_keys.exactOptional(),
    schedule_kind: sent.schedule_kind.exactOptional(),
    schedule_spec: sent.schedule_spec.exactOptional(),
    scope_months: sent.scope_months.exactOptional(),
    timezone: sent.timezone.exactOptional(),
    is_enabled: sent.is_enabled.exactOptional(),
  }),
).meta({ id: 'ExtractorChanges' })
export type ExtractorChanges = z.infer<typeof ExtractorChanges>

export const Extractor = z
  .strictObject({
    extractor_id: Id('ext'),
    name: z.string(),
    is_enabled: z.boolean(),
    trigger_kind: TriggerKind,
    schedule_kind: ScheduleKind.nullable(),
    schedule_spec: z.record(z.string(), z.int()).meta({ documented: specDocumented }),
    timezone: z.string().meta(timezoneMeta),
    scope: Scope,
    scope_months: z.int().nullable(),
    data_source_keys: z.array(z.enum(DATA_SOURCE_KEYS)).meta({ description: 'Mandatory sources are added to what was sent.' }),
    created_at: Instant,
    last_run_at: Instant.nullable(),
    next_run_at: Instant.nullable().meta({ description: 'Null when it is disabled or not scheduled.' }),
  })
  .meta({ id: 'Extractor' })
export type Extractor = z.infer<typeof Extractor>

export const ExtractorPath = z.strictObject({ extractor_id: Id('ext') })
