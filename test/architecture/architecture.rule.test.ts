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
  'src/index.ts': `import { app } from './app.ts'\nexport default app`,
  'src/app.ts': `import { Hono } from 'hono'\nimport { routes } from './apples/routes.ts'\nimport { problem } from './platform/http/problem.ts'`,
  'src/failures.ts': `export class Failure extends Error {}`,
  'src/bindings.d.ts': `interface Env {\n\tDB: D1Database;\n\tSPREAD_SECONDS: "0" | "10800";\n\tCIEC_KEYS: string;\n\tEXPORTS: import('./index.ts');\n}`,
  'src/platform/log.ts': `export const log = (text: string) => console.error(text)`,
  'src/platform/settings.ts': `export const settingsOf = (env: Env) => ({ spreadSeconds: Number(env.SPREAD_SECONDS) })`,
  'src/platform/http/problem.ts': `import { html } from 'hono/html'\nimport { Failure } from '../../failures.ts'`,
  'src/platform/time/calendar.ts': `export const dayOf = (at: number) => Math.floor(at / 86_400_000)`,
  'src/apples/routes.ts': `import { Hono } from 'hono'\nimport { Apple } from './contract.ts'\nimport { pick } from './apples.ts'\nimport { problem } from '../platform/http/problem.ts'`,
  'src/apples/contract.ts': `import * as z from 'zod'\nimport { problem } from '../platform/http/problem.ts'\nexport const Apple = z.object({})\nexport type Apple = z.infer<typeof Apple>`,
  'src/apples/apples.ts': `import { rows } from './store.ts'\nimport { press } from '../pears/pears.ts'\nexport const pick = () => rows\nconst delegate = 'settles terms in books'`,
  'src/apples/store.ts': `import { apples } from './tables.ts'\nimport type { Apple } from './contract.ts'\nexport const rows = 1 // console.log, unixepoch(), env.CIEC_KEYS: only a comment`,
  'src/apples/tables.ts': `import { sqliteTable } from 'drizzle-orm/sqlite-core'\nexport const apples = 1`,
  'src/pears/pears.ts': `import { ripe } from './ripe/ripe.ts'\nexport const press = ripe`,
  'src/pears/store.ts': `export const pears = 1`,
  'src/pears/tables.ts': `export const table = 1`,
  'src/pears/routes.ts': `import { press } from './pears.ts'`,
  'src/pears/ripe/ripe.ts': `export const ripe = 1`,
  'src/extractors/cadence.ts': `import { dayOf } from '../platform/time/calendar.ts'`,
}

const lines = (count: number): string => 'export {}\n'.repeat(count)

/** Files to add to the sound tree, and the one line that reports them. */
const PLANTED: readonly [what: string, added: Tree, report: string][] = [
  [
    'two files that import each other',
    { 'src/pears/a.ts': `import { b } from './b.ts'`, 'src/pears/b.ts': `export { a } from './a.ts'` },
    'src/pears/a.ts → src/pears/b.ts → src/pears/a.ts: these files import each other in a circle',
  ],
  [
    'a circle of three files, of types alone',
    {
      'src/pears/a.ts': `import type { B } from './b.ts'`,
      'src/pears/b.ts': `import type { C } from './c.ts'`,
      'src/pears/c.ts': `export type { A } from './a.ts'`,
    },
    'src/pears/a.ts → src/pears/b.ts → src/pears/c.ts → src/pears/a.ts: these files import each other in a circle',
  ],
  [
    'two domains that import each other, each by a file of its own',
    { 'src/pears/graft.ts': `import type { pick } from '../apples/apples.ts'` },
    'src/apples/apples.ts → src/pears/pears.ts, src/pears/graft.ts → src/apples/apples.ts: src/apples → src/pears → src/apples is a circle of folders',
  ],
  [
    'a subfolder that imports a file of its folder',
    { 'src/pears/ripe/colour.ts': `import { pears } from '../size.ts'`, 'src/pears/size.ts': `export const size = 1` },
    'src/pears/pears.ts → src/pears/ripe/ripe.ts, src/pears/ripe/colour.ts → src/pears/size.ts: src/pears/* → src/pears/ripe → src/pears/* is a circle of folders',
  ],
  [
    'two subfolders that import each other',
    {
      'src/pears/ripe/colour.ts': `import { soft } from '../soft/soft.ts'`,
      'src/pears/soft/touch.ts': `import { ripe } from '../ripe/ripe.ts'`,
      'src/pears/soft/soft.ts': `export const soft = 1`,
    },
    'src/pears/ripe/colour.ts → src/pears/soft/soft.ts, src/pears/soft/touch.ts → src/pears/ripe/ripe.ts: src/pears/ripe → src/pears/soft → src/pears/ripe is a circle of folders',
  ],
  [
    'a file of src that is below one domain and above another that this one imports',
    {
      'src/seasons.ts': `import { press } from './pears/pears.ts'`,
      'src/pears/ripe/when.ts': `import type { season } from '../../seasons.ts'`,
    },
    'src/pears/ripe/when.ts → src/seasons.ts, src/seasons.ts → src/pears/pears.ts: src/pears → src/seasons.ts → src/pears is a circle of folders',
  ],
  [
    'a folder of 17 files',
    Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`src/plums/plum-${n}.ts`, ''])),
    'src/plums: has 17 files; a folder has at most 16',
  ],
  ['a file of 401 lines', { 'src/pears/long.ts': lines(401) }, 'src/pears/long.ts: has 401 lines; a file has at most 400'],
  ...['utils', 'lib', 'helpers', 'services', 'types', 'constants', 'index'].map((name): [string, Tree, string] => [
    `a file named ${name}`,
    { [`src/pears/${name}.ts`]: '' },
    `src/pears/${name}.ts: is named after no subject`,
  ]),
  ['a folder named lib', { 'src/lib/pips.ts': '' }, 'src/lib/pips.ts: is named after no subject'],
  [
    'a store that another domain enters',
    { 'src/apples/graft.ts': `import { pears } from '../pears/store.ts'` },
    'src/apples/graft.ts → src/pears/store.ts: a store is entered only from its own domain',
  ],
  [
    'a store with a longer name that another domain enters for a type',
    { 'src/apples/graft.ts': `import type { Row } from '../pears/ripe/colour-store.ts'`, 'src/pears/ripe/colour-store.ts': '' },
    'src/apples/graft.ts → src/pears/ripe/colour-store.ts: a store is entered only from its own domain',
  ],
  [
    'a store that a file of src enters',
    { 'src/schedule.ts': `import { pears } from './pears/store.ts'` },
    'src/schedule.ts → src/pears/store.ts: a store is entered only from its own domain',
  ],
  [
    'routes that a domain takes from another',
    { 'src/apples/graft.ts': `import { routes } from '../pears/routes.ts'` },
    'src/apples/graft.ts → src/pears/routes.ts: only src/app.ts mounts routes',
  ],
  [
    'a platform that knows a domain',
    { 'src/platform/time/harvest.ts': `import { ripe } from '../../extractors/cadence.ts'`, 'src/extractors/cadence.ts': '' },
    'src/platform/time/harvest.ts → src/extractors/cadence.ts: the platform knows no domain',
  ],
  [
    'a platform that knows the type of a file of src',
    { 'src/platform/time/harvest.ts': `import type { Season } from '../../seasons.ts'`, 'src/seasons.ts': '' },
    'src/platform/time/harvest.ts → src/seasons.ts: the platform knows no domain',
  ],
  [
    'a verb that touches Hono',
    { 'src/pears/graft.ts': `import type { Context } from 'hono'` },
    'src/pears/graft.ts → hono: only routes and platform/http touch Hono',
  ],
  [
    'a verb that touches a middleware of Hono',
    { 'src/pears/graft.ts': `import { zValidator } from '@hono/zod-validator'` },
    'src/pears/graft.ts → @hono/zod-validator: only routes and platform/http touch Hono',
  ],
  [
    'a verb that imports platform/http',
    { 'src/pears/graft.ts': `import { problem } from '../platform/http/problem.ts'` },
    'src/pears/graft.ts → src/platform/http/problem.ts: only routes and contracts import platform/http',
  ],
  [
    'a file of the Worker that writes the OpenAPI document',
    { 'src/platform/http/problem.ts': `import { document } from './openapi.ts'`, 'src/platform/http/openapi.ts': '' },
    'src/platform/http/problem.ts → src/platform/http/openapi.ts: no file of the Worker imports what writes the OpenAPI document',
  ],
  [
    'routes that enter their own store',
    { 'src/pears/ripe/ripe-routes.ts': `import { pears } from '../store.ts'`, 'src/pears/pears.ts': '' },
    'src/pears/ripe/ripe-routes.ts → src/pears/store.ts: routes never import a store or tables',
  ],
  [
    'routes that enter tables',
    { 'src/pears/routes.ts': `import { table } from './tables.ts'` },
    'src/pears/routes.ts → src/pears/tables.ts: routes never import a store or tables',
  ],
  [
    'a store that imports a contract at run time',
    { 'src/apples/store.ts': `import { Apple } from './contract.ts'` },
    'src/apples/store.ts → src/apples/contract.ts: a store imports no contract, routes or zod at run time',
  ],
  [
    'a store that imports zod',
    { 'src/pears/store.ts': `import * as z from 'zod'` },
    'src/pears/store.ts → zod: a store imports no contract, routes or zod at run time',
  ],
  [
    'a pure rule that queries',
    { 'src/extractors/cadence.ts': `import { drizzle } from 'drizzle-orm/d1'` },
    'src/extractors/cadence.ts → drizzle-orm/d1: src/extractors/cadence.ts is a pure rule',
  ],
  [
    'a pure rule that reaches a store by way of another file',
    {
      'src/extractors/cadence.ts': `import { rows } from './last.ts'`,
      'src/extractors/last.ts': `import { x } from './store.ts'`,
      'src/extractors/store.ts': '',
    },
    'src/extractors/cadence.ts → src/extractors/last.ts → src/extractors/store.ts: src/extractors/cadence.ts is a pure rule',
  ],
  [
    'two exported types of one name',
    { 'src/apples/size.ts': 'export interface Size {}', 'src/pears/size.ts': 'export type Size = 1' },
    'src/apples/size.ts, src/pears/size.ts: each exports a type Size',
  ],
  ...['settleRun', 'Lane', 'billingGate', 'Books', 'FactRow', 'termsOf', 'Standing', 'reckoning', 'Tally'].map(
    (name): [string, Tree, string] => [
      `the old word in ${name}`,
      { 'src/pears/words.ts': `export const ${name} = 1` },
      `src/pears/words.ts: ${name} – the glossary of AGENTS.md has another word`,
    ],
  ),
  [
    'an old word as the name of a type',
    { 'src/pears/words.ts': 'export abstract class HostGate {}' },
    'src/pears/words.ts: HostGate – the glossary of AGENTS.md has another word',
  ],
  ...['current_timestamp', 'current_date', 'unixepoch()', "('now'"].map((clock): [string, Tree, string] => [
    `SQL that asks the clock of the database: ${clock}`,
    { 'src/pears/store.ts': `const sql = \`select strftime${clock} where 1\`` },
    `src/pears/store.ts: ${clock} – SQL asks no clock; bind the time`,
  ]),
  [
    'SQL that adds up amounts',
    { 'src/pears/store.ts': `const sql = \`select sum(page.total_mxn) from pears page\`` },
    'src/pears/store.ts: sum(page.total_mxn – add amounts up in BigInt',
  ],
  [
    'a store that prepares a text',
    { 'src/pears/store.ts': `export const all = (d1: D1Database) => d1.prepare('select 1')` },
    'src/pears/store.ts: .prepare( – build it with the query builder, or with sql of drizzle',
  ],
  ...["'0.16'", '0.30 * net', '213_973', '24500'].map((literal): [string, Tree, string] => [
    `a rate or cap of the law: ${literal}`,
    { 'src/pears/vat.ts': `export const vat = ${literal}`, 'src/authority/sandbox/prices.ts': `export const price = ${literal}` },
    `src/pears/vat.ts: ${/[\d._]+/.exec(literal)![0]} – read it from rules/rules.ts`,
  ]),
  [
    'a line that is written to the console',
    { 'src/pears/pears.ts': `console.error('ripe')` },
    'src/pears/pears.ts: console.error – log with platform/log.ts',
  ],
  [
    'a variable of the environment',
    { 'src/pears/pears.ts': `export const seconds = (system: System) => Number(system.env.SPREAD_SECONDS)` },
    'src/pears/pears.ts: env.SPREAD_SECONDS – read system.settings',
  ],
  [
    'a secret of the environment, by its name as text',
    { 'src/pears/pears.ts': `export const keys = env['CIEC_KEYS']` },
    `src/pears/pears.ts: env['CIEC_KEYS – read system.settings`,
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
