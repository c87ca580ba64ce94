import { loginsOf } from '../authority/logins.ts'
import { Failure, Unavailable } from '../failures.ts'
import { insertOutboxEvents, wakeRelay } from '../outbox/outbox.ts'
import { auditedEach } from '../platform/audit/audit.ts'
import type { System } from '../platform/context.ts'
import { commit, type Statement } from '../platform/db/commit.ts'
import { isConflict, retryOnConflict } from '../platform/db/retry.ts'
import { log } from '../platform/log.ts'
import { pageByPage, START } from '../platform/pages.ts'
import { readCiec, type VersionedLogin } from './login.ts'
import {
  assertCiecVersion,
  assertStatesUnchanged,
  bumpCiecVersion,
  ciecVersion,
  claimVerification,
  dueConnections,
  dueEntities,
  heldConnections,
  invalidateCiec,
  markVerified,
  requireIdle,
  requireVerification,
} from './login-store.ts'
import { strikeReaches } from './reaches.ts'
import type { ConnectionRow } from './taxpayers.ts'

/** Different CIECs of an RFC about which one call asks the authority, while the budget allows it. The next call continues. */
const VALUES_A_CALL = 25
/** The most statements that verifying a CIEC takes, and as many for what follows. */
const VALUE_STATEMENTS = 100
const FIRST_WAIT_MS = 30_000
const LONGEST_WAIT_MS = 60 * 60_000

/** The wait in milliseconds after so many questions without an answer: 30 s, 1 min, 2 min … 1 h. */
const waitAfter = (attempts: number): number => Math.min(FIRST_WAIT_MS * 2 ** attempts, LONGEST_WAIT_MS)

/** The version of an RFC's CIECs, to read before the authority is asked about one. */
export const ciecVersionOf = ({ db }: System, rfc: string): Promise<number> => ciecVersion(db, rfc)

const changing = () => new Failure('contention', 'fiscal_entity.changed', 'The connections to this RFC keep changing.')

/** The connections whose stored CIEC counts: those that hold this CIEC, and the others. A CIEC that cannot be opened is another one. */
async function holdersOf(system: System, entity: number, ciec: string): Promise<{ same: ConnectionRow[]; others: ConnectionRow[] }> {
  const same: ConnectionRow[] = []
  const others: ConnectionRow[] = []
  for (const { row } of await heldConnections(system.db, entity)) ((await readCiec(system, row)) === ciec ? same : others).push(row)
  return { same, others }
}

/**
 * The statements that go with storing an accepted CIEC. Every other CIEC that is held for the RFC has to be verified from now on. Equal
 * ones are verified, and `isVerified` is true, unless another CIEC was accepted or refused since the authority was asked. The commit is
 * refused when one is accepted or refused meanwhile.
 */
export async function acceptance(system: System, entity: number, { login, version }: VersionedLogin, own?: number) {
  const { db } = system
  const current = await ciecVersion(db, login.rfc)
  const holders = await holdersOf(system, entity, login.ciec)
  const same = holders.same.filter(({ connection }) => connection !== own)
  const others = holders.others.filter(({ connection }) => connection !== own)
  const isVerified = current === version
  const statements: Statement[] = [
    assertCiecVersion(db, login.rfc, current),
    bumpCiecVersion(db, login.rfc),
    ...(others.length > 0 ? [requireVerification(db, others, new Date())] : []),
    ...(isVerified && same.length > 0 ? [markVerified(db, same)] : []),
  ]
  return { statements, isVerified, areOthersOutstanding: others.length > 0 }
}

/**
 * Records that the tax authority refused a CIEC: every connection that holds it becomes invalid_ciec, a paused one for when it is resumed,
 * and every other CIEC of the RFC has to be verified. The same commit writes each organization's outbox event and audit event. When
 * another CIEC was accepted or refused since the authority was asked, the refused one has to be verified instead. `stopped_at` is the
 * instant of the run whose download the refusal stopped, in milliseconds: these connections reached nothing with it and with later runs.
 */
export async function rejectCiec(system: System, entity: number, { login, version }: VersionedLogin, stopped_at?: number): Promise<void> {
  const { db } = system
  await retryOnConflict(async () => {
    const current = await ciecVersion(db, login.rfc)
    const { same, others } = await holdersOf(system, entity, login.ciec)
    if (same.length === 0) return
    const outcome =
      current === version
        ? [
            ...invalidation(system, entity, same, version, stopped_at),
            ...(others.length > 0 ? [requireVerification(db, others, new Date())] : []),
          ]
        : [requireVerification(db, same, new Date())]
    await commit(db.$client, [assertCiecVersion(db, login.rfc, current), ...outcome])
  }, changing)
  await wakeRelay(system, 'control')
}

function invalidation(system: System, entity: number, rows: readonly ConnectionRow[], version: number, stopped_at?: number): Statement[] {
  const { db, now } = system
  return [
    assertStatesUnchanged(db, rows),
    invalidateCiec(db, rows, now),
    ...(stopped_at === undefined
      ? []
      : [
          strikeReaches(
            db,
            rows.map(({ connection }) => connection),
            stopped_at,
          ),
        ]),
    bumpCiecVersion(db, rows[0]!.rfc),
    ...insertOutboxEvents(
      db.$client,
      rows.map((row) => ({
        outbox_event_id: `connection.ciec_invalid:${row.connection}:${version}`,
        kind: 'connection.ciec_invalid',
        entity,
        organizations: [row.organization_id],
        body: { rejected_at: now.toISOString() },
      })),
      now.getTime(),
    ),
    ...auditedEach(
      { ...system, actor: { kind: 'system', process: 'downloads' } },
      rows.map((row) => ({ organization_id: row.organization_id, resource_id: row.fiscal_entity_id })),
      { action: 'fiscal_entity.ciec_invalid', changed: ['status'] },
    ),
  ]
}

/** How long a CIEC is trusted that no run has used, in milliseconds: seven days since 2026-11-22. */
const TRUSTED_MS = 7 * 86_400_000
/** Connections in one page. */
const IDLE_PAGE = 1_000

/** Has the CIECs verified that no run uses, so that a connection without extractors does not read on with a dead one. A task. */
export const verifyIdle = (system: System, place = START): Promise<string> =>
  pageByPage(system, 2, place, async (after) => {
    const last = await requireIdle(system.db, Number(after), IDLE_PAGE, new Date(system.now.getTime() - TRUSTED_MS))
    return last === 0 ? '' : String(last)
  })

/** RFCs with CIECs that are to be verified now. */
export const unverifiedEntities = ({ db }: System, limit: number) => dueEntities(db, new Date(), limit)

/**
 * Asks the authority about the RFC's CIECs that are to be verified now, and records its answers. Without an answer a CIEC stays unverified
 * and is asked about again after a wait that doubles from 30 s to 1 h. Returns whether there was an answer.
 */
export async function verifyOutstanding(system: System, entity: number): Promise<boolean> {
  let isAnswered = false
  for (let n = 0; n < VALUES_A_CALL && system.budget.allows(VALUE_STATEMENTS); n++) {
    const now = new Date()
    const due = await dueConnections(system.db, entity, now)
    const [first] = due
    if (!first) break
    const ciec = await readCiec(system, first.row)
    const same = ciec === null ? [first.row] : (await equalOnes(system, due, ciec)).map(({ row }) => row)
    const next = new Date(now.getTime() + waitAfter(first.row.verify_attempts))
    if (!(await claimVerification(system.db, same, now, next))) break
    if (ciec === null) continue
    const asked = { login: { rfc: first.row.rfc, ciec }, version: first.version }
    const answer = await ask(system, asked)
    if (answer === null) break
    await (answer ? keepVerified(system, entity, asked) : rejectCiec(system, entity, asked))
    isAnswered = true
  }
  return isAnswered
}

async function equalOnes<T extends { row: ConnectionRow }>(system: System, rows: readonly T[], ciec: string): Promise<T[]> {
  const values = await Promise.all(rows.map(({ row }) => readCiec(system, row)))
  return rows.filter((_, n) => values[n] === ciec)
}

/** Null when the authority gives no answer. */
async function ask(system: System, { login }: VersionedLogin): Promise<boolean | null> {
  try {
    return await loginsOf(system).verify(login)
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    log.error(system, 'The authority did not answer whether a CIEC is right. It is asked again later.', { error_class: error.error_class })
    return null
  }
}

/** A conflict leaves the CIEC unverified, because another one was accepted or refused since the authority was asked. */
async function keepVerified(system: System, entity: number, { login, version }: VersionedLogin): Promise<void> {
  const { same } = await holdersOf(system, entity, login.ciec)
  if (same.length === 0) return
  try {
    await commit(system.db.$client, [assertCiecVersion(system.db, login.rfc, version), markVerified(system.db, same)])
  } catch (error) {
    if (!isConflict(error)) throw error
  }
}

/**
 * Asks the authority about the stored CIEC of a paused connection before it is resumed, and records the answer like that to a CIEC that
 * was sent, or to a login. A CIEC that cannot be opened has to be verified later. Returns whether other CIECs are to be verified now.
 * Throws Unavailable.
 */
export async function verifyStored(system: System, row: ConnectionRow): Promise<boolean> {
  const version = await ciecVersion(system.db, row.rfc)
  const ciec = await readCiec(system, row)
  if (ciec === null) {
    await commit(system.db.$client, [requireVerification(system.db, [row], new Date())])
    return false
  }
  const asked = { login: { rfc: row.rfc, ciec }, version }
  if (!(await loginsOf(system).verify(asked.login))) {
    await rejectCiec(system, row.entity, asked)
    return true
  }
  return retryOnConflict(async () => {
    const { statements, areOthersOutstanding } = await acceptance(system, row.entity, asked)
    await commit(system.db.$client, statements)
    return areOthersOutstanding
  }, changing)
}
