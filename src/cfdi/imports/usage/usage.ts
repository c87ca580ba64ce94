import { sql } from 'drizzle-orm'
import { explainLimit, type Limits, limitReached, type Quota } from '../../../accounts/plans/quotas.ts'
import { limitsNow, warnStatements } from '../../../accounts/plans/reserve-quota.ts'
import type { Ctx, System } from '../../../platform/context.ts'
import { commit, type Statement } from '../../../platform/db/commit.ts'
import { isGuardViolation } from '../../../platform/db/guard.ts'
import type { Failure } from '../../../platform/failures.ts'
import { localDayOf } from '../../../platform/time/calendar.ts'
import { findTotals, giveBack, listOpen, type OpenUsage, setDocuments, takeBytes, takeDocuments } from './store.ts'
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
  const { db, organization } = importer
  const limits = limitsNow(importer)
  const usage = { ...upload, organization_id: organization.id, created_at: Date.now() }
  const room = { limit: limits.import_bytes, daily: limits.import_bytes_per_day, day: todayOf(importer) }
  try {
    await commitWith([...takeBytes(db.$client, usage, room), ...warnOfTotals(importer, ['bytes', 'day_bytes'])])
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
    importer.db.$client,
    importer,
    totals.map((total) => [
      QUOTA_OF[total],
      sql`select ${importTotals[total]} from ${importTotals} where ${importTotals.organization_id} = ${importer.organization.id}`,
    ]),
  )

const refused = async (importer: Importer, quota: ImportQuota, limits: Limits): Promise<Failure> =>
  limitReached(importer.organization.plan, quota, limits[quota] ?? 0, (await importUsage(importer))[quota])

/**
 * Takes room for an import to have `has + more` documents. Returns how many of the further ones fit, and why no more do, as a sentence with
 * both numbers.
 */
export async function takeDocumentRoom(
  importer: Importer,
  import_id: string,
  has: number,
  more: number,
): Promise<{ granted: number; detail: string }> {
  const { db, organization } = importer
  const limits = limitsNow(importer)
  const room = { limit: limits.import_documents, daily: limits.import_documents_per_day, day: todayOf(importer) }
  const results = await commit<{ documents: number }>(db.$client, [
    ...takeDocuments(db.$client, { import_id, organization_id: organization.id }, has + more, room),
    ...warnOfTotals(importer, ['documents', 'day_documents']),
  ])
  // Without a row the import is deleted, and its next commit is refused.
  const granted = Math.max(0, (results[1]!.results[0]?.documents ?? has + more) - has)
  if (granted >= more) return { granted: more, detail: '' }
  const used = await importUsage(importer)
  const quota = isFull('import_documents', limits, used) ? 'import_documents' : 'import_documents_per_day'
  return { granted, detail: explainLimit(organization.plan, quota, limits[quota] ?? 0, used[quota]) }
}

const isFull = (quota: ImportQuota, limits: Limits, used: Record<ImportQuota, number>): boolean => {
  const limit = limits[quota]
  return limit !== null && used[quota] >= limit
}

/** Sets how many documents count through each of these imports of an organization, once their ledger says so. */
export const recordDocuments = ({ db }: System, organization_id: string, documents: ReadonlyMap<string, number>, areCompleted = false) =>
  commit(db.$client, setDocuments(db.$client, organization_id, documents, areCompleted))

/** Gives back the total usage of a deleted import. Its usage of the day stays. */
export const leaveRoom = ({ db }: System, import_id: string) => commit(db.$client, giveBack(db.$client, import_id))

/** The uploads that were begun before an instant, in milliseconds, and are not known to be completed, up to `limit`. */
export const openUploads = ({ db }: System, before: number, limit: number): Promise<OpenUsage[]> => listOpen(db.$client, before, limit)
