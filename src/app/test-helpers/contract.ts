import * as z from 'zod'
import { PLAN_KEYS } from '../../accounts/plans/plans.ts'
import { NOTIFICATION_KINDS } from '../../authority/port/mailbox.ts'
import { SANDBOX_OUTCOMES } from '../../authority/sandbox/tables.ts'
import { CfdiUuid } from '../../cfdi/contract.ts'
import { PUBLIC_SOURCES, SITUACIONES } from '../../lists/catalog.ts'
import { GivenDay, GivenInstant, Id, Instant, trimmedText } from '../../platform/http/shapes.ts'
import { FiscalEntityId, Rfc } from '../../taxpayers/contract.ts'

export const OrganizationScenario = z
  .strictObject({
    plan: z.enum(PLAN_KEYS).optional(),
    rfc_allowance: z
      .int()
      .min(0)
      .max(1_000_000)
      .nullable()
      .optional()
      .meta({ description: 'The number of seats; null for the plan’s number.' }),
    trial_ends_at: GivenInstant.nullable().optional(),
  })
  .meta({ id: 'OrganizationScenario' })
export type OrganizationScenario = z.infer<typeof OrganizationScenario>

const LONGEST_DURATION = 30

export const ClockMove = z
  .strictObject({
    advance: z
      .string()
      .max(LONGEST_DURATION)
      .regex(
        /^P(?=[\dT])(?:\d{1,3}W)?(?:\d{1,3}D)?(?:T(?=\d)(?:\d{1,4}H)?(?:\d{1,5}M)?(?:\d{1,6}S)?)?$/,
        'Must be a duration such as P3D or PT6H.',
      )
      .optional()
      .meta({ description: 'How far, as an ISO 8601 duration of weeks, days of 24 hours, hours, minutes and seconds.' }),
    to: GivenInstant.optional(),
  })
  .refine(({ advance, to }) => (advance === undefined) !== (to === undefined), 'Must have either advance or to.')
  .meta({ id: 'ClockMove' })
export type ClockMove = z.infer<typeof ClockMove>

export const ServiceClock = z
  .strictObject({
    now: Instant.meta({ description: 'The service’s time.' }),
    ahead_seconds: z.int().meta({ description: 'How far it is ahead of the real time.' }),
    status: z.enum(['ready', 'moving']).meta({ description: '`moving` while a move goes on; `ready` for the next one otherwise.' }),
    move: z
      .strictObject({
        from: Instant,
        to: Instant,
        percent: z.int().meta({ description: 'How much of the time has passed.' }),
        happened: z
          .strictObject({
            runs: z.int().meta({ description: 'Runs that began.' }),
            invoices: z.int().meta({ description: 'Invoices that were issued.' }),
            events: z.array(z.strictObject({ event: z.string().meta({ description: 'The key of the event.' }), count: z.int() })).meta({
              description: 'How many events of each kind there are. Those of downloads that changed nothing are forgotten after 14 days.',
            }),
          })
          .meta({ description: 'What happened to the organization since `from`.' }),
      })
      .nullable()
      .meta({ description: 'The last move; null when the clock was never moved.' }),
  })
  .meta({ id: 'ServiceClock' })
export type ServiceClock = z.infer<typeof ServiceClock>

export const ScenarioOrganization = z
  .strictObject({
    id: z.string(),
    plan: z.string(),
    rfc_allowance: z.int().nullable().meta({ description: 'The number of seats; null for the plan’s number.' }),
    trial_ends_at: z.string().nullable(),
  })
  .meta({ id: 'ScenarioOrganization' })
export type ScenarioOrganization = z.infer<typeof ScenarioOrganization>

export const CancellationScenario = z
  .strictObject({
    fiscal_entity_id: FiscalEntityId,
    cancellation_reason: z.enum(['01', '02', '03', '04']).optional(),
    cancelled_at: GivenInstant.optional(),
    outcome: z
      .enum(SANDBOX_OUTCOMES)
      .optional()
      .meta({
        description:
          'How the request for cancellation ends at `cancelled_at`: the receiver accepts it, rejects it, or lets it expire; or it needs no acceptance ' +
          '(`cancelled`). A rejected one leaves the CFDI valid. Without it the sandbox draws how a cancellation came.',
      }),
  })
  .meta({ id: 'CancellationScenario' })
export type CancellationScenario = z.infer<typeof CancellationScenario>

const line = trimmedText(1, 300).nullable().default(null)

export const RepseScenario = z
  .strictObject({
    rfc: Rfc,
    is_registered: z.boolean().meta({ description: 'With false, the registry has no record and the other members are ignored.' }),
    folio: line,
    razon_social: line,
    entidad: line,
    municipio: line,
    num_aviso: line,
    fecha_aviso: GivenDay.nullable().default(null),
    vigencia_hasta: GivenDay.nullable().default(null),
    actividades: z
      .array(z.strictObject({ descripcion: trimmedText(1, 1_000), folio: trimmedText(1, 300) }))
      .max(100)
      .default([]),
  })
  .meta({ id: 'RepseScenario' })
export type RepseScenario = z.infer<typeof RepseScenario>

const WITH_SITUATIONS: readonly string[] = ['sat_69b', 'sat_69b_bis']

export const BlacklistScenario = z
  .strictObject({
    rfc: Rfc,
    source: z.enum(PUBLIC_SOURCES).meta({ description: 'The public list.' }),
    name: trimmedText(1, 300).default('CONTRIBUYENTE DE PRUEBA'),
    situacion: z
      .enum(SITUACIONES)
      .nullable()
      .default(null)
      .meta({ description: 'Required on the lists `sat_69b` and `sat_69b_bis`; null on the others, which have no situations.' }),
    is_listed: z.boolean().default(true).meta({ description: 'With false, the RFC leaves the list and the other members are ignored.' }),
  })
  .superRefine(({ source, situacion, is_listed }, context) => {
    const fault = (message: string) => context.addIssue({ code: 'custom', path: ['situacion'], message })
    if (!is_listed) return
    if (WITH_SITUATIONS.includes(source) && situacion === null) fault(`Must be one of ${SITUACIONES.join(', ')} on this list.`)
    if (!WITH_SITUATIONS.includes(source) && situacion !== null) fault('Must be null: this list has no situations.')
  })
  .meta({ id: 'BlacklistScenario' })
export type BlacklistScenario = z.infer<typeof BlacklistScenario>

export const MailboxScenario = z
  .strictObject({
    fiscal_entity_id: FiscalEntityId,
    kind: z.enum(NOTIFICATION_KINDS),
    title: trimmedText(1, 300).default('Notificación de prueba'),
    authority: trimmedText(1, 300).default('Servicio de Administración Tributaria'),
    document_number: line,
    sent_at: z.iso
      .datetime({ offset: true })
      .refine((text) => text >= '2018' && text < '2100', 'Must be in a year from 2018 to 2099.')
      .optional()
      .meta({ description: 'In a year from 2018 to 2099; now by default. What is sent later than now is received then.' }),
    document_kind: trimmedText(1, 100)
      .nullable()
      .default('oficio')
      .meta({ description: 'What its document is; null for a notification without one.' }),
  })
  .meta({ id: 'MailboxScenario' })
export type MailboxScenario = z.infer<typeof MailboxScenario>

const JOB_FAILURES = ['sat_unavailable', 'rate_limited', 'request_exhausted', 'range_too_large', 'internal_error'] as const

export const JobFailureScenario = z
  .strictObject({
    fiscal_entity_id: FiscalEntityId,
    error_class: z
      .enum(JOB_FAILURES)
      .default('sat_unavailable')
      .meta({ description: 'Why the download failed, as the job and its events tell it.' }),
  })
  .meta({ id: 'JobFailureScenario' })
export type JobFailureScenario = z.infer<typeof JobFailureScenario>

const DueDate = z.union([GivenDay, GivenInstant]).meta({
  description:
    'The local day on which the invoice is due; today by default. An instant stands for its day in the organization’s time zone.',
})
const Total = z
  .union([z.string(), z.number()])
  .transform(String)
  .refine((text) => /^\d{1,9}(\.\d{1,2})?$/.test(text), 'Must be an amount with at most nine digits and two decimal places.')
  .meta({
    documented: {
      type: ['string', 'number'],
      description: 'The total including tax, with at most nine digits and two decimal places.',
      examples: ['1160.00'],
    },
  })

export const InvoiceScenario = z
  .strictObject({ due_date: DueDate.optional(), amount: Total.default('1160.00') })
  .meta({ id: 'InvoiceScenario' })
export type InvoiceScenario = z.infer<typeof InvoiceScenario>

export const Accepted = z.strictObject({ status: z.literal('accepted') }).meta({ id: 'Accepted' })

export const JobPath = z.strictObject({ job_id: Id('job') })
export const CfdiPath = z.strictObject({ uuid: CfdiUuid })
