import { RpcTarget } from 'cloudflare:workers'
import { type DestinationSpec, destinationOf, type OnLearned } from './adapters.ts'
import type { Network } from './call.ts'
import { type Destination, DestinationError, type StoredObject } from './port.ts'

/** How an operation ended, as it crosses from one Worker to another: errors lose their class there. */
export type SessionAnswer<T> = { ok: T } | { fault: Pick<DestinationError, 'code' | 'message' | 'retry_after_seconds'> }

/**
 * A destination that another Worker has opened, until that Worker disposes of it. What a driver learns of the provider serves all its
 * operations. What they throw is no fault of the destination.
 */
export class Session extends RpcTarget {
  readonly #destination: Destination
  readonly #end: () => void

  constructor(destination: Destination, end: () => void = () => {}) {
    super()
    this.#destination = destination
    this.#end = end
  }

  put(path: string, object: StoredObject): Promise<SessionAnswer<void>> {
    return answerOf(this.#destination.put(path, object))
  }

  read(path: string): Promise<SessionAnswer<Uint8Array | null>> {
    return answerOf(this.#destination.read(path))
  }

  remove(path: string): Promise<SessionAnswer<void>> {
    return answerOf(this.#destination.remove(path))
  }

  [Symbol.dispose](): void {
    this.#end()
  }
}

async function answerOf<T>(operation: Promise<T>): Promise<SessionAnswer<T>> {
  try {
    return { ok: await operation }
  } catch (error) {
    if (!(error instanceof DestinationError)) throw error
    const { code, message, retry_after_seconds } = error
    return { fault: { code, message, retry_after_seconds } }
  }
}

/** What is behind the binding DESTINATIONS. `publicHosts` are the service's own host names, which no destination may have. */
export interface Destinations {
  open(spec: DestinationSpec, publicHosts: readonly string[], onLearned: OnLearned): Promise<Session>
}

/** OnLearned of the Worker that opens a session. */
export type LearnedCallback = Rpc.Stub<OnLearned>

/** Opens a destination for another Worker. */
export function openSession(network: Network, spec: DestinationSpec, onLearned: LearnedCallback): Session {
  // The platform disposes of an argument when the call that brought it returns.
  const kept = onLearned.dup()
  return new Session(
    destinationOf(network, spec, async (learned) => void (await kept(learned))),
    () => kept[Symbol.dispose](),
  )
}
