import { configurationOf } from '../tools/deploy/configuration.ts'
import { executeIn, operatorRequest } from './control-plane.ts'
import { DATABASES, ROOT } from './wrangler.ts'

const USAGE = `Asks every database of a service whether it answers and has its migrations, which GET /health does not.

  npm run health

  --env test | live   asks those of a hosted service; without it, those of the local one in STATE_DIR`

/** As many commands as run at a time. */
const AT_ONCE = 4

const { env } = operatorRequest(USAGE, () => null)
const databases = (env ? (await configurationOf(ROOT, env)).databases : DATABASES).map(({ binding }) => binding)

/** What is wrong with a database; null when nothing is. */
async function faultOf(database: string): Promise<string | null> {
  try {
    await executeIn(database, env, 'select 1 from guards limit 1')
    return null
  } catch (error) {
    return /no such table/.test(String(error))
      ? `${database} has no migrations.`
      : `${database} does not answer: ${(error as Error).message}`
  }
}

const faults: string[] = []
const left = [...databases]
const work = async () => {
  for (let database = left.shift(); database; database = left.shift()) {
    const fault = await faultOf(database)
    if (fault !== null) faults.push(fault)
  }
}
await Promise.all(Array.from({ length: AT_ONCE }, work))
for (const fault of faults.sort()) console.error(fault)
if (faults.length === 0) console.log(`All ${databases.length} databases answer and have their migrations.`)
else process.exitCode = 1
