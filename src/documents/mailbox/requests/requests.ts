import { type SQL, sql } from 'drizzle-orm'
import { auditedFound, change } from '../../../platform/audit/audit.ts'
import type { Ctx, System } from '../../../platform/context.ts'
import { commit, type Statement } from '../../../platform/db/commit.ts'
import { assertThat, isGuardViolation } from '../../../platform/db/guard.ts'
import { readFirst, readRows } from '../../../platform/db/statement.ts'
import { Failure } from '../../../platform/failures.ts'
import { clock } from '../../../platform/time/clock.ts'
import type { Leased } from '../../../platform/work/lease.ts'
import { sendHints } from '../../../platform/work/send.ts'
import { connections } from '../../../taxpayers/tables.ts'
import {
  deleteWhere,
  dueRequests,
  endOpening,
  insertOpening,
  insertRequest,
  isLeasedOpening,
  isOpening,
  isOrphaned,
  type MailboxRequest,
  mayAcknowledge,
} from './store.ts'
import { mailboxRequests } from './tables.ts'

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
const IS_ACTIVE = 'mailbox_requests.is_active'

export const announceRequests = (system: System, calls: readonly MailboxCall[], delaySeconds = 0): Promise<void> =>
  sendHints(
    system,
    system.env.DOWNLOADS,
    calls.map(({ organization_id, entity }) => ({ body: { mailbox: { organization_id, entity } }, delaySeconds })),
  )

/** Whether the organization has acknowledged the opening already, and somebody stands behind that. */
export const isOpeningRequested = async ({ db, now }: System, asked: Asked): Promise<boolean> =>
  (await readFirst(db.$client, sql`select 1 where ${isOpening(asked, now)}`)) !== null

/** The refusal to fetch or open anything without an active connection. */
export const notFetchable = (): Failure =>
  new Failure('conflict', 'fiscal_entity.not_active', 'The document cannot be fetched while the connection is not active.')

/**
 * Records that the caller's credential acknowledges the opening, with its audit row, once; then announces it. Throws Failure 409
 * credential.changed when the credential was revoked or became a member's after it was authenticated, and 409 fiscal_entity.not_active
 * when the connection has stopped being active since.
 */
export async function requestOpening(ctx: Ctx, api_key: string, asked: Asked): Promise<void> {
  const { organization_id, entity } = asked
  const active = sql`select 1 from ${connections} where ${connections.organization_id} = ${organization_id} and ${connections.entity} = ${entity}
    and ${connections.state} = 'active'`
  await change(ctx, { action: 'notification.opening_requested', resource_id: asked.notification_id, changed: ['opened_at'] }, [
    assertThat(mayAcknowledge(sql`${api_key}`, ctx.now), MAY_ACKNOWLEDGE),
    assertThat(sql`exists (${active})`, IS_ACTIVE),
    ...withdrawOpenings(ctx),
    assertThat(sql`not ${isOpening(asked, ctx.now)}`, NOT_OPENING),
    insertOpening(asked, api_key, clock.now()),
  ]).catch((error: unknown) => {
    if (isGuardViolation(error, MAY_ACKNOWLEDGE))
      throw new Failure(
        'contention',
        'credential.changed',
        'The credential of this request was revoked or became a member’s in the meantime.',
      )
    if (isGuardViolation(error, IS_ACTIVE)) throw notFetchable()
    // Another request of the organization was faster.
    if (!isGuardViolation(error, NOT_OPENING)) throw error
  })
  await announceRequests(ctx, [asked])
}

/** Who an audit row names as the one that changed something. */
type Author = Parameters<typeof auditedFound>[0]

const requestsWhere = (condition: SQL): SQL =>
  sql`select ${mailboxRequests.organization_id}, ${mailboxRequests.notification_id} as resource_id from ${mailboxRequests} where ${condition}`

/**
 * Returns the statements that withdraw the waiting openings of organizations that nobody stands behind any more, each with its audit row:
 * their credential was revoked, has expired or become a member's, or the connection is not active any more. They follow the change of the
 * credentials or connections in its commit.
 */
export const withdrawOpeningsOf = (author: Author, organization_ids: readonly string[]): Statement[] => {
  const orphaned = isOrphaned(organization_ids, author.now)
  return [
    auditedFound(author, { action: 'notification.opening_withdrawn', changed: ['opened_at'] }, requestsWhere(orphaned)),
    deleteWhere(orphaned),
  ]
}
export const withdrawOpenings = (ctx: Ctx): Statement[] => withdrawOpeningsOf(ctx, [ctx.organization.id])

const bySystem = (system: System): Author => ({ ...system, actor: { kind: 'system', process: 'mailbox' } })

/** Withdraws the organization's openings that no commit has withdrawn and nobody stands behind any more: their credential has expired. */
export const withdrawOrphaned = async (system: System, organization_id: string): Promise<void> =>
  void (await commit(system.db.$client, withdrawOpeningsOf(bySystem(system), [organization_id])))

/** Records once in the audit log that an acknowledged notification was opened. From then on the request waits only for its document. */
export const finishOpening = async (system: System, request: Leased<MailboxRequest>): Promise<void> => {
  const found = requestsWhere(isLeasedOpening(request))
  const audited = auditedFound(bySystem(system), { action: 'notification.opened', changed: ['opened_at'] }, found)
  await commit(system.db.$client, [audited, endOpening(request)])
}

/** Asks for a document that can be fetched without opening anything. */
export async function requestDocument(system: System, asked: Asked): Promise<void> {
  await commit(system.db.$client, [insertRequest(asked, clock.now())])
  await announceRequests(system, [asked])
}

/** Announces waiting requests: after a lost message, the death of a worker, or a wait. */
export async function sweepMailboxes(system: System): Promise<void> {
  await announceRequests(system, await readRows(system.db.$client, dueRequests(clock.now(), SWEEP_LIMIT)))
}
