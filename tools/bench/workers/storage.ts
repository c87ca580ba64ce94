import { DurableObject, WorkerEntrypoint } from 'cloudflare:workers'

/** What a statement is, and what the engine counted for it. */
export interface Ran {
  sql: string
  params: unknown[]
  rows_read: number
  rows_written: number
}

/** What happened since the recording began: D1 calls with their statements, and puts. */
export interface Recording {
  calls: { database: string; statements: Ran[] }[]
  puts: number
}

/** What was used since it was last asked for: the rows of each kind of statement, such as `ledger insert cfdi`, and R2 operations by class. */
export interface Used {
  statements: Record<string, { times: number; rows_read: number; rows_written: number }>
  calls: number
  class_a: number
  class_b: number
}

interface Query {
  sql: string
  params?: unknown[]
}

interface Storage {
  DATABASES: DurableObjectNamespace
  DISK: Fetcher
}

const unused = (): Used => ({ statements: {}, calls: 0, class_a: 0, class_b: 0 })

let recording: Recording | null = null
let used = unused()

const KIND = /\b(?:(insert)(?: or \w+)? into|(update)|(delete) from|(select)\b.*?\bfrom)\s+["`]?(\w+)?/is
const kinds = new Map<string, string>()

/** What a statement does, and to which table: `insert cfdi`. What it has in parentheses is left out, such as the parts of a `with`. */
function kindOf(sql: string): string {
  const known = kinds.get(sql)
  if (known !== undefined) return known
  let outer = sql
  for (let inner = ''; inner !== outer; ) {
    inner = outer
    outer = inner.replace(/\([^()]*\)/g, ' ')
  }
  const kind = KIND.exec(outer)?.slice(1).filter(Boolean).join(' ').toLowerCase() ?? 'other'
  kinds.set(sql, kind)
  return kind
}

function count(database: string, { sql, rows_read, rows_written }: Ran): void {
  const kind = `${database} ${kindOf(sql)}`
  const sum = used.statements[kind] ?? { times: 0, rows_read: 0, rows_written: 0 }
  used.statements[kind] = { times: sum.times + 1, rows_read: sum.rows_read + rows_read, rows_written: sum.rows_written + rows_written }
}

/** D1's wire protocol over a Durable Object's SQLite: the engine, and the counters, that D1 has. */
export class Database extends DurableObject<Storage> {
  override async fetch(request: Request): Promise<Response> {
    const asked = await request.json<Query | Query[]>()
    const queries = Array.isArray(asked) ? asked : [asked]
    const database = this.ctx.id.name!
    // As D1 answers: the client asks for columns and rows where it can make objects of them itself.
    const isPlain =
      new URL(request.url).searchParams.get('resultsFormat') === 'ROWS_AND_COLUMNS' || new URL(request.url).pathname.startsWith('/query/')
    const statements: Ran[] = []
    used.calls++
    try {
      const results = this.ctx.storage.transactionSync(() => queries.map((query) => this.#run(query, isPlain, statements)))
      recording?.calls.push({ database, statements })
      return Response.json(results)
    } catch (error) {
      return Response.json({ success: false, error: (error as Error).message })
    } finally {
      for (const ran of statements) count(database, ran)
    }
  }

  #run({ sql, params = [] }: Query, isPlain: boolean, statements: Ran[]) {
    const bound = params.map((value) => (Array.isArray(value) ? new Uint8Array(value as number[]).buffer : value))
    const cursor = this.ctx.storage.sql.exec(sql, ...(bound as SqlStorageValue[]))
    const results = isPlain ? { columns: cursor.columnNames, rows: [...cursor.raw()] } : cursor.toArray()
    const { rowsRead: rows_read, rowsWritten: rows_written } = cursor
    statements.push({ sql, params, rows_read, rows_written })
    const meta = {
      served_by: 'bench',
      duration: 0,
      changes: rows_written === 0 ? 0 : this.ctx.storage.sql.exec('select changes() as n').one()['n'],
      last_row_id: 0,
      changed_db: rows_written > 0,
      size_after: 0,
      rows_read,
      rows_written,
    }
    return { success: true, results, meta }
  }
}

/** A database by the name that its binding gives. */
export class D1 extends WorkerEntrypoint<Storage, { database: string }> {
  override fetch(request: Request): Promise<Response> {
    return this.env.DATABASES.getByName(this.ctx.props.database).fetch(request)
  }
}

interface Asked {
  method: 'get' | 'head' | 'list' | 'put' | 'delete'
  object: string
  objects?: string[]
  range?: { offset?: number; length?: number }
  prefix?: string
  limit?: number
  startAfter?: string
  cursor?: string
}

const sizes = new Map<string, number>()
const SIZE = 'cf-r2-metadata-size'
const urlOf = (object: string): string => `http://disk/${object}`
const wordsOf = (name: string) => ({
  ...{ name, version: '1', size: sizes.get(name) ?? 0, etag: '0', uploaded: Date.now(), customFields: [], checksums: {} },
})

/** What the binding is told: JSON, whose length a header states, and then maybe bytes. */
function notified(words: object, bytes = new Uint8Array()): Response {
  const head = new TextEncoder().encode(JSON.stringify(words))
  return new Response(new Blob([head, bytes]), { headers: { [SIZE]: String(head.length), 'content-type': 'application/json' } })
}

const missing = () =>
  new Response(null, {
    status: 404,
    headers: { 'cf-r2-error': JSON.stringify({ version: 1, v4code: 10_007, message: 'There is no such object.' }) },
  })

function list({ prefix = '', limit = 1_000, startAfter = '', cursor = startAfter }: Asked) {
  const names = [...sizes.keys()].filter((name) => name.startsWith(prefix) && name > cursor).sort()
  const page = names.slice(0, limit)
  return {
    objects: page.map(wordsOf),
    truncated: names.length > limit,
    delimitedPrefixes: [],
    ...(names.length > limit && { cursor: page.at(-1) }),
  }
}

/** R2's wire protocol, as far as the service speaks it. A write begins with JSON of the length that a header says; the values go to disk. */
export const Files = {
  async fetch(request: Request, { DISK }: Storage): Promise<Response> {
    if (request.method === 'GET') {
      const asked = JSON.parse(request.headers.get('cf-r2-request')!) as Asked
      if (asked.method === 'list') {
        used.class_a++
        return notified(list(asked))
      }
      used.class_b++
      if (!sizes.has(asked.object)) return missing()
      if (asked.method === 'head') return notified(wordsOf(asked.object))
      const value = new Uint8Array(await (await DISK.fetch(urlOf(asked.object))).arrayBuffer())
      const { offset = 0, length = value.length - offset } = asked.range ?? {}
      return notified({ ...wordsOf(asked.object), ...(asked.range && { range: { offset, length } }) }, value.slice(offset, offset + length))
    }
    const header = Number(request.headers.get(SIZE))
    const body = new Uint8Array(await request.arrayBuffer())
    const { method, object, objects = [object] } = JSON.parse(new TextDecoder().decode(body.subarray(0, header))) as Asked
    if (method === 'delete') {
      for (const name of objects) sizes.delete(name)
      return new Response()
    }
    if (method !== 'put') return new Response(`The stand-in for R2 has no ${method}.`, { status: 501 })
    const value = body.subarray(header)
    await DISK.fetch(urlOf(object), { method: 'PUT', body: value })
    sizes.set(object, value.length)
    used.class_a++
    if (recording) recording.puts++
    return notified(wordsOf(object))
  },
}

/** For the bench itself: SQL past the bindings, the recording, what was used, and the file of a database. */
export default {
  async fetch(request: Request, env: Storage): Promise<Response> {
    const [, what, name = ''] = new URL(request.url).pathname.split('/')
    if (what === 'query') return env.DATABASES.getByName(name).fetch(request)
    if (what === 'file') return Response.json(env.DATABASES.idFromName(name).toString())
    if (what === 'used') {
      const answer = Response.json(used)
      used = unused()
      return answer
    }
    const recorded = recording
    recording = what === 'record' ? { calls: [], puts: 0 } : null
    return Response.json(recorded)
  },
}
