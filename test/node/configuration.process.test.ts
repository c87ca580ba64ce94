import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { unstable_readConfig } from 'wrangler'
import { ROOT } from '../../scripts/wrangler.ts'

type Json = string | number | boolean | null | Json[] | { [name: string]: Json }

/** What wrangler adds about the file itself. */
const OF_THE_FILE = ['topLevelName', 'configPath', 'userConfigPath', 'definedEnvironments']

const of = (env?: string, config = join(ROOT, 'wrangler.toml')): Json =>
  JSON.parse(
    JSON.stringify(unstable_readConfig({ config, ...(env && { env }) }), (name, value) => (OF_THE_FILE.includes(name) ? undefined : value)),
  )

/** What an environment has of its own: its ids, its routes, whether it sends mail, the sizes of its limits, what stands behind EGRESS, the Worker with the objects. */
const OWN = ['targetEnvironment', 'database_id', 'routes', 'send_email', 'service', 'namespace_id', 'simple', 'command', 'script_name']
/** An environment grows by more ledgers and events shards. */
const FURTHER_SHARD = /"binding":"(LEDGER|EVENTS)_[1-9]/

/** Without what is an environment's own, and with its name taken out of the names of its resources. */
function common(value: Json, environment: string): Json {
  if (typeof value === 'string') return value.replace(`-${environment}`, '')
  if (Array.isArray(value)) return value.filter((one) => !FURTHER_SHARD.test(JSON.stringify(one))).map((one) => common(one, environment))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([name]) => !OWN.includes(name))
  return Object.fromEntries(entries.map(([name, one]) => [name, name === 'vars' ? Object.keys(one as object) : common(one, environment)]))
}

describe('wrangler.toml', () => {
  const local = common(of(), 'local')

  it.each(['test', 'live'])('%s has every binding, variable and setting that the local environment has', (environment) => {
    expect(common(of(environment), environment)).toEqual(local)
  })

  it('names resources of its own in every environment', () => {
    const text = (environment?: string) => JSON.stringify(of(environment)).match(/fiscal-(local|test|live)-[\w-]+/g) ?? []
    const [here, test, live] = [undefined, 'test', 'live'].map((environment) => new Set(text(environment)))
    expect([...test!, ...live!].filter((name) => here!.has(name))).toEqual([])
    expect([...test!].filter((name) => live!.has(name))).toEqual([])
    expect(here!.size).toBeGreaterThan(9)
  })
})

type Configuration = Record<string, { [name: string]: Json } & Json[]> & { name: string }

describe.each([undefined, 'test', 'live'])('environment %s:', (environment) => {
  const worker = of(environment) as unknown as Configuration

  it('has the crons, and a consumer for every queue that anything is sent to', () => {
    expect(worker['triggers']!['crons']).toHaveLength(3)
    const namesIn = (entries: Json | undefined) => ((entries ?? []) as { queue: string }[]).map(({ queue }) => queue)
    const { producers, consumers } = worker['queues']!
    expect(namesIn(consumers)).toEqual([...namesIn(producers), `fiscal-${environment ?? 'local'}-dead-letters`])
  })

  it('is bound to entrypoints of itself alone', () => {
    for (const { service } of worker['services'] as unknown as { service: string }[]) expect(service).toBe(worker.name)
  })
})
