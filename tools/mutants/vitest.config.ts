import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { TestModule, VitestPluginContext } from 'vitest/node'
import config from '../../vitest.config.ts'
import { applyChanges, type Change } from './sites.ts'

/** What a run of test files found, written to a file when it ends. */
export interface Report {
  modules: { file: string; ms: number; reached: number[]; isPassed: boolean }[]
  failures: { file: string; test: string; message: string }[]
  /** The changed sources that were loaded. */
  loaded: string[]
}

const ROOT = resolve(import.meta.dirname, '../..')
const { changes, leftOut, report } = JSON.parse(readFileSync(process.env['MUTANTS_RUN']!, 'utf8')) as {
  /** By absolute path of the source file. */
  changes: Record<string, Change[]>
  /** Names of projects. */
  leftOut: string[]
  report: string
}

const loaded = new Set<string>()

const failuresOf = (module: TestModule): Report['failures'] => {
  const file = module.moduleId
  const tests = [...module.children.allTests('failed')].map((test) => ({
    file,
    test: test.fullName,
    message: test.result().errors?.[0]?.message ?? '',
  }))
  const suites = [module, ...module.children.allSuites()].flatMap((suite) =>
    suite.errors().map(({ message }) => ({ file, test: '', message })),
  )
  return [...tests, ...suites]
}

const reporter = {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly { message?: string }[]) {
    const written: Report = {
      modules: modules.map((module) => ({
        file: module.moduleId,
        ms: module.diagnostic().duration,
        reached: (module.meta() as { reached?: number[] }).reached ?? [],
        isPassed: module.state() !== 'failed',
      })),
      failures: [...modules.flatMap(failuresOf), ...errors.map(({ message = '' }) => ({ file: '', test: '', message }))],
      loaded: [...loaded],
    }
    writeFileSync(report, JSON.stringify(written))
  },
}

const plugin = {
  name: 'mutants',
  enforce: 'pre' as const,
  // A changed source must come neither from the cache of transformed modules nor into it.
  configureVitest: ({ defineCacheKeyGenerator }: VitestPluginContext): void =>
    defineCacheKeyGenerator(({ id }) => (changes[id] ? false : undefined)),
  transform(code: string, id: string) {
    if (!changes[id]) return undefined
    loaded.add(id)
    return { code: applyChanges(code, changes[id]), map: null }
  },
}

/** The tests' own configuration, with changed sources and a report of what ran. */
export default {
  ...config,
  test: {
    ...config.test,
    root: ROOT,
    reporters: [reporter],
    projects: config.test!.projects!.flatMap((project) => {
      if (typeof project !== 'object' || !('test' in project))
        throw new Error('A project of the tests is not written out in vitest.config.ts.')
      if (leftOut.includes(String(project.test?.name))) return []
      const setupFiles = [project.test?.setupFiles ?? [], join(import.meta.dirname, 'setup.ts')].flat()
      return [{ ...project, root: ROOT, plugins: [plugin, ...(project.plugins ?? [])], test: { ...project.test, setupFiles } }]
    }),
  },
}
