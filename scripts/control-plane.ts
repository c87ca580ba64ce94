import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
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

/** Executes statements there, all or none. They go by a file, because a command line is too short for them. */
export async function executeStatementsInControlPlane(env: 'test' | 'live' | undefined, statements: readonly string[]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'statements-'))
  try {
    const file = join(folder, 'statements.sql')
    writeFileSync(file, statements.map((statement) => `${statement};\n`).join(''))
    await wrangler('d1', 'execute', 'DB', ...placeOf(env), '--yes', '--file', file)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
