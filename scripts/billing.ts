import { randomUUID } from 'node:crypto'
import { executeInControlPlane, operatorRequest } from './control-plane.ts'
import { commandOf, LATEST, sqlOf } from './operator-commands.ts'

const USAGE = `Records a payment or a plan. The service applies it within a minute.

  npm run billing                                   lists the latest commands and their results
  npm run billing -- pay inv_…                      marks an invoice as paid; where Stripe collects, record the payment at Stripe instead
  npm run billing -- settle inv_…                   marks it as settled, also where Stripe collects: void it there first
  npm run billing -- plan org_… starter [seats]     sets an organization's plan, and its seats where they differ from the plan's

  --env test | live   uses a hosted service; without it, the local one in STATE_DIR`

const { command, env } = operatorRequest(USAGE, commandOf)
const results = await executeInControlPlane<Record<string, unknown>>(env, command ? sqlOf(command, randomUUID(), Date.now()) : LATEST)
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
