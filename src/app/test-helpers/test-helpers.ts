import { addInvoice, getInvoice, payInvoice } from '../../accounts/billing/invoices/invoices.ts'
import { CURRENCY, splitTotal } from '../../accounts/billing/subscription/prices.ts'
import { changeSubscription } from '../../accounts/billing/subscription/subscription.ts'
import { findOrganization, readerOf } from '../../accounts/organization/organization.ts'
import type { LoginKind } from '../../authority/port/login.ts'
import { cancelInSandbox, refuseLogin, sendInSandbox } from '../../authority/sandbox/overrides.ts'
import { isReadableCfdi } from '../../cfdi/detail/detail.ts'
import { failJob, findJob, jobEnded } from '../../downloads/failing/fail-job.ts'
import { overrideListing } from '../../lists/loading/override.ts'
import { overrideRecord } from '../../lists/repse/registry/adapters.ts'
import { ABSENT } from '../../lists/repse/registry/registry.ts'
import { change } from '../../platform/audit/audit.ts'
import type { Ctx } from '../../platform/context.ts'
import { retryOnConflict } from '../../platform/db/guard.ts'
import { newId } from '../../platform/db/id.ts'
import { Failure, notFound } from '../../platform/failures.ts'
import { firstInstantOf, localDayOf } from '../../platform/time/calendar.ts'
import { sendHints } from '../../platform/work/send.ts'
import { notActive } from '../../taxpayers/connection.ts'
import { readLogin } from '../../taxpayers/login.ts'
import { findConnection } from '../../taxpayers/taxpayers.ts'
import { resume } from '../resume.ts'
import type {
  BlacklistScenario,
  CancellationScenario,
  InvoiceScenario,
  JobFailureScenario,
  MailboxScenario,
  OrganizationScenario,
  RepseScenario,
  ScenarioOrganization,
} from './contract.ts'

const ACCEPTED = { status: 'accepted' } as const

/** Sets the organization's plan, seats or end of trial. */
export async function arrangeOrganization(ctx: Ctx, scenario: OrganizationScenario): Promise<ScenarioOrganization> {
  const { plan, rfc_allowance, trial_ends_at } = scenario
  const changes = {
    ...(plan !== undefined && { plan }),
    ...(rfc_allowance !== undefined && { rfc_allowance }),
    ...(trial_ends_at !== undefined && { trial_ends_at: trial_ends_at === null ? null : new Date(trial_ends_at) }),
  }
  const changed = Object.keys(changes)
  if (changed.length > 0)
    await changeSubscription(ctx, { action: 'test_helper.organization', resource_id: ctx.organization.id, changed }, () => changes, resume)
  const row = await findOrganization(ctx.db, ctx.organization.id)
  return { id: row.id, plan: row.plan, rfc_allowance: row.rfc_allowance, trial_ends_at: row.trial_ends_at?.toISOString() ?? null }
}

/**
 * Makes the sandbox authority report a CFDI as cancelled, from the next download on and not before `cancelled_at`. Throws Failure 404
 * fiscal_entity.not_found and fiscal_entity.not_active, as findConnected does, and 404 cfdi.not_found for a CFDI that the organization could
 * not read if the connection were active.
 */
export async function cancelAtAuthority(ctx: Ctx, uuid: string, scenario: CancellationScenario) {
  const { rfc } = await findConnected(ctx, scenario.fiscal_entity_id)
  const reader = await readerOf(ctx, ctx.organization, scenario.fiscal_entity_id)
  if (!(await isReadableCfdi({ ...ctx, connection: { ...reader!.connection, state: 'active' } }, uuid))) throw notFound('cfdi')
  const cancellation = {
    cancelled_at: scenario.cancelled_at === undefined ? ctx.now : new Date(scenario.cancelled_at),
    cancellation_reason: scenario.cancellation_reason ?? null,
    outcome: scenario.outcome ?? null,
  }
  await change(ctx, { action: 'test_helper.cfdi_cancelled', resource_id: uuid }, [cancelInSandbox(ctx.db, rfc, uuid, cancellation)])
  return ACCEPTED
}

/**
 * A connection of the organization that has been active: others may have connected the same RFC. Throws Failure 404
 * fiscal_entity.not_found, and fiscal_entity.not_active for one that has not.
 */
async function findConnected(ctx: Ctx, fiscal_entity_id: string) {
  const connection = await findConnection(ctx.db, ctx.organization, fiscal_entity_id)
  if (!connection) throw notFound('fiscal_entity')
  if (connection.first_active_at === null) throw notActive(ctx, connection)
  return connection
}

/** Makes the sandbox authority send a notification to an RFC. Throws Failure 404 as findConnected does. */
export async function sendToMailbox(ctx: Ctx, { fiscal_entity_id, sent_at, ...scenario }: MailboxScenario) {
  const { rfc } = await findConnected(ctx, fiscal_entity_id)
  const notification = { ...scenario, notification: crypto.randomUUID(), sent_at: sent_at ? new Date(sent_at) : ctx.now, opened_at: null }
  await change(ctx, { action: 'test_helper.notification_sent', resource_id: fiscal_entity_id }, [sendInSandbox(ctx.db, rfc, notification)])
  return ACCEPTED
}

/**
 * Makes the sandbox authority refuse the stored CIEC or e.firma from the next login or verification; it accepts any other one. Throws Failure
 * 404 fiscal_entity.not_found, and 409 fiscal_entity.no_ciec or fiscal_entity.no_efirma when none is stored.
 */
export async function expireLogin(ctx: Ctx, fiscal_entity_id: string, kind: LoginKind) {
  const connection = await findConnection(ctx.db, ctx.organization, fiscal_entity_id)
  if (!connection) throw notFound('fiscal_entity')
  const login = await readLogin(ctx, connection, kind)
  if (login === null)
    throw new Failure(
      'conflict',
      `fiscal_entity.no_${kind}`,
      `No ${kind === 'ciec' ? 'CIEC' : 'e.firma'} is stored for this fiscal entity. Send ${kind === 'ciec' ? 'a CIEC' : 'an e.firma'} with PATCH /v1/fiscal-entities/{id}.`,
    )
  await change(ctx, { action: `test_helper.${kind}_expired`, resource_id: fiscal_entity_id }, [
    await refuseLogin(ctx.settings.ciecKeys, login),
  ])
  return ACCEPTED
}

/**
 * Ends a download job as failed. Throws Failure 404 fiscal_entity.not_found and sync_job.not_found, and 409 sync_job.ended and
 * sync_job.running.
 */
export async function failSyncJob(ctx: Ctx, job_id: string, { fiscal_entity_id, error_class }: JobFailureScenario) {
  const reader = await readerOf(ctx, ctx.organization, fiscal_entity_id)
  if (!reader) throw notFound('fiscal_entity')
  const { key, isEnded } = await findJob(ctx, reader.connection, job_id)
  const isAgain = Boolean(ctx.claim?.begun)
  if (isAgain && isEnded) return ACCEPTED
  if (isEnded) throw jobEnded()
  if (!isAgain) await change(ctx, { action: 'test_helper.sync_job_failed', resource_id: job_id, begins: true }, [])
  await failJob(ctx, reader.connection, key, error_class)
  return ACCEPTED
}

/** Makes the sandbox registry answer with this record. */
export async function publishAtRegistry(ctx: Ctx, { rfc, ...record }: RepseScenario) {
  await change(ctx, { action: 'test_helper.repse_published', resource_id: ctx.organization.id, changed: Object.keys(record) }, [
    overrideRecord(ctx.db, rfc, record.is_registered ? record : ABSENT),
  ])
  return ACCEPTED
}

/**
 * Puts an RFC on a public list of the sandbox, or takes it off. Throws Failure 409 blacklist.not_loaded before the list is loaded, and 409
 * blacklist.changed while others keep changing it.
 */
export async function publishOnList(ctx: Ctx, { rfc, source, name, situacion, is_listed }: BlacklistScenario) {
  const { db, now, organization } = ctx
  const day = localDayOf(now, organization.timezone)
  await retryOnConflict(
    async () => {
      const override = { rfc, source, name, situacion, is_listed, day }
      const statements = await overrideListing(db.$client, override, now.getTime())
      if (statements === null)
        throw new Failure('conflict', 'blacklist.not_loaded', 'The list is not loaded yet. The daily work loads the lists of the sandbox.')
      await change(
        ctx,
        { action: 'test_helper.blacklist_published', resource_id: organization.id, changed: ['rfc', 'source', 'situacion', 'is_listed'] },
        statements,
      )
    },
    () => new Failure('contention', 'blacklist.changed', 'Others keep changing the list at the same time. Try again.'),
  )
  await sendHints(ctx, ctx.env.TASKS, [{ body: { task: 'notifyListings', at: now.getTime(), cursor: '' } }])
  return ACCEPTED
}

/** Adds an open invoice. It is issued now, or, if the scenario states a due date, at the first instant of that day. */
export async function arrangeInvoice(ctx: Ctx, { due_date, amount }: InvoiceScenario) {
  const { timezone } = ctx.organization
  const due_on = due_date === undefined || due_date.includes('T') ? localDayOf(due_date ? new Date(due_date) : ctx.now, timezone) : due_date
  const issued_at = due_date === undefined ? ctx.now : firstInstantOf(due_on, timezone)
  return addInvoice(ctx, 'test_helper.invoice', {
    invoice_id: newId('inv'),
    period: due_on.slice(0, 7),
    ...splitTotal(amount, due_on),
    currency: CURRENCY,
    issued_at,
    due_on,
    rule_ref: null,
  })
}

/** Marks an invoice as paid. Throws Failure 404 invoice.not_found. */
export async function arrangePayment(ctx: Ctx, invoice_id: string) {
  await payInvoice(ctx, invoice_id, resume, 'test_helper.invoice_paid')
  return getInvoice(ctx, invoice_id)
}
