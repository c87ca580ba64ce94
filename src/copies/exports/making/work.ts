import { readerOf } from '../../../accounts/organization/organization.ts'
import type { Ctx, System } from '../../../platform/context.ts'
import { commit } from '../../../platform/db/commit.ts'
import { assignments, changesOf, readColumn } from '../../../platform/db/statement.ts'
import { memory } from '../../../platform/memory-limiter.ts'
import { clock } from '../../../platform/time/clock.ts'
import type { Leased } from '../../../platform/work/lease.ts'
import { pageByPage } from '../../../platform/work/pages.ts'
import { isReadable } from '../../../taxpayers/connection.ts'
import { readerAt, type Start, wakeExports } from '../start.ts'
import {
  claimExport,
  deleteExportRow,
  type ExportRow,
  expiredExports,
  exportLease,
  forgetExports,
  markExpired,
  openExports,
} from '../store.ts'
import { exports_ } from '../tables.ts'
import type { Maker } from './maker.ts'
import { type ExportLimits, LIMITS, putState, readState, type SavedMaking, STEP_STATEMENTS, TooLarge, WEIGHT } from './output.ts'

/** An export on which nobody has worked for this long has lost its message or its worker. */
const STALLED_MS = 60_000
/** How long an invocation works on an export, which then goes to the back of the queue. */
const BUDGET_MS = 20_000
const MOST_ATTEMPTS = 5
const DAY_MS = 86_400_000
const KEPT_MS = 7 * DAY_MS
/** How long a failed or expired export is listed. */
const FORGOTTEN_MS = 90 * DAY_MS
const SWEPT = 500
const LISTED_OBJECTS = 1_000

const prefixOf = ({ export_id }: Pick<ExportRow, 'export_id'>): string => `exports/${export_id}/`

/**
 * Continues an export: makes it step by step as far as the budget allows, or deletes it. One worker at a time has it, under a lease; each
 * commit names the state from which another one continues, so that a crash repeats what came after it.
 */
export const workOnExport = (system: System, export_id: string, limits = LIMITS): Promise<void> =>
  memory.hold(WEIGHT, async () => {
    system.budget.restart(BUDGET_MS)
    const row = await claimExport(system.db.$client, export_id)
    if (!row) return
    const work = () => (row.status === 'deleting' ? remove(system, row) : make(system, row, limits))
    const isMore = await exportLease.work(system.db.$client, row, work).catch(async (error: unknown) => {
      // The number of attempts is limited: the next one need not wait for the end of the lease.
      await changesOf(system.db.$client, exportLease.release(row))
      throw error
    })
    if (isMore) await wakeExports(system, [export_id])
  })

async function remove(system: System, row: Leased<ExportRow>): Promise<false> {
  await removeObjects(system, row)
  await commit(system.db.$client, [deleteExportRow(row)])
  return false
}

/** Removes everything that the bucket has of an export. An upload that no state names ends by the rule of the bucket. */
async function removeObjects({ env: { FILES } }: System, row: ExportRow): Promise<void> {
  const saved = await readSaved(FILES, row)
  const { key, upload } = saved?.state.output ?? {}
  // It fails when the upload has been completed.
  if (key && upload)
    await FILES.resumeMultipartUpload(key, upload)
      .abort()
      .catch(() => {})
  for (;;) {
    const { objects, truncated } = await FILES.list({ prefix: prefixOf(row), limit: LISTED_OBJECTS })
    if (objects.length > 0) await FILES.delete(objects.map((one) => one.key))
    if (!truncated) return
  }
}

async function readSaved(files: R2Bucket, { state }: ExportRow): Promise<SavedMaking | null> {
  const found = state === null ? null : await files.get(state)
  return found && readState(new Uint8Array(await found.arrayBuffer()))
}

/** Returns whether something is left to do. */
async function make(system: System, row: Leased<ExportRow>, limits: ExportLimits): Promise<boolean> {
  if (row.attempts > MOST_ATTEMPTS) return fail(system, row, 'export.failed')
  const start = JSON.parse(row.start) as Start
  const reader = await readerOf(system, { id: row.organization_id }, row.fiscal_entity_id)
  if (!reader || !isReadable(reader.connection)) return fail(system, row, 'fiscal_entity.not_active')
  const ctx: Ctx = { ...system, ...readerAt(reader, start), actor: { kind: 'system', process: 'exports' } }
  const saved = await readSaved(system.env.FILES, row)
  if (row.state !== null && saved === null) throw new Error(`There is no object ${row.state}.`)
  const { Maker } = await import('./maker.ts')
  const maker = await Maker.of(ctx, row, start, limits, saved)
  try {
    const isMore = await continueExport(system, row, maker, limits)
    // Not after a failure: something that failed may still read from the buffer.
    maker.release()
    return isMore
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error
    return fail(system, row, 'export.too_large')
  }
}

async function continueExport(system: System, row: Leased<ExportRow>, maker: Maker, limits: ExportLimits): Promise<boolean> {
  const { state } = maker
  while (state.phase !== 'complete') {
    const [documents, parts] = [state.documents, state.output.parts.length]
    const isSteppedOn = () =>
      state.phase === 'reading' && state.output.parts.length === parts && state.documents - documents < limits.commit
    const isAllowed = () => system.budget.allows(STEP_STATEMENTS) && maker.objects < limits.objects
    if (!isAllowed()) return true
    do {
      // Yields between steps: the local runtime answers no other request while a handler never waits.
      await scheduler.wait(1)
      await maker.step()
    } while (isSteppedOn() && isAllowed())
    await save(system, row, maker)
  }
  await complete(system, row, maker)
  return false
}

let saves = 0

/** Commits the progress so far. The state lies in a new object, so that a worker that has lost the export cannot change it. */
async function save(system: System, row: Leased<ExportRow>, maker: Maker): Promise<void> {
  const d1 = system.db.$client
  const { FILES } = system.env
  const key = (what: string) => `${prefixOf(row)}${what}-${row.token}-${++saves}`
  const full = maker.takeDirectory()
  if (full) {
    const object = key('directory')
    await FILES.put(object, full as Uint8Array<ArrayBuffer>)
    maker.state.output.directory.push(object)
  }
  const { saved } = maker
  const { rows, documents, without_xml, bytes, after } = saved.state
  const counts = { rows, documents, without_xml, bytes }
  const [before, state] = [row.state, key('state')]
  await putState(FILES, state, saved)
  await exportLease.commit(d1, row, [
    exportLease.extend(row, assignments(exports_, { state, ...counts, scanned_through: after === null ? null : after[0], attempts: 0 })),
  ])
  row.state = state
  if (before !== null) await FILES.delete(before)
}

async function complete(system: System, row: Leased<ExportRow>, maker: Maker): Promise<void> {
  const d1 = system.db.$client
  const { key, size, etag } = await maker.complete()
  const now = clock.now()
  const ready = { status: 'ready', object: key, etag, bytes: size }
  await exportLease.commit(d1, row, [
    exportLease.set(row, assignments(exports_, { ...ready, state: null, completed_at: now, expires_at: now + KEPT_MS })),
  ])
  const { objects } = await system.env.FILES.list({ prefix: prefixOf(row), limit: LISTED_OBJECTS })
  const left = objects.map((one) => one.key).filter((one) => one !== key)
  if (left.length > 0) await system.env.FILES.delete(left)
}

async function fail(system: System, row: Leased<ExportRow>, code: string): Promise<false> {
  const d1 = system.db.$client
  await removeObjects(system, row)
  await exportLease.commit(d1, row, [
    exportLease.set(row, assignments(exports_, { status: 'failed', error_code: code, state: null, completed_at: clock.now() })),
  ])
  return false
}

/** Wakes the exports that lost their message or their worker. */
export const sweepExports = async (system: System): Promise<void> =>
  wakeExports(system, await readColumn(system.db.$client, openExports(clock.now() - STALLED_MS, SWEPT)))

/** Exports that are expired in a page. */
const PER_PAGE = 20

/** Deletes the content of exports that have expired, and forgets those that ended long ago. A task that begins again after each page. */
export const expireExports = (system: System, cursor = ''): Promise<string | null> =>
  pageByPage(system, 2 + PER_PAGE, cursor, async () => {
    const d1 = system.db.$client
    await commit(d1, [forgetExports(system.now.getTime() - FORGOTTEN_MS, SWEPT)])
    const ids = await readColumn(d1, expiredExports(system.now.getTime(), PER_PAGE))
    for (const export_id of ids) {
      await removeObjects(system, { export_id, state: null } as ExportRow)
      await commit(d1, [markExpired(export_id)])
    }
    return ids.length < PER_PAGE ? null : ''
  })
