import type { Notify } from '../../documents/mailbox/fetch.ts'
import type { System } from '../../platform/context.ts'
import { log } from '../../platform/log.ts'
import { clock } from '../../platform/time/clock.ts'
import { sendHints } from '../../platform/work/send.ts'
import type { DownloadHint } from '../downloads.ts'
import { drain } from '../drain.ts'
import { keyOf, turnsOf } from './entering.ts'

/** The most statements of a drain before it asks the budget. */
export const DRAIN_STATEMENTS = 200

/**
 * Handles a message of downloads that somebody may wait for: works on the RFC of the organization whose turn it is, until the turn comes to the
 * RFC of the message. A message that the budget does not reach is sent again.
 */
export async function drainInTurn(system: System, own: DownloadHint, notify: Notify): Promise<void> {
  for (;;) {
    const turn = await nextOf(system, own)
    if (keyOf(turn) === keyOf(own)) return drain(system, own, notify)
    // The sweep finds what is left of it.
    await drain(system, turn, notify).catch((error: unknown) => {
      log.error(system, 'The downloads of an RFC could not be worked on in its turn.', { entity: turn.entity }, error)
    })
    if (!system.budget.allows(DRAIN_STATEMENTS)) return sendHints(system, system.env.DOWNLOADS, [{ body: own }])
  }
}

async function nextOf(system: System, { shard, entity }: DownloadHint): Promise<DownloadHint> {
  const own = { shard, entity }
  try {
    const [nextShard, nextEntity] = (await turnsOf(system).next(keyOf(own), clock.now())).split(':').map(Number)
    return { shard: nextShard!, entity: nextEntity! }
  } catch (error) {
    log.error(system, 'Whose turn it is to download is not known. The message is handled by itself.', {}, error)
    return own
  }
}
