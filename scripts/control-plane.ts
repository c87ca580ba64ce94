import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT, wrangler } from './wrangler.ts'

/**
 * What an operator's script is asked: its words, and where. Prints the usage and ends for `--help`, and with the reason when the words cannot
 * be understood: `commandOf` returns null, or throws an error that says why.
 */
export function operatorRequest<Command>(
  usage: string,
  commandOf: (words: readonly string[]) => Command | null,
): { command: Command | null; env: 'test' | 'live' | undefined } {
  const ended = (fault: string): never => {
    console.error(`${fault}\n\n${usage}`)
    process.exit(1)
  }
  const { env, isHelp, words } = parsed(ended)
  if (isHelp) {
    console.log(usage)
    process.exit(0)
  }
  if (env !== undefined && env !== 'test' && env !== 'live') return ended(`--env is test or live, not “${env}”.`)
  try {
    const command = commandOf(words)
    if (command !== null || words.length === 0) return { command, env }
  } catch (error) {
    return ended((error as Error).message)
  }
  return ended(`The command cannot be understood: ${words.join(' ')}`)
}

function parsed(ended: (fault: string) => never): { env: string | undefined; isHelp: boolean; words: string[] } {
  const options = { env: { type: 'string' }, help: { type: 'boolean', short: 'h' } } as const
  const { tokens } = parseArgs({ options, allowPositionals: true, strict: false, tokens: true })
  for (const token of tokens) {
    if (token.kind !== 'option') continue
    if (!Object.hasOwn(options, token.name)) ended(`There is no option ${token.rawName}.`)
    if (token.name === 'env' && token.value === undefined) ended('--env needs test or live behind it.')
    if (token.name === 'help' && token.value !== undefined) ended('--help has no value.')
  }
  const value = (name: string) => tokens.findLast((token) => token.kind === 'option' && token.name === name)
  const env = value('env')
  return {
    env: env?.kind === 'option' ? env.value : undefined,
    isHelp: value('help') !== undefined,
    words: tokens.flatMap((token) => (token.kind === 'positional' ? [token.value] : [])),
  }
}

/** The place of a file that an operator names, in the folder in which the command was given. */
export const locationOfFile = (file: string): string => resolve(process.env['INIT_CWD'] ?? '.', file)

/** The bytes of such a file. Throws an error that says that there is none, or that it cannot be read. */
export function givenFile(file: string): Buffer {
  const place = locationOfFile(file)
  try {
    return readFileSync(place)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new Error(code === 'ENOENT' ? `There is no file ${place}.` : `The file ${place} cannot be read (${code}).`)
  }
}

const targetOf = (env: 'test' | 'live' | undefined): string[] =>
  env ? ['--remote', '--env', env] : ['--local', '--persist-to', resolve(ROOT, process.env['STATE_DIR'] || '.state')]

/** Executes a statement in the control plane of a hosted service, or of the local one in STATE_DIR, and returns its rows. */
export const executeInControlPlane = <Row>(env: 'test' | 'live' | undefined, sql: string): Promise<Row[]> => executeIn('DB', env, sql)

/** The same in any of its databases. */
export async function executeIn<Row>(database: string, env: 'test' | 'live' | undefined, sql: string): Promise<Row[]> {
  const answer = await wrangler('d1', 'execute', database, ...targetOf(env), '--json', '--command', sql)
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
