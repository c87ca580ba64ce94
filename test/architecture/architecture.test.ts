import { expect, it } from 'vitest'

const files = import.meta.glob('../../src/**/*.ts', { query: '?raw', import: 'default', eager: true }) as Record<string, string>

/** Know no domain: everybody may enter them anywhere. */
const PLATFORM = ['http', 'db', 'idempotency']
/** What of a domain is open to others beside `<domain>/<domain>.ts`. */
const OPEN = ['tables', 'contract']
/** Doors of a domain that is entered for more than one thing, each named after it. */
const DOORS: Record<string, readonly string[]> = {
  authority: ['authority', 'adapters'],
  cfdi: ['ingest', 'metadata', 'suppliers'],
  downloads: ['downloads', 'drain', 'lane', 'tally'],
  entities: ['entities', 'login', 'connection', 'store', 'rfc', 'pause'],
  extractors: ['extractors', 'run', 'run-now', 'calendar', 'each'],
  sources: ['sources', 'catalog'],
  webhooks: ['webhooks', 'relay'],
  queues: ['store'],
  visibility: ['books', 'window'],
  billing: ['plans', 'standing', 'prices', 'gates', 'invoices', 'issue', 'suspension', 'collect', 'orders'],
}
/** Pure rules: no I/O, no framework. */
const PURE =
  /^(extractors\/(cadence|calendar|scope|rules|zones)|entities\/rfc|billing\/(plans|standing|prices|sold)|cfdi\/(decode|xml|parse|fields|balances|totals|zone|money|metadata|directory|package|reckoning|applications|row|comprobante|comprobante32|pagos|nomina|retenciones|months|supplier-totals)|repse\/(registry|pages|names|sandbox|standing|expiry)|visibility\/window|credentials\/key|blacklists\/(csv|dates|catalog|list-69b|entries|standing|refusal)|downloads\/tally|webhooks\/(signature|retry|payloads|target)|team\/domains|http\/network)$/
const FORBIDDEN_NAMES = /(^|\/)(utils?|lib|helpers?|services?|types|constants|index)(\.ts|\/)/

interface Import {
  from: string
  folder: string
  file: string
  to: string
  isType: boolean
}

const importsOf = (path: string, source: string): Import[] => {
  const from = path.replace('../../src/', '').replace(/\.ts$/, '')
  const parts = from.split('/')
  const folder = parts.length > 1 ? parts[0]! : ''
  const here = parts.slice(0, -1)
  return [...source.matchAll(/(?:import|export)[^'"]*? from '([^']+)'/g)].map(([statement, to]) => {
    if (!to!.startsWith('.')) return { from, folder, file: parts.at(-1)!, to: to!, isType: /^import type/.test(statement) }
    const resolved = [...here]
    for (const step of to!.replace(/\.ts$/, '').split('/')) {
      if (step === '..') resolved.pop()
      else if (step !== '.') resolved.push(step)
    }
    return { from, folder, file: parts.at(-1)!, to: `/${resolved.join('/')}`, isType: /^import type/.test(statement) }
  })
}

const all = Object.entries(files).flatMap(([path, source]) => importsOf(path, source))
const domainOf = (to: string): string | undefined => to.match(/^\/([^/]+)\//)?.[1]
const says = (rule: string, breaks: (one: Import) => boolean): string[] =>
  all.filter(breaks).map(({ from, to }) => `${from} → ${to}: ${rule}`)

const isInside = (folder: string): boolean => folder !== '' && folder !== 'test-helpers' && folder !== 'queues'

it('imports point one way', () => {
  expect([
    ...says('the platform knows no domain', ({ folder, to }) => {
      const domain = domainOf(to)
      return PLATFORM.includes(folder) && domain !== undefined && !PLATFORM.includes(domain)
    }),
    ...says(
      'only routes touch Hono',
      ({ folder, file, to }) => isInside(folder) && folder !== 'http' && file !== 'routes' && /^hono/.test(to),
    ),
    ...says(
      'only routes and contracts speak HTTP',
      ({ folder, file, to }) => isInside(folder) && folder !== 'http' && !/^(routes|.*contract)$/.test(file) && to.startsWith('/http/'),
    ),
    ...says('routes speak to the domain, not to its store', ({ file, to }) => file === 'routes' && /(store|tables)$|drizzle/.test(to)),
    ...says(
      'a store knows nothing of what crosses the wire',
      ({ file, to, isType }) => !isType && /store$/.test(file) && /(contract|routes)$|^hono|^zod/.test(to),
    ),
    ...says('a rule is pure', ({ from, to }) => PURE.test(from) && /drizzle|^hono|cloudflare:|store$/.test(to)),
    ...says('a domain is entered through its door', ({ folder, to }) => {
      const [, domain = '', ...rest] = to.split('/')
      const door = rest.join('/')
      if (!to.startsWith('/') || domain === folder || PLATFORM.includes(domain) || rest.length === 0 || !isInside(folder)) return false
      return !OPEN.includes(door) && door !== domain && !DOORS[domain]?.includes(door)
    }),
  ]).toEqual([])
})

it('no file hides what it is about, and none has grown past what a person reads at once', () => {
  const names = Object.keys(files).map((path) => path.replace('../../src/', ''))
  expect(names.filter((name) => name !== 'index.ts' && FORBIDDEN_NAMES.test(name))).toEqual([])
  expect(
    Object.entries(files)
      .filter(([, source]) => source.split('\n').length > 400)
      .map(([path]) => path),
  ).toEqual([])
})

it('time in SQL comes from outside: the database’s clock is not the one that tests and ticks set', () => {
  const asks = /current_timestamp|current_date|\('now'|unixepoch\(\)/i
  expect(
    Object.entries(files)
      .filter(([, source]) => asks.test(source))
      .map(([path]) => path),
  ).toEqual([])
})
