import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { commandOf, LATEST, sqlOf } from './operator-commands.ts'
import { ROOT, wrangler } from './wrangler.ts'

const USAGE = `Records a payment or a plan. The service applies it within a minute.

  npm run billing                                   lists the latest commands and their results
  npm run billing -- pay inv_…                      marks an invoice as paid; where Stripe collects, record the payment at Stripe instead
  npm run billing -- settle inv_…                   marks it as settled, also where Stripe collects: void it there first
  npm run billing -- plan org_… starter [seats]     sets an organization's plan, and its seats where they differ from the plan's

  --env test | live   uses a hosted service; without it, the local one in STATE_DIR`

function parsed() {
  try {
    return parseArgs({ options: { env: { type: 'string' } }, allowPositionals: true })
  } catch {
    return { values: {}, positionals: ['?'] }
  }
}

const { values, positionals }: { values: { env?: string }; positionals: string[] } = parsed()
const command = commandOf(positionals)
const isHosted = values.env === 'test' || values.env === 'live'
if ((!command && positionals.length > 0) || (values.env !== undefined && !isHosted)) {
  console.error(USAGE)
  process.exit(1)
}
const where = isHosted
  ? ['--remote', '--env', values.env!]
  : ['--local', '--persist-to', resolve(ROOT, process.env['STATE_DIR'] || '.state')]
const statement = command ? sqlOf(command, randomUUID(), Date.now()) : LATEST

const answer = await wrangler('d1', 'execute', 'DB', ...where, '--json', '--command', statement)
const [{ results }] = JSON.parse(answer.slice(answer.indexOf('['))) as [{ results: Record<string, unknown>[] }]
if (!command) {
  for (const { created_at, ...row } of results)
    console.log([new Date(Number(created_at)).toISOString(), ...Object.values(row).filter((value) => value !== null)].join('  '))
  if (results.length === 0) console.log('No command has been recorded yet.')
  process.exit(0)
}
if (results.length === 0) {
  console.error(command.kind !== 'plan' ? 'There is no such open invoice.' : 'There is no such organization.')
  process.exit(1)
}
console.log(`Recorded for ${results[0]!['organization_id']}. \`npm run billing\` shows the result within a minute.`)
