import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { unstable_readConfig } from 'wrangler'
import { ROOT } from '../../scripts/wrangler.ts'

type Json = string | number | boolean | null | Json[] | { [name: string]: Json }

const of = (env?: string): Json =>
  JSON.parse(JSON.stringify(unstable_readConfig({ config: join(ROOT, 'wrangler.toml'), ...(env && { env }) })))

/** What an environment has of its own: its ids, its routes, the sizes of its limits, what stands behind EGRESS. */
const OWN = ['targetEnvironment', 'database_id', 'routes', 'service', 'namespace_id', 'simple', 'command']
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
