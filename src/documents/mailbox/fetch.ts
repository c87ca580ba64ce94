import { authorityOf } from '../../authority/adapters.ts'
import { LoginRejected } from '../../authority/port/authority.ts'
import { isPending, type MailboxNotification, WouldNotify } from '../../authority/port/mailbox.ts'
import type { System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { changesOf, readRows } from '../../platform/db/statement.ts'
import { Unavailable } from '../../platform/failures.ts'
import { log } from '../../platform/log.ts'
import { clock } from '../../platform/time/clock.ts'
import type { Leased } from '../../platform/work/lease.ts'
import { type DownloadLogin, Logins } from '../../taxpayers/login.ts'
import { rejectLogin } from '../../taxpayers/login-answers.ts'
import { fetchedDocument, NO_CONTENT } from './keep.ts'
import { announceRequests, finishOpening, type MailboxCall, withdrawOrphaned } from './requests/requests.ts'
import {
  claimRequests,
  deleteRequest,
  isStillOpening,
  type MailboxRequest,
  type NotificationReader,
  postponeRequest,
  readersOf,
} from './requests/store.ts'
import { completeNotification } from './store.ts'

/** Requests of one message, and the most statements of one of them besides one for each events shard. */
const REQUESTS = 20
const REQUEST_STATEMENTS = 15
const MAX_ATTEMPTS = 12
const FIRST_WAIT_MS = 5_000
const LONGEST_WAIT_MS = 15 * 60_000
/** How long to wait while the authority still regards as pending a notification that took effect by expiry in the service's calendar. */
const CLOSED_MS = 60 * 60_000

/**
 * Does an organization's requests to the mailbox of an RFC, with its own login: opens acknowledged notifications, and fetches documents. It
 * reads the authority's state of a notification before opening it, so that nothing is opened twice, even when a crash came between the
 * authority's answer and the commit. A request that fails is tried again with growing waits, and lapses after twelve attempts. `notify`
 * learns who can read a fetched document, before its request is crossed off.
 */
export async function workOnMailbox(system: System, call: MailboxCall, notify: Notify): Promise<void> {
  const d1 = system.db.$client
  const requests = await claimRequests(d1, call, REQUESTS)
  if (requests.length === 0) return
  if (requests.some(({ acknowledged_by }) => acknowledged_by !== null)) await withdrawOrphaned(system, call.organization_id)
  const login = await new Logins(system, call.entity).of([call.organization_id])
  const listed = login ? await listedFor(system, call, login, requests) : null
  for (const request of requests) {
    // The sweep finds the rest when its lease ends.
    if (!system.budget.allows(REQUEST_STATEMENTS + system.settings.events.length)) return
    if (!login || !listed) await postpone(system, request)
    else await fulfil(system, request, login, listed, notify)
  }
  if (requests.length === REQUESTS) await announceRequests(system, [call])
}

/** Learns who can read a fetched document. */
export type Notify = (system: System, readers: readonly NotificationReader[]) => Promise<void>

/** The notifications in the mailbox, by the authority's identifiers; null when it cannot be listed now. */
async function listedFor(
  system: System,
  { entity }: MailboxCall,
  login: DownloadLogin,
  requests: readonly MailboxRequest[],
): Promise<Map<string, MailboxNotification> | null> {
  try {
    const listed = await (await authorityOf(system)).mailbox.list(login.login, clock.date())
    return new Map(listed.map((one) => [one.notification, one]))
  } catch (error) {
    if (error instanceof LoginRejected) await rejectLogin({ ...system, now: clock.date() }, entity, login)
    else if (!(error instanceof Unavailable)) throw error
    log.error(system, 'A mailbox could not be listed. Its requests are tried again.', { entity, requests: requests.length }, error)
    return null
  }
}

async function fulfil(
  system: System,
  request: Leased<MailboxRequest>,
  { login }: DownloadLogin,
  listed: ReadonlyMap<string, MailboxNotification>,
  notify: Notify,
): Promise<void> {
  const { notification, acknowledged_by } = request
  const { mailbox } = await authorityOf(system)
  const now = clock.date()
  try {
    const found = listed.get(notification)
    const isOpening = found !== undefined && acknowledged_by !== null && isPending(found, now)
    if (isOpening && !(await isStillOpening(system.db.$client, request, now))) return
    const opened_at = isOpening ? await mailbox.open(login, notification, now) : (found?.opened_at ?? null)
    const [d1, ledger] = [system.db.$client, system.settings.ledgers[request.shard]!]
    // The opening is recorded before anything else can fail.
    if (opened_at) await commit(ledger, [completeNotification(request, { ...NO_CONTENT, opened_at: opened_at.getTime() })])
    if (opened_at && acknowledged_by !== null) await finishOpening(system, request)
    const content =
      found?.document_kind === null ? NO_CONTENT : await fetchedDocument({ files: system.env.FILES, mailbox, now }, login, notification)
    if (!content) return await postpone(system, request)
    if (content.sha256) {
      const [row] = await readRows(ledger, completeNotification(request, { ...content, opened_at: null }))
      if (row) await notify(system, await readRows(d1, readersOf(request.entity, row.organizations)))
    }
    await commit(d1, [deleteRequest(request)])
  } catch (error) {
    if (error instanceof WouldNotify) return postpone(system, request, CLOSED_MS)
    if (!(error instanceof Unavailable))
      log.error(system, 'A request for a notification failed. It is tried again.', { notification }, error)
    await postpone(system, request)
  }
}

async function postpone(
  system: System,
  request: Leased<MailboxRequest>,
  wait = Math.min(FIRST_WAIT_MS * 2 ** request.attempts, LONGEST_WAIT_MS),
) {
  const { notification, attempts, organization_id, entity, acknowledged_by } = request
  if (attempts + 1 >= MAX_ATTEMPTS) {
    log.error(system, 'A request for a notification lapses.', { notification, entity, opens: acknowledged_by !== null })
    await commit(system.db.$client, [deleteRequest(request)])
    return
  }
  await changesOf(system.db.$client, postponeRequest(request, clock.now() + wait))
  await announceRequests(system, [{ organization_id, entity }], Math.ceil(wait / 1_000))
}
