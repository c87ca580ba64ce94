import { statusesOf } from '../../authority/statuses.ts'
import { checkWith, needsRecheck, parseChecks, type StatusCheck } from '../../cfdi/checks/checks.ts'
import { nextDaily, type Recheck } from '../../cfdi/checks/rechecks.ts'
import { commitChecked } from '../../cfdi/commits.ts'
import type { SliceOutcome } from '../../cfdi/ingest/ingest.ts'
import { type CfdiToRecheck, cancelDocument, readToRecheck } from '../../cfdi/ingest/status.ts'
import type { System } from '../../platform/context.ts'
import { commit, type Statement } from '../../platform/db/commit.ts'
import { readRows } from '../../platform/db/statement.ts'
import { Unavailable } from '../../platform/failures.ts'
import { log } from '../../platform/log.ts'
import { wakeRelay } from '../../platform/outbox/outbox.ts'
import { clock } from '../../platform/time/clock.ts'
import { ledgerByLedger } from '../../platform/work/pages.ts'
import { cancellationStatements } from '../missed-cancellations.ts'
import { type PartitionHint, wakeRechecks } from './check-status.ts'
import { endRecheck, keepCheck, partitionsToRecheck, putOff, takeRechecks } from './store.ts'
import { askRound, keepAnswer } from './watch.ts'

/** Documents of one message. */
const MOST = 20
/** The most statements that one of them takes, with a cancellation that has to be computed again a few times. */
const STATEMENTS = 110
/** When an unresolved recheck is due again, because the authority did not answer or the worker died. */
const AGAIN_MS = 10 * 60_000

/**
 * Resolves the rechecks of a partition that are due: commits and reports the cancellations that were found, asks the authority about the other
 * documents, and begins a round of questions that look for requests for cancellation. An answer changes the checks of the organizations whose own checks left the recheck, and nothing else unless the
 * document is cancelled. Unanswered documents stay to be rechecked. A repetition does no harm.
 */
export async function resolveRechecks(system: System, { shard, entity }: PartitionHint): Promise<void> {
  const ledger = system.settings.ledgers[shard]!
  const now = clock.now()
  const rechecks = await readRows(ledger, takeRechecks(entity, now, now + AGAIN_MS, MOST))
  let isNotified = false
  let isAnswered = true
  const left: Recheck[] = []
  for (const recheck of rechecks) {
    if (!isAnswered || !system.budget.allows(STATEMENTS)) {
      if (isAnswered) left.push(recheck)
      continue
    }
    try {
      isNotified = (await resolve(system, ledger, recheck)) || isNotified
    } catch (error) {
      // The others are asked about when the authority answers again.
      isAnswered = !(error instanceof Unavailable)
      log.error(system, 'The status of a CFDI could not be resolved. It is tried again.', { entity, uuid: recheck.uuid }, error)
    }
  }
  if (left.length > 0)
    await commit(
      ledger,
      left.map((recheck) => putOff(recheck, now)),
    )
  if (isNotified) await wakeRelay(system, shard)
  if (left.length > 0 || (isAnswered && rechecks.length === MOST)) await wakeRechecks(system, [{ shard, entity }])
}

/** Resolves a recheck. Returns whether something is to be reported. */
async function resolve(system: System, ledger: D1Database, recheck: Recheck): Promise<boolean> {
  const { entity, uuid } = recheck
  if (recheck.recheck === 'watch') {
    const { isNotified, next } = await askRound(system, ledger, entity, (found) => cancel(system, ledger, found, recheck, []))
    await commit(ledger, [next === null ? endRecheck(recheck) : putOff(recheck, next)])
    return isNotified
  }
  const document = await readToRecheck(ledger, entity, uuid)
  const end = () => [endRecheck(recheck)]
  if (document?.cancelled !== 0) {
    await commit(ledger, end())
    return false
  }
  if (recheck.recheck === 'found') return cancel(system, ledger, document, recheck, end())
  const now = clock.now()
  const open = Object.entries(parseChecks(document.status_checks)).filter(([, check]) => needsRecheck(check, now))
  if (open.length === 0 && !(recheck.recheck === 'unproven' && document.has_xml === 0)) {
    await commit(ledger, end())
    return false
  }
  const answer = await statusesOf(system).status(document, new Date(now))
  if (answer.estatus === 'unknown') {
    await commit(ledger, open.length === 0 ? end() : [putOff(recheck, nextDaily(now))])
    return false
  }
  const renewed = open.map(([id, before]) => ({ id, before, check: checkWith(answer, now, before) }))
  const checks: Statement[] = renewed.map(({ id, before, check }) => keepCheck(recheck, id, check, before))
  const ids = renewed.map(({ id }) => id)
  if (ids.length > 0) checks.push(commitChecked(recheck, ids, now))
  if (answer.estatus === 'cancelado') {
    const isNotified = await cancel(system, ledger, document, recheck, [...checks, ...end()])
    return (await keepAnswer(ledger, recheck, answer, now)) || isNotified
  }
  const isOpen = renewed.some(({ check }: { check: StatusCheck }) => needsRecheck(check, now))
  await commit(ledger, [...checks, ...(isOpen ? [putOff(recheck, nextDaily(now))] : end())])
  return keepAnswer(ledger, recheck, answer, now)
}

/** Cancels a document with everything that follows, in one commit. Nobody is notified of an import, which its organization alone sees. */
async function cancel(
  { env }: System,
  ledger: D1Database,
  { uuid, rfc }: CfdiToRecheck,
  { entity }: Recheck,
  also: readonly Statement[],
): Promise<boolean> {
  const now = clock.date()
  const isImport = entity < 0
  const notified = ({ cancellations }: SliceOutcome) => (isImport ? [] : cancellationStatements(entity, cancellations, now))
  const target = { ledger, files: env.FILES, entity, rfc, now, provenance: isImport ? 'import' : 'authority' } as const
  await cancelDocument(target, uuid, (outcome) => [...notified(outcome), ...also])
  return !isImport
}

/** Announces the partitions with rechecks that are due. A task, whose cursor is a ledger; it reads nothing where there is none. */
export const sweepRechecks = (system: System, cursor = ''): Promise<string | null> =>
  ledgerByLedger(system, cursor, async (shard, ledger) => {
    const partitions = await partitionsToRecheck(ledger, clock.now())
    await wakeRechecks(
      system,
      partitions.map((entity) => ({ shard, entity })),
    )
  })
