/**
 * The build command of wrangler.toml: `node scripts/prepare.ts local|test|live`. For `wrangler dev` it makes the local secrets and applies
 * the migrations, so that a fresh clone works. For a deployment past `npm run deploy` it fails where that would leave a service that does
 * not work.
 */
import { chmodSync, existsSync, mkdirSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { configurationOf, placeholders } from '../tools/deploy/configuration.ts'
import { buildConsole } from './console.ts'
import { migrate } from './migrate.ts'
import { processes } from './processes.ts'
import { ensureSecrets } from './secrets.ts'
import { ROOT } from './wrangler.ts'

const environment = process.argv[2]
const command = process.env['WRANGLER_COMMAND']

/** The arguments of wrangler, which started this process through a shell and tells it nothing of them. */
function argumentsOfWrangler(): string[] {
  const all = new Map(processes().map((one) => [one.pid, one]))
  for (let one = all.get(process.ppid); one; one = all.get(one.parent)) {
    const words = one.command.split(' ')
    const at = words.findIndex((word) => /wrangler(-dist\/cli)?(\.js)?$/.test(word))
    if (at >= 0) return words.slice(at + 1)
  }
  return []
}

/** The folder whose state `wrangler dev` serves: that of `--persist-to`, or wrangler's own. */
function stateDirIn(words: readonly string[]): string {
  const at = words.indexOf('--persist-to')
  const given = at >= 0 ? words[at + 1] : words.find((word) => word.startsWith('--persist-to='))?.slice('--persist-to='.length)
  return resolve(ROOT, given ?? '.wrangler/state')
}

async function prepareLocal(): Promise<void> {
  const stateDir = stateDirIn(argumentsOfWrangler())
  const isFirst = !existsSync(stateDir)
  process.umask(0o077)
  ensureSecrets(join(ROOT, '.dev.vars'))
  try {
    mkdirSync(stateDir, { recursive: true })
    // Also one that wrangler or an earlier version made.
    chmodSync(stateDir, 0o700)
  } catch (error) {
    console.error(
      `State cannot be kept in ${stateDir} (${(error as NodeJS.ErrnoException).code}). Choose another folder: --persist-to /tmp/fiscal`,
    )
    process.exitCode = 1
    return
  }
  await migrate(stateDir)
  if (isFirst) {
    console.log(`The secrets are in .dev.vars and the databases in ${relative(ROOT, stateDir) || '.'} have their migrations.`)
    console.log('`npm start` also fires the crons, which the local runtime does not do by itself.')
  }
}

/** Why `wrangler deploy` must not go on, in sentences. */
async function obstacles(): Promise<string[]> {
  if (environment !== 'test' && environment !== 'live')
    return ['The top level of wrangler.toml is for local development. Deploy with `npm run deploy -- test` or `npm run deploy -- live`.']
  return placeholders(await configurationOf(ROOT, environment))
}

if (command !== 'types') await buildConsole()
if (command === 'dev') {
  if (environment === 'local') await prepareLocal()
} else if (command !== 'types') {
  const found = await obstacles()
  if (found.length > 0 && !argumentsOfWrangler().includes('--dry-run')) {
    for (const sentence of found) console.error(sentence)
    process.exitCode = 1
  }
}
