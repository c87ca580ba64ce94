import { executeInControlPlane, operatorRequest } from './control-plane.ts'
import { DEAD_LETTERS, deadLetterCommandOf, deadLetterSqlOf } from './dead-letter-commands.ts'

const USAGE = `Shows dead letters, which failed: outbox events that could not be relayed, and messages that no consumer could handle.

  npm run dead-letters                          lists the latest with their reasons
  npm run dead-letters -- retry <id> | all      puts one back, or all: the event is relayed, or the message sent, again
  npm run dead-letters -- drop <id> | all       deletes one for good, or all

  --env test | live   uses a hosted service; without it, the local one in STATE_DIR

The service carries it out within a minute.`

const { command, env } = operatorRequest(USAGE, deadLetterCommandOf)
const results = await executeInControlPlane<Record<string, string | number>>(env, command ? deadLetterSqlOf(command) : DEAD_LETTERS)
if (command) {
  if (results.length === 0) {
    console.error('There is no such dead letter.')
    process.exit(1)
  }
  const what = command.wanted === 'retry' ? 'put back' : 'dropped'
  console.log(`${results.length} ${results.length === 1 ? 'dead letter is' : 'dead letters are'} ${what} within a minute.`)
} else {
  for (const { created_at, dead_letter_id, reason } of results)
    console.log(`${new Date(Number(created_at)).toISOString()}  ${dead_letter_id}\n  ${reason}`)
  const deadLetters = Number(results[0]?.['dead_letters'] ?? 0)
  console.log(
    deadLetters === 0 ? 'There are no dead letters.' : `${deadLetters} ${deadLetters === 1 ? 'dead letter' : 'dead letters'} in all.`,
  )
}
