import type { System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { newId } from '../../platform/db/id.ts'
import { each } from '../../platform/each.ts'
import { dayOfEpoch, epochDayOf, localDayOf } from '../../platform/time/calendar.ts'
import { cadencesBetween, lastDueDay } from '../cadence.ts'
import { insertScheduledRuns } from '../runs/store.ts'
import {
  advanceZone,
  cadencesInUse,
  dueExtractors,
  findPage,
  forgetPages,
  insertPages,
  listZones,
  movePage,
  openPages,
  type TickPage,
  type Zone,
} from './store.ts'

/** Extractors planned on one message. */
const PAGE = 1_000
/** Runs carried out on one message. */
const RUNS_A_MESSAGE = 20
/** What one `sendBatch` takes. */
const MESSAGES_A_BATCH = 100
const SWEEP_LIMIT = 100
/** Days for which a zone's finished pages are kept. */
const DAYS_KEPT = 30
/** An open page of a tick that is older than this has lost its message. */
const LEFT_AFTER_MS = 60_000

/** What the dispatch queue carries: a page of a tick to plan, or planned runs to carry out. */
export type Dispatch = { page: Pick<TickPage, 'timezone' | 'day' | 'cadence'> } | { runs: string[] }

/**
 * Evaluates cadences: for each zone whose local day advanced since the last time, the cadences in use that fell due meanwhile become
 * pages to plan, committed with the advance. Several missed days are one tick. Nothing is written for what is not due; a tick that is
 * repeated or overlaps finds the zone advanced.
 */
export async function evaluateCadences(system: System): Promise<void> {
  await each(await listZones(system.db), (zone) => evaluateZone(system, zone))
}

async function evaluateZone(system: System, { timezone, evaluated_day }: Zone): Promise<void> {
  const { db, now } = system
  const today = localDayOf(now, timezone)
  if (today <= evaluated_day) return
  const used = await cadencesInUse(db, timezone, cadencesBetween(evaluated_day, today))
  const pages = used.flatMap((cadence): TickPage[] => {
    const due_day = lastDueDay(cadence, evaluated_day, today)
    return due_day === null ? [] : [{ timezone, day: today, cadence, due_day, instant: now, after: '', is_done: false }]
  })
  await commit(db.$client, [
    ...(pages.length > 0 ? [insertPages(db, pages)] : []),
    advanceZone(db, timezone, evaluated_day, today),
    forgetPages(db, timezone, dayOfEpoch(epochDayOf(today) - DAYS_KEPT)),
  ])
  await send(system, pages.map(messageOf))
}

const messageOf = ({ timezone, day, cadence }: TickPage): Dispatch => ({ page: { timezone, day, cadence } })

async function send({ env }: System, messages: readonly Dispatch[]): Promise<void> {
  for (let at = 0; at < messages.length; at += MESSAGES_A_BATCH)
    await env.DISPATCH.sendBatch(messages.slice(at, at + MESSAGES_A_BATCH).map((body) => ({ body })))
}

/** Plans one page of a tick: a run for each extractor and local date, once, and the page's advance in one commit; then the next page. */
export async function planPage(system: System, page: Pick<TickPage, 'timezone' | 'day' | 'cadence'>): Promise<void> {
  const { db, now } = system
  const stored = await findPage(db, page)
  if (!stored || stored.is_done) return
  const found = await dueExtractors(db, stored, PAGE)
  const is_done = found.length < PAGE
  const runs = found
    .filter(({ is_due }) => is_due === 1)
    .map(({ extractor_id, organization_id }) => ({ run_id: newId('run'), extractor_id, organization_id }))
  await commit(db.$client, [
    ...insertScheduledRuns(db, stored, runs, now),
    movePage(db, stored, found.at(-1)?.extractor_id ?? stored.after, is_done),
  ])
  const messages: Dispatch[] = []
  for (let at = 0; at < runs.length; at += RUNS_A_MESSAGE)
    messages.push({ runs: runs.slice(at, at + RUNS_A_MESSAGE).map(({ run_id }) => run_id) })
  await send(system, is_done ? messages : [...messages, messageOf(stored)])
}

/** Announces again the pages of ticks that nobody finished. */
export async function sweepTicks(system: System): Promise<void> {
  const left = await openPages(system.db, new Date(system.now.getTime() - LEFT_AFTER_MS), SWEEP_LIMIT)
  await send(system, left.map(messageOf))
}
