import type { Budget } from '../../platform/db/budget.ts'
import { type Destination, DestinationError, type DestinationFault, isRefusal } from '../drivers/port.ts'
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

/** How the first items of a list have been settled: each is at the destination, or it was refused while the destination took others. */
export interface Copying {
  settled: number
  copied: Item[]
  /** What the manifest says of each of these. */
  lines: string[]
  refused: { item: Item; error: DestinationError }[]
  /** How many others could not be stored, and why copying stopped. */
  failed: number
  error: DestinationError | null
}

/** What decides how far items are copied. */
export interface Copier {
  destination: Destination
  budget: Budget
  mayGoOn: () => Promise<boolean>
  /** Whether the destination takes an object that nothing is wrong with. */
  works: () => Promise<boolean>
  /** Failures in a row before: then the first item is the one that failed. */
  failures: number
}

/** The platform allows an invocation six connections. */
const AT_ONCE = 4
/** How often it is asked whether the copy may go on. */
const ASK_MS = 2_000
/** What is left of the budget belongs to the commit. */
const STATEMENTS = 20
/** After so many failures in a row, an object at which the provider fails counts as refused. */
const PATIENCE = 2
const PROVIDER_FAILS: readonly string[] = ['unavailable', 'timeout', 'connection_failed'] satisfies DestinationFault[]

/**
 * Stores items in their order, four at once, until the destination fails, the budget ends, or `mayGoOn` says no. A refusal of one stops no
 * other if the destination takes an object afterwards. Throws what is not the fault of the destination.
 */
export async function copyItems(items: readonly Item[], { destination, budget, mayGoOn, works, failures }: Copier): Promise<Copying> {
  const results: (string | DestinationError | undefined)[] = items.map(() => undefined)
  const isOfObject = (error: DestinationError, n: number): boolean =>
    isRefusal(error) || (n === 0 && failures >= PATIENCE && error.retry_after_seconds === null && PROVIDER_FAILS.includes(error.code))
  let next = 0
  let isOver = false
  let askedAt = Date.now()
  let answer = Promise.resolve(true)
  // The refusals after which nothing has been taken yet, as they came.
  let doubtful: { n: number; at: number }[] = []
  let refusals = 0
  let hasTaken = false
  const taken = (began: number): void => {
    hasTaken = true
    doubtful = doubtful.filter(({ at }) => at > began)
  }
  let checking: Promise<void> | null = null
  const check = async (): Promise<void> => {
    const began = refusals
    if (await works()) taken(began)
    else isOver = true
    checking = null
  }
  const copyNext = async (): Promise<void> => {
    while (!isOver && next < items.length && budget.allows(STATEMENTS)) {
      if (Date.now() - askedAt >= ASK_MS) {
        askedAt = Date.now()
        answer = mayGoOn()
      }
      if (!(await answer)) isOver = true
      if (isOver || next >= items.length) break
      const n = next++
      const began = refusals
      try {
        results[n] = await copyItem(destination, items[n]!)
        taken(began)
      } catch (error) {
        isOver ||= !(error instanceof DestinationError && isOfObject(error, n))
        if (!(error instanceof DestinationError)) throw error
        results[n] = error
        if (isOfObject(error, n)) doubtful.push({ n, at: ++refusals })
        if (isOver || doubtful.length < (hasTaken ? AT_ONCE : 1)) continue
        checking ??= check()
        await checking
      }
    }
  }
  const ends = await Promise.allSettled(Array.from({ length: AT_ONCE }, copyNext))
  for (const end of ends) if (end.status === 'rejected') throw end.reason
  if (!isOver && doubtful.length > 0) await check()
  const isSettled = (result: string | DestinationError | undefined, n: number) =>
    typeof result === 'string' || (result !== undefined && isOfObject(result, n) && doubtful.every((one) => one.n !== n))
  const first = results.findIndex((result, n) => !isSettled(result, n))
  const settled = first < 0 ? items.length : first
  const copying: Copying = { settled, copied: [], lines: [], refused: [], failed: 0, error: null }
  for (const [n, result] of results.entries()) {
    const item = items[n]!
    if (typeof result === 'string' && n < settled) {
      copying.copied.push(item)
      copying.lines.push(result)
    } else if (result instanceof DestinationError && n < settled) copying.refused.push({ item, error: result })
    else if (result instanceof DestinationError) {
      copying.failed++
      if (!isSettled(result, n)) copying.error ??= result
    }
  }
  return copying
}

async function copyItem(destination: Destination, { path, content_type, rfc, id, read }: Item): Promise<string> {
  const bytes = await read()
  const sha256 = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes as BufferSource)).toHex()
  await destination.put(path, { bytes, content_type, sha256 })
  return JSON.stringify({ sha256, ...id, path, rfc, size: bytes.length })
}
