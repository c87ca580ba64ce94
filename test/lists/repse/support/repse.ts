import { createExecutionContext, createMessageBatch, createScheduledController, getQueueResult } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { expect, vi } from 'vitest'
import worker from '../../../../src/index.ts'
import * as adapters from '../../../../src/lists/repse/registry/adapters.ts'
import type { RegistryRecord } from '../../../../src/lists/repse/registry/registry.ts'
import { at } from '../../../support/clock.ts'
import { daily } from '../../../support/crons.ts'
import { connect, freshRfc, organization } from '../../../support/tenants.ts'

export type RepseMessage = { rfcs: string[] } | { round: string }

/** Every queue is silent: messages of the registry's are kept here, and a test delivers what it wants when it wants. */
export function holdMessages(): RepseMessage[] {
  const kept: unknown[] = []
  const queue = Object.getPrototypeOf(env.REPSE) as Queue
  vi.spyOn(queue, 'send').mockImplementation(async (body) => {
    kept.push(body)
    return undefined as never
  })
  vi.spyOn(queue, 'sendBatch').mockImplementation(async (messages) => {
    for (const { body } of messages) kept.push(body)
    return undefined as never
  })
  const isOurs = (body: unknown): body is RepseMessage => typeof body === 'object' && body !== null && ('rfcs' in body || 'round' in body)
  return new Proxy(kept as RepseMessage[], {
    get: (list, key) => {
      for (let n = list.length - 1; n >= 0; n -= 1) if (!isOurs(list[n])) list.splice(n, 1)
      return Reflect.get(list, key)
    },
  })
}

let messages = 0

/** A batch of the registry's queue; what is to be tried again. */
export async function deliver(bodies: readonly unknown[], bindings: Env = env): Promise<number> {
  const batch = createMessageBatch(
    'fiscal-local-repse',
    bodies.map((body) => ({ id: `r${++messages}`, timestamp: new Date(), attempts: 1, body })),
  )
  const context = createExecutionContext()
  await worker.queue(batch, bindings)
  return (await getQueueResult(batch, context)).retryMessages.length
}

/** Delivers what was sent, and what that sends, until nothing is left. */
export async function settle(sent: RepseMessage[], bindings: Env = env): Promise<void> {
  while (sent.length > 0) await deliver(sent.splice(0, 1), bindings)
}

/** A cron at a time, which is now. */
export const cron = async (expression: string, time: string, bindings: Env = env): Promise<void> => {
  at(time)
  if (expression === '0 10 * * *') return void (await daily(bindings, new Date(time)))
  return worker.scheduled(createScheduledController({ cron: expression, scheduledTime: new Date(time) }), bindings)
}

/** The sandbox registry with somebody at the port: each RFC that it is asked about, in order. `fails` says for whom there is no answer. */
export function watchRegistry(fails: (rfc: string) => boolean = () => false): string[] {
  const asked: string[] = []
  const real = adapters.registryOf
  vi.spyOn(adapters, 'registryOf').mockImplementation((system) => ({
    async lookUp(rfc, nameOf) {
      asked.push(rfc)
      if (fails(rfc)) throw new Error('The registry is closed.')
      return real(system).lookUp(rfc, nameOf)
    },
  }))
  return asked
}

/** An organization with a connection to an RFC whose downloads do not matter. */
export async function subscriber(rfc = freshRfc()) {
  const of = await organization('enterprise_gold')
  const { fiscal_entity_id } = await connect(of.owner, rfc, { data_source_keys: ['sat_csf'] })
  const path = `/v1/fiscal-entities/${fiscal_entity_id}`
  return {
    ...of,
    rfc,
    fiscal_entity_id,
    path,
    repse: async () => of.ask('GET', `${path}/repse`),
    refresh: async () => of.ask('POST', `${path}/repse/refresh`),
    publish: async (record: Partial<RegistryRecord> = {}) => {
      const { status } = await of.ask('POST', '/v1/test-helpers/repse', { rfc, is_registered: true, ...record })
      expect(status).toBe(200)
    },
  }
}
export type Subscriber = Awaited<ReturnType<typeof subscriber>>
