/**
 * Writes what the clients have of the OpenAPI document: `npm run clients`, after `npm run openapi`. The generators are installed into
 * clients/typescript and into a virtual environment beside clients/python; `python3` with `venv` is needed.
 */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './wrangler.ts'

const run = (command: string, args: readonly string[], cwd: string) => execFileSync(command, args, { cwd, stdio: 'inherit' })

const typescript = join(ROOT, 'clients/typescript')
if (!existsSync(join(typescript, 'node_modules'))) run('npm', ['ci', '--no-fund', '--no-audit'], typescript)
run('npm', ['run', '-s', 'generate'], typescript)

const python = join(ROOT, 'clients/python')
const own = join(python, '.venv/bin/python')
if (!existsSync(own)) {
  run('python3', ['-m', 'venv', '.venv'], python)
  run(own, ['-m', 'pip', 'install', '-q', '--disable-pip-version-check', '.[generate]'], python)
}
run(own, ['generate.py'], python)
