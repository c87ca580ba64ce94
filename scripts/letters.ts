import { executeInControlPlane, operatorRequest } from './control-plane.ts'
import { LETTERS, letterCommandOf, letterSqlOf } from './letter-commands.ts'

const USAGE = `Shows what was put aside because it failed: outbox events that could not be relayed, and messages that no consumer could handle.

  npm run letters                          lists the latest with their reasons
  npm run letters -- retry <id> | all      puts one back, or all: the event is relayed, or the message sent, again
  npm run letters -- drop <id> | all       deletes one for good, or all

  --env test | live   uses a hosted service; without it, the local one in STATE_DIR

The service carries it out within a minute.`

const { command, env } = operatorRequest(USAGE, letterCommandOf)
const results = await executeInControlPlane<Record<string, string | number>>(env, command ? letterSqlOf(command) : LETTERS)
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
