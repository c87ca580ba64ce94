import { basename, join } from 'node:path'
import { unstable_readConfig } from 'wrangler'

interface Config {
  name: string
  compatibility_date: string
  vars: Record<string, string>
  d1_databases: { binding: string; migrations_dir: string }[]
  durable_objects: { bindings: { name: string; class_name: string }[] }
  queues: { producers: { binding: string; queue: string }[] }
}

/** What wrangler.toml says of local development. */
export const CONFIG = unstable_readConfig({ config: join(import.meta.dirname, '..', '..', 'wrangler.toml') }) as unknown as Config

/** The keyring of every purpose. */
export const KEY = `1:${Buffer.alloc(32, 7).toString('base64')}`
export const KEYS = Object.fromEntries(
  ['API_SECRET_KEYS', 'CIEC_KEYS', 'CURSOR_KEYS', 'WEBHOOK_KEYS', 'SESSION_KEYS'].map((name) => [name, KEY]),
)
const KEY_TEXTS = Object.entries(KEYS).map(([name, value]) => text(name, value))

function text(name: string, value: string): string {
  return `(name = "${name}", text = ${JSON.stringify(value)})`
}

/** A database by the name that the bench knows it under: `control`, `ledger`, `ledger_1`. */
export const DATABASES = CONFIG.d1_databases.map(({ binding, migrations_dir }) => ({
  binding,
  name: binding === 'DB' ? 'control' : binding.toLowerCase().replace(/_0$/, ''),
  migrations: basename(migrations_dir),
}))

const d1 = (binding: string, database: string): string =>
  `(name = "${binding}", wrapped = (moduleName = "cloudflare-internal:d1-api", innerBindings = [(name = "fetcher", service = (name = "storage", entrypoint = "D1", props = (json = ${JSON.stringify(JSON.stringify({ database }))})))]))`

/** Databases and the bucket, which stand-ins take the place of. */
export const STORAGE = [
  ...DATABASES.map(({ binding, name }) => d1(binding, name)),
  '(name = "FILES", r2Bucket = (name = "storage", entrypoint = "Files"))',
]

/** What the Worker for bare work has beside these. */
export const BARE = [d1('BARE', 'bare'), ...KEY_TEXTS]

export const CLASSES = CONFIG.durable_objects.bindings.map(({ class_name }) => class_name)

/** What the service is bound to but for its queues and its way out, with some variables that differ. */
export const serviceWith = (variables: Record<string, string>): string[] => [
  ...KEY_TEXTS,
  ...STORAGE,
  ...Object.entries({ ...CONFIG.vars, ...variables }).map(([name, value]) => text(name, value)),
  ...CONFIG.durable_objects.bindings.map(({ name, class_name }) => `(name = "${name}", durableObjectNamespace = "${class_name}")`),
  '(name = "ASSETS", service = "assets")',
  '(name = "PDF", service = (name = "service", entrypoint = "PdfReader"))',
]
export const SERVICE = serviceWith({})

/** The way out, and the purposes of the queues: each ends outside of workerd. */
export const OUTSIDE = ['egress', ...CONFIG.queues.producers.map(({ queue }) => queue)] as const

export const QUEUES = [
  '(name = "EGRESS", service = "egress")',
  '(name = "STORAGE_EGRESS", service = "egress")',
  ...CONFIG.queues.producers.map(({ binding, queue }) => `(name = "${binding}", queue = "${queue}")`),
]
