import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export type Environment = 'test' | 'live'

/** An environment of wrangler.toml, as wrangler reads it. */
export interface Configuration {
  environment: Environment
  /** Absolute path of wrangler.toml. */
  file: string
  /** Name of the Worker. */
  worker: string
  databases: readonly { binding: string; name: string; id: string; migrations: string }[]
  buckets: readonly string[]
  queues: readonly string[]
  secrets: readonly string[]
  variables: Readonly<Record<string, string>>
}

/** Why the command stops, as a sentence that tells the operator what to do. */
export class DeployError extends Error {}

const isPlaceholder = (value: string): boolean => value.includes('replace-with-')

/** What is used of wrangler's own reading of a configuration, for which its package brings no types. */
interface Read {
  name: string
  d1_databases: { binding: string; database_name: string; database_id: string; migrations_dir: string }[]
  r2_buckets: { bucket_name: string }[]
  queues: { producers?: { queue: string }[]; consumers?: { queue: string }[] }
  secrets?: { required?: string[] }
  vars: Record<string, string>
}

export async function configurationOf(root: string, environment: Environment): Promise<Configuration> {
  // Wrangler takes most of a second to load, and only deployments need it here.
  const { unstable_readConfig } = await import('wrangler')
  const file = join(root, 'wrangler.toml')
  const { name, d1_databases, r2_buckets, queues, secrets, vars }: Read = unstable_readConfig({ config: file, env: environment })
  const names = [...(queues.producers ?? []), ...(queues.consumers ?? [])].map(({ queue }) => queue)
  return {
    environment,
    file,
    worker: name,
    databases: d1_databases.map(({ binding, database_name, database_id, migrations_dir }) => ({
      binding,
      name: database_name,
      id: database_id,
      migrations: join(root, migrations_dir),
    })),
    buckets: r2_buckets.map(({ bucket_name }) => bucket_name),
    queues: [...new Set(names)],
    secrets: secrets?.required ?? [],
    variables: vars,
  }
}

const WHAT_TO_PUT: Record<string, string> = {
  PUBLIC_HOSTS: 'put the host names under which the service will be reached there, separated by commas and without https://',
  CHECKOUT_URL: 'put the https:// address of the page there where your customers buy seats',
}

/** What an operator has to write into wrangler.toml before a deployment, a sentence for each variable. */
export function missingVariables({ environment, variables }: Configuration): string[] {
  const where = `in [env.${environment}.vars] of wrangler.toml`
  const open = Object.entries(variables).filter(([, value]) => isPlaceholder(value))
  const sentences = open.map(([name]) => `${name} ${where} is still a placeholder: ${WHAT_TO_PUT[name] ?? 'put its value there'}.`)
  const hosts = variables['PUBLIC_HOSTS'] ?? ''
  if (!isPlaceholder(hosts) && !/^[\w-]+(\.[\w-]+)+(:\d+)?$/.test(firstHost(hosts)))
    sentences.push(`PUBLIC_HOSTS ${where} does not begin with a host name: ${WHAT_TO_PUT['PUBLIC_HOSTS']}.`)
  for (const name of ['SAT_STAND_IN', 'WEBHOOK_SINK', 'STORAGE_SINK'])
    if (variables[name]) sentences.push(`${name} ${where} is for a laptop only: leave it empty, or the service does not start there.`)
  return sentences
}

/** The same, with the database ids, which only `npm run deploy` can fill in. */
export const placeholders = (configuration: Configuration): string[] => [
  ...missingVariables(configuration),
  ...configuration.databases
    .filter(({ id }) => isPlaceholder(id))
    .map(
      ({ name }) =>
        `The id of the database ${name} in wrangler.toml is still a placeholder: ` +
        `\`npm run deploy -- ${configuration.environment}\` makes the database and writes its id there.`,
    ),
]

const firstHost = (hosts: string): string => hosts.split(',')[0]!.trim()

/** Where the service is reached: an origin, and words in its place while there is none. */
export function originOf({ variables }: Configuration): string {
  const host = firstHost(variables['PUBLIC_HOSTS'] ?? '')
  return `https://${host === '' || isPlaceholder(host) ? '{the first host of PUBLIC_HOSTS}' : host}`
}

/** The id of a database in wrangler.toml, null while it is the placeholder. */
export const idOf = ({ id }: { id: string }): string | null => (isPlaceholder(id) ? null : id)

/** Puts the id of a database in the place of its placeholder: either the whole file is written or nothing. */
export function writeId(file: string, placeholder: string, id: string): void {
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, readFileSync(file, 'utf8').replaceAll(`"${placeholder}"`, `"${id}"`))
  renameSync(draft, file)
}
