import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { unstable_readConfig } from 'wrangler'
import { writeBackground, writeFirst, writeLocal, writeSurfaces } from '../../scripts/configurations.ts'
import { ROOT } from '../../scripts/wrangler.ts'

type Json = string | number | boolean | null | Json[] | { [name: string]: Json }

/** What wrangler adds about the file itself. */
const OF_THE_FILE = ['topLevelName', 'configPath', 'userConfigPath', 'definedEnvironments']

const of = (env?: string, config = join(ROOT, 'wrangler.toml')): Json =>
  JSON.parse(
    JSON.stringify(unstable_readConfig({ config, ...(env && { env }) }), (name, value) => (OF_THE_FILE.includes(name) ? undefined : value)),
  )

/** What an environment has of its own: its ids, its routes, the sizes of its limits, what stands behind EGRESS, the Worker with the objects. */
const OWN = ['targetEnvironment', 'database_id', 'routes', 'service', 'namespace_id', 'simple', 'command', 'script_name']
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

const CONFIGURATIONS = [
  ['wrangler.toml', join(ROOT, 'wrangler.toml')],
  ['background/wrangler.json', writeBackground()],
  ['surfaces/wrangler.json', writeSurfaces()],
] as const

describe.each(CONFIGURATIONS)('%s', (_, file) => {
  const local = common(of(undefined, file), 'local')

  it.each(['test', 'live'])('%s has every binding, variable and setting that the local environment has', (environment) => {
    expect(common(of(environment, file), environment)).toEqual(local)
  })

  it('names resources of its own in every environment', () => {
    const text = (environment?: string) => JSON.stringify(of(environment, file)).match(/fiscal-(local|test|live)-[\w-]+/g) ?? []
    const [here, test, live] = [undefined, 'test', 'live'].map((environment) => new Set(text(environment)))
    expect([...test!, ...live!].filter((name) => here!.has(name))).toEqual([])
    expect([...test!].filter((name) => live!.has(name))).toEqual([])
    expect(here!.size).toBeGreaterThan(9)
  })
})

type Configuration = Record<string, { [name: string]: Json } & Json[]> & { name: string }
const without = (value: Json[], name: string): Json[] => value.map((one) => ({ ...(one as object), [name]: null }))
const exceptSurfaces = (services: Json | undefined): Json[] =>
  ((services ?? []) as { [name: string]: Json }[]).filter(({ binding }) => binding !== 'SURFACES')

describe.each([undefined, 'test', 'live'])('environment %s:', (environment) => {
  const [requests, background, surfaces] = CONFIGURATIONS.map(([, file]) => of(environment, file) as unknown as Configuration)

  it.each([['background work', background!] as const, ['surfaces', surfaces!] as const])(
    'the Worker of %s shares every variable, database, bucket, queue and asset with the one that answers requests',
    (_, sharing) => {
      for (const name of ['vars', 'r2_buckets', 'compatibility_date', 'minify', 'upload_source_maps', 'limits', 'observability'])
        expect([name, sharing[name]]).toEqual([name, requests![name]])
      expect(sharing['queues']!['producers']).toEqual(requests!['queues']!['producers'])
      expect(sharing['assets']).toEqual({ ...requests!['assets'], directory: '../assets' })
      expect(without(sharing['d1_databases']!, 'migrations_dir')).toEqual(without(requests!['d1_databases']!, 'migrations_dir'))
    },
  )

  it.each([['background work', background!] as const, ['surfaces', surfaces!] as const])(
    'the Worker of %s uses the Durable Objects, the secrets and the services of that one, and defines none of its own',
    (_, sharing) => {
      const objects = requests!['durable_objects']!['bindings'] as { [name: string]: Json }[]
      expect(sharing['durable_objects']!['bindings']).toEqual(objects.map((one) => ({ ...one, script_name: requests!.name })))
      const secrets = { binding: 'SECRETS', service: requests!.name, entrypoint: 'Secrets' }
      expect(sharing['services']).toEqual([...exceptSurfaces(requests!['services']), secrets])
      expect([sharing['migrations'], sharing['secrets']?.['required'], sharing['routes']]).toEqual([[], [], undefined])
      expect([sharing['workers_dev'], sharing['preview_urls']]).toEqual([false, false])
    },
  )

  it('the Worker of surfaces counts requests where the one that answers requests does, has no crons, and consumes nothing', () => {
    expect(surfaces!['ratelimits']).toEqual(requests!['ratelimits'])
    expect([surfaces!['triggers'], surfaces!['queues']!['consumers'] ?? []]).toEqual([{}, []])
  })

  it('the Worker of background work alone has the crons, and a consumer for every queue that anything is sent to', () => {
    expect([requests!['triggers']!['crons'], (background!['triggers']!['crons'] as Json[]).length]).toEqual([[], 3])
    const namesIn = (entries: Json | undefined) => ((entries ?? []) as { queue: string }[]).map(({ queue }) => queue)
    expect(namesIn(requests!['queues']!['consumers'])).toEqual([])
    const deadLetters = `fiscal-${environment ?? 'local'}-dead-letters`
    expect(namesIn(background!['queues']!['consumers'])).toEqual([...namesIn(requests!['queues']!['producers']), deadLetters])
  })
})

it('locally the Worker that answers requests reaches the other one, and is otherwise the same', () => {
  const [local, top] = [of(undefined, writeLocal()), of()] as { [name: string]: Json }[]
  const services = [...(top!['services'] as Json[]), { binding: 'BACKGROUND', service: 'fiscal-local-background' }]
  expect(local).toEqual({ ...top, services })
})

it('the first deployment begins with the Worker that answers requests, bound to everything but that of surfaces', () => {
  for (const environment of ['test', 'live']) {
    const [first, whole] = [of(environment, writeFirst()), of(environment)] as { [name: string]: Json }[]
    expect(first).toEqual({ ...whole, services: exceptSurfaces(whole!['services']) })
  }
})
