import { parseArgs } from 'node:util'
import { ROOT, wranglerWithInput } from '../../scripts/wrangler.ts'
import { type Configuration, configurationOf, DeployError, type Environment, missingVariables, originOf } from './configuration.ts'
import { NOTHING, platformOf } from './platform.ts'
import { follow, stepsOf } from './steps.ts'
import type { HealthCheck } from './worker.ts'

const USAGE = `Deploys the service: makes what is missing, applies the migrations, uploads the Worker and checks the health. It can be run
again at any time, also after a failure.

  npm run deploy -- test                the hosted sandbox
  npm run deploy -- live                production
  npm run deploy -- live --dry-run      prints what it would do and changes nothing

It needs CLOUDFLARE_API_TOKEN and CLOUDFLARE_ACCOUNT_ID; a dry run without them does not look at what exists.`

const HEALTH_WITHIN_MS = 90_000
const LOOPBACK_WITHIN_MS = 1_500

function parsed(): { environment: Environment; isPlan: boolean } | null {
  try {
    const { values, positionals } = parseArgs({ options: { 'dry-run': { type: 'boolean' } }, allowPositionals: true })
    const [environment, ...rest] = positionals
    if ((environment !== 'test' && environment !== 'live') || rest.length > 0) return null
    return { environment, isPlan: values['dry-run'] === true }
  } catch {
    return null
  }
}

/** The first host of PUBLIC_HOSTS; for tests HEALTH_ORIGIN, on loopback alone. */
function healthOf(configuration: Configuration): HealthCheck {
  const origin = process.env['HEALTH_ORIGIN'] ?? ''
  if (origin === '') return { origin: originOf(configuration), withinMs: HEALTH_WITHIN_MS }
  if (!/^http:\/\/(127\.0\.0\.1|localhost|\[::1\]):\d+$/.test(origin))
    throw new DeployError(`HEALTH_ORIGIN must be http://127.0.0.1:{port} (or localhost, or [::1]), not “${origin}”.`)
  return { origin, withinMs: LOOPBACK_WITHIN_MS }
}

/** Prints the plan. It needs no account, and no variable that is still a placeholder stops it. */
async function plan(configuration: Configuration, token: string, account: string): Promise<void> {
  const canLook = token !== '' && account !== ''
  console.log(`What \`npm run deploy -- ${configuration.environment}\` would do. Nothing is changed.`)
  if (!canLook)
    console.log(
      'CLOUDFLARE_API_TOKEN or CLOUDFLARE_ACCOUNT_ID is not set, so it could not look at what exists already: the plan is for an empty ' +
        'account.',
    )
  for (const sentence of missingVariables(configuration)) console.log(`First: ${sentence}`)
  const platform = canLook ? platformOf(token, account) : NOTHING
  await follow(stepsOf(platform, configuration, wranglerWithInput, healthOf(configuration)), true, (line) => console.log(line))
}

async function deploy(configuration: Configuration, token: string, account: string): Promise<void> {
  const obstacles = missingVariables(configuration)
  if (token === '')
    obstacles.push(
      'CLOUDFLARE_API_TOKEN is not set: make a token at https://dash.cloudflare.com/profile/api-tokens with the permissions ' +
        '“Workers Scripts: Edit”, “D1: Edit”, “Queues: Edit” and “Workers R2 Storage: Edit”, and put it into that environment variable.',
    )
  if (account === '')
    obstacles.push(
      'CLOUDFLARE_ACCOUNT_ID is not set: put the id of your account there, which the overview of Workers in the dashboard shows.',
    )
  if (obstacles.length > 0) throw new DeployError(obstacles.join('\n'))
  const health = healthOf(configuration)
  await follow(stepsOf(platformOf(token, account), configuration, wranglerWithInput, health), false, (line) => console.log(line))
  console.log(`\`${configuration.environment}\` is deployed and healthy: ${health.origin}`)
  console.log('Commit wrangler.toml if it has new database ids.')
}

if (process.argv.slice(2).some((word) => word === '--help' || word === '-h')) {
  console.log(USAGE)
  process.exit(0)
}
const asked = parsed()
if (!asked) {
  console.error(USAGE)
  process.exit(1)
}
try {
  const configuration = await configurationOf(ROOT, asked.environment)
  const { CLOUDFLARE_API_TOKEN: token = '', CLOUDFLARE_ACCOUNT_ID: account = '' } = process.env
  await (asked.isPlan ? plan : deploy)(configuration, token, account)
} catch (error) {
  console.error(error instanceof DeployError ? error.message : error)
  process.exitCode = 1
}
