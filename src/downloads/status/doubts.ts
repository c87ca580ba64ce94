import { statusesOf } from '../../authority/statuses.ts'
import { checkWith, isDoubtful, parseChecks, type StatusCheck } from '../../cfdi/checks/checks.ts'
import { type Doubt, nextDaily } from '../../cfdi/checks/doubts.ts'
import { commitChecked } from '../../cfdi/commits/commits.ts'
import type { SliceOutcome } from '../../cfdi/ingest/ingest.ts'
import { cancelDocument, type DoubtedCfdi, readDoubted } from '../../cfdi/ingest/status.ts'
import type { System } from '../../platform/context.ts'
import { ledgerByLedger, START } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { Unavailable } from '../../platform/failures.ts'
import { log } from '../../platform/log.ts'
import { wakeRelay } from '../../platform/outbox/outbox.ts'
import { cancellationStatements } from '../missed-cancellations.ts'
import { type PartitionHint, wakeDoubts } from './check-status.ts'
import { doubtedPartitions, endDoubt, keepCheck, putOff, takeDoubts } from './store.ts'

/** Documents of one message. */
const MOST = 20
/** The most statements that one of them takes, with a cancellation that has to be computed again a few times. */
const STATEMENTS = 110
/** When a doubt is due again that could not be resolved, because the authority did not answer or the worker died. */
const AGAIN_MS = 10 * 60_000

/**
 * Resolves the doubts of a partition that are due: commits and tells the cancellations that were found, and asks the authority about the other
 * documents. An answer changes the checks of the organizations whose own checks left the doubt, and nothing else unless the document is
 * cancelled. What the authority does not answer stays a doubt. A repetition does no harm.
 */
export async function resolveDoubts(system: System, { shard, entity }: PartitionHint): Promise<void> {
  const ledger = system.settings.ledgers[shard]!
  const now = Date.now()
  const doubts = await takeDoubts(ledger, entity, now, now + AGAIN_MS, MOST)
  let isTold = false
  let isAnswered = true
  const left: Doubt[] = []
  for (const doubt of doubts) {
    if (!isAnswered || !system.budget.allows(STATEMENTS)) {
      if (isAnswered) left.push(doubt)
      continue
    }
    try {
      isTold = (await resolve(system, ledger, doubt)) || isTold
    } catch (error) {
      // The others are asked about when the authority answers again.
      isAnswered = !(error instanceof Unavailable)
      log.error(system, 'The status of a CFDI could not be resolved. It is tried again.', { entity, uuid: doubt.uuid }, error)
    }
  }
  if (left.length > 0)
    await commit(
      ledger,
      left.map((doubt) => putOff(ledger, doubt, now)),
    )
  if (isTold) await wakeRelay(system, shard)
  if (left.length > 0 || (isAnswered && doubts.length === MOST)) await wakeDoubts(system, [{ shard, entity }])
}

/** Resolves a doubt. Returns whether something is to be told. */
async function resolve(system: System, ledger: D1Database, doubt: Doubt): Promise<boolean> {
  const { entity, uuid } = doubt
  const document = await readDoubted(ledger, entity, uuid)
  const end = () => [endDoubt(ledger, doubt)]
  if (document?.cancelled !== 0) {
    await commit(ledger, end())
    return false
  }
  if (doubt.doubt === 'found') return cancel(system, ledger, document, doubt, end())
  const now = Date.now()
  const open = Object.entries(parseChecks(document.status_checks)).filter(([, check]) => isDoubtful(check, now))
  if (open.length === 0 && !(doubt.doubt === 'unproven' && document.has_xml === 0)) {
    await commit(ledger, end())
    return false
  }
  const answer = await statusesOf(system).status(document, new Date(now))
  if (answer.estatus === 'unknown') {
    await commit(ledger, open.length === 0 ? end() : [putOff(ledger, doubt, nextDaily(now))])
    return false
  }
  const renewed = open.map(([id, before]) => ({ id, before, check: checkWith(answer, now, before) }))
  const checks = renewed.map(({ id, before, check }) => keepCheck(ledger, doubt, id, check, before))
  const ids = renewed.map(({ id }) => id)
  if (ids.length > 0) checks.push(commitChecked(ledger, doubt, ids, now))
  if (answer.estatus === 'cancelado') return cancel(system, ledger, document, doubt, [...checks, ...end()])
  const isOpen = renewed.some(({ check }: { check: StatusCheck }) => isDoubtful(check, now))
  await commit(ledger, [...checks, ...(isOpen ? [putOff(ledger, doubt, nextDaily(now))] : end())])
  return false
}

/** Cancels a document with everything that follows, in one commit. Nobody is told of an import, which its organization alone sees. */
async function cancel(
  { env }: System,
  ledger: D1Database,
  { uuid, rfc }: DoubtedCfdi,
  { entity }: Doubt,
  also: readonly D1PreparedStatement[],
): Promise<boolean> {
  const now = new Date()
  const isImport = entity < 0
  const told = ({ cancellations }: SliceOutcome) => (isImport ? [] : cancellationStatements(ledger, entity, cancellations, now))
  const target = { ledger, files: env.FILES, entity, rfc, now, provenance: isImport ? 'import' : 'authority' } as const
  await cancelDocument(target, uuid, (outcome) => [...told(outcome), ...also])
  return !isImport
}

/** Announces the partitions with doubts that are due. A task, whose place is a ledger; it reads nothing where there is no doubt. */
export const sweepDoubts = (system: System, place = START): Promise<string> =>
  ledgerByLedger(system, place, async (shard, ledger) => {
    const partitions = await doubtedPartitions(ledger, Date.now())
    await wakeDoubts(
      system,
      partitions.map((entity) => ({ shard, entity })),
    )
  })
