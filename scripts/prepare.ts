/**
 * The build command of wrangler.toml: `node scripts/prepare.ts local|test|live`. For `wrangler dev` it makes the local secrets and applies
 * the migrations, so that a fresh clone works. For a deployment past `npm run deploy` it fails where that would leave a service that does
 * not work.
 */
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { buildConsole } from './console.ts'
import { configurationOf, placeholders } from './deploy/configuration.ts'
import { migrate } from './migrate.ts'
import { processes } from './processes.ts'
import { ensureSecrets } from './secrets.ts'
import { ROOT } from './wrangler.ts'

const environment = process.argv[2]
const command = process.env['WRANGLER_COMMAND']

/** Only the arguments of wrangler, which started this process through a shell, tell that it is a dry run. */
function isDryRun(): boolean {
  const all = new Map(processes().map((one) => [one.pid, one]))
  for (let one = all.get(process.ppid); one; one = all.get(one.parent)) {
    const words = one.command.split(' ')
    if (words.some((word) => /wrangler(-dist\/cli)?(\.js)?$/.test(word))) return words.includes('--dry-run')
  }
  return false
}

async function prepareLocal(): Promise<void> {
  const stateDir = join(ROOT, '.wrangler/state')
  const isFirst = !existsSync(stateDir)
  ensureSecrets(join(ROOT, '.dev.vars'))
  mkdirSync(stateDir, { recursive: true })
  await migrate(stateDir)
  if (isFirst) {
    console.log('The secrets are in .dev.vars and the databases in .wrangler/state have their migrations.')
    console.log('Requests alone are answered here. `npm start` keeps its own state in .state and also does the background work.')
  }
}

/** Why `wrangler deploy` must not go on, in sentences. */
async function obstacles(): Promise<string[]> {
  if (environment !== 'test' && environment !== 'live')
    return ['The top level of wrangler.toml is for local development. Deploy with `npm run deploy -- test` or `npm run deploy -- live`.']
  return placeholders(await configurationOf(ROOT, environment))
}

if (command !== 'types') buildConsole()
if (command === 'dev') {
  if (environment === 'local') await prepareLocal()
} else if (command !== 'types') {
  const found = await obstacles()
  if (found.length > 0 && !isDryRun()) {
    for (const sentence of found) console.error(sentence)
    process.exitCode = 1
  }
}
