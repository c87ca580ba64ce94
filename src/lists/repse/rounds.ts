import { raiseAlerts } from '../../platform/alerts/alerts.ts'
import type { System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { clock } from '../../platform/time/clock.ts'
import { sendHints } from '../../platform/work/send.ts'
import { askRegistry, type OwnName } from './repse.ts'
import { alertOf } from './status.ts'
import {
  advanceRound,
  claimForDay,
  dueRows,
  findRound,
  nextEntities,
  openRound,
  recordAnswer,
  registrationsOf,
  stalledRound,
} from './store.ts'

/** RFCs that one message covers. They are looked up one after the other. */
const PAGE = 5
/** The message of an open round that has not advanced for this long is lost, or its worker died. */
const STALLED_AFTER_MS = 600_000
/**
 * A round looks up RFCs with an answer older than this. With a full day, an answer of the previous round could become a day old just after
 * this round has visited it, and would wait for the next round.
 */
const DUE_AFTER_MS = 12 * 3_600_000

/**
 * Starts the daily round. It visits all RFCs with an active connection, looks up those without a recent answer, and raises alerts. A second
 * start on the same day visits all of them again, but looks none up twice.
 */
export async function refreshRepse(system: System): Promise<void> {
  const day = system.now.toISOString().slice(0, 10)
  await commit(system.db.$client, openRound(system.db, day, system.now, clock.date()))
  await announce(system, day)
}

/** Announces the round's next page to the consumer. The sweep announces it again if the message is lost. */
const announce = (system: System, round: string): Promise<void> => sendHints(system, system.env.REPSE, [{ body: { round } }])

/** Runs a page of the round. Claims each RFC for the day before looking it up, and raises the page's alerts before it advances. */
export async function runRoundPage(system: System, day: string, ownName: OwnName): Promise<void> {
  const { db } = system
  const round = await findRound(db, day)
  if (!round || round.is_done) return
  const page = await nextEntities(db, round.after, PAGE)
  const due = await dueRows(
    db,
    page.map(({ rfc }) => rfc),
    new Date(round.instant.getTime() - DUE_AFTER_MS),
  )
  for (const { rfc, name } of due) {
    if (!(await claimForDay(db, rfc, day))) continue
    const record = await askRegistry(system, rfc, name, ownName)
    if (record) await recordAnswer(db, rfc, record, clock.date())
  }
  const registrations = await registrationsOf(
    db,
    page.map(({ entity }) => entity),
  )
  const drafts = registrations.flatMap((registration) => alertOf(registration, round.instant) ?? [])
  const is_done = page.length < PAGE
  await raiseAlerts(system, drafts, system.now)
  await commit(db.$client, [advanceRound(db, round, page.at(-1)?.entity ?? round.after, is_done, clock.date())])
  if (!is_done) await announce(system, day)
}

/** Announces an unfinished round that has stalled. */
export async function sweepRounds(system: System): Promise<void> {
  const day = await stalledRound(system.db, new Date(clock.now() - STALLED_AFTER_MS))
  if (day !== null) await announce(system, day)
}
