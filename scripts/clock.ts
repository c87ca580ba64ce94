import { clockSqlOf, daysOf } from './clock-command.ts'
import { executeInControlPlane, operatorRequest } from './control-plane.ts'

const USAGE = `Moves the clock of a sandbox forward, for all of its organizations; everything that would have happened meanwhile happens.

  npm run clock             says what time it is there
  npm run clock -- 30       moves it on by 30 days, from the next minute on

  --env test   uses a hosted sandbox; without it, the local service in STATE_DIR`

const { command, env } = operatorRequest(USAGE, daysOf)
if (env === 'live') {
  console.error('The clock of a live service is the real one.')
  process.exit(1)
}
const [row] = await executeInControlPlane<Record<'ahead' | 'ends_at', number> & { target: number | null }>(
  env,
  clockSqlOf(command, Date.now()),
)
if (command !== null && !row) {
  console.error('The clock is moving already.')
  process.exit(1)
}
const time = (at: number) => new Date(at).toISOString()
console.log(
  `It is ${time(Date.now() + (row?.ahead ?? 0))} there.${row && row.target !== null ? ` The clock is moving to ${time(row.ends_at)}.` : ''}`,
)
