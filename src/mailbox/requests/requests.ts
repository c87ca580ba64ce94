import { Failure } from '../../failures.ts'
import { auditedFound, change } from '../../platform/audit/audit.ts'
import type { Ctx, System } from '../../platform/context.ts'
import { sql } from '../../platform/db/fragment.ts'
import { assertThat, isGuardViolation } from '../../platform/db/guard.ts'
import { sendHints } from '../../platform/queues/send.ts'
import { deleteOrphaned, dueRequests, insertOpening, insertRequest, isOpening, isOrphaned, mayAcknowledge } from './store.ts'

/** A message of the downloads queue: the organization may wait for documents of the RFC's mailbox. */
export interface MailboxCall {
  organization_id: string
  entity: number
}

/** The notification that a request names. */
export interface Asked extends MailboxCall {
  shard: number
  sent_at: number
  notification: string
  notification_id: string
}

const SWEEP_LIMIT = 500
const NOT_OPENING = 'mailbox_requests.not_opening'
const MAY_ACKNOWLEDGE = 'mailbox_requests.may_acknowledge'

export const announceRequests = (system: System, calls: readonly MailboxCall[], delaySeconds = 0): Promise<void> =>
  sendHints(
    system,
    system.env.DOWNLOADS,
    calls.map(({ organization_id, entity }) => ({ body: { mailbox: { organization_id, entity } }, delaySeconds })),
  )

/** Whether the organization has acknowledged the opening already. */
export const isOpeningRequested = ({ db }: System, asked: Asked): Promise<boolean> => isOpening(db.$client, asked)

/**
 * Records that the caller's credential acknowledges the opening, with its audit row, once; then announces it. Throws Failure 409
 * credential.changed when the credential was revoked or became a member's after it was authenticated.
 */
export async function requestOpening(ctx: Ctx, api_key: string, asked: Asked): Promise<void> {
  const d1 = ctx.db.$client
  const { organization_id, entity, sent_at, notification } = asked
  const key = sql`organization_id = ${organization_id} and entity = ${entity} and sent_at = ${sent_at} and notification = ${notification}`
  await change(ctx, { action: 'notification.opening_requested', resource_id: asked.notification_id, changed: ['opened_at'] }, [
    assertThat(d1, mayAcknowledge(sql`${api_key}`), MAY_ACKNOWLEDGE),
    assertThat(d1, sql`not exists (select 1 from mailbox_requests where ${key} and acknowledged_by is not null)`, NOT_OPENING),
    insertOpening(d1, asked, api_key, Date.now()),
  ]).catch((error: unknown) => {
    if (isGuardViolation(error, MAY_ACKNOWLEDGE))
      throw new Failure(
        'contention',
        'credential.changed',
        'The credential of this request was revoked or became a member’s in the meantime.',
      )
    // Another request of the organization was faster.
    if (!isGuardViolation(error, NOT_OPENING)) throw error
  })
  await announceRequests(ctx, [asked])
}

/**
 * Returns the statements that withdraw the openings that wait for the organization and were acknowledged with a credential that is revoked or
 * has become a member's, each with its audit row. They follow the change of the credentials in its commit.
 */
export const withdrawOpenings = (ctx: Ctx): D1PreparedStatement[] => {
  const [d1, { id }] = [ctx.db.$client, ctx.organization]
  const found = sql`select notification_id as resource_id from mailbox_requests where ${isOrphaned(id)}`
  return [auditedFound(ctx, id, { action: 'notification.opening_withdrawn', changed: ['opened_at'] }, found), deleteOrphaned(d1, id)]
}

/** Asks for a document that can be fetched without opening anything. */
export async function requestDocument(system: System, asked: Asked): Promise<void> {
  await insertRequest(system.db.$client, asked, Date.now()).run()
  await announceRequests(system, [asked])
}

/** Announces what waits: after a lost message, the death of a worker, or a wait. */
export async function sweepMailboxes(system: System): Promise<void> {
  await announceRequests(system, await dueRequests(system.db.$client, Date.now(), SWEEP_LIMIT))
}
