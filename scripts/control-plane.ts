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

const placeOf = (env: 'test' | 'live' | undefined): string[] =>
  env ? ['--remote', '--env', env] : ['--local', '--persist-to', resolve(ROOT, process.env['STATE_DIR'] || '.state')]

/** Executes a statement in the control plane of a hosted service, or of the local one in STATE_DIR, and returns its rows. */
export async function executeInControlPlane<Row>(env: 'test' | 'live' | undefined, sql: string): Promise<Row[]> {
  const answer = await wrangler('d1', 'execute', 'DB', ...placeOf(env), '--json', '--command', sql)
  const [{ results }] = JSON.parse(answer.slice(answer.indexOf('['))) as [{ results: Row[] }]
  return results
}

/** Below 128 KiB, the longest argument of a command on Linux. */
const MOST_BYTES = 100_000

/**
 * Executes statements there, as few commands as a command line allows; each command is a transaction. The database goes on serving
 * meanwhile, which it would not during an import of a file.
 */
export async function executeStatementsInControlPlane(env: 'test' | 'live' | undefined, statements: readonly string[]): Promise<void> {
  const commands: string[] = []
  for (const statement of statements) {
    const joined = `${commands.at(-1)};\n${statement}`
    if (commands.length > 0 && Buffer.byteLength(joined) <= MOST_BYTES) commands[commands.length - 1] = joined
    else commands.push(statement)
  }
  for (const command of commands) await executeInControlPlane(env, command)
}
