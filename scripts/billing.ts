import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { LATEST, orderOf, sqlOf } from './orders.ts'
import { ROOT, wrangler } from './wrangler.ts'

const USAGE = `Records what an operator knows; the service does it within a minute.

  npm run billing                                   what was recorded of late, and what became of it
  npm run billing -- pay inv_…                      an invoice was paid; where Stripe collects, record that with Stripe
  npm run billing -- settle inv_…                   it is settled, also where Stripe collects: void it there first
  npm run billing -- plan org_… starter [seats]     an organization's plan, with other seats than the plan's

  --env test | live   of a hosted service; without it the local one of STATE_DIR`

function parsed() {
  try {
    return parseArgs({ options: { env: { type: 'string' } }, allowPositionals: true })
  } catch {
    return { values: {}, positionals: ['?'] }
  }
}

const { values, positionals }: { values: { env?: string }; positionals: string[] } = parsed()
const order = orderOf(positionals)
const isHosted = values.env === 'test' || values.env === 'live'
if ((!order && positionals.length > 0) || (values.env !== undefined && !isHosted)) {
  console.error(USAGE)
  process.exit(1)
}
const where = isHosted
  ? ['--remote', '--env', values.env!]
  : ['--local', '--persist-to', resolve(ROOT, process.env['STATE_DIR'] || '.state')]
const statement = order ? sqlOf(order, randomUUID(), Date.now()) : LATEST

const answer = await wrangler('d1', 'execute', 'DB', ...where, '--json', '--command', statement)
const [{ results }] = JSON.parse(answer.slice(answer.indexOf('['))) as [{ results: Record<string, unknown>[] }]
if (!order) {
  for (const { created_at, ...row } of results)
    console.log([new Date(Number(created_at)).toISOString(), ...Object.values(row).filter((value) => value !== null)].join('  '))
  if (results.length === 0) console.log('Nothing was recorded yet.')
  process.exit(0)
}
if (results.length === 0) {
  console.error(order.kind !== 'plan' ? 'There is no such open invoice.' : 'There is no such organization.')
  process.exit(1)
}
console.log(`Recorded for ${results[0]!['organization_id']}. Within a minute \`npm run billing\` says what became of it.`)
