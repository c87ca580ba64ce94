import { DurableObject } from 'cloudflare:workers'

/** What a statement is, and what the engine counted for it. */
export interface Ran {
  sql: string
  params: unknown[]
  rows_read: number
  rows_written: number
}

/** What happened since the recording began: D1 calls with their statements, and puts. */
export interface Recording {
  calls: { database: 'control' | 'ledger' | 'events'; statements: Ran[] }[]
  puts: number
}

interface Query {
  sql: string
  params?: unknown[]
}

interface Storage {
  DATABASES: DurableObjectNamespace
  DISK: Fetcher
}

let recording: Recording | null = null

/** D1's wire protocol over a Durable Object's SQLite: the engine, and the counters, that D1 has. */
export class Database extends DurableObject<Storage> {
  override async fetch(request: Request): Promise<Response> {
    const asked = await request.json<Query | Query[]>()
    const queries = Array.isArray(asked) ? asked : [asked]
    const statements: Ran[] = []
    try {
      const results = this.ctx.storage.transactionSync(() => queries.map((query) => this.#run(query, statements)))
      recording?.calls.push({ database: this.ctx.id.name as 'control' | 'ledger' | 'events', statements })
      return Response.json(results)
    } catch (error) {
      return Response.json({ success: false, error: (error as Error).message })
    }
  }

  #run({ sql, params = [] }: Query, statements: Ran[]) {
    const bound = params.map((value) => (Array.isArray(value) ? new Uint8Array(value as number[]).buffer : value))
    const cursor = this.ctx.storage.sql.exec(sql, ...(bound as SqlStorageValue[]))
    const rows = [...cursor.raw()]
    const { rowsRead: rows_read, rowsWritten: rows_written } = cursor
    if (recording) statements.push({ sql, params, rows_read, rows_written })
    const meta = {
      served_by: 'bench',
      duration: 0,
      changes: 0,
      last_row_id: 0,
      changed_db: rows_written > 0,
      size_after: 0,
      rows_read,
      rows_written,
    }
    return { success: true, results: { columns: cursor.columnNames, rows }, meta }
  }
}

const database = (name: 'control' | 'ledger' | 'events') => ({
  fetch: (request: Request, env: Storage) => env.DATABASES.getByName(name).fetch(request),
})

export const Control = database('control')
export const Ledger = database('ledger')
export const Events = database('events')

/** R2's wire protocol, as far as a put: a JSON header of the length that `cf-r2-metadata-size` says, then the bytes, which go to disk. */
export const Files = {
  async fetch(request: Request, { DISK }: Storage): Promise<Response> {
    const header = Number(request.headers.get('cf-r2-metadata-size') ?? Number.NaN)
    const body = new Uint8Array(await request.arrayBuffer())
    const { method, object } = JSON.parse(new TextDecoder().decode(body.subarray(0, header))) as { method: string; object: string }
    if (method !== 'put') return new Response(`The stand-in for R2 has no ${method}.`, { status: 501 })
    const value = body.subarray(header)
    await DISK.fetch(`http://disk/${object}`, { method: 'PUT', body: value })
    if (recording) recording.puts++
    const told = JSON.stringify({
      name: object,
      version: '1',
      size: value.length,
      etag: '0',
      uploaded: Date.now(),
      customFields: [],
      checksums: {},
    })
    return new Response(told, { headers: { 'cf-r2-metadata-size': String(told.length), 'content-type': 'application/json' } })
  },
}

/** For the bench itself: SQL past the bindings, and the recording. */
export default {
  async fetch(request: Request, env: Storage): Promise<Response> {
    const { pathname } = new URL(request.url)
    if (['/control', '/ledger', '/events'].includes(pathname)) return env.DATABASES.getByName(pathname.slice(1)).fetch(request)
    const recorded = recording
    recording = pathname === '/record' ? { calls: [], puts: 0 } : null
    return Response.json(recorded)
  },
}
