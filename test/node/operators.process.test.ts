import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ROOT } from '../../scripts/wrangler.ts'

/** Runs an operator's command that touches no service. */
const run = (script: string, ...words: string[]) =>
  new Promise<{ code: number; out: string; error: string }>((resolve) =>
    execFile(
      process.execPath,
      [join(ROOT, script === 'deploy' ? 'tools/deploy/deploy.ts' : `scripts/${script}.ts`), ...words],
      { cwd: ROOT },
      (failed, out, error) => resolve({ code: failed ? Number(failed.code) : 0, out, error }),
    ),
  )

const SCRIPTS = ['health', 'rates', 'rules', 'lists', 'dead-letters', 'billing', 'clock', 'deploy']

it('every command of an operator says with --help how it is used', async () => {
  for (const script of SCRIPTS) {
    const { code, out } = await run(script, '--help')
    expect([script, code, out]).toEqual([script, 0, expect.stringContaining(`npm run ${script}`)])
  }
})

it.each([
  ['a file that there is not', ['rates', 'gone.csv'], 'There is no file '],
  ['a list that is a folder', ['lists', 'docs'], ' cannot be read (EISDIR).'],
  ['a list that there is not', ['lists', 'a.csv', 'sat_70'], 'There is no list sat_70. The lists are sat_69b, '],
  ['a rule that there is not', ['rules', 'show', 'nonsense'], 'There is no rule nonsense. `npm run rules` lists them.'],
  ['an option that there is not', ['dead-letters', '--all'], 'There is no option --all.'],
  ['another environment', ['billing', '--env', 'prod'], '--env is test or live, not “prod”.'],
  ['an environment without a name', ['rates', '--env'], '--env needs test or live behind it.'],
  ['words that are no command', ['rules', 'delete', 'uma'], 'The command cannot be understood: delete uma'],
])('%s is refused in a sentence', async (_, [script = '', ...words], sentence) => {
  const { code, error } = await run(script, ...words)
  expect([code, error]).toEqual([1, expect.stringContaining(sentence)])
  // No trace of the program.
  expect(error).not.toMatch(/node:|\n\s+at /)
})
