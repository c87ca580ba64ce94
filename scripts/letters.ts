import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { LETTERS, letterCommandOf, letterSqlOf } from './letter-commands.ts'
import { ROOT, wrangler } from './wrangler.ts'

const USAGE = `Shows what was put aside because it failed: outbox events that could not be relayed, and messages that no consumer could handle.

  npm run letters                          lists the latest with their reasons
  npm run letters -- retry <id> | all      puts one back, or all: the event is relayed, or the message sent, again
  npm run letters -- drop <id> | all       deletes one for good, or all

  --env test | live   uses a hosted service; without it, the local one in STATE_DIR

The service carries it out within a minute.`

function parsed() {
  try {
    return parseArgs({ options: { env: { type: 'string' } }, allowPositionals: true })
  } catch {
    return { values: {}, positionals: ['?'] }
  }
}

const { values, positionals }: { values: { env?: string }; positionals: string[] } = parsed()
const command = letterCommandOf(positionals)
const isHosted = values.env === 'test' || values.env === 'live'
if ((!command && positionals.length > 0) || (values.env !== undefined && !isHosted)) {
  console.error(USAGE)
  process.exit(1)
}
const where = isHosted
  ? ['--remote', '--env', values.env!]
  : ['--local', '--persist-to', resolve(ROOT, process.env['STATE_DIR'] || '.state')]
const answer = await wrangler('d1', 'execute', 'DB', ...where, '--json', '--command', command ? letterSqlOf(command) : LETTERS)
const [{ results }] = JSON.parse(answer.slice(answer.indexOf('['))) as [{ results: Record<string, string | number>[] }]
if (command) {
  if (results.length === 0) {
    console.error('There is no such letter.')
    process.exit(1)
  }
  const what = command.wanted === 'retry' ? 'put back' : 'dropped'
  console.log(`${results.length} ${results.length === 1 ? 'letter is' : 'letters are'} ${what} within a minute.`)
} else {
  for (const { created_at, dead_letter_id, reason } of results)
    console.log(`${new Date(Number(created_at)).toISOString()}  ${dead_letter_id}\n  ${reason}`)
  const letters = Number(results[0]?.['letters'] ?? 0)
  console.log(letters === 0 ? 'Nothing is put aside.' : `${letters} ${letters === 1 ? 'letter' : 'letters'} in all.`)
}
