/**
 * `npm run mutants` measures how much the tests notice. It draws mutants of `src` (a comparison, a condition or an SQL predicate
 * that is changed), finds out in one run of the tests which test files reach each mutant, and runs those files until a test fails,
 * the ones with the most similar name first. The tree stays as it is: the changes are made while the sources are loaded.
 *
 *   --seed 11 --count 60   what is drawn: evenly over folders and kinds, by a hash of the line
 *   --again results.json   instead: the mutants of earlier results whose lines are still in the tree, wherever they lie
 *   --list                 lists what is drawn and runs nothing
 *   --only 7               runs one of them, the seventh
 *   --out results.json     the results, written after each mutant; a run that was stopped goes on from there. Remove them when the
 *                          tests or the sources have changed.
 *   --leave-out processes  names of test projects that are not run, because they test the service in a process of its own
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { drawMutants, type Mutant, mutantsOf } from './draw.ts'
import { findFailure, runTests } from './run.ts'
import { type Change, changesOf, markOf } from './sites.ts'

interface Result extends Mutant {
  status?: 'caught' | 'survived' | 'unreached'
  /** The test file that failed, the test, and what it said. */
  caughtBy?: string
  test?: string
  message?: string
  seconds?: number
}

interface Results {
  mutants: Result[]
  /** Of each test file: how long it takes in milliseconds, and the numbers of the mutants that it reaches. */
  tests: Record<string, { ms: number; reached: number[] }>
}

const ROOT = resolve(import.meta.dirname, '../..')
const MINUTE = 60_000

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '11' },
    count: { type: 'string', default: '60' },
    again: { type: 'string' },
    list: { type: 'boolean', default: false },
    only: { type: 'string' },
    out: { type: 'string', default: join(tmpdir(), 'mutants.json') },
    'leave-out': { type: 'string', multiple: true, default: ['node', 'samples'] },
  },
})
const given = (path: string): string => resolve(process.env['INIT_CWD'] ?? '.', path)
const read = (path: string): Results => JSON.parse(readFileSync(path, 'utf8'))

function draw(): Mutant[] {
  const all = mutantsOf(ROOT)
  if (values.again === undefined) return drawMutants(ROOT, all, values.seed, Number(values.count))
  const earlier = read(given(values.again)).mutants
  const again = earlier.flatMap(({ key }) => all.find((mutant) => mutant.key === key) ?? [])
  console.log(`${again.length} of the ${earlier.length} earlier mutants are still in the tree.`)
  return again
}

const describe = ({ file, line, kind, before, by }: Mutant): string =>
  `${file}:${line} ${kind}: ${[before, by].map((code) => code.replace(/\s+/g, ' ')).join(' → ')}`

/** Runs every test once with marks in the sources. */
async function reach(mutants: readonly Mutant[]): Promise<Results['tests']> {
  const changes: Record<string, Change[]> = {}
  for (const [n, mutant] of mutants.entries()) changes[mutant.file] = [...(changes[mutant.file] ?? []), ...markOf(mutant, n + 1)]
  const tests: Results['tests'] = {}
  const run = async (files: readonly string[]): Promise<string[]> => {
    const report = await runTests(ROOT, files, changes, values['leave-out'], 90 * MINUTE, 0)
    if (!report) throw new Error('The tests did not end within 90 minutes.')
    const failed = new Set(report.modules.flatMap(({ file, isPassed }) => (isPassed ? [] : [file])))
    for (const { file, ms, reached } of report.modules) {
      // A file that several projects include has as many modules.
      const known = tests[file] ?? { ms: 0, reached: [] }
      if (!failed.has(file)) tests[file] = { ms: known.ms + ms, reached: [...new Set([...known.reached, ...reached])] }
    }
    return [...failed]
  }
  const failed = await run([])
  for (const name of failed.length > 0 ? await run(failed) : []) console.log(`${name} fails without any mutant and is left out.`)
  return tests
}

const wordsOf = (path: string): string[] => path.match(/[a-z0-9]{3,}/g)!.map((word) => word.replace(/(ies|y|s)$/, ''))

/** The test files that reach a mutant: those with the most words of its path first, the fastest of them first. */
function testsOf({ file }: Mutant, n: number, tests: Results['tests']): string[] {
  const words = new Set(wordsOf(file.replace('src/', '')))
  const alike = (name: string): number => wordsOf(name).filter((word) => words.has(word)).length
  return Object.keys(tests)
    .filter((name) => tests[name]!.reached.includes(n))
    .sort((a, b) => alike(b) - alike(a) || tests[a]!.ms - tests[b]!.ms)
}

/** Runs one test file, then two, then four and so on, until a test fails. */
async function judge(mutant: Result, files: readonly string[], tests: Results['tests']): Promise<Result> {
  const began = Date.now()
  const seconds = (): number => Math.round((Date.now() - began) / 1000)
  for (let from = 0, size = 1; from < files.length; from += size, size *= 2) {
    const some = files.slice(from, from + size)
    const failure = await findFailure(async (names, isMutated) => {
      const limit = 2 * MINUTE + 5 * names.reduce((sum, name) => sum + tests[name]!.ms, 0)
      const changes = isMutated ? { [mutant.file]: changesOf(mutant) } : {}
      const report = await runTests(ROOT, names, changes, values['leave-out'], limit, 1)
      if (isMutated && report?.loaded.length === 0) throw new Error(`${mutant.file} was not loaded with its change.`)
      return report
    }, some)
    if (failure) {
      const { file, test, message } = failure
      return { ...mutant, status: 'caught', caughtBy: file, test, message, seconds: seconds() }
    }
  }
  return { ...mutant, status: files.length === 0 ? 'unreached' : 'survived', seconds: seconds() }
}

const drawn = draw()
if (values.list) for (const [n, mutant] of drawn.entries()) console.log(`${n + 1} ${describe(mutant)}\n    ${mutant.text}`)
else {
  const out = given(values.out)
  const earlier = existsSync(out) ? read(out) : undefined
  const goesOn = earlier?.mutants.map(({ key }) => key).join() === drawn.map(({ key }) => key).join()
  if (goesOn) console.log(`Goes on with the results in ${out}.`)
  const results: Results = goesOn ? earlier! : { mutants: drawn, tests: await reach(drawn) }
  const write = (): void => writeFileSync(out, JSON.stringify(results, null, 1))
  write()
  for (const [at, mutant] of results.mutants.entries()) {
    const n = at + 1
    if (values.only === undefined ? mutant.status !== undefined : n !== Number(values.only)) continue
    const result = await judge(mutant, testsOf(mutant, n, results.tests), results.tests)
    results.mutants[at] = result
    write()
    console.log(`${n}/${drawn.length} ${result.status} ${result.caughtBy ?? ''} (${result.seconds} s) ${describe(mutant)}`)
  }
  const counted = Map.groupBy(results.mutants, ({ status }) => status ?? 'not run')
  console.log([...counted].map(([status, some]) => `${some.length} ${status}`).join(', '))
}
