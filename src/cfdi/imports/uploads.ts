import type { System } from '../../platform/context.ts'
import { referredObjects } from './store.ts'

/** Where uploads are in the bucket. */
export const UPLOADS = 'imports/'

const PAGE = 500
const MAX_PAGES = 20
/** A younger upload may belong to a request that has not inserted its row. */
const LEAST_AGE_MS = 24 * 3_600_000

/**
 * Deletes uploads that no unfinished import refers to: those of requests that ended before their rows were inserted, and those of completed
 * imports whose consumer ended before it deleted them. It lists at most 10,000 objects, and fewer with many
 * ledgers, from a random key on, so that the days take turns.
 */
export async function sweepUploadObjects({ env, settings, budget }: System): Promise<void> {
  const before = Date.now() - LEAST_AGE_MS
  let startAfter: string | undefined = UPLOADS + crypto.randomUUID()
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES && (page === 0 || budget.allows(settings.ledgers.length)); page++) {
    const listed: R2Objects = await env.FILES.list({
      ...{ prefix: UPLOADS, limit: PAGE },
      ...(cursor === undefined ? {} : { cursor }),
      ...(startAfter === undefined ? {} : { startAfter }),
    })
    const old = listed.objects.filter(({ uploaded }) => uploaded.getTime() < before).map(({ key }) => key)
    const referred = old.length === 0 ? new Set<string>() : await referredObjects(settings.ledgers, old)
    const unused = old.filter((key) => !referred.has(key))
    if (unused.length > 0) await env.FILES.delete(unused)
    if (listed.truncated) cursor = listed.cursor
    else if (startAfter === undefined) return
    else {
      // The keys before the random one come last; some after it come again if there is room for them.
      startAfter = undefined
      cursor = undefined
    }
  }
}
