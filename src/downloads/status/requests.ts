import { repliesOf } from '../../authority/statuses.ts'
import { addRechecks } from '../../cfdi/checks/rechecks.ts'
import type { Cfdi } from '../../cfdi/contract.ts'
import { listPayments } from '../../cfdi/detail/detail.ts'
import { view } from '../../cfdi/read-row.ts'
import { findMatches, type PageItem } from '../../cfdi/search/search.ts'
import { listedOf } from '../../lists/listed/counterparties.ts'
import { change } from '../../platform/audit/audit.ts'
import type { Ctx } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { changesOf, prepared } from '../../platform/db/statement.ts'
import { Failure, notFound } from '../../platform/failures.ts'
import { openCursor, type Page, paginate } from '../../platform/paging/cursor.ts'
import { clock } from '../../platform/time/clock.ts'
import { notActive } from '../../taxpayers/connection.ts'
import { openLedger, partitionsToRead, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { wakeRechecks } from './check-status.ts'
import {
  type CancellationAnswer,
  type CancellationRequest,
  type CancellationRequestDetail,
  type CancellationRequestQuery,
  CFDI_MEMBERS,
} from './contract.ts'
import { daysLeft, deadlinesOf } from './rule.ts'
import { findRequests, keepReply, type RequestFilters, reserveReply, type ShownRequest } from './store.ts'

/** A request with its document; without it when the organization may not know of the request. */
interface Found {
  request: ShownRequest
  item: PageItem | null
}

/** Finds the requests about visible documents, the latest first. Two calls, one without any. */
async function found(ctx: Ctx, ledger: ScopedLedger, filters: RequestFilters, limit: number): Promise<Found[]> {
  const partitions = partitionsToRead(ledger)
  if (partitions.length === 0) return []
  const results = await ledger.d1.batch<ShownRequest>(partitions.map((one) => prepared(ledger.d1, findRequests(one, filters, limit))))
  const requests = results
    .flatMap((one) => one.results)
    .sort((a, b) => b.detected_at - a.detected_at || (a.uuid < b.uuid ? 1 : -1))
    .slice(0, limit)
  if (requests.length === 0) return []
  const { items } = await findMatches(
    ctx,
    ledger,
    { uuid: requests.map(({ uuid }) => uuid) },
    await listedOf(ctx),
    undefined,
    requests.length,
  )
  const byUuid = new Map(items.map((item) => [item.row.uuid, item]))
  return requests.map((request) => {
    const item = byUuid.get(request.uuid)
    return { request, item: item && isKnown(request, item) ? item : null }
  })
}

/** Whether the request had not ended before the organization's own run first reached the document: alone, it would not have been seen. */
const isKnown = ({ decided_at }: ShownRequest, item: PageItem): boolean => decided_at === null || decided_at >= sinceOf(item)

const sinceOf = ({ row, context }: PageItem): number => context.partition.changesFrom(row)

const iso = (milliseconds: number | null): string | null => (milliseconds === null ? null : new Date(milliseconds).toISOString())

const members = (one: Cfdi) =>
  Object.fromEntries(CFDI_MEMBERS.map((name) => [name, one[name]])) as Pick<Cfdi, (typeof CFDI_MEMBERS)[number]>

type Known = Found & { item: PageItem }

/** A request as the organization may know it: nothing from before its own run first reached the document. */
function shown({ now }: Ctx, { request, item }: Known, cfdi: Cfdi): CancellationRequest {
  const { status, reply, replied_at } = request
  const since = sinceOf(item)
  const detected_at = Math.max(request.detected_at, since)
  const clear_at = request.clear_at !== null && request.clear_at >= since ? request.clear_at : null
  const deadlines = deadlinesOf({ clear_at, detected_at })
  const isPending = status === 'pending'
  return {
    ...members(cfdi),
    ...{ status, detected_at: iso(detected_at)!, clear_at: iso(clear_at) },
    checked_at: iso(Math.max(request.seen_at, detected_at))!,
    decided_at: request.decided_at === null ? null : iso(Math.max(request.decided_at, detected_at)),
    ...deadlines,
    days_left: isPending ? daysLeft(deadlines.deadline, now.getTime()) : null,
    if_silent: isPending ? 'cancelled' : null,
    answer: reply === null ? null : { answer: reply, sent_at: iso(replied_at) },
  }
}

/**
 * Returns a page of the requests to cancel documents that the organization may read, the latest first. A page can be shorter than its limit. At
 * most two calls.
 */
export async function listRequests(ctx: Ctx, query: CancellationRequestQuery): Promise<Page<CancellationRequest>> {
  const ledger = openLedger(ctx)
  const { limit, cursor, direction, status } = query
  const scope = { list: `cancellation_requests:${ledger.fiscal_entity_id}`, filters: { direction, status } }
  const before = (await openCursor(ctx, scope, cursor)) as [number, string] | undefined
  const filters = { status, before, direction: direction === undefined ? undefined : direction === 'issued' ? 0 : 1 } as const
  const [rows, listed] = [await found(ctx, ledger, filters, limit + 1), await listedOf(ctx)]
  const page = await paginate(
    ctx,
    scope,
    limit,
    rows,
    ({ request }) => [request.detected_at, request.uuid],
    ({ request, item }) => item && shown(ctx, { request, item }, view(item.row, item.context, listed)),
  )
  return { ...page, data: page.data.filter((one) => one !== null) }
}

/** Finds the request about a visible document. Throws Failure 404 cancellation_request.not_found. */
async function findOne(ctx: Ctx, ledger: ScopedLedger, uuid: string): Promise<Known> {
  const [one] = await found(ctx, ledger, { uuid }, 1)
  if (!one?.item) throw notFound('cancellation_request')
  return { request: one.request, item: one.item }
}

/** Returns the last request to cancel a document, with what was paid or credited of it. Throws Failure 404 cancellation_request.not_found. */
export async function getRequest(ctx: Ctx, uuid: string): Promise<CancellationRequestDetail> {
  const ledger = openLedger(ctx)
  const one = await findOne(ctx, ledger, uuid)
  const { data } = await listPayments(ctx, uuid)
  return { ...shown(ctx, one, view(one.item.row, one.item.context, await listedOf(ctx))), aplicaciones: [...data] }
}

/**
 * Answers a request for the receiver, through the certified provider of the deployment, and returns it. Only one answer is ever sent of a request,
 * and a repetition of the same one does no harm. How the request ends follows from the authority. Throws Failure 404 fiscal_entity.not_active and
 * cancellation_request.not_found, and 409 cancellation_request.no_provider, not_received, not_pending and answered.
 */
export async function answerRequest(ctx: Ctx, uuid: string, { answer }: CancellationAnswer): Promise<CancellationRequestDetail> {
  if (ctx.connection?.state !== 'active') throw notActive(ctx, ctx.connection)
  const ledger = openLedger(ctx)
  const { request, item } = await findOne(ctx, ledger, uuid)
  const replies = repliesOf(ctx)
  if (replies === null) throw noProvider()
  if (item.row.direction === 0 || item.context.partition.origin === 'import') throw notReceived()
  const document = { entity: ledger.entity, uuid }
  if (request.replied_at === null || request.reply !== answer) {
    if (request.status !== 'pending') throw notPending(request.status)
    if (!ctx.claim?.begun)
      await change(ctx, { action: 'cancellation_request.answered', resource_id: uuid, changed: ['answer'], begins: true }, [])
    if ((await changesOf(ledger.d1, reserveReply(document, request.number, answer))) === 0) throw answered()
    // After a failure nobody knows whether it arrived: it stays the one answer, to be sent again.
    await replies.reply(ledger.rfc, uuid, answer)
    const now = clock.now()
    const round = addRechecks([{ entity: ledger.entity, uuid: '', due_at: now, recheck: 'watch' }])
    await commit(ledger.d1, [keepReply(document, request.number, now), ...round])
    await wakeRechecks(ctx, [{ shard: ctx.connection.shard, entity: ledger.entity }])
  }
  return getRequest(ctx, uuid)
}

const noProvider = () =>
  new Failure(
    'conflict',
    'cancellation_request.no_provider',
    'This deployment cannot answer requests for cancellation, because no certified provider (PAC) is configured. Answer in the portal of the tax authority, or through your own provider.',
  )
const notReceived = () =>
  new Failure(
    'conflict',
    'cancellation_request.not_received',
    'Only the receiver of a document answers a request to cancel it, and not of one that you have imported yourself.',
  )
const notPending = (status: string) =>
  new Failure('conflict', 'cancellation_request.not_pending', `The request is ${status}, so that nobody can answer it any more.`)
const answered = () =>
  new Failure(
    'conflict',
    'cancellation_request.answered',
    'The request was answered otherwise, or it has ended. GET it to see how it stands.',
  )
