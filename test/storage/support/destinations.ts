import { env, RpcStub, RpcTarget } from 'cloudflare:workers'
import { vi } from 'vitest'
import type { DestinationSpec } from '../../../src/storage/drivers/adapters.ts'
import type { Destination } from '../../../src/storage/drivers/port.ts'
import { type CredentialsCallback, type Destinations, openSession, Session } from '../../../src/storage/drivers/session.ts'

type Open = (spec: DestinationSpec, publicHosts: readonly string[], onNewCredentials: CredentialsCallback) => Session

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
  const binding = env.DESTINATIONS as unknown as Destinations
  // A stub belongs to the request in which it was made.
  vi.spyOn(binding, 'open').mockImplementation(async (...args) => {
    using worker = new RpcStub(new StandInWorker(open)) as unknown as Destinations & Disposable
    return await worker.open(...args)
  })
}

/** Until a test restores mocks, drivers reach this in the place of the network. */
export function destinationsOver(fetch: (url: string, init: RequestInit) => Promise<Response>) {
  const network = vi.fn(fetch)
  standIn((spec, publicHosts, onNewCredentials) => openSession({ publicHosts, fetch: network }, spec, onNewCredentials))
  return network
}

/** Until a test restores mocks, connectors open these destinations. */
export function destinationsAre(
  of: (spec: DestinationSpec, onNewCredentials: CredentialsCallback) => Destination & { end?: () => void },
): void {
  standIn((spec, _, onNewCredentials) => {
    const destination = of(spec, onNewCredentials)
    return new Session(destination, destination.end)
  })
}
