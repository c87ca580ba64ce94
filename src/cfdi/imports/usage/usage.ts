import { sql } from 'drizzle-orm'
import { explainLimit, type Limits, limitReached, type Quota } from '../../../accounts/plans/quotas.ts'
import { limitsNow, warnStatements } from '../../../accounts/plans/reserve-quota.ts'
import type { Ctx, System } from '../../../platform/context.ts'
import { commit, type Statement } from '../../../platform/db/commit.ts'
import { isGuardViolation } from '../../../platform/db/guard.ts'
import { changesOf, readFirst } from '../../../platform/db/statement.ts'
import type { Failure } from '../../../platform/failures.ts'
import { localDayOf } from '../../../platform/time/calendar.ts'
import { clock } from '../../../platform/time/clock.ts'
import type { Room } from '../../ingest/ingest.ts'
import {
  endTurn,
  findTotals,
  giveBack,
  isAnotherWaiting,
  listOpen,
  noteTurn,
  type OpenUsage,
  selectWaiting,
  setUsage,
  takeBytes,
  takeRoom,
  takeTurn,
} from './store.ts'
import { importTotals } from './tables.ts'

/** Who imports: an organization, in a request or in a consumer. */
type Importer = Pick<Ctx, 'db' | 'now' | 'organization'>
type ImportQuota = Extract<Quota, `import_${string}`>

const todayOf = ({ now, organization }: Importer): string => localDayOf(now, organization.timezone)

/** Returns how much of each quota the organization's imports use. */
export async function importUsage(importer: Importer): Promise<Record<ImportQuota, number>> {
  const totals = await findTotals(importer.db.$client, importer.organization.id)
  const isToday = totals?.day === todayOf(importer)
  return {
    import_bytes_per_day: isToday ? totals.day_bytes : 0,
    import_bytes: totals?.bytes ?? 0,
    import_documents_per_day: isToday ? totals.day_documents : 0,
    import_documents: totals?.documents ?? 0,
  }
}

/**
 * Commits the acceptance of an upload with the room that its bytes take. `commit` gets the statements to commit.
 * Throws Failure 409 import.plan_limit when they do not fit into the plan's limits of a day and in all.
 */
export async function takeUploadRoom(
  importer: Importer,
  upload: { import_id: string; shard: number; bytes: number },
  commitWith: (statements: Statement[]) => Promise<unknown>,
): Promise<void> {
  const { organization } = importer
  const limits = limitsNow(importer)
  const usage = { ...upload, organization_id: organization.id, created_at: clock.now() }
  const room = { limit: limits.import_bytes, daily: limits.import_bytes_per_day, day: todayOf(importer) }
  try {
    await commitWith([...takeBytes(usage, room), ...warnOfTotals(importer, ['bytes', 'day_bytes'])])
  } catch (error) {
    const quota = isGuardViolation(error, 'import.bytes')
      ? 'import_bytes'
      : isGuardViolation(error, 'import.day_bytes')
        ? 'import_bytes_per_day'
        : null
    throw quota === null ? error : await refused(importer, quota, limits)
  }
}

const QUOTA_OF = {
  bytes: 'import_bytes',
  day_bytes: 'import_bytes_per_day',
  documents: 'import_documents',
  day_documents: 'import_documents_per_day',
} as const

const warnOfTotals = (importer: Importer, totals: readonly (keyof typeof QUOTA_OF)[]) =>
  warnStatements(
    importer,
    totals.map((total) => [
      QUOTA_OF[total],
      sql`select ${importTotals[total]} from ${importTotals} where ${importTotals.organization_id} = ${importer.organization.id}`,
    ]),
  )

const refused = async (importer: Importer, quota: ImportQuota, limits: Limits): Promise<Failure> =>
  limitReached(importer.organization.plan, quota, limits[quota] ?? 0, (await importUsage(importer))[quota])

/**
 * Takes room for an import to have `more` documents and bytes than it has. Returns how many of the further ones fit, and why no more do, as a
 * sentence with both numbers.
 */
export async function takeImportRoom(importer: Importer, import_id: string, has: Room, more: Room): Promise<Room & { detail: string }> {
  const { db, organization } = importer
  const limits = limitsNow(importer)
  const results = await commit<Room>(db.$client, [
    ...takeRoom(
      { import_id, organization_id: organization.id },
      { documents: has.documents + more.documents, bytes: has.bytes + more.bytes },
      {
        documents: { limit: limits.import_documents, daily: limits.import_documents_per_day },
        bytes: { limit: limits.import_bytes, daily: limits.import_bytes_per_day },
      },
      todayOf(importer),
    ),
    ...warnOfTotals(importer, ['documents', 'day_documents', 'bytes', 'day_bytes']),
  ])
  // Without a row the import is deleted, and its next commit is refused.
  const taken = results[1]!.results[0]
  if (taken === undefined) return { ...more, detail: '' }
  const fits = (what: keyof Room): number => Math.min(more[what], Math.max(0, taken[what] - has[what]))
  const room: Room = { documents: fits('documents'), bytes: fits('bytes') }
  if (room.documents === more.documents && room.bytes === more.bytes) return { ...room, detail: '' }
  const used = await importUsage(importer)
  const [inAll, daily] = room.documents < more.documents ? DOCUMENT_QUOTAS : BYTE_QUOTAS
  const quota = leftOf(inAll, limits, used) <= leftOf(daily, limits, used) ? inAll : daily
  return { ...room, detail: explainLimit(organization.plan, quota, limits[quota] ?? 0, used[quota]) }
}

const DOCUMENT_QUOTAS = ['import_documents', 'import_documents_per_day'] as const
const BYTE_QUOTAS = ['import_bytes', 'import_bytes_per_day'] as const

const leftOf = (quota: ImportQuota, limits: Limits, used: Record<ImportQuota, number>): number =>
  (limits[quota] ?? Number.POSITIVE_INFINITY) - used[quota]

/** Sets what each of these imports of an organization uses, once their ledger says so. */
export const recordUsage = ({ db }: System, organization_id: string, used: ReadonlyMap<string, Partial<Room>>, areCompleted = false) =>
  commit(db.$client, setUsage(organization_id, used, areCompleted))

/** How long nobody else takes an import whose turn it is: longer than an invocation works. */
const TURN_MS = 60_000
/** Until an import that could not be worked on may be tried again. */
const RETRY_MS = 1_000

export type Turn = Pick<OpenUsage, 'import_id' | 'shard'>

/**
 * Says whose turn it is: the oldest import of the organization that waits for the longest time since its last turn; null when none waits. Also
 * says whether an import waits for its turn at all.
 */
export async function beginTurn({ db }: System, import_id: string): Promise<{ next: OpenUsage | null; isWaiting: boolean }> {
  const d1 = db.$client
  const now = clock.now()
  const [hinted, taken] = await commit<OpenUsage & { is_waiting: number }>(d1, [selectWaiting(import_id), takeTurn(now, now + TURN_MS)])
  const next = taken!.results[0] ?? null
  if (next !== null) await changesOf(d1, noteTurn(next.organization_id, now))
  return { next, isWaiting: hinted!.results[0]?.is_waiting === 1 }
}

/** Ends the turn of an import that is to have another one, at once or soon. */
export const leaveTurn = ({ db }: System, import_id: string, isWorkedOn: boolean) =>
  changesOf(db.$client, endTurn(import_id, isWorkedOn ? 0 : clock.now() + RETRY_MS))

/** Whether another organization waits for its turn. */
export const isTurnOver = ({ db, organization }: Importer): Promise<boolean> => isAnotherWaiting(db.$client, organization.id, clock.now())

/** Whether an import uses something: it has been begun and is not deleted. */
export const isKnown = async ({ db }: System, import_id: string): Promise<boolean> =>
  (await readFirst(db.$client, selectWaiting(import_id))) !== null

/** Gives back the total usage of a deleted import. Its usage of the day stays. */
export const leaveRoom = ({ db }: System, import_id: string) => commit(db.$client, giveBack(import_id))

/** The uploads that were begun before an instant, in milliseconds, and are not known to be completed, up to `limit`. */
export const openUploads = ({ db }: System, before: number, limit: number): Promise<OpenUsage[]> => listOpen(db.$client, before, limit)

export { reopen } from './store.ts'
