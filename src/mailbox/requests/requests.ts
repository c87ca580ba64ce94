import type { Change } from '../../platform/audit/audit.ts'
import { change } from '../../platform/audit/audit.ts'
import type { Ctx, System } from '../../platform/context.ts'
import { sql } from '../../platform/db/fragment.ts'
import { assertThat, isGuardViolation } from '../../platform/db/guard.ts'
import { sendHints } from '../../platform/queues/send.ts'
import { dueRequests, insertOpening, insertRequest, isOpening } from './store.ts'

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
}

const SWEEP_LIMIT = 500
const NOT_OPENING = 'mailbox_requests.not_opening'

export const announceRequests = (system: System, calls: readonly MailboxCall[], delaySeconds = 0): Promise<void> =>
  sendHints(
    system,
    system.env.DOWNLOADS,
    calls.map(({ organization_id, entity }) => ({ body: { mailbox: { organization_id, entity } }, delaySeconds })),
  )

/** Whether the organization has acknowledged the opening already. */
export const isOpeningRequested = ({ db }: System, asked: Asked): Promise<boolean> => isOpening(db.$client, asked)

/** Records that the organization acknowledges the opening, with its audit row, once; then announces it. */
export async function requestOpening(ctx: Ctx, asked: Asked, what: Change): Promise<void> {
  const d1 = ctx.db.$client
  const { organization_id, entity, sent_at, notification } = asked
  const key = sql`organization_id = ${organization_id} and entity = ${entity} and sent_at = ${sent_at} and notification = ${notification}`
  await change(ctx, what, [
    assertThat(d1, sql`not exists (select 1 from mailbox_requests where ${key} and opens = 1)`, NOT_OPENING),
    insertOpening(d1, asked, Date.now()),
  ]).catch((error: unknown) => {
    // Another request of the organization was faster.
    if (!isGuardViolation(error, NOT_OPENING)) throw error
  })
  await announceRequests(ctx, [asked])
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
