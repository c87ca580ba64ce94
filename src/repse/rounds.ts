import { alertStatements } from '../alerts/alerts.ts'
import type { System } from '../platform/context.ts'
import { commit } from '../platform/db/commit.ts'
import { errorMessage } from '../platform/log.ts'
import { alertOf } from './expiry.ts'
import { askRegistry } from './lookups.ts'
import { claimForDay, dueRows, findRound, leftRound, moveRound, openRound, registrationsOf, takeEntities } from './round-store.ts'
import { keepAnswer } from './store.ts'

/** RFCs of one message: they are asked one after the other. */
const PAGE = 5
/** An open round that has not moved for so long has lost its message, or its worker died. */
const LEFT_AFTER_MS = 600_000
/**
 * What the last round asked is asked again by this one, whatever its place in either: an answer that would be a day old only in the
 * middle of this round would otherwise wait for the next.
 */
const DUE_AFTER_MS = 12 * 3_600_000

/**
 * The day's round: the registry is asked about the RFCs with an active connection that it was never asked about or not lately, and
 * alerts are raised. Begun again on the same day it goes over all of them again and asks about none a second time.
 */
export async function refreshRepse(system: System): Promise<void> {
  const day = system.now.toISOString().slice(0, 10)
  await commit(system.db.$client, openRound(system.db, day, system.now, new Date()))
  await announce(system, day)
}

/** Says that there is a page to be worked on. A hint: the row is committed, and the sweep says it again. */
async function announce(system: System, round: string): Promise<void> {
  try {
    await system.env.REPSE.send({ round })
  } catch (error) {
    const message = 'The REPSE round is left to the sweep.'
    console.error(JSON.stringify({ level: 'error', request_id: system.requestId, message, error: errorMessage(error) }))
  }
}

/** A page of the round. Each RFC is claimed for the day before it is asked; the page's alerts are committed with its advance. */
export async function workOnRound(system: System, day: string): Promise<void> {
  const { db } = system
  const round = await findRound(db, day)
  if (!round || round.is_done) return
  const page = await takeEntities(db, round.after, PAGE)
  const due = await dueRows(
    db,
    page.map(({ rfc }) => rfc),
    new Date(round.instant.getTime() - DUE_AFTER_MS),
  )
  for (const { rfc, name } of due) {
    if (!(await claimForDay(db, rfc, day))) continue
    const record = await askRegistry(system, rfc, name)
    if (record) await keepAnswer(db, rfc, record, new Date())
  }
  const registrations = await registrationsOf(
    db,
    page.map(({ entity }) => entity),
  )
  const drafts = registrations.flatMap((registration) => alertOf(registration, round.instant) ?? [])
  const is_done = page.length < PAGE
  await commit(db.$client, [
    ...alertStatements(db, drafts, system.now),
    moveRound(db, round, page.at(-1)?.entity ?? round.after, is_done, new Date()),
  ])
  if (!is_done) await announce(system, day)
}

/** Announces again a round that nobody finished. */
export async function sweepRounds(system: System): Promise<void> {
  const left = await leftRound(system.db, new Date(Date.now() - LEFT_AFTER_MS))
  if (left !== null) await announce(system, left)
}
