import { env } from 'cloudflare:workers'
import { expect } from 'vitest'
import { relayOutbox } from '../../../src/delivery/relay/relay.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { pagesOf } from '../../delivery/support/feed.ts'
import { callOf, later, type subscriber, sweep, work } from './downloads.ts'

// biome-ignore lint/suspicious/noExplicitAny: a test looks at what it expects; the shape has been checked against the route.
export type Notified = any
export type Subscriber = Awaited<ReturnType<typeof subscriber>>

/** Relays what the ledger of an RFC has to tell. */
export const relay = async (rfc: string) => relayOutbox(systemOf(env, new Date(), 'req_test'), (await callOf(rfc)).shard)

/** The events of extractions that an organization was sent. */
export const extractionEvents = async (one: Subscriber): Promise<Notified[]> =>
  (await pagesOf<Notified>(one, '/v1/events?limit=100')).items.filter(({ event }) => event.startsWith('extraction.'))

/** What the events of extractions count altogether. */
export const countedIn = async (one: Subscriber, count: 'readable_count' | 'document_count'): Promise<number> =>
  (await extractionEvents(one)).reduce((sum, event) => sum + event[count], 0)

/** How many CFDIs of its RFC an organization can read. */
export const readableCfdis = async (one: Subscriber): Promise<number> =>
  (await pagesOf<Notified>(one, `/v1/cfdi?limit=100&fiscal_entity_id=${one.fiscal_entity_id}`)).items.length

const DAY = 86_400

/**
 * Plays 25 random steps of two organizations that share an RFC, at random times, and then what is left of their downloads. `run`, `pause`, `work`,
 * `relay` and `sweep` are known; `actions` has more. Returns the steps for messages, when it ended in seconds, and how to go on.
 */
export async function playHistory<One extends Subscriber>(
  draw: (n: number) => number,
  rfc: string,
  all: readonly One[],
  actions: Readonly<Record<string, (one: One) => Promise<unknown>>>,
  often: readonly string[],
) {
  const [paused, steps] = [new Set<One>(), [] as string[]]
  const set = async (one: One, active: boolean) => {
    expect((await one.ask('PATCH', `/v1/billing/rfcs/${one.fiscal_entity_id}`, { active })).status).toBe(200)
    if (active) paused.delete(one)
    else paused.add(one)
  }
  const known: Readonly<Record<string, (one: One) => Promise<unknown>>> = {
    run: (one) => one.run(),
    pause: (one) => set(one, paused.has(one)),
    work: () => work(rfc),
    relay: () => relay(rfc),
    sweep: () => sweep(),
    ...actions,
  }
  const step = async (name: string, one = all[0]!) => {
    steps.push(`${name} ${all.indexOf(one)}`)
    await known[name]!(one)
  }
  let seconds = 0
  for (let n = 0; n < 25; n++) {
    seconds += [60, 700, DAY, 20 * DAY][draw(4)]!
    later(seconds)
    await step(often[draw(often.length)]!, all[draw(2)]!)
  }
  for (const one of all) if (paused.has(one)) await set(one, true)
  later(seconds + 1_000)
  for (let n = 0; n < 3; n++) for (const name of ['sweep', 'work', 'relay']) await step(name)
  return { steps: steps.join(', '), seconds, step }
}
