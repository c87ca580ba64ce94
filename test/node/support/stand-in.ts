import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DatabaseSync } from 'node:sqlite'

export const TOKEN = 'token-of-the-tests'
export const ACCOUNT = '0123456789abcdef0123456789abcdef'

interface Binding {
  type: string
  name: string
  id?: string
  queue_name?: string
  bucket_name?: string
  service?: string
  class_name?: string
  script_name?: string
  text?: string
}

interface Script {
  secrets: Map<string, string>
  bindings: Binding[]
  classes: string[]
  migrationTag: string | null
  crons: string[]
}

/** What the calls that are answered here have in their bodies. */
interface Body {
  name: string
  sql: string
  queue_name: string
  rules: { id: string }[]
  script_name: string
  secrets: Record<string, { name: string; text: string }>
}

/** A call of the API, without the address and the account: `POST /d1/database`. */
type Call = string

/** What becomes of a call: it is refused with this answer, or it is carried out and nobody hears of it. */
export type Cut = { status: number; code: number; message: string } | 'unanswered'

const REFUSED = Symbol('refused')
const refuse = (status: number, code: number, message: string) => ({ [REFUSED]: true, status, code, message })
type Refused = ReturnType<typeof refuse>
const isRefused = (answer: unknown): answer is Refused => typeof answer === 'object' && answer !== null && REFUSED in answer

/** The service's account on loopback: of the platform's API what a deployment calls, and /health of what was deployed. */
export class StandIn {
  databases = new Map<string, { name: string; sqlite: DatabaseSync }>()
  buckets = new Map<string, { id: string }[]>()
  queues = new Map<string, { name: string; consumers: { script: string; consumer_id: string }[] }>()
  scripts = new Map<string, Script>()
  calls: Call[] = []
  /** Asked for every call, with its number. */
  cut: (call: Call, number: number) => Cut | undefined = () => undefined
  /** What /health answers instead of what was deployed. */
  health: { status: number; body: object } | undefined
  #server: Server
  url = ''

  constructor() {
    this.#server = createServer((request, response) => void this.#serve(request, response))
  }

  async start(): Promise<this> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done))
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
    return this
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((done) => this.#server.close(done))
  }

  /** Adds a database and returns its id. */
  addDatabase(name: string): string {
    const id = randomUUID()
    this.databases.set(id, { name, sqlite: new DatabaseSync(':memory:') })
    return id
  }

  /** All that is there, without the ids that differ from run to run. */
  state() {
    const names = (entries: Iterable<{ name: string }>) => [...entries].map(({ name }) => name).sort()
    return {
      databases: [...this.databases.values()].map(({ name, sqlite }) => `${name}: ${migrationsIn(sqlite)}`).sort(),
      buckets: [...this.buckets].map(([name, rules]) => [name, rules]),
      queues: names(this.queues.values()),
      consumers: [...this.queues.values()].flatMap(({ name, consumers }) => consumers.map(({ script }) => `${name} → ${script}`)).sort(),
      scripts: [...this.scripts].map(([name, { secrets, bindings, crons }]) => ({
        name,
        secrets: [...secrets.keys()].sort(),
        bindings: bindings.map((one) => `${one.type} ${one.name}`).sort(),
        crons,
      })),
    }
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const url = new URL(request.url!, this.url)
    if (url.pathname === '/health') return this.#health(response)
    const path = url.pathname.replace(`/accounts/${ACCOUNT}`, '')
    const call: Call = `${request.method} ${path}`
    const cut = this.cut(call, this.calls.push(call))
    const answer =
      cut && cut !== 'unanswered'
        ? refuse(cut.status, cut.code, cut.message)
        : await this.#answer(request, url, call, Buffer.concat(chunks))
    if (cut === 'unanswered') return void response.destroy()
    const status = isRefused(answer) ? answer.status : 200
    const page = Number(url.searchParams.get('page') ?? 1)
    const size = Number(url.searchParams.get('per_page') ?? 20)
    const result = isRefused(answer) ? null : Array.isArray(answer) ? answer.slice((page - 1) * size, page * size) : (answer ?? null)
    response.writeHead(status, { 'content-type': 'application/json' }).end(
      JSON.stringify({
        success: status === 200,
        errors: isRefused(answer) ? [{ code: answer.code, message: answer.message }] : [],
        messages: [],
        result,
        ...(Array.isArray(answer)
          ? { result_info: { page, per_page: size, total_count: answer.length, total_pages: Math.ceil(answer.length / size) } }
          : {}),
      }),
    )
  }

  #health(response: ServerResponse): void {
    if (this.health) return void response.writeHead(this.health.status).end(JSON.stringify(this.health.body))
    const worker = [...this.scripts.values()].find(({ secrets, bindings }) => secrets.size > 0 && bindings.length > 0)
    const crons = [...this.scripts.values()].flatMap((script) => script.crons)
    const environment = worker?.bindings.find(({ name }) => name === 'ENVIRONMENT')?.text
    const isMigrated = [...this.databases.values()].every(({ sqlite }) => migrationsIn(sqlite) !== '')
    const isFed = [...this.queues.values()].every(({ consumers }) => consumers.length === 1)
    const isUp = worker?.secrets.size === 5 && crons.length === 3 && isMigrated && isFed
    response.writeHead(isUp ? 200 : 503).end(JSON.stringify({ status: isUp ? 'ok' : 'unavailable', environment }))
  }

  async #answer(request: IncomingMessage, url: URL, call: Call, body: Buffer): Promise<unknown> {
    if (request.headers.authorization !== `Bearer ${TOKEN}`) return refuse(401, 1000, 'Invalid API Token')
    if (!url.pathname.startsWith(`/accounts/${ACCOUNT}/`)) return refuse(404, 7003, `Could not route to ${url.pathname}`)
    const json = () => JSON.parse(body.toString()) as Body
    const [area, ...rest] = call.replace(/^\w+ \//, '').split('/')
    if (area === 'd1') return this.#d1(request.method!, rest.slice(1), json)
    if (area === 'r2') return this.#r2(request.method!, rest.slice(1), json)
    if (area === 'queues') return this.#queue(request.method!, rest, url.searchParams.getAll('name'), json)
    if (area === 'workers') return this.#workers(request, rest, body, json)
    return refuse(404, 10405, `The stand-in knows no ${call}.`)
  }

  #d1(method: string, [id, action]: string[], json: () => Body): unknown {
    const entry = ([uuid, { name }]: [string, { name: string }]) => ({ uuid, name })
    if (id === undefined && method === 'GET') return [...this.databases].map(entry)
    if (id === undefined) {
      const { name } = json()
      if ([...this.databases.values()].some((one) => one.name === name))
        return refuse(400, 7502, 'A database with that name already exists')
      return { uuid: this.addDatabase(name), name }
    }
    const database = this.databases.get(id)
    if (!database || action !== 'query') return refuse(404, 7404, `The database ${id} could not be found`)
    try {
      return [{ results: query(database.sqlite, json().sql), success: true, meta: { duration: 1 } }]
    } catch (error) {
      return refuse(400, 7500, (error as Error).message)
    }
  }

  #r2(method: string, [name, lifecycle]: string[], json: () => Body): unknown {
    if (name === undefined) {
      if (this.buckets.has(json().name)) return refuse(409, 10004, 'The bucket you tried to create already exists, and you own it.')
      // The platform gives every bucket a rule of its own.
      this.buckets.set(json().name, [{ id: 'Default Multipart Abort Rule' }])
      return {}
    }
    if (!this.buckets.has(name)) return refuse(404, 10006, 'The specified bucket does not exist.')
    if (lifecycle && method === 'PUT') this.buckets.set(name, json().rules)
    return lifecycle ? { rules: this.buckets.get(name) } : { name }
  }

  #queue(method: string, [id, consumers, consumer]: string[], names: string[], json: () => Body): unknown {
    const entry = ([queue_id, { name, consumers }]: [string, { name: string; consumers: object[] }]) => ({
      queue_id,
      queue_name: name,
      consumers: consumers.map((one) => ({ type: 'worker', ...one })),
    })
    if (id === undefined && method === 'GET')
      return [...this.queues].filter(([, { name }]) => names.length === 0 || names.includes(name)).map(entry)
    if (id === undefined) {
      const { queue_name: name } = json()
      if ([...this.queues.values()].some((one) => one.name === name)) return refuse(409, 11009, `The queue name '${name}' is already taken`)
      const queue_id = randomUUID()
      this.queues.set(queue_id, { name, consumers: [] })
      return { queue_id, queue_name: name }
    }
    const queue = this.queues.get(id)
    if (!queue || consumers !== 'consumers') return refuse(404, 11000, 'Queue not found')
    if (consumer === undefined) {
      if (queue.consumers.length > 0) return refuse(409, 11004, 'Queue already has a consumer')
      queue.consumers.push({ script: json().script_name, consumer_id: randomUUID() })
    }
    if (method === 'DELETE') return queue.consumers.splice(queue.consumers.findIndex(({ consumer_id }) => consumer_id === consumer))
    return queue.consumers[0]
  }

  async #workers(request: IncomingMessage, [kind, name, part]: string[], body: Buffer, json: () => Body): Promise<unknown> {
    const { method } = request
    if (kind === 'subdomain') return { subdomain: 'stand-in' }
    const script = this.scripts.get(name!)
    if (kind === 'workers') return { subdomain: { enabled: true, previews_enabled: false } }
    if (kind === 'scripts' && part === undefined && method === 'PUT') return this.#upload(name!, await partsOf(request, body))
    // The files of a Worker may come before the Worker.
    if (part === 'assets-upload-session') return { jwt: `${btoa('{}')}.${btoa('{}')}.signature`, buckets: [] }
    if (!script) return refuse(404, 10007, 'This Worker does not exist on your account.')
    if (kind === 'services') {
      const notified = {
        tag: 'tag',
        tags: [],
        last_deployed_from: 'wrangler',
        ...(script.migrationTag && { migration_tag: script.migrationTag }),
      }
      return { default_environment: { environment: 'production', script: notified } }
    }
    if (part === 'secrets') return [...script.secrets.keys()].map((one) => ({ name: one, type: 'secret_text' }))
    if (part === 'secrets-bulk') for (const { name: secret, text } of Object.values(json().secrets)) script.secrets.set(secret, text)
    if (part === 'versions') return this.#upload(name!, await partsOf(request, body))
    if (part === 'settings') return { bindings: script.bindings }
    if (part === 'deployments' && method === 'GET') return { deployments: [] }
    if (part === 'schedules') script.crons = (json() as unknown as { cron: string }[]).map(({ cron }) => cron)
    if (part === 'subdomain') return { enabled: true, previews_enabled: false }
    return {}
  }

  /** As the platform does, refuses what is bound to something that is not there. */
  #upload(name: string, { bindings = [], migrations }: { bindings?: Binding[]; migrations?: Migrations }): unknown {
    const before = this.scripts.get(name)
    const classes = [...(before?.classes ?? []), ...(migrations?.steps ?? []).flatMap((step) => step.new_sqlite_classes ?? [])]
    const known = new Set([...(before?.secrets.keys() ?? []), ...(before?.bindings ?? []).map((one) => one.name)])
    const queues = new Set([...this.queues.values()].map((queue) => queue.name))
    for (const one of bindings) {
      if (one.type === 'd1' && !this.databases.has(one.id!))
        return refuse(400, 10021, `binding ${one.name} of type d1 must have a valid \`id\``)
      if (one.type === 'queue' && !queues.has(one.queue_name!)) return refuse(400, 11000, `Queue ${one.queue_name} does not exist`)
      if (one.type === 'r2_bucket' && !this.buckets.has(one.bucket_name!))
        return refuse(400, 10085, `R2 bucket ${one.bucket_name} not found`)
      if (one.type === 'service' && !this.scripts.has(one.service!))
        return refuse(400, 10143, `Could not resolve service binding '${one.name}'`)
      if (one.type === 'inherit' && !known.has(one.name)) return refuse(400, 10057, `inherit binding '${one.name}' is invalid`)
      const defined = one.script_name ? (this.scripts.get(one.script_name)?.classes ?? []) : classes
      if (one.type === 'durable_object_namespace' && !defined.includes(one.class_name!))
        return refuse(400, 10061, `Cannot create binding for class ${one.class_name}`)
    }
    this.scripts.set(name, {
      secrets: before?.secrets ?? new Map(),
      crons: before?.crons ?? [],
      bindings: bindings.map((one) => (one.type === 'inherit' && before?.bindings.find(({ name }) => name === one.name)) || one),
      classes,
      migrationTag: migrations?.new_tag ?? before?.migrationTag ?? null,
    })
    const id = randomUUID()
    return { id, deployment_id: id, startup_time_ms: 1, resources: { script: { etag: 'etag' } } }
  }
}

interface Migrations {
  new_tag: string
  steps: { new_sqlite_classes?: string[] }[]
}

async function partsOf(request: IncomingMessage, body: Buffer): Promise<{ bindings?: Binding[]; migrations?: Migrations }> {
  const parts = await new Response(new Uint8Array(body), { headers: { 'content-type': request.headers['content-type']! } }).formData()
  return JSON.parse(String(parts.get('metadata')))
}

/** Runs statements as one transaction, as the platform does. */
function query(sqlite: DatabaseSync, sql: string): unknown[] {
  if (/^\s*select/i.test(sql)) return sqlite.prepare(sql).all()
  sqlite.exec('begin')
  try {
    sqlite.exec(sql)
    sqlite.exec('commit')
    return []
  } catch (error) {
    sqlite.exec('rollback')
    throw error
  }
}

function migrationsIn(sqlite: DatabaseSync): string {
  const [table] = sqlite.prepare(`select 1 from sqlite_master where name = 'd1_migrations'`).all()
  return table
    ? sqlite
        .prepare('select name from d1_migrations order by id')
        .all()
        .map(({ name }) => name)
        .join()
    : ''
}
