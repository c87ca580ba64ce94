import { refuseCiec, tellCancellation } from '../authority/sandbox/overrides.ts'
import { addInvoice, getInvoice, payInvoice } from '../billing/invoices/invoices.ts'
import { CURRENCY, splitTotal } from '../billing/subscription/prices.ts'
import { changeSubscription } from '../billing/subscription/subscription.ts'
import { Failure, notFound } from '../failures.ts'
import { findOrganization } from '../identity/organization/organization.ts'
import { change } from '../platform/audit/audit.ts'
import type { Ctx } from '../platform/context.ts'
import { newId } from '../platform/db/id.ts'
import { firstInstantOf, localDayOf } from '../platform/time/calendar.ts'
import { ABSENT } from '../repse/registry/registry.ts'
import { publishRecord } from '../repse/registry/sandbox-overrides.ts'
import { readCiec } from '../taxpayers/login.ts'
import { findConnection } from '../taxpayers/taxpayers.ts'
import type { CancellationScenario, InvoiceScenario, OrganizationScenario, RepseScenario, ScenarioOrganization } from './contract.ts'

const TOLD = { status: 'accepted' } as const

/** Puts the caller's organization on a plan, an allowance or a trial's end. */
export async function arrangeOrganization(ctx: Ctx, scenario: OrganizationScenario): Promise<ScenarioOrganization> {
  const { plan, rfc_allowance, trial_ends_at } = scenario
  const changes = {
    ...(plan !== undefined && { plan }),
    ...(rfc_allowance !== undefined && { rfc_allowance }),
    ...(trial_ends_at !== undefined && { trial_ends_at: trial_ends_at === null ? null : new Date(trial_ends_at) }),
  }
  const changed = Object.keys(changes)
  if (changed.length > 0)
    await changeSubscription(ctx, { action: 'test_helper.organization', resource_id: ctx.organization.id, changed }, () => changes)
  const row = await findOrganization(ctx.db, ctx.organization.id)
  return { id: row.id, plan: row.plan, rfc_allowance: row.rfc_allowance, trial_ends_at: row.trial_ends_at?.toISOString() ?? null }
}

/** The sandbox authority reports the document as cancelled from its next download on. */
export async function cancelAtAuthority(ctx: Ctx, uuid: string, scenario: CancellationScenario) {
  const connection = await findConnection(ctx.db, ctx.organization.id, scenario.fiscal_entity_id)
  if (!connection) throw notFound('fiscal_entity')
  const told = {
    cancelled_at: scenario.cancelled_at === undefined ? ctx.now : new Date(scenario.cancelled_at),
    cancellation_reason: scenario.cancellation_reason ?? null,
  }
  await change(ctx, { action: 'test_helper.cfdi_cancelled', resource_id: uuid }, [tellCancellation(ctx.db, connection.rfc, uuid, told)])
  return TOLD
}

/** The sandbox authority refuses the CIEC that is stored for the RFC from its next login on. Another value is accepted. */
export async function expireCiec(ctx: Ctx, fiscal_entity_id: string) {
  const connection = await findConnection(ctx.db, ctx.organization.id, fiscal_entity_id)
  if (!connection) throw notFound('fiscal_entity')
  const ciec = await readCiec(ctx, connection)
  if (ciec === null) throw new Failure('conflict', 'fiscal_entity.no_ciec', 'There is no CIEC stored for this fiscal entity.')
  await change(ctx, { action: 'test_helper.ciec_expired', resource_id: fiscal_entity_id }, [
    await refuseCiec(ctx.db, ctx.settings.ciecKeys, connection.rfc, ciec),
  ])
  return TOLD
}

/** The sandbox registry answers this record from now on. */
export async function publishAtRegistry(ctx: Ctx, { rfc, ...record }: RepseScenario) {
  await change(ctx, { action: 'test_helper.repse_published', resource_id: ctx.organization.id, changed: Object.keys(record) }, [
    publishRecord(ctx.db, rfc, record.is_registered ? record : ABSENT),
  ])
  return TOLD
}

/** Adds an open invoice: issued now, or with the first moment of the day on which it is said to be due. */
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

/** Pays an invoice of the organization. */
export async function arrangePayment(ctx: Ctx, invoice_id: string) {
  await payInvoice(ctx, invoice_id, 'test_helper.invoice_paid')
  return getInvoice(ctx, invoice_id)
}
