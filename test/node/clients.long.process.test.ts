import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ROOT } from '../../scripts/wrangler.ts'
import { discard, freePort, freshState, Started } from './support/runner.ts'

const SLOW = 600_000
const folder = mkdtempSync(join(tmpdir(), 'clients-'))
const stateDir = freshState()
let service: Started

beforeAll(async () => {
  service = await Started.start(stateDir, await freePort())
}, SLOW)
afterAll(async () => {
  await discard(stateDir, [service])
  rmSync(folder, { recursive: true, force: true })
}, SLOW)

/** Runs a command to its end and returns its output; throws with all of it on failure. */
function run(command: string, args: readonly string[], cwd: string, more: Record<string, string> = {}): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, env: { ...process.env, ...more }, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status ?? error}:\n${stdout}\n${stderr}`)
  return stdout
}

const npm = (args: readonly string[], cwd: string) => run('npm', [...args, '--no-fund', '--no-audit', '--loglevel=error'], cwd)

/** The files below a folder with their texts. */
const textsIn = (root: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((one) => one.isFile())
      .map(({ parentPath, name }) => join(parentPath, name))
      .sort()
      .map((path) => [path.slice(root.length), readFileSync(path, 'utf8')]),
  )

/** What a journey finds: all documents, by the mirror as by the list. */
function expectWhole(found: string, more: object): void {
  const notified = JSON.parse(found.trim().split('\n').at(-1)!) as { listed: number; pageCount: number }
  expect(notified).toEqual({
    listed: expect.any(Number),
    isEqual: true,
    again: 0,
    pageCount: Math.ceil(notified.listed / 50),
    rowCount: 1,
    refusal: { status: 404, code: 'cfdi.not_found', hasId: true },
    signed: [true, false, false],
    ...more,
  })
  expect(notified.listed).toBeGreaterThan(100)
}

const { version } = (JSON.parse(readFileSync(join(ROOT, 'assets/openapi.test.json'), 'utf8')) as { info: { version: string } }).info

describe('the TypeScript client', () => {
  const source = join(ROOT, 'clients/typescript')
  const work = join(folder, 'typescript')

  it('is what its generator makes of the document, in the version of the API', { timeout: SLOW }, () => {
    cpSync(source, work, { recursive: true, filter: (path) => !/\/(node_modules|dist)$/.test(path) })
    npm(['ci'], work)
    const fresh = join(folder, 'api')
    run('npm', ['run', '-s', 'generate'], work, { DOCUMENT: join(ROOT, 'assets/openapi.test.json'), OUTPUT: fresh })
    expect(textsIn(fresh)).toEqual(textsIn(join(source, 'src/api')))
    expect(JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'))).toMatchObject({ version })
  })

  it('packed, compiles strictly in a project of its own and mirrors what it lists', { timeout: SLOW }, () => {
    npm(['pack', '--pack-destination', folder], work)
    const project = join(folder, 'customer')
    mkdirSync(project)
    writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'customer', private: true, type: 'module' }))
    npm(['install', join(folder, `fiscal-data-client-${version}.tgz`)], project)
    cpSync(join(source, 'test/journey.ts'), join(project, 'journey.ts'))
    const strict = [
      '--strict',
      '--noUncheckedIndexedAccess',
      '--exactOptionalPropertyTypes',
      '--target',
      'es2022',
      '--skipLibCheck',
      'false',
    ]
    const types = ['--module', 'nodenext', '--lib', 'es2023,dom,dom.iterable', '--types', 'node']
    const roots = ['--typeRoots', join(work, 'node_modules/@types')]
    run(process.execPath, [join(work, 'node_modules/typescript/bin/tsc'), ...strict, ...types, ...roots, 'journey.ts'], project)
    // Before and after byte arrays became generic.
    for (const old of ['5.6.3', '5.9.3']) {
      const compiler = ['exec', '--yes', `--package=typescript@${old}`, '--', 'tsc', '--noEmit']
      run('npm', [...compiler, ...strict, ...types, ...roots, 'journey.ts'], project)
    }
    expectWhole(run(process.execPath, ['journey.js', service.url, `ts.${Date.now()}@example.com`], project), {
      signed: [true, false, false, true],
      imported: 4,
    })
  })
})

/** Why a virtual environment of Python cannot be made here; null when it can. */
const withoutPython = (() => {
  try {
    execFileSync('python3', ['-c', 'import ensurepip, sys; sys.exit(sys.version_info < (3, 10))'], { stdio: 'ignore' })
    return null
  } catch {
    return 'python3 3.10 with venv is missing: apt-get install python3 python3-venv'
  }
})()

describe.skipIf(withoutPython)(`the Python client${withoutPython ? ` (skipped: ${withoutPython})` : ''}`, () => {
  const source = join(ROOT, 'clients/python')
  const work = join(folder, 'python')
  const python = join(folder, 'venv/bin/python')
  const pip = (...args: string[]) => run(python, ['-m', 'pip', 'install', '-q', '--disable-pip-version-check', ...args], folder)

  it('is what its generator makes of the document, in the version of the API', { timeout: SLOW }, () => {
    cpSync(source, work, { recursive: true, filter: (path) => !/\/(\.venv|__pycache__|dist|build)$/.test(path) })
    run('python3', ['-m', 'venv', join(folder, 'venv')], folder)
    pip(`${work}[generate,test]`, 'build==1.6.1')
    const fresh = join(folder, 'fresh')
    mkdirSync(fresh)
    run(python, ['generate.py', join(ROOT, 'assets/openapi.test.json'), fresh], work)
    const committed = textsIn(join(source, 'src/fiscal_data'))
    expect(textsIn(fresh)).toEqual(Object.fromEntries(Object.keys(textsIn(fresh)).map((name) => [name, committed[name]])))
    expect(readFileSync(join(source, 'pyproject.toml'), 'utf8')).toContain(`\nversion = "${version}"\n`)
  })

  it('packed, passes mypy strictly in a project of its own and mirrors what it lists', { timeout: SLOW }, () => {
    run(python, ['-m', 'build', '--wheel', '--outdir', folder, work], folder)
    run(python, ['-m', 'pip', 'uninstall', '-q', '-y', 'fiscal-data-client'], folder)
    pip(join(folder, `fiscal_data_client-${version}-py3-none-any.whl`))
    const project = join(folder, 'caller')
    mkdirSync(project)
    for (const script of ['journey.py', 'retries.py']) cpSync(join(source, 'test', script), join(project, script))
    run(python, ['-m', 'mypy', '--strict', 'journey.py', 'retries.py'], project)
    expectWhole(run(python, ['journey.py', service.url, `py.${Date.now()}@example.com`], project), {})
  })

  it('sends again what does no harm when it is repeated, and nothing else', { timeout: SLOW }, () => {
    run(python, ['retries.py'], join(folder, 'caller'))
  })
})
