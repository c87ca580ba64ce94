import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT, wrangler } from './wrangler.ts'

/** What an operator's script is asked: its words, and where. Prints the usage and ends when they cannot be understood. */
export function operatorRequest<Command>(
  usage: string,
  commandOf: (words: readonly string[]) => Command | null,
): { command: Command | null; env: 'test' | 'live' | undefined } {
  const { env, words } = parsed()
  const command = commandOf(words)
  const isEnvironment = env === undefined || env === 'test' || env === 'live'
  if (isEnvironment && (command !== null || words.length === 0)) return { command, env }
  console.error(usage)
  process.exit(1)
}

function parsed(): { env: string | undefined; words: string[] } {
  try {
    const { values, positionals } = parseArgs({ options: { env: { type: 'string' } }, allowPositionals: true })
    return { env: values.env, words: positionals }
  } catch {
    return { env: undefined, words: ['?'] }
  }
}

/** Executes a statement in the control plane of a hosted service, or of the local one in STATE_DIR, and returns its rows. */
export async function executeInControlPlane<Row>(env: 'test' | 'live' | undefined, sql: string): Promise<Row[]> {
  const where = env ? ['--remote', '--env', env] : ['--local', '--persist-to', resolve(ROOT, process.env['STATE_DIR'] || '.state')]
  const answer = await wrangler('d1', 'execute', 'DB', ...where, '--json', '--command', sql)
  const [{ results }] = JSON.parse(answer.slice(answer.indexOf('['))) as [{ results: Row[] }]
  return results
}
