import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { applyChanges, changesOf, type Kind, parses, type Site, sitesOf } from './sites.ts'

export interface Mutant extends Site {
  /** From the root of the repository. */
  file: string
  line: number
  /** The first line of what is replaced, as it is in the source. */
  text: string
  before: string
  /** The same in every tree that has the line, wherever it lies. */
  key: string
}

/** Generated or only read by tools: the schema in a `tables.ts` is in the database by its migrations. */
const NOT_RUN = /\.d\.ts$|(^|\/)tables\.ts$/

const hash = (...parts: unknown[]): string => createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16)

/** Every mutant of the tree. */
export function mutantsOf(root: string): Mutant[] {
  const occurrences = new Map<string, number>()
  return globSync('src/**/*.ts', { cwd: root })
    .filter((file) => !NOT_RUN.test(file))
    .sort()
    .flatMap((file) => {
      const source = readFileSync(join(root, file), 'utf8')
      return sitesOf(source).map((site) => {
        const from = source.lastIndexOf('\n', site.start - 1) + 1
        const text = source.slice(from).split('\n', 1)[0]!.trim()
        const before = source.slice(site.start, site.end)
        const inLine = source.slice(from, site.start).trimStart().length
        const same = hash(text, inLine, before, site.by)
        const nth = occurrences.get(same) ?? 0
        occurrences.set(same, nth + 1)
        return { ...site, file, line: source.slice(0, site.start).split('\n').length, text, before, key: hash(same, nth) }
      })
    })
}

/** Draws mutants one after the other from each folder in turn, of each kind in turn. What does not parse is passed over. */
export function drawMutants(root: string, all: readonly Mutant[], seed: string, count: number): Mutant[] {
  const ranked = Map.groupBy(
    all.toSorted((a, b) => (hash(seed, a.key) < hash(seed, b.key) ? -1 : 1)),
    ({ file }) => dirname(file),
  )
  const folders = [...ranked.keys()].sort()
  const kinds: Kind[] = ['comparison', 'condition', 'predicate']
  const drawn: Mutant[] = []
  for (let round = 0; drawn.length < count && ranked.size > 0; round++)
    for (const [place, folder] of folders.entries()) {
      const rest = ranked.get(folder)
      if (!rest || drawn.length === count) continue
      const wanted = kinds.map((_, n) => kinds[(round + place + n) % kinds.length]!)
      const kind = wanted.find((one) => rest.some((mutant) => mutant.kind === one))
      const [mutant] = rest.splice(
        rest.findIndex((one) => one.kind === kind),
        1,
      )
      if (!mutant) ranked.delete(folder)
      else if (parses(applyChanges(readFileSync(join(root, mutant.file), 'utf8'), changesOf(mutant)))) drawn.push(mutant)
    }
  return drawn
}
