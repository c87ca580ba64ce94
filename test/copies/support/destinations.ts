import { env } from 'cloudflare:workers'
import { vi } from 'vitest'
import * as adapters from '../../../src/copies/drivers/adapters.ts'
import type { Destination } from '../../../src/copies/drivers/port.ts'
import type { DestinationSpec } from '../../../src/copies/provider-contract.ts'

type Of = (spec: DestinationSpec, onLearned: adapters.OnLearned) => Destination

/** Until a test restores mocks, drivers reach this in the place of the network. */
export function destinationsOver(fetch: (url: string, init: RequestInit) => Promise<Response>) {
  const network = vi.fn(fetch)
  vi.spyOn(env, 'STORAGE_EGRESS', 'get').mockReturnValue({ fetch: network } as never)
  return network
}

/** Until a test restores mocks, connectors open these destinations. */
export const destinationsAre = (of: Of): void =>
  void vi.spyOn(adapters, 'destinationOf').mockImplementation((_network, spec, onLearned) => of(spec, onLearned))
