import { env, RpcStub, RpcTarget } from 'cloudflare:workers'
import { vi } from 'vitest'
import type { DestinationSpec } from '../../../src/storage/drivers/adapters.ts'
import type { Destination } from '../../../src/storage/drivers/port.ts'
import { type Destinations, type LearnedCallback, openSession, Session } from '../../../src/storage/drivers/session.ts'

type Open = (spec: DestinationSpec, publicHosts: readonly string[], onLearned: LearnedCallback) => Session

/** A Worker in the place of that of destinations/. What crosses to it and back crosses as between two Workers. */
class StandInWorker extends RpcTarget {
  readonly #open: Open

  constructor(open: Open) {
    super()
    this.#open = open
  }

  open(...args: Parameters<Open>): Session {
    return this.#open(...args)
  }
}

const standIn = (open: Open) => {
  const binding: Destinations = {
    // A stub belongs to the request in which it was made.
    open: async (...args) => {
      using worker = new RpcStub(new StandInWorker(open)) as unknown as Destinations & Disposable
      return await worker.open(...args)
    },
  }
  // In the place of the binding. A method that is set on the binding itself is sometimes passed over: it answers to every name.
  vi.spyOn(env, 'DESTINATIONS', 'get').mockReturnValue(binding as never)
}

/** Until a test restores mocks, drivers reach this in the place of the network. */
export function destinationsOver(fetch: (url: string, init: RequestInit) => Promise<Response>) {
  const network = vi.fn(fetch)
  standIn((spec, publicHosts, onLearned) => openSession({ publicHosts, fetch: network }, spec, onLearned))
  return network
}

/** Until a test restores mocks, connectors open these destinations. */
export function destinationsAre(of: (spec: DestinationSpec, onLearned: LearnedCallback) => Destination & { end?: () => void }): void {
  standIn((spec, _, onLearned) => {
    const destination = of(spec, onLearned)
    return new Session(destination, destination.end)
  })
}
