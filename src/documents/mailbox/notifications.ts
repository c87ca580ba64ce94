import { loginsOf } from '../../authority/logins.ts'
import { AUTHORITY_ZONE } from '../../authority/port/business-days.ts'
import { inactiveWarnings } from '../../authority/sources.ts'
import { type AskedContent, openContent } from '../../platform/content.ts'
import type { Ctx } from '../../platform/context.ts'
import { idOfText, idOfUuid, uuidOf } from '../../platform/db/id.ts'
import { readRows } from '../../platform/db/statement.ts'
import { Failure, notFound } from '../../platform/failures.ts'
import { openCursor, paginate } from '../../platform/paging/cursor.ts'
import { mayDo, requireScope } from '../../platform/tenant/scopes.ts'
import { localDayOf } from '../../platform/time/calendar.ts'
import { openLedger, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { Notification, NotificationDocumentQuery, NotificationFetching, NotificationQuery } from './contract.ts'
import { deadlinesOf, pendingSince, statusOf, visibleSince } from './deadlines.ts'
import { objectOf } from './keep.ts'
import { type Asked, isOpeningRequested, notFetchable, requestDocument, requestOpening } from './requests/requests.ts'
import { listNotifications, type NotificationRow, notificationsAt } from './store.ts'

/** The digits of an identifier that hold the time at which the authority sent the notification. */
const TIME_DIGITS = 12

/** The identifier of a notification as one connection is shown it. `sent_at` is in milliseconds. */
export async function notificationIdOf(fiscal_entity_id: string, sent_at: number, notification: string): Promise<string> {
  const derived = uuidOf(await idOfText('ntf', JSON.stringify([fiscal_entity_id, notification]))).replaceAll('-', '')
  return idOfUuid('ntf', sent_at.toString(16).padStart(TIME_DIGITS, '0') + derived.slice(TIME_DIGITS))
}

/** The `sent_at` in an identifier. */
const sentAtOf = (notification_id: string): number => Number.parseInt(uuidOf(notification_id).replaceAll('-', '').slice(0, TIME_DIGITS), 16)

const FETCHING: NotificationFetching = { status: 'fetching', retry_after_seconds: 5 }

const dated = ({ kind, sent_at, opened_at }: NotificationRow) => ({
  kind,
  sent_at: new Date(sent_at),
  opened_at: opened_at === null ? null : new Date(opened_at),
})

async function view({ now }: Ctx, { fiscal_entity_id }: ScopedLedger, row: NotificationRow): Promise<Notification> {
  const { kind, title, authority, document_number, document_kind } = row
  const { sent_at, opened_at } = dated(row)
  const { effective_at, ...deadlines } = deadlinesOf(dated(row), now)
  return {
    notification_id: await notificationIdOf(fiscal_entity_id, row.sent_at, row.notification),
    ...{ kind, title, authority, document_number, document_kind },
    has_document: document_kind !== null,
    sent_at: sent_at.toISOString(),
    opened_at: opened_at?.toISOString() ?? null,
    effective_at: effective_at?.toISOString() ?? null,
    ...deadlines,
  }
}

/** Returns a page of the notifications that the organization may read, the latest first. Opens nothing. */
export async function listOfNotifications(ctx: Ctx, query: NotificationQuery) {
  const ledger = openLedger(ctx)
  const scope = { list: `mailbox:${ledger.fiscal_entity_id}`, filters: query }
  const before = await openCursor(ctx, scope, query.cursor)
  const rows = await readRows(
    ledger.d1,
    listNotifications(ledger, {
      floor: visibleSince(ledger.window.floor),
      before: before === undefined ? null : [Number(before[0]), String(before[1])],
      status: query.status,
      kind: query.kind,
      since: query.since === undefined ? null : Date.parse(query.since),
      pendingSince: pendingSince(ctx.now).getTime(),
      limit: query.limit + 1,
    }),
  )
  const page = await paginate(
    ctx,
    scope,
    query.limit,
    rows,
    (row) => [row.sent_at, row.notification],
    (row) => view(ctx, ledger, row),
  )
  return { ...page, data: await Promise.all(page.data), warnings: inactiveWarnings(ctx, ['sat_miinformacion']) }
}

/** Returns a notification as the list has it. Opens nothing. Throws Failure 404 notification.not_found. */
export async function getNotification(ctx: Ctx, notification_id: string): Promise<Notification> {
  const ledger = openLedger(ctx)
  return view(ctx, ledger, await findNotification(ledger, notification_id))
}

/** Finds a notification that the organization may read. Throws Failure 404 notification.not_found. */
export async function findNotification(ledger: ScopedLedger, notification_id: string): Promise<NotificationRow> {
  for (const row of await readRows(ledger.d1, notificationsAt(ledger, visibleSince(ledger.window.floor), sentAtOf(notification_id))))
    if ((await notificationIdOf(ledger.fiscal_entity_id, row.sent_at, row.notification)) === notification_id) return row
  throw notFound('notification')
}

/**
 * Answers with the document of a notification, or with the part that is asked for, or NotificationFetching while it is fetched. A pending
 * one is opened only if the query acknowledges it. A tentative request acknowledges nothing, has nothing fetched and writes nothing; a
 * foreign one acknowledges nothing. Where the authority answers nobody who waits, nothing is opened or fetched here. Throws Failure 404
 * notification.not_found and document.not_found, 409 would_notify without the acknowledgement, 403 credential.role when a member
 * acknowledges, 409 credential.changed when the credential has been revoked since, 409 fiscal_entity.not_active when the document would
 * have to be fetched over a connection that is not active, 409 notification.not_openable and notification.not_fetched where the authority
 * answers nobody who waits, and 416 document.range_not_satisfiable.
 */
export async function readNotificationDocument(
  ctx: Ctx,
  { notification_id, acknowledge_notification }: NotificationDocumentQuery,
  content: AskedContent,
): Promise<Response | NotificationFetching> {
  const ledger = openLedger(ctx)
  const row = await findNotification(ledger, notification_id)
  const asked: Asked = {
    ...{ organization_id: ctx.organization.id, entity: ledger.entity, shard: ctx.connection!.shard },
    ...{ sent_at: row.sent_at, notification: row.notification, notification_id },
  }
  if (statusOf(dated(row), ctx.now) === 'pending') {
    const isMeant = !content.isTentative && !content.isForeign
    const api_key = acknowledge_notification && isMeant ? writerOf(ctx) : null
    if (await isOpeningRequested(ctx, asked)) return FETCHING
    if (api_key === null) throw wouldNotify(ctx, row, acknowledge_notification && content.isForeign)
    if (!loginsOf(ctx).answersMailbox) throw notOpenable()
    requireActive(ctx)
    await requestOpening(ctx, api_key, asked)
    return FETCHING
  }
  if (row.document_kind === null) throw noDocument(row)
  const { name, content_type, size, sha256 } = row
  if (sha256 !== null) {
    const file = { object: objectOf(sha256), name: name!, content_type: content_type!, size: size!, etag: sha256 }
    const answer = await openContent(ctx.env.FILES, file, content)
    if (answer) return answer
  }
  requireActive(ctx)
  if (!loginsOf(ctx).answersMailbox) throw notFetched()
  if (!content.isTentative) await requestDocument(ctx, asked)
  return FETCHING
}

const ELSEWHERE = 'This deployment opens no notifications. Open it in the tax mailbox at the portal of the tax authority.'

const notOpenable = () =>
  new Failure('conflict', 'notification.not_openable', `${ELSEWHERE} The next run that downloads sat_miinformacion learns of it.`)

const notFetched = () =>
  new Failure(
    'conflict',
    'notification.not_fetched',
    'The document has not come yet. It comes with a run that downloads sat_miinformacion, and cannot be asked for earlier in this deployment.',
  )

function wouldNotify(ctx: Ctx, row: NotificationRow, isForeign: boolean): Failure {
  const { now } = ctx
  const { open_deadline, effective_at, deadline_basis } = deadlinesOf(dated(row), now)
  const what =
    row.document_kind === null
      ? 'The notification has no document, and opening it does not produce one. The notification takes effect when somebody opens it.'
      : 'Reading the document would open the notification, and the notification would take effect at that moment.'
  const expiry = `${localDayOf(effective_at!, AUTHORITY_ZONE)}${deadline_basis === 'estimated' ? ' at the earliest' : ''}`
  const how = isForeign
    ? 'The acknowledgement was ignored, because another site or a part of a page made the browser send it.'
    : !loginsOf(ctx).answersMailbox
      ? ELSEWHERE
      : mayDo(ctx, 'tax_mailbox:open')
        ? 'Repeat the request with acknowledge_notification=true to open it.'
        : 'Only a credential with the scope tax_mailbox:open, which owners and admins have, can open it.'
  return new Failure(
    'conflict',
    'would_notify',
    `${what} Its deadline is ${open_deadline!}. If nobody opens it, it counts as notified on ${expiry}. ${how}`,
    { open_deadline: open_deadline! },
  )
}

const noDocument = ({ opened_at }: NotificationRow) =>
  new Failure(
    'not_found',
    'document.not_found',
    `The notification ${opened_at === null ? '' : `was opened at ${new Date(opened_at).toISOString()} and `}has no document.`,
  )

/** The api_key of a caller who may open notifications. Throws Failure 403 credential.role or credential.scope. */
function writerOf(ctx: Ctx): string {
  requireScope(ctx, 'tax_mailbox:open')
  if (ctx.actor.kind !== 'credential') throw new Error('Only a credential opens notifications.')
  return ctx.actor.api_key
}

function requireActive({ connection }: Ctx): void {
  if (connection!.state !== 'active') throw notFetchable()
}
