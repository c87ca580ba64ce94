import type { AskedCfdi } from '../../authority/port/status.ts'
import { statusesOf } from '../../authority/statuses.ts'
import { checkOf, checkWith, needsRecheck, parseChecks, type StatusCheck } from '../../cfdi/checks/checks.ts'
import { addRechecks, nextDaily } from '../../cfdi/checks/rechecks.ts'
import { commitChecked } from '../../cfdi/commits.ts'
import type { Cfdi } from '../../cfdi/contract.ts'
import { findDetailed, shownAs } from '../../cfdi/detail/detail.ts'
import { change } from '../../platform/audit/audit.ts'
import type { Ctx, System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { Failure, invalid, notFound } from '../../platform/failures.ts'
import { countHourly } from '../../platform/locks/hourly.ts'
import { wakeRelay } from '../../platform/outbox/outbox.ts'
import { clock } from '../../platform/time/clock.ts'
import { sendHints } from '../../platform/work/send.ts'
import { notActive } from '../../taxpayers/connection.ts'
import { openLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { isRequested } from './rule.ts'
import { keepCheck } from './store.ts'
import { keepAnswer } from './watch.ts'

/** Names a partition of a ledger. */
export interface PartitionHint {
  shard: number
  entity: number
}

/** Asks the queue to resolve the rechecks of partitions. The sweep finds those whose messages are lost. */
export const wakeRechecks = (system: System, hints: readonly PartitionHint[]): Promise<void> =>
  sendHints(
    system,
    system.env.DOWNLOADS,
    hints.map(({ shard, entity }) => ({ body: { shard, partition: entity } })),
  )

const COOLDOWN_SECONDS = 600

/**
 * Asks the authority for the status of a visible document and returns the document with the answer. A document that the authority calls
 * cancelled is cancelled in the background, as if metadata had said so; no other answer changes its `estatus`. A request for its cancellation is
 * kept and reported, like one that the service finds itself. The check is the
 * organization's own: others see nothing of it. At most four D1 calls. Throws Failure 404 fiscal_entity.not_found or fiscal_entity.not_active without an active
 * connection, 404 cfdi.not_found, 422 cfdi.retenciones_status, 429 cfdi.cooldown within ten minutes of the organization's last check of the
 * document and organization.hourly_limit, and Unavailable when the authority does not answer: then nothing changes.
 */
export async function checkStatus(ctx: Ctx, uuid: string): Promise<Cfdi> {
  if (ctx.connection?.state !== 'active') throw notActive(ctx, ctx.connection)
  const ledger = openLedger(ctx)
  const found = await findDetailed(ctx, ledger, uuid, ({ sello_ultimos_8 }) => ({ sello_ultimos_8 }))
  if (!found) throw notFound('cfdi')
  const { row, partition } = found
  if (row.kind === 'retenciones') throw retenciones()
  const { fiscal_entity_id, rfc, d1 } = ledger
  const cooldown = ctx.env.COOLDOWNS.getByName(`status:${fiscal_entity_id}:${uuid}`)
  // The interrupted request that this one repeats has begun the cooldown.
  const acquired = ctx.claim?.begun ? ({ acquired: true } as const) : await cooldown.acquire(COOLDOWN_SECONDS, clock.now())
  if (!acquired.acquired) throw tooSoon(acquired.retry_after_seconds)
  try {
    if (!ctx.claim?.begun) await countHourly(ctx, 'status_checks')
    const asked: AskedCfdi = { ...row, rfc, sello_ultimos_8: found.sello_ultimos_8 }
    const answer = await statusesOf(ctx).status(asked, ctx.now)
    const now = clock.now()
    const check = checkWith(answer, now, checkOf(row.status_checks, fiscal_entity_id))
    if (!ctx.claim?.begun) await change(ctx, { action: 'cfdi.status_checked', resource_id: uuid, begins: true }, [])
    const isFound = answer.estatus === 'cancelado' && row.estatus !== 'cancelado'
    const rechecks = isFound
      ? addRechecks([{ entity: partition.number, uuid, due_at: now, recheck: 'found' }])
      : row.estatus !== 'cancelado' && needsRecheck(check, now)
        ? addRechecks([{ entity: partition.number, uuid, due_at: nextDaily(now), recheck: 'asked' }])
        : []
    const document = { entity: partition.number, uuid }
    const checked = [keepCheck(document, fiscal_entity_id, check), commitChecked(document, [fiscal_entity_id], now)]
    await commit(d1, [...checked, ...rechecks])
    if (isRequested(answer) && (await keepAnswer(d1, document, answer, now))) await wakeRelay(ctx, ctx.connection.shard)
    if (isFound) await wakeRechecks(ctx, [{ shard: ctx.connection.shard, entity: partition.number }])
    return await shownAs(ctx, ledger, { ...found, row: { ...row, status_checks: textWith(row.status_checks, fiscal_entity_id, check) } })
  } catch (error) {
    await cooldown.release()
    throw error
  }
}

const textWith = (text: string | null, fiscal_entity_id: string, check: StatusCheck): string =>
  JSON.stringify({ ...parseChecks(text), [fiscal_entity_id]: check })

const retenciones = () =>
  invalid('cfdi.retenciones_status', [
    {
      path: 'uuid',
      message:
        'The status of a CFDI de retenciones cannot be checked: the authority answers about these on a page of its own, which the service does not ask.',
    },
  ])

const tooSoon = (retry_after_seconds: number) =>
  new Failure(
    'too_many_requests',
    'cfdi.cooldown',
    `You checked the status of this CFDI less than 10 minutes ago. Try again in ${retry_after_seconds} s.`,
    { retry_after_seconds },
  )
