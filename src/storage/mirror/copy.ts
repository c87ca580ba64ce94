import type { Budget } from '../../platform/db/budget.ts'
import { type Destination, DestinationError } from '../drivers/port.ts'
import type { RoundPosition } from './round.ts'

/** A document on its way to a destination. */
export interface Item {
  path: string
  content_type: string
  /** What the manifest says of it besides: its RFC, and its UUID or the id of the document. */
  rfc: string
  id: { uuid: string } | { document_id: string }
  /** Where the round continues behind it. */
  behind: RoundPosition
  read(): Promise<Uint8Array>
}

/** How many of the first items are at the destination, and what the manifest says of each. */
export interface Copying {
  lines: string[]
  /** How many could not be stored, and why the first one of them could not. */
  failed: number
  error: DestinationError | null
}

/** The platform allows an invocation six connections. */
const AT_ONCE = 4
/** How often it is asked whether the copy may go on. */
const ASK_MS = 2_000
/** What is left of the budget belongs to the commit. */
const STATEMENTS = 20

/**
 * Stores items in their order, four at once, until one fails, the budget ends, or `mayGoOn` says no. Throws what is not the fault of the
 * destination.
 */
export async function copyItems(
  destination: Destination,
  items: readonly Item[],
  budget: Budget,
  mayGoOn: () => Promise<boolean>,
): Promise<Copying> {
  const lines: (string | undefined)[] = items.map(() => undefined)
  const errors: (DestinationError | undefined)[] = []
  let next = 0
  let isOver = false
  let askedAt = Date.now()
  const copyNext = async (): Promise<void> => {
    while (!isOver && next < items.length && budget.allows(STATEMENTS)) {
      if (Date.now() - askedAt >= ASK_MS) {
        askedAt = Date.now()
        if (!(await mayGoOn())) isOver = true
        if (isOver || next >= items.length) break
      }
      const n = next++
      try {
        lines[n] = await copyItem(destination, items[n]!)
      } catch (error) {
        isOver = true
        if (!(error instanceof DestinationError)) throw error
        errors[n] = error
      }
    }
  }
  const ends = await Promise.allSettled(Array.from({ length: AT_ONCE }, copyNext))
  for (const end of ends) if (end.status === 'rejected') throw end.reason
  const first = lines.indexOf(undefined)
  const failed = errors.filter((error) => error !== undefined)
  return { lines: (first < 0 ? lines : lines.slice(0, first)) as string[], failed: failed.length, error: failed[0] ?? null }
}

async function copyItem(destination: Destination, { path, content_type, rfc, id, read }: Item): Promise<string> {
  const bytes = await read()
  const sha256 = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes as BufferSource)).toHex()
  await destination.put(path, { bytes, content_type, sha256 })
  return JSON.stringify({ sha256, ...id, path, rfc, size: bytes.length })
}
