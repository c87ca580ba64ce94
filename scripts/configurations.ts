import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { configured, ROOT, type Section } from './wrangler.ts'

/**
 * Configurations for wrangler, which cannot inherit from another file: they are derived from wrangler.toml and that of
 * each other Worker of the service before each use and kept by nobody, so that they cannot fall behind.
 */

/** What wrangler.toml says of the Worker that answers requests alone. */
const OF_REQUESTS = ['name', 'main', 'build', 'env', 'migrations', 'routes', 'secrets', 'triggers']

/** The Workers that share what is in wrangler.toml. Each has its own part in the folder of its name; background work needs no rate limits. */
const SHARING = { background: ['ratelimits'], surfaces: [] }
type Sharing = keyof typeof SHARING

const entriesOf = (list: unknown): Section[] => (list as Section[] | undefined) ?? []
const inFolder = (path: unknown): string => join('..', String(path))
const isOfSurfaces = ({ binding }: Section): boolean => binding === 'SURFACES'

/** What such a Worker is, in one environment: all that it shares and what it has of its own. */
function whole(shared: Section, { build: _, ...own }: Section, without: readonly string[]): Section {
  const { d1_databases, services, durable_objects, queues, assets, ...rest } = Object.fromEntries(
    Object.entries(shared).filter(([name]) => !OF_REQUESTS.includes(name) && !without.includes(name)),
  ) as Record<string, Section>
  const flags = [shared, own].flatMap((one) => (one['compatibility_flags'] as string[] | undefined) ?? [])
  return {
    ...rest,
    ...own,
    ...(flags.length > 0 && { compatibility_flags: flags }),
    ...(assets && { assets: { ...assets, directory: inFolder(assets['directory']) } }),
    d1_databases: entriesOf(d1_databases).map((one) => ({ ...one, migrations_dir: inFolder(one['migrations_dir']) })),
    services: [...entriesOf(services).filter((one) => !isOfSurfaces(one)), ...entriesOf(own['services'])],
    durable_objects: { bindings: entriesOf(durable_objects!['bindings']).map((one) => ({ ...one, script_name: shared['name'] })) },
    queues: { ...queues, ...(own['queues'] as Section) },
    // The secrets come over a binding. With this table wrangler lets the environment of its process override the variables, which no option of
    // `wrangler dev` does for a second Worker.
    secrets: { required: [] },
  }
}

/** Writes the configuration of a Worker that shares and returns its path. */
function writeSharing(name: Sharing): string {
  const [shared, own] = [configured('wrangler.toml'), configured(`${name}/wrangler.toml`)]
  const [theirs, ours] = [shared, own].map(({ env }) => env as Record<string, Section>)
  const env = Object.entries(ours!).map(([environment, one]) => [environment, whole(theirs![environment]!, one, SHARING[name])])
  return write(`${name}/wrangler.json`, { ...whole(shared, own, SHARING[name]), env: Object.fromEntries(env) })
}

export const writeBackground = (): string => writeSharing('background')
export const writeSurfaces = (): string => writeSharing('surfaces')

/**
 * Writes the configuration of the Worker that answers requests, as `npm start` runs it, and returns its path: the local runtime fires every
 * cron at that Worker, which therefore has the one of background work behind a binding.
 */
export function writeLocal(): string {
  const { env: _, services, ...rest } = configured('wrangler.toml')
  const { name } = configured('background/wrangler.toml')
  return write('wrangler.local.json', { ...rest, services: [...entriesOf(services), { binding: 'BACKGROUND', service: name }] })
}

/**
 * Writes the configuration of the Worker that answers requests without its binding to the Worker of surfaces, and returns its path. Each of
 * the two is bound to the other, so that the first deployment of all has to begin without one binding.
 */
export function writeFirst(): string {
  const { env, services, ...rest } = configured('wrangler.toml')
  const unbound = (section: Section) => ({ ...section, services: entriesOf(section['services']).filter((one) => !isOfSurfaces(one)) })
  const environments = Object.entries(env as Record<string, Section>).map(([name, one]) => [name, unbound(one)])
  return write('wrangler.first.json', { ...unbound({ ...rest, services }), env: Object.fromEntries(environments) })
}

function write(file: string, configuration: Section): string {
  const path = join(ROOT, file)
  const text = `${JSON.stringify(configuration, null, 2)}\n`
  // A service that runs watches the file.
  if (textOf(path) !== text) {
    writeFileSync(`${path}.${process.pid}`, text)
    renameSync(`${path}.${process.pid}`, path)
  }
  return path
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}
