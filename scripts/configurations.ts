import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { configured, ROOT, type Section } from './wrangler.ts'

/**
 * Configurations for wrangler, which cannot inherit from another file: they are derived from wrangler.toml and background/wrangler.toml
 * before each use and kept by nobody, so that they cannot fall behind.
 */

/** What wrangler.toml says of the Worker that answers requests alone. */
const OF_REQUESTS = ['name', 'main', 'build', 'env', 'migrations', 'ratelimits', 'routes', 'secrets', 'triggers']

const entriesOf = (list: unknown): Section[] => (list as Section[] | undefined) ?? []
const inFolder = (path: unknown): string => join('..', String(path))
const both = (): [shared: Section, own: Section] => [configured('wrangler.toml'), configured('background/wrangler.toml')]

/** What the Worker of background work is, in one environment: all that it shares and what it has of its own. */
function whole(shared: Section, { build: _, ...own }: Section): Section {
  const { d1_databases, services, durable_objects, queues, assets, ...rest } = Object.fromEntries(
    Object.entries(shared).filter(([name]) => !OF_REQUESTS.includes(name)),
  ) as Record<string, Section>
  const flags = [shared, own].flatMap((one) => (one['compatibility_flags'] as string[] | undefined) ?? [])
  return {
    ...rest,
    ...own,
    ...(flags.length > 0 && { compatibility_flags: flags }),
    ...(assets && { assets: { ...assets, directory: inFolder(assets['directory']) } }),
    d1_databases: entriesOf(d1_databases).map((one) => ({ ...one, migrations_dir: inFolder(one['migrations_dir']) })),
    services: [...entriesOf(services), ...entriesOf(own['services'])],
    durable_objects: { bindings: entriesOf(durable_objects!['bindings']).map((one) => ({ ...one, script_name: shared['name'] })) },
    queues: { ...queues, ...(own['queues'] as Section) },
    // The secrets come over a binding. With this table wrangler lets the environment of its process override the variables, which no option of
    // `wrangler dev` does for a second Worker.
    secrets: { required: [] },
  }
}

/** Writes the configuration of the Worker of background work and returns its path. */
export function writeBackground(): string {
  const [shared, own] = both()
  const [theirs, ours] = [shared, own].map(({ env }) => env as Record<string, Section>)
  const env = Object.entries(ours!).map(([name, one]) => [name, whole(theirs![name]!, one)])
  return write('background/wrangler.json', { ...whole(shared, own), env: Object.fromEntries(env) })
}

/**
 * Writes the configuration of the Worker that answers requests, as `npm start` runs it, and returns its path: the local runtime fires every
 * cron at that Worker, which therefore has the other one behind a binding.
 */
export function writeLocal(): string {
  const [{ env: _, services, ...rest }, own] = both()
  return write('wrangler.local.json', { ...rest, services: [...entriesOf(services), { binding: 'BACKGROUND', service: own['name'] }] })
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
