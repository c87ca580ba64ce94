import * as z from 'zod'
import { TimeZone } from '../../accounts/organization/contract.ts'
import { DATA_SOURCE_KEYS } from '../../authority/port/authority.ts'
import { Id, Instant, trimmedText } from '../../platform/http/shapes.ts'
import { SCHEDULE_KINDS, SCOPES, TRIGGER_KINDS } from '../tables.ts'
import { type DependentMembers, faultsOf } from './rules.ts'

const TriggerKind = z.enum(TRIGGER_KINDS).meta({ id: 'TriggerKind' })
const ScheduleKind = z.enum(SCHEDULE_KINDS).meta({ id: 'ScheduleKind' })
const Scope = z.enum(SCOPES).meta({
  id: 'Scope',
  description:
    '`full_history`: from 2018 on. `last_n_months`: the last scope_months months. `since_watermark`: from the end of the last range ' +
    'whose downloads all succeeded, less 72 hours, in which documents may have been stamped since; without one, from 2018 on.',
})

const bounded = (minimum: number, maximum: number) => ({ type: 'integer', minimum, maximum })
const spec = (properties: Record<string, object>) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})
const specDocumented = {
  description: '`{}` when schedule_kind is `daily` or null. `weekday` 0 is Monday. A month without an nth such weekday is skipped.',
  anyOf: [spec({}), spec({ n: bounded(1, 365) }), spec({ weekday: bounded(0, 6), nth: bounded(1, 5) })],
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)

const ScheduleSpec = z
  .custom<Record<string, unknown>>(isObject, 'Must be an object.')
  .nullable()
  .transform((value) => value ?? {})
  .meta({ documented: { ...specDocumented, anyOf: [...specDocumented.anyOf, { type: 'null' }] } })

const timezoneMeta = { description: 'The exact name of an IANA time zone or of a link to one.', examples: ['America/Mexico_City'] }

const members = {
  name: trimmedText(1, 120),
  trigger_kind: TriggerKind,
  scope: Scope,
  data_source_keys: z.array(z.string()).min(1, 'Must name at least one data source.').max(100),
  schedule_kind: ScheduleKind.nullable().meta({ description: 'Required with the trigger `schedule`; null with any other trigger.' }),
  schedule_spec: ScheduleSpec,
  scope_months: z
    .int()
    .min(1)
    .max(240)
    .nullable()
    .meta({ description: 'Required with the scope `last_n_months`; null with any other scope. A month is 30 days.' }),
  timezone: TimeZone.meta(timezoneMeta),
  is_enabled: z.boolean(),
}

// A member that is invalid alone is reported by its own schema and left out of the checks across members.
const ValidMembers = z.object({
  trigger_kind: TriggerKind.optional().catch(undefined),
  schedule_kind: members.schedule_kind.optional().catch(undefined),
  schedule_spec: ScheduleSpec.optional().catch(undefined),
  scope: Scope.optional().catch(undefined),
  scope_months: members.scope_months.optional().catch(undefined),
})

/** Adds the faults between members to those of each member. */
const checkedAcrossMembers = <S extends z.ZodObject>(schema: S): S =>
  schema.superRefine(
    (value, context) => {
      const valid = ValidMembers.safeParse(value)
      if (!valid.success) return
      for (const { path, message } of faultsOf(valid.data as Partial<DependentMembers>))
        context.addIssue({ code: 'custom', path: path.split('.'), message })
    },
    { when: () => true },
  )

const draft = {
  ...members,
  schedule_kind: members.schedule_kind.default(null),
  schedule_spec: ScheduleSpec.default({}),
  scope_months: members.scope_months.default(null),
  timezone: members.timezone.default('America/Mexico_City'),
  is_enabled: members.is_enabled.default(true),
}

export const ExtractorDraft = checkedAcrossMembers(z.strictObject(draft)).meta({ id: 'ExtractorDraft' })
export type ExtractorDraft = z.infer<typeof ExtractorDraft>

export const PreviewDraft = checkedAcrossMembers(
  z.strictObject({
    ...draft,
    extractor_id: Id('ext')
      .exactOptional()
      .meta({ description: 'The extractor that would be changed: a schedule that stays as it is goes on from its last run.' }),
  }),
).meta({ id: 'ExtractorPreviewDraft' })
export type PreviewDraft = z.infer<typeof PreviewDraft>

export const ExtractorChanges = checkedAcrossMembers(
  z.strictObject({
    name: members.name.exactOptional(),
    trigger_kind: members.trigger_kind.exactOptional(),
    scope: members.scope.exactOptional(),
    data_source_keys: members.data_source_keys.exactOptional(),
    schedule_kind: members.schedule_kind.exactOptional(),
    schedule_spec: members.schedule_spec.exactOptional(),
    scope_months: members.scope_months.exactOptional(),
    timezone: members.timezone.exactOptional(),
    is_enabled: members.is_enabled.exactOptional(),
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
    data_source_keys: z.array(z.enum(DATA_SOURCE_KEYS)).meta({ description: 'The requested sources and the mandatory ones.' }),
    created_at: Instant,
    last_run_at: Instant.nullable(),
    next_run_at: Instant.nullable().meta({
      description:
        'The extractor runs then, unless it is changed before. Each local date runs once, also across time zones. Null when it is ' +
        'disabled or not scheduled.',
    }),
  })
  .meta({ id: 'Extractor' })
export type Extractor = z.infer<typeof Extractor>

export const ExtractorPath = z.strictObject({ extractor_id: Id('ext') })
