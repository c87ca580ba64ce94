import { circlesOfFiles, circlesOfRooms } from './circles.ts'
import { DESCRIPTIONS, PURE } from './pure.ts'
import { type Arrow, arrowsOf, codeOf, domainOf, exportsOf, filesOf, isContract, isRoutes, isStore, isTables, type Tree } from './tree.ts'

export interface Rule {
  name: string
  /** One line for each breach, with the arrow or the file that is at fault. */
  breaches: (tree: Tree) => string[]
}

/** The rooms of src. Folders inside one room may know each other; rooms are ordered. */
const ROOMS = 'app platform accounts taxpayers connections authority downloads cfdi analytics documents lists delivery copies'.split(' ')
const MOST_LINES = 600
const MOST_FILES = 650

const HTTP = 'src/platform/http/'
/** What makes the routes one app. */
const APP = 'src/app/app.ts'
/** What the sandbox invents has rates and prices of its own, and contracts give examples. */
const INVENTED = [/^src\/authority\/sandbox\//, /contract\.ts$/]
const SETTINGS = 'src/platform/settings.ts'
const LOG = 'src/platform/log.ts'

/** The rule that the tree has no such arrow. */
const noArrow = (name: string, isBreach: (arrow: Arrow) => boolean): Rule => ({
  name,
  breaches: (tree) =>
    arrowsOf(tree)
      .filter(isBreach)
      .map(({ from, to }) => `${from} → ${to}: ${name}`),
})

/** The rule that this pattern matches the code of no file, comments left out. */
const noCode = (name: string, pattern: (tree: Tree) => RegExp, except: readonly (string | RegExp)[], because: string): Rule => ({
  name,
  breaches: (tree) => {
    const forbidden = pattern(tree)
    return filesOf(tree)
      .filter((path) => !except.some((one) => (typeof one === 'string' ? path === one : one.test(path))))
      .flatMap((path) => [...codeOf(tree[path]!).matchAll(forbidden)].map(([found]) => `${path}: ${found} – ${because}`))
  },
})

const isOtherDomain = ({ from, to }: Arrow): boolean => domainOf(to) !== undefined && domainOf(from) !== domainOf(to)
const isHono = (to: string): boolean => /^(hono|@hono)(\/|$)/.test(to)
const isDatabase = (to: string): boolean => to.startsWith('drizzle-orm') || isStore(to) || isTables(to)

/** Names of variables and secrets, as the generated types of the environment list them. */
const variablesOf = (tree: Tree): string[] =>
  [...(tree['src/bindings.d.ts'] ?? '').matchAll(/^\s*([A-Z0-9_]+)\??: (?:string|")/gm)].map(([, name]) => name!)

/** Single words that the glossary has replaced. */
const OLD_WORDS = new RegExp(
  `^(${[
    'settle[sd]?|settling|settlement|lanes?|gates?|books?|facts?|terms|standings?|reckon(s|ed|ing)?|tall(y|ies)',
    'reach|reaches|stretch(es)?|hulls?|struck|told|untold|tells?|aside|bury|lacking|denied|strays?|portions?|held|holdings?',
    'odds?|doubt(s|ed|ful)?|askers?|patience|surroundings|causes|carried|careful|silent',
  ].join('|')})$`,
  'i',
)
const wordsOf = (name: string): string[] => name.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? []

/** What a file reaches at run time, over any number of imports, with the way there. */
function reached(path: string, arrows: ReadonlyMap<string, readonly Arrow[]>): Map<string, string[]> {
  const ways = new Map<string, string[]>([[path, [path]]])
  for (const [at, way] of ways)
    if (!DESCRIPTIONS.includes(at)) for (const { to } of arrows.get(at) ?? []) if (!ways.has(to)) ways.set(to, [...way, to])
  return ways
}

/** Every arrow of run time, by the file that it begins at. */
const arrowsAtRunTime = (tree: Tree): Map<string, Arrow[]> =>
  Map.groupBy(
    arrowsOf(tree).filter(({ isType }) => !isType),
    ({ from }) => from,
  )

const IMPURE = /^(cloudflare:|drizzle-orm\/d1|hono|@hono)/

export const RULES: readonly Rule[] = [
  { name: 'no file imports itself by way of others', breaches: circlesOfFiles },
  { name: 'no room imports itself by way of others', breaches: circlesOfRooms },
  {
    name: 'every folder of src is a room',
    breaches: (tree) => [
      ...new Set(
        filesOf(tree).flatMap((path) => {
          const room = domainOf(path)
          return room === undefined || ROOMS.includes(room) ? [] : [`src/${room}: is no room`]
        }),
      ),
    ],
  },
  noArrow('no room imports app', ({ from, to }) => domainOf(to) === 'app' && domainOf(from) !== undefined && domainOf(from) !== 'app'),
  {
    name: `no file has more than ${MOST_LINES} lines`,
    breaches: (tree) =>
      filesOf(tree).flatMap((path) => {
        const lines = tree[path]!.trimEnd().split('\n').length
        return lines > MOST_LINES ? [`${path}: has ${lines} lines; a file has at most ${MOST_LINES}`] : []
      }),
  },
  {
    name: `src has at most ${MOST_FILES} files`,
    breaches: (tree) => {
      const files = filesOf(tree).length
      return files > MOST_FILES ? [`src: has ${files} files; it has at most ${MOST_FILES}`] : []
    },
  },
  {
    name: 'every file and folder is named after what it is about',
    breaches: (tree) =>
      filesOf(tree)
        .filter((path) => path !== 'src/index.ts' && /\/(utils?|lib|helpers?|services?|types|constants|index)(\.ts$|\/)/.test(path))
        .map((path) => `${path}: is named after no subject`),
  },
  noArrow('a store is entered only from its own domain', (arrow) => isOtherDomain(arrow) && isStore(arrow.to)),
  noArrow('only src/app/app.ts mounts routes', ({ from, to }) => isRoutes(to) && from !== APP),
  noArrow(
    'the platform knows no domain',
    ({ from, to }) => domainOf(from) === 'platform' && to.startsWith('src/') && domainOf(to) !== 'platform',
  ),
  noArrow(
    'only routes and platform/http touch Hono',
    ({ from, to }) => isHono(to) && !isRoutes(from) && !from.startsWith(HTTP) && from !== APP,
  ),
  noArrow(
    'only routes and contracts import platform/http',
    ({ from, to }) => to.startsWith(HTTP) && !from.startsWith(HTTP) && !isRoutes(from) && !isContract(from) && from !== APP,
  ),
  noArrow('no file of the Worker imports a tool, such as the one that writes the OpenAPI document', ({ to }) => to.startsWith('tools/')),
  noArrow('routes never import a store or tables', ({ from, to }) => isRoutes(from) && isDatabase(to)),
  noArrow(
    'a store imports no contract, routes or zod at run time',
    ({ from, to, isType }) => !isType && isStore(from) && (isContract(to) || isRoutes(to) || isHono(to) || /^zod(\/|$)/.test(to)),
  ),
  {
    name: 'pure rules reach no database, no HTTP and no platform of Cloudflare',
    breaches: (tree) => {
      const arrows = arrowsAtRunTime(tree)
      return PURE.filter((path) => path in tree).flatMap((path) =>
        [...reached(path, arrows)].flatMap(([to, way]) =>
          IMPURE.test(to) || isStore(to) || isTables(to) ? [`${way.join(' → ')}: ${path} is a pure rule`] : [],
        ),
      )
    },
  },
  {
    name: 'no two exported types share a name',
    breaches: (tree) =>
      Object.entries(
        Object.groupBy(
          exportsOf(tree).filter(({ isType }) => isType),
          ({ name }) => name,
        ),
      ).flatMap(([name, all]) => {
        const paths = [...new Set(all!.map(({ path }) => path))]
        return paths.length > 1 ? [`${paths.join(', ')}: each exports a type ${name}`] : []
      }),
  },
  {
    name: 'comments name only files that exist',
    breaches: (tree) => {
      const names = new Set(Object.keys(tree).map((path) => path.slice(path.lastIndexOf('/') + 1)))
      return filesOf(tree).flatMap((path) =>
        [...tree[path]!.matchAll(/^\s*(?:\/\*\*|\*|\/\/)[^\n]*/gm)].flatMap(([line]) =>
          [...line.matchAll(/(docs\/)?\b([\w.-]+\.(?:ts|md))\b/g)].flatMap(([, docs, name]) =>
            docs || names.has(name!) ? [] : [`${path}: ${name} does not exist`],
          ),
        ),
      )
    },
  },
  {
    name: 'the old words of the glossary do not come back',
    breaches: (tree) =>
      exportsOf(tree).flatMap(({ path, name }) =>
        wordsOf(name).some((word) => OLD_WORDS.test(word)) ? [`${path}: ${name} – the glossary of AGENTS.md has another word`] : [],
      ),
  },
  noCode(
    'time in SQL comes from outside: the clock of the database is not the one that tests and ticks set',
    () => /current_timestamp|current_date|current_time\b|\('now'|unixepoch\(\)/gi,
    [],
    'SQL asks no clock; bind the time',
  ),
  noCode(
    'SQL adds up no amounts: its sum() fails beyond 2^63',
    () => /\b(?:sum|total)\([^()]*\b(?:\w+_micros|total_mxn|paid|credited|(?:iva|isr|ieps)_\w+)\b/gi,
    [],
    'add amounts up in BigInt',
  ),
  noCode(
    'statements are drizzle’s, and only platform/db prepares them',
    () => /\.prepare\(/g,
    [/^src\/platform\/db\//],
    'build it with the query builder, or with sql of drizzle',
  ),
  noCode(
    'rates and caps of the law are dated rules, never literals',
    () =>
      /\b(?:0\.(?:16|08|30|0125|1066\d*)0*|41[_,]?273|42[_,]?794|213[_,]?973|14[_,]?200|12[_,]?900|19[_,]?900|17[_,]?100|24[_,]?500|152[_,]?000)\b/g,
    INVENTED,
    'read it from authority/rules/rules.ts',
  ),
  noCode('only platform/log.ts writes to the console', () => /\bconsole\.\w+/g, [LOG], 'log with platform/log.ts'),
  noCode(
    'only platform/settings.ts reads the variables of the environment',
    (tree) => new RegExp(`\\benv\\??(?:\\.|\\[')(?:${variablesOf(tree).join('|') || '(?!)'})\\b`, 'g'),
    [SETTINGS],
    'read system.settings',
  ),
]
