import type { Ctx } from '../context.ts'
import { MemoryLimiter } from '../memory-limiter.ts'

const MIB = 1024 ** 2
/** The bytes of XML of the large documents that answers are made of at a time in an isolate. What is made of them takes some times more. */
const large = new MemoryLimiter(4 * MIB, 60_000)
/** Documents that have no more together are usual. */
export const USUAL_BYTES = MIB / 4

/** How many of an organization's readings run at a time in an isolate. A database answers one after the other, whoever asks. */
const AT_ONCE = 2
/** A reading that was ended from outside gives its permit back after so long. */
const LONGEST_MS = 60_000

const limiters = new Map<string, { limiter: MemoryLimiter; asking: number }>()

/**
 * Reads a surface's data from the ledger when fewer than `AT_ONCE` of the organization's other readings run: other organizations wait for
 * these, and not for all that this one has asked for.
 */
export async function limitReadings<T>({ organization }: Pick<Ctx, 'organization'>, read: () => Promise<T>): Promise<T> {
  const own = limiters.get(organization.id) ?? { limiter: new MemoryLimiter(AT_ONCE, LONGEST_MS), asking: 0 }
  limiters.set(organization.id, own)
  own.asking++
  try {
    return await own.limiter.hold(1, read)
  } finally {
    own.asking--
    if (own.asking === 0) limiters.delete(organization.id)
  }
}

/** Makes an answer of the contents of documents with so many bytes of XML together. Large ones wait until there is memory for them. */
export const holdLarge = <T>(ctx: Pick<Ctx, 'organization'>, bytes: number, make: () => Promise<T>): Promise<T> =>
  bytes <= USUAL_BYTES ? make() : limitReadings(ctx, () => large.hold(bytes, make))
