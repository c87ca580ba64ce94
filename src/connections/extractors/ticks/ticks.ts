import type { System } from '../../../platform/context.ts'
import { commit } from '../../../platform/db/commit.ts'
import { newId } from '../../../platform/db/id.ts'
import { dayOfEpoch, epochDayOf, localDayOf } from '../../../platform/time/calendar.ts'
import { pageByPage } from '../../../platform/work/pages.ts'
import { type Message, sendHints } from '../../../platform/work/send.ts'
import { cadencesBetween, lastDueDay } from '../rules.ts'
import { runMessages } from '../runs/dispatch.ts'
import {
  advancePage,
  advanceZone,
  cadencesInUse,
  deletePages,
  extractorsOfCadence,
  findPage,
  insertPages,
  insertScheduledRuns,
  listZones,
  openPages,
  type TickPage,
  type Zone,
} from '../store.ts'

/** Extractors that one message plans. */
export const PAGE = 1_000
/** Statements that evaluating a zone takes. */
const ZONE_STATEMENTS = 4
const SWEEP_LIMIT = 100
/** Days for which a zone's finished pages are kept. */
const DAYS_KEPT = 30
/** The message of a page that is still open after this long is lost. */
const OPEN_AFTER_MS = 60_000

type PageKey = Pick<TickPage, 'timezone' | 'day' | 'cadence'>

/** A message of the dispatch queue: a page of a tick to plan, or planned runs to dispatch. */
export type Dispatch = { page: PageKey } | { runs: string[] }

/**
 * Evaluates cadences. For each zone whose local day has advanced, inserts a page to plan for every cadence in use that has become due, in
 * the commit that advances the zone. Several missed days are one tick. Nothing is written for cadences that are not due, and a repeated or
 * overlapping tick finds the zone advanced. A task, which needs no cursor.
 */
export const evaluateCadences = (system: System, cursor = ''): Promise<string | null> =>
  pageByPage(system, 0, cursor, async (_, fail) => {
    for (const zone of await listZones(system.db)) await evaluateZone(system, zone).catch(fail)
    return null
  })

async function evaluateZone(system: System, { timezone, evaluated_day }: Zone): Promise<void> {
  const { db, now, budget } = system
  const today = localDayOf(now, timezone)
  if (today <= evaluated_day) return
  budget.require(ZONE_STATEMENTS)
  const used = await cadencesInUse(db, timezone, cadencesBetween(evaluated_day, today))
  const pages = used.flatMap((cadence): TickPage[] => {
    const due_day = lastDueDay(cadence, evaluated_day, today)
    return due_day === null ? [] : [{ timezone, day: today, cadence, due_day, instant: now, after: '', is_done: false }]
  })
  await commit(db.$client, [
    insertPages(pages),
    advanceZone(db, timezone, evaluated_day, today),
    deletePages(db, timezone, dayOfEpoch(epochDayOf(today) - DAYS_KEPT)),
  ])
  await announce(system, pages.map(messageOf))
}

const messageOf = ({ timezone, day, cadence }: TickPage): Message<Dispatch> => ({ body: { page: { timezone, day, cadence } } })

/** Sends messages to the consumer. The sweeps of pages and of planned runs replace lost ones. */
const announce = (system: System, messages: readonly Message<Dispatch>[]): Promise<void> => sendHints(system, system.env.DISPATCH, messages)

/** Plans one page of a tick: inserts one run per extractor and local date in the commit that advances the page, and announces them. */
export async function planPage(system: System, key: PageKey): Promise<void> {
  const { db, now } = system
  const page = await findPage(db, key)
  if (!page || page.is_done) return
  const found = await extractorsOfCadence(db, page, PAGE)
  const is_done = found.length < PAGE
  const runs = found
    .filter(({ is_due }) => is_due === 1)
    .map(({ extractor_id, organization_id }) => ({ run_id: newId('run'), extractor_id, organization_id }))
  await commit(db.$client, [
    ...insertScheduledRuns(page, runs, now),
    advancePage(db, page, found.at(-1)?.extractor_id ?? page.after, is_done),
  ])
  await announce(system, [...runMessages(runs), ...(is_done ? [] : [messageOf(page)])])
}

/** Announces unfinished pages again. */
export async function sweepTicks(system: System): Promise<void> {
  const open = await openPages(system.db, new Date(system.now.getTime() - OPEN_AFTER_MS), SWEEP_LIMIT)
  await announce(system, open.map(messageOf))
}
