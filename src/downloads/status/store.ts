import { type SQL, sql } from 'drizzle-orm'
import type { StatusCheck } from '../../cfdi/checks/checks.ts'
import type { Recheck } from '../../cfdi/checks/rechecks.ts'
import { cfdiAs, listOf } from '../../cfdi/columns.ts'
import { cancellationRequests, cancellationWatches, cfdi, statusRechecks } from '../../cfdi/tables.ts'
import type { Statement } from '../../platform/db/commit.ts'
import { assertThat } from '../../platform/db/guard.ts'
import { bare, excluded, insertion, readColumn, readFirst } from '../../platform/db/statement.ts'
import type { Micros } from '../../platform/money.ts'
import { isVisible, type Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { Candidate, PendingRequest, RequestState } from './rule.ts'

/** Keeps the check of an organization in the row of a document. With `before`, only while that is its check. */
export const keepCheck = (
  document: Pick<Recheck, 'entity' | 'uuid'>,
  fiscal_entity_id: string,
  check: StatusCheck,
  before: StatusCheck | null = null,
): SQL =>
  sql`update ${cfdi} set ${bare(cfdi.status_checks)} =
          json_set(coalesce(${cfdi.status_checks}, '{}'), ${`$."${fiscal_entity_id}"`}, json(${JSON.stringify(check)}))
        where ${cfdi.entity} = ${document.entity} and ${cfdi.uuid} = ${document.uuid}
          and (${before?.[0] ?? null} is null or ${cfdi.status_checks} -> ${fiscal_entity_id} ->> 0 = ${before?.[0] ?? null})`

/** Takes the rechecks of a partition that are due, the first ones, until an instant: then they are due again. */
export const takeRechecks = (partition: number, now: number, until: number, limit: number): SQL<Recheck> =>
  sql<Recheck>`update ${statusRechecks} set ${bare(statusRechecks.due_at)} = ${until} where ${statusRechecks.entity} = ${partition} and ${statusRechecks.uuid} in (
          select ${statusRechecks.uuid} from ${statusRechecks} where ${statusRechecks.entity} = ${partition} and ${statusRechecks.due_at} <= ${now} order by ${statusRechecks.due_at} limit ${limit})
        returning ${sql.join([statusRechecks.entity, statusRechecks.uuid, statusRechecks.due_at, statusRechecks.recheck].map(bare), sql`, `)}`

const isTaken = (taken: Recheck): SQL =>
  sql`${statusRechecks.entity} = ${taken.entity} and ${statusRechecks.uuid} = ${taken.uuid} and ${statusRechecks.due_at} = ${taken.due_at}`

/** Ends a recheck, unless there is a new one since it was taken. */
export const endRecheck = (taken: Recheck): SQL => sql`delete from ${statusRechecks} where ${isTaken(taken)}`

export const putOff = (taken: Recheck, until: number): SQL =>
  sql`update ${statusRechecks} set ${bare(statusRechecks.due_at)} = ${until} where ${isTaken(taken)}`

/** The partitions with rechecks that are due, at most a thousand rechecks. */
export const partitionsToRecheck = async (ledger: D1Database, now: number): Promise<number[]> => {
  const due = sql<number>`select ${statusRechecks.entity} from ${statusRechecks} where ${statusRechecks.due_at} <= ${now} order by ${statusRechecks.due_at} limit 1000`
  return [...new Set(await readColumn(ledger, due))]
}

const { entity, uuid, status, number, clear_at, detected_at, seen_at, decided_at, reply, replied_at } = cancellationRequests
const own = cfdiAs('own')

/** Names a document of a partition. */
export interface DocumentKey {
  entity: number
  uuid: string
}

export type RequestRow = typeof cancellationRequests.$inferSelect

const isOf = (of: DocumentKey): SQL => sql`${entity} = ${of.entity} and ${uuid} = ${of.uuid}`

export const findRequest = (ledger: D1Database, of: DocumentKey): Promise<RequestRow | null> =>
  readFirst(ledger, sql<RequestRow>`select * from ${cancellationRequests} where ${isOf(of)}`)

/** Keeps the state of a request, and refuses its batch when another answer was kept since it was read. A new request has no reply. */
export const keepRequest = (of: DocumentKey, before: RequestState | null, next: RequestState): Statement[] => [
  assertThat(
    sql`coalesce((select ${seen_at} from ${cancellationRequests} where ${isOf(of)}), 0) = ${before?.seen_at ?? 0}`,
    'cancellation_requests.seen_at',
  ),
  sql`${insertion(cancellationRequests, { entity: of.entity, uuid: of.uuid, ...next })} on conflict do update set
    ${excluded([status, number, clear_at, detected_at, seen_at, decided_at])}, ${sql.join(
      [reply, replied_at].map((column) => sql`${bare(column)} = iif(${number} = excluded.${bare(number)}, ${column}, null)`),
      sql`, `,
    )}`,
]

/** Forgets the request about a document that is not stored any more. */
export const forgetRequest = (of: DocumentKey): SQL => sql`delete from ${cancellationRequests} where ${isOf(of)}`

/** Reserves the one reply to a request, before it is sent. Changes nothing unless the request is pending and has none, or this one. */
export const reserveReply = (of: DocumentKey, n: number, what: 'accept' | 'reject'): SQL =>
  sql`update ${cancellationRequests} set ${bare(reply)} = ${what}
    where ${isOf(of)} and ${number} = ${n} and ${status} = 'pending' and (${reply} is null or ${reply} = ${what})`

export const keepReply = (of: DocumentKey, n: number, at: number): SQL =>
  sql`update ${cancellationRequests} set ${bare(replied_at)} = ${at} where ${isOf(of)} and ${number} = ${n} and ${replied_at} is null`

/** A request with the status that its document gives it: a download may have found it cancelled before the authority says how. */
export type ShownRequest = Pick<RequestRow, 'uuid' | 'status' | 'number' | 'clear_at' | 'detected_at' | 'seen_at' | 'decided_at'> &
  Pick<RequestRow, 'reply' | 'replied_at'>

const SHOWN_STATUS = sql`iif(${status} = 'pending' and ${own.cancelled} = 1, 'cancelled', ${status})`

/** What a list of requests asks for. */
export interface RequestFilters {
  uuid?: string | undefined
  direction?: 0 | 1 | undefined
  status?: string | undefined
  before?: readonly [detected_at: number, uuid: string] | undefined
}

/** The requests about visible documents of a partition, the latest first. */
export const findRequests = (partition: Partition, filters: RequestFilters, limit: number): SQL<ShownRequest> => {
  const { before } = filters
  const conditions = [
    sql`${entity} = ${partition.number} and ${own.uuid} = ${uuid} and ${isVisible(partition, 'own')}`,
    ...(filters.uuid === undefined ? [] : [sql`${uuid} = ${filters.uuid}`]),
    ...(filters.direction === undefined ? [] : [sql`${own.direction} = ${filters.direction}`]),
    ...(filters.status === undefined ? [] : [sql`${SHOWN_STATUS} = ${filters.status}`]),
    ...(before === undefined ? [] : [sql`(${detected_at}, ${uuid}) < (${before[0]}, ${before[1]})`]),
  ]
  return sql<ShownRequest>`select ${listOf([uuid, number, clear_at, detected_at, seen_at, decided_at, reply, replied_at])}, ${SHOWN_STATUS} as status
    from ${cancellationRequests} cross join ${cfdi} own where ${sql.join(conditions, sql` and `)}
    order by ${detected_at} desc, ${uuid} desc limit ${limit}`
}

/** How many known requests a round considers. */
const MOST_PENDING = 500

export const pendingRequests = (partition: number): SQL<PendingRequest> =>
  sql<PendingRequest>`select ${listOf([uuid, detected_at, seen_at, replied_at])} from ${cancellationRequests} indexed by cancellation_requests_pending
    where ${entity} = ${partition} and ${status} = 'pending' limit ${MOST_PENDING}`

/** Which documents may be asked about. These are choices of the service and not of the law. */
const CHOSEN = {
  /** The month of the document and the next one, in which books are closed. */
  recentDays: 60,
  /** What is still to be paid. Documents are cancelled until the annual return of their year (CFF 29-A): few after more than 13 months. */
  openDays: 400,
  /** A payment of the last month may still be asked back. */
  justPaidDays: 30,
  /** What a round reads, so that it costs the same for an RFC of any size. */
  mostRecent: 1_500,
  mostOpen: 500,
  /** Those with the largest totals. Their last answers stand in one row of about 30 kB. */
  most: 400,
} as const
const DAY_SECONDS = 86_400

/**
 * Received invoices on which money hangs and whose total exceeds what is cancelled without acceptance (cancellation.without_acceptance): recent
 * ones, and older ones that are not wholly paid.
 */
export const candidatesOf = (partition: number, now: number, without_acceptance: Micros): SQL<Candidate> => {
  const seconds = Math.floor(now / 1_000)
  const [recent, open] = [seconds - CHOSEN.recentDays * DAY_SECONDS, seconds - CHOSEN.openDays * DAY_SECONDS]
  const paidSince = new Date(now - CHOSEN.justPaidDays * DAY_SECONDS * 1_000).toISOString().slice(0, 10)
  const facts = sql`${uuidOfCfdi}, ${cfdi.issued_at}, cast(coalesce(${cfdi.total_mxn}, ${cfdi.total_micros}) as integer) as amount,
    ${cfdi.payment_status} in ('unpaid', 'partially_paid') or coalesce(${cfdi.fully_paid_at}, ${cfdi.fecha}) >= ${paidSince} as is_open`
  const unpaid = (payment_status: string) => sql`select * from (select ${facts} from ${cfdi} indexed by cfdi_pay
      where ${cfdi.entity} = ${partition} and ${cfdi.payment_status} = ${payment_status} and ${cfdi.direction} = 1
        and ${cfdi.issued_at} between ${open} and ${recent - 1} and +${cfdi.cancelled} = 0 and ${cfdi.tipo_comprobante} = 'I'
      order by ${cfdi.issued_at} desc limit ${CHOSEN.mostOpen})`
  return sql<Candidate>`select uuid, amount / 1e6 as pesos, (${seconds} - issued_at) / 86400 as age_days, is_open from (
      select * from (select ${facts} from ${cfdi} indexed by cfdi_tipoc
        where ${cfdi.entity} = ${partition} and ${cfdi.tipo_comprobante} = 'I' and ${cfdi.direction} = 1 and ${cfdi.cancelled} = 0
          and ${cfdi.issued_at} >= ${recent} order by ${cfdi.issued_at} desc limit ${CHOSEN.mostRecent})
      union all ${unpaid('unpaid')} union all ${unpaid('partially_paid')})
    where amount > ${Number(without_acceptance)} order by amount desc limit ${CHOSEN.most}`
}

const uuidOfCfdi = sql`${cfdi.uuid}`

export type Watch = typeof cancellationWatches.$inferSelect

export const findWatch = (partition: number): SQL<Watch> =>
  sql<Watch>`select * from ${cancellationWatches} where ${cancellationWatches.entity} = ${partition}`

export const keepWatch = (watch: Watch): SQL =>
  sql`${insertion(cancellationWatches, watch)} on conflict do update set
    ${excluded([cancellationWatches.day, cancellationWatches.searched, cancellationWatches.followed, cancellationWatches.answers])}`

/** Adds a round for each of these partitions, `[partition, due_at]`, that has none. */
export const addRounds = (rounds: readonly (readonly [partition: number, due_at: number])[]): SQL =>
  sql`insert into ${statusRechecks} ${[statusRechecks.entity, statusRechecks.uuid, statusRechecks.due_at, statusRechecks.recheck].map(bare)}
    select value->>0, '', value->>1, 'watch' from json_each(${JSON.stringify(rounds)}) where true on conflict do nothing`
