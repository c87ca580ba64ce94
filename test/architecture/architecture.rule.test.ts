import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { PURE } from './pure.ts'
import { RULES } from './rules.ts'
import type { Tree } from './tree.ts'

const breachesOf = (tree: Tree): string[] => RULES.flatMap(({ breaches }) => breaches(tree))

describe('in src', () => {
  const tree: Tree = Object.fromEntries(
    readdirSync('src', { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .map((path) => [`src/${path}`, readFileSync(`src/${path}`, 'utf8')]),
  )

  it.each(RULES)('$name', ({ breaches }) => {
    expect(breaches(tree)).toEqual([])
  })

  it('every pure rule that is listed exists', () => {
    expect(PURE.filter((path) => !(path in tree))).toEqual([])
  })
})

/** A small tree that keeps every rule. */
const SOUND: Tree = {
  'src/index.ts': `import { app } from './app/app.ts'\nexport default app`,
  'src/app/app.ts': `import { Hono } from 'hono'\nimport { routes } from '../copies/routes.ts'\nimport { problem } from '../platform/http/problem.ts'`,
  'src/platform/failures.ts': `export class Failure extends Error {}`,
  'src/bindings.d.ts': `interface Env {\n\tDB: D1Database;\n\tSPREAD_SECONDS: "0" | "10800";\n\tCIEC_KEYS: string;\n\tEXPORTS: import('./index.ts');\n}`,
  'src/platform/log.ts': `export const log = (text: string) => console.error(text)`,
  'src/platform/settings.ts': `export const settingsOf = (env: Env) => ({ spreadSeconds: Number(env.SPREAD_SECONDS) })`,
  'src/platform/http/problem.ts': `import { html } from 'hono/html'\nimport { Failure } from '../failures.ts'`,
  'src/platform/time/calendar.ts': `export const dayOf = (at: number) => Math.floor(at / 86_400_000)`,
  'src/copies/routes.ts': `import { Hono } from 'hono'\nimport { Apple } from './contract.ts'\nimport { pick } from './apples.ts'\nimport { problem } from '../platform/http/problem.ts'`,
  'src/copies/provider-contract.ts': `import * as z from 'zod'\nimport { problem } from '../platform/http/problem.ts'\nexport const Apple = z.object({})\nexport type Apple = z.infer<typeof Apple>`,
  'src/copies/apples.ts': `import { rows } from './store.ts'\nimport { press } from '../cfdi/pears.ts'\nexport const pick = () => rows\nconst delegate = 'settles terms in books'`,
  'src/copies/store.ts': `import { apples } from './tables.ts'\nimport type { Apple } from './contract.ts'\nexport const rows = 1 // console.log, unixepoch(), env.CIEC_KEYS: only a comment`,
  'src/copies/tables.ts': `import { sqliteTable } from 'drizzle-orm/sqlite-core'\nexport const apples = 1`,
  'src/cfdi/pears.ts': `import { ripe } from './ripe/ripe.ts'\nexport const press = ripe`,
  'src/cfdi/store.ts': `export const pears = 1`,
  'src/cfdi/tables.ts': `export const table = 1`,
  'src/cfdi/routes.ts': `import { press } from './pears.ts'`,
  'src/cfdi/ripe/ripe.ts': `export const ripe = 1`,
  'src/connections/extractors/rules.ts': `import { dayOf } from '../../platform/time/calendar.ts'`,
}

const lines = (count: number): string => 'export {}\n'.repeat(count)

/** So many files that the sound tree has 651 with them, besides the generated one. */
const MANY: Tree = Object.fromEntries(
  Array.from({ length: 652 - Object.keys(SOUND).length }, (_, n) => [`src/cfdi/ripe/apple-${n}.ts`, '']),
)

/** Files to add to the sound tree, and the one line that reports them. */
const PLANTED: readonly [what: string, added: Tree, report: string][] = [
  [
    'two files that import each other',
    { 'src/cfdi/a.ts': `import { b } from './b.ts'`, 'src/cfdi/b.ts': `export { a } from './a.ts'` },
    'src/cfdi/a.ts → src/cfdi/b.ts → src/cfdi/a.ts: these files import each other in a circle',
  ],
  [
    'a circle of three files, of types alone',
    {
      'src/cfdi/a.ts': `import type { B } from './b.ts'`,
      'src/cfdi/b.ts': `import type { C } from './c.ts'`,
      'src/cfdi/c.ts': `export type { A } from './a.ts'`,
    },
    'src/cfdi/a.ts → src/cfdi/b.ts → src/cfdi/c.ts → src/cfdi/a.ts: these files import each other in a circle',
  ],
  [
    'two rooms that import each other, each by a file of its own',
    { 'src/cfdi/graft.ts': `import type { pick } from '../copies/apples.ts'` },
    'src/cfdi/graft.ts → src/copies/apples.ts, src/copies/apples.ts → src/cfdi/pears.ts: cfdi → copies → cfdi is a circle of rooms',
  ],
  [
    'a circle of three rooms',
    {
      'src/cfdi/graft.ts': `import type { news } from '../delivery/news.ts'`,
      'src/delivery/news.ts': `import { pick } from '../copies/apples.ts'`,
    },
    'src/cfdi/graft.ts → src/delivery/news.ts, src/delivery/news.ts → src/copies/apples.ts, src/copies/apples.ts → src/cfdi/pears.ts: cfdi → delivery → copies → cfdi is a circle of rooms',
  ],
  ['a folder that is no room', { 'src/plums/plums.ts': '' }, 'src/plums: is no room'],
  [
    'a room that imports app',
    { 'src/lists/graft.ts': `import type { clock } from '../app/clock.ts'`, 'src/app/clock.ts': '' },
    'src/lists/graft.ts → src/app/clock.ts: no room imports app',
  ],
  ['more than 650 files', MANY, 'src: has 651 files; it has at most 650'],
  ['a file of 601 lines', { 'src/cfdi/long.ts': lines(601) }, 'src/cfdi/long.ts: has 601 lines; a file has at most 600'],
  ...['utils', 'lib', 'helpers', 'services', 'types', 'constants', 'index'].map((name): [string, Tree, string] => [
    `a file named ${name}`,
    { [`src/cfdi/${name}.ts`]: '' },
    `src/cfdi/${name}.ts: is named after no subject`,
  ]),
  ['a folder named lib', { 'src/cfdi/lib/pips.ts': '' }, 'src/cfdi/lib/pips.ts: is named after no subject'],
  [
    'a comment about a file that is gone',
    { 'src/cfdi/pips.ts': '/** As seeds.ts has them. */' },
    'src/cfdi/pips.ts: seeds.ts does not exist',
  ],
  [
    'a store that another domain enters',
    { 'src/copies/graft.ts': `import { pears } from '../cfdi/store.ts'` },
    'src/copies/graft.ts → src/cfdi/store.ts: a store is entered only from its own domain',
  ],
  [
    'a store with a longer name that another domain enters for a type',
    { 'src/copies/graft.ts': `import type { Row } from '../cfdi/ripe/colour-store.ts'`, 'src/cfdi/ripe/colour-store.ts': '' },
    'src/copies/graft.ts → src/cfdi/ripe/colour-store.ts: a store is entered only from its own domain',
  ],
  [
    'a store that a file of src enters',
    { 'src/app/schedule.ts': `import { pears } from '../cfdi/store.ts'` },
    'src/app/schedule.ts → src/cfdi/store.ts: a store is entered only from its own domain',
  ],
  [
    'routes that a domain takes from another',
    { 'src/copies/graft.ts': `import { routes } from '../cfdi/routes.ts'` },
    'src/copies/graft.ts → src/cfdi/routes.ts: only src/app/app.ts mounts routes',
  ],
  [
    'a platform that knows a domain',
    {
      'src/platform/time/harvest.ts': `import { ripe } from '../../connections/extractors/cadence.ts'`,
      'src/connections/extractors/rules.ts': '',
    },
    'src/platform/time/harvest.ts → src/connections/extractors/cadence.ts: the platform knows no domain',
  ],
  [
    'a platform that knows the type of a file of src',
    { 'src/platform/time/harvest.ts': `import type { Season } from '../../seasons.ts'`, 'src/seasons.ts': '' },
    'src/platform/time/harvest.ts → src/seasons.ts: the platform knows no domain',
  ],
  [
    'a verb that touches Hono',
    { 'src/cfdi/graft.ts': `import type { Context } from 'hono'` },
    'src/cfdi/graft.ts → hono: only routes and platform/http touch Hono',
  ],
  [
    'a verb that touches a middleware of Hono',
    { 'src/cfdi/graft.ts': `import { zValidator } from '@hono/zod-validator'` },
    'src/cfdi/graft.ts → @hono/zod-validator: only routes and platform/http touch Hono',
  ],
  [
    'a verb that imports platform/http',
    { 'src/cfdi/graft.ts': `import { problem } from '../platform/http/problem.ts'` },
    'src/cfdi/graft.ts → src/platform/http/problem.ts: only routes and contracts import platform/http',
  ],
  [
    'a file of the Worker that writes the OpenAPI document',
    { 'src/platform/http/problem.ts': `import { document } from '../../../tools/openapi/document.ts'` },
    'src/platform/http/problem.ts → tools/openapi/document.ts: no file of the Worker imports a tool, such as the one that writes the OpenAPI document',
  ],
  [
    'routes that enter their own store',
    { 'src/cfdi/ripe/ripe-routes.ts': `import { pears } from '../store.ts'`, 'src/cfdi/pears.ts': '' },
    'src/cfdi/ripe/ripe-routes.ts → src/cfdi/store.ts: routes never import a store or tables',
  ],
  [
    'routes that enter tables',
    { 'src/cfdi/routes.ts': `import { table } from './tables.ts'` },
    'src/cfdi/routes.ts → src/cfdi/tables.ts: routes never import a store or tables',
  ],
  [
    'a store that imports a contract at run time',
    { 'src/copies/store.ts': `import { Apple } from './contract.ts'` },
    'src/copies/store.ts → src/copies/contract.ts: a store imports no contract, routes or zod at run time',
  ],
  [
    'a store that imports zod',
    { 'src/cfdi/store.ts': `import * as z from 'zod'` },
    'src/cfdi/store.ts → zod: a store imports no contract, routes or zod at run time',
  ],
  [
    'a pure rule that queries',
    { 'src/connections/extractors/rules.ts': `import { drizzle } from 'drizzle-orm/d1'` },
    'src/connections/extractors/rules.ts → drizzle-orm/d1: src/connections/extractors/rules.ts is a pure rule',
  ],
  [
    'a pure rule that reaches a store by way of another file',
    {
      'src/connections/extractors/rules.ts': `import { rows } from './last.ts'`,
      'src/connections/extractors/last.ts': `import { x } from './store.ts'`,
      'src/connections/extractors/store.ts': '',
    },
    'src/connections/extractors/rules.ts → src/connections/extractors/last.ts → src/connections/extractors/store.ts: src/connections/extractors/rules.ts is a pure rule',
  ],
  [
    'two exported types of one name',
    { 'src/copies/size.ts': 'export interface Size {}', 'src/cfdi/size.ts': 'export type Size = 1' },
    'src/copies/size.ts, src/cfdi/size.ts: each exports a type Size',
  ],
  ...[
    'settleRun',
    'Lane',
    'billingGate',
    'Books',
    'FactRow',
    'termsOf',
    'Standing',
    'reckoning',
    'Tally',
    'tellRead',
    'hullOf',
    'isHeld',
    'Surroundings',
  ].map((name): [string, Tree, string] => [
    `the old word in ${name}`,
    { 'src/cfdi/words.ts': `export const ${name} = 1` },
    `src/cfdi/words.ts: ${name} – the glossary of AGENTS.md has another word`,
  ]),
  [
    'an old word as the name of a type',
    { 'src/cfdi/words.ts': 'export abstract class HostGate {}' },
    'src/cfdi/words.ts: HostGate – the glossary of AGENTS.md has another word',
  ],
  ...['current_timestamp', 'current_date', 'unixepoch()', "('now'"].map((clock): [string, Tree, string] => [
    `SQL that asks the clock of the database: ${clock}`,
    { 'src/cfdi/store.ts': `const sql = \`select strftime${clock} where 1\`` },
    `src/cfdi/store.ts: ${clock} – SQL asks no clock; bind the time`,
  ]),
  [
    'SQL that adds up amounts',
    { 'src/cfdi/store.ts': `const sql = \`select sum(page.total_mxn) from pears page\`` },
    'src/cfdi/store.ts: sum(page.total_mxn – add amounts up in BigInt',
  ],
  [
    'a store that prepares a text',
    { 'src/cfdi/store.ts': `export const all = (d1: D1Database) => d1.prepare('select 1')` },
    'src/cfdi/store.ts: .prepare( – build it with the query builder, or with sql of drizzle',
  ],
  ...["'0.16'", '0.30 * net', '213_973', '24500'].map((literal): [string, Tree, string] => [
    `a rate or cap of the law: ${literal}`,
    { 'src/cfdi/vat.ts': `export const vat = ${literal}`, 'src/authority/sandbox/prices.ts': `export const price = ${literal}` },
    `src/cfdi/vat.ts: ${/[\d._]+/.exec(literal)![0]} – read it from authority/rules/rules.ts`,
  ]),
  [
    'a line that is written to the console',
    { 'src/cfdi/pears.ts': `console.error('ripe')` },
    'src/cfdi/pears.ts: console.error – log with platform/log.ts',
  ],
  [
    'a variable of the environment',
    { 'src/cfdi/pears.ts': `export const seconds = (system: System) => Number(system.env.SPREAD_SECONDS)` },
    'src/cfdi/pears.ts: env.SPREAD_SECONDS – read system.settings',
  ],
  [
    'a secret of the environment, by its name as text',
    { 'src/cfdi/pears.ts': `export const keys = env['CIEC_KEYS']` },
    `src/cfdi/pears.ts: env['CIEC_KEYS – read system.settings`,
  ],
]

describe('the rules', () => {
  it('report nothing of a sound tree, whatever its comments and strings say', () => {
    expect(breachesOf(SOUND)).toEqual([])
  })

  it.each(PLANTED)('report %s, and nothing else', (_, added, report) => {
    expect(breachesOf({ ...SOUND, ...added })).toEqual([report])
  })

  it('are each broken by a planted tree', () => {
    const broken = RULES.filter(({ breaches }) => PLANTED.some(([, added]) => breaches({ ...SOUND, ...added }).length > 0))
    expect(broken.map(({ name }) => name)).toEqual(RULES.map(({ name }) => name))
  })
})
