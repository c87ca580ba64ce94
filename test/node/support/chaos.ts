import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Customer } from '../../../scripts/customer.ts'
import { zipOf } from '../../support/zip.ts'
import { type Endpoint, register } from './hooks.ts'
import { invoiceOf } from './uploads.ts'

export const SOURCES = { issued: 'sat_cfdi_issued', received: 'sat_cfdi_received' } as const
type Direction = keyof typeof SOURCES
export const REPORTS = ['fiscal-summary', 'revenue-expenses', 'payment-behavior', 'diot'] as const

/** A document as lists, changes and exports have it. */
export interface Row {
  uuid: string
  fiscal_entity_id: string
  direction: Direction
  kind: string
  tipo_comprobante: string | null
  metodo_pago: string | null
  moneda: string | null
  fecha: string
  issued_at: string
  emisor_rfc: string
  receptor_rfc: string
  counterparty: { rfc: string }
  estatus: string
  is_substituted: boolean
  total_mxn: string | null
  origin: 'authority' | 'import'
}

export interface Page<T> {
  data: T[]
  has_more: boolean
  next_cursor: string | null
}

// biome-ignore lint/suspicious/noExplicitAny: Answers of many routes.
type Answer = { status: number; body: any }

const DAY = 86_400_000
const MONTH_DAYS = 30
export const dayAgo = (days: number): string => new Date(Date.now() - days * DAY).toISOString().slice(0, 10)
const REPEATED_FOR = 300_000

/** When the service was killed, and when it was back. A request of that time may be cut, and is sent again. */
export class Outages {
  readonly #spans: { from: number; to: number }[] = []

  begin(): () => void {
    const span = { from: Date.now(), to: Number.POSITIVE_INFINITY }
    this.#spans.push(span)
    return () => {
      span.to = Date.now() + 1_000
    }
  }

  meets = (from: number, to: number): boolean => this.#spans.some((span) => from < span.to && to > span.from)
}

/** What an organization did with an RFC, as far as it decides what it may see. */
export class Connection {
  readonly rfc: string
  /** Empty until the service has answered. */
  id = ''
  /** The first days that its own runs asked for: no document before them may ever be shown. */
  readonly floors: Record<Direction, string>
  readonly imports: { import_id: string; uuids: string[]; isDeleted: boolean }[] = []
  /** Everything that it ever imported. */
  readonly imported = new Set<string>()
  readonly mirror = new Map<string, Row>()
  cursor: string | null = null
  isFollowed = false

  constructor(rfc: string, floor: string) {
    this.rfc = rfc
    this.floors = { issued: floor, received: floor }
  }

  ask(from: string, directions: readonly Direction[]): void {
    for (const one of directions) if (from < this.floors[one]) this.floors[one] = from
  }
}

const pick = <T>(random: () => number, list: readonly T[]): T => list[Math.floor(random() * list.length)]!

/** An organization that does many things at once. What it must never be shown it notes in `faults`. */
export class Tenant {
  /** With those that are being connected: a run of this time is one of theirs, too. */
  readonly #all: Connection[] = []
  readonly #running = new Set<{ from: string; directions: readonly Direction[] }>()
  readonly exports = new Set<string>()
  readonly answers = new Map<string, number>()
  readonly faults: string[] = []
  readonly customer: Customer
  readonly endpoint: Endpoint
  readonly path: string
  /** Those that its runs ask for; without extractors all is visible. */
  readonly months: number | null
  readonly #outages: Outages

  private constructor(customer: Customer, endpoint: Endpoint, path: string, months: number | null, outages: Outages) {
    this.customer = customer
    this.endpoint = endpoint
    this.path = path
    this.months = months
    this.#outages = outages
  }

  static async open(url: string, n: number, months: number | null, outages: Outages): Promise<Tenant> {
    const customer = await Customer.signUp(url, `Despacho ${n}`)
    await customer.ask('POST', '/v1/test-helpers/organization', { plan: 'enterprise_gold' })
    const catalog = await customer.ask<Page<{ key: string; available: boolean }>>('GET', '/v1/webhooks/event-catalog')
    const keys = catalog.data.filter(({ available }) => available).map(({ key }) => key)
    const path = `/${n}/200`
    const tenant = new Tenant(customer, await register(customer, path, keys), path, months, outages)
    for (const { extractor_id } of await customer.ask<{ extractor_id: string }[]>('GET', '/v1/extractors')) {
      const at = `/v1/extractors/${extractor_id}`
      if (months === null) await tenant.send('DELETE', at)
      else await customer.ask('PATCH', at, { scope: 'last_n_months', scope_months: months, data_source_keys: Object.values(SOURCES) })
    }
    return tenant
  }

  get connections(): Connection[] {
    return this.#all.filter(({ id }) => id !== '')
  }

  /** Sends a request until it is answered, under one key. */
  async send(method: string, path: string, sent?: object | Uint8Array): Promise<Answer> {
    const { api_key, api_secret } = this.customer.credential
    const type = sent instanceof Uint8Array ? 'application/zip' : 'application/json'
    const headers = {
      authorization: `Basic ${btoa(`${api_key}:${api_secret}`)}`,
      ...(method === 'POST' && { 'idempotency-key': randomUUID() }),
      ...(sent && { 'content-type': type }),
    }
    const body = sent && ((sent instanceof Uint8Array ? sent : JSON.stringify(sent)) as BodyInit)
    const what = `${method} ${path.split('?')[0]!.replace(/[a-z]+_[0-9a-z]{26}|[0-9A-F-]{36}/g, '{id}')}`
    for (const first = Date.now(); ; await sleep(250)) {
      const began = Date.now()
      const answer = await fetch(this.customer.url + path, { method, headers, ...(body && { body }), signal: AbortSignal.timeout(60_000) })
        .then(async (response) => ({ status: response.status, text: await response.text() }))
        .catch((error: unknown) => ({ status: 0, text: String(error) }))
      const { status, text } = answer
      const isBroken = status === 0 || status >= 500
      if (isBroken && !this.#outages.meets(began, Date.now()))
        this.faults.push(`${new Date().toISOString()} ${what}: ${status} ${text.slice(0, 300)}`)
      const code = /"code":"([a-z_.]+)"/.exec(status < 400 ? '' : text)?.[1] ?? ''
      const isWaiting = isBroken || code === 'idempotency.in_flight'
      const key = isBroken ? 'cut by a kill' : `${what}: ${status} ${code}`
      this.answers.set(key, (this.answers.get(key) ?? 0) + 1)
      if (isWaiting && Date.now() - first < REPEATED_FOR) continue
      return { status, body: text.startsWith('{') || text.startsWith('[') ? (path.endsWith('/content') ? text : JSON.parse(text)) : text }
    }
  }

  /** Reads a list by cursor. Null where the connection cannot be read. */
  async all<T>(path: string, limit = 100): Promise<T[] | null> {
    const rows: T[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { status, body }: Answer = await this.send(
        'GET',
        `${path}${path.includes('?') ? '&' : '?'}limit=${limit}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`,
      )
      if (status !== 200) return null
      rows.push(...body.data)
      // The feed of events has a cursor on its last page, too.
      cursor = body.has_more ? body.next_cursor : null
    }
    return rows
  }

  async list({ id }: Connection, limit = 100): Promise<Row[] | null> {
    return this.all<Row>(`/v1/cfdi?fiscal_entity_id=${id}`, limit)
  }

  /** Windows never become smaller: what was shown lies in those of a later moment, and they no further back than was asked for. */
  async look(what: string, connection: Connection, rows: readonly Row[]): Promise<void> {
    const { id, imported, floors } = connection
    const note = (fault: string): void => void this.faults.push(`${this.path} ${connection.rfc} ${what}: ${fault}`)
    if (new Set(rows.map(({ uuid }) => uuid)).size < rows.length) note('a document is there twice')
    const { status, body } = await this.send('GET', `/v1/fiscal-entities/${id}`)
    if (body.windows === undefined) return note(`its windows are not told: ${status} ${JSON.stringify(body).slice(0, 300)}`)
    for (const row of rows) {
      const name = `${row.direction} ${row.uuid} of ${row.fecha}`
      if (row.fiscal_entity_id !== id) note(`${name} is of ${row.fiscal_entity_id}`)
      if (row.origin === 'import') {
        if (!imported.has(row.uuid)) note(`${name} was imported by another organization`)
      } else if (this.months !== null) {
        const { visible_from, visible_to } = body.windows[SOURCES[row.direction]]
        const day = row.fecha.slice(0, 10)
        if (visible_from === null || day < visible_from || Date.parse(row.issued_at) > Date.parse(visible_to))
          note(`${name} is outside of ${visible_from} to ${visible_to}`)
        if (day < floors[row.direction]) note(`${name} is before ${floors[row.direction]}, the first day that was asked for`)
      }
    }
  }

  async connect(rfc: string): Promise<void> {
    const floor = this.months === null ? '2018-01-01' : dayAgo(this.months * MONTH_DAYS + 1)
    const connection = new Connection(rfc, floor)
    this.#all.push(connection)
    for (const { from, directions } of this.#running) connection.ask(from, directions)
    const { body } = await this.send('POST', '/v1/fiscal-entities', { rfc, ciec: 'secreta1' })
    connection.id = body.fiscal_entity_id ?? body.resource_id
    if (this.months === null) await this.send('POST', `/v1/fiscal-entities/${connection.id}/extractions`, this.extraction(400))
  }

  extraction = (days: number) => ({ data_source_keys: Object.values(SOURCES), from: dayAgo(days) })

  /** Applies what has changed, with the cursor, as a customer does in a transaction. */
  async follow(connection: Connection, limit: number): Promise<void> {
    if (connection.isFollowed) return
    connection.isFollowed = true
    const { id, mirror } = connection
    for (let isMore = true; isMore; ) {
      const cursor = connection.cursor && `&cursor=${encodeURIComponent(connection.cursor)}`
      const { status, body } = await this.send('GET', `/v1/cfdi/changes?fiscal_entity_id=${id}&limit=${limit}${cursor ?? ''}`)
      if (status !== 200) break
      for (const { uuid, cfdi } of body.data) {
        if (cfdi === null) mirror.delete(uuid)
        else mirror.set(uuid, cfdi)
      }
      connection.cursor = body.next_cursor
      isMore = body.has_more
      await this.look(
        'changes',
        connection,
        (body.data as { cfdi: Row | null }[]).flatMap(({ cfdi }) => cfdi ?? []),
      )
    }
    connection.isFollowed = false
  }

  async import(connection: Connection, random: () => number): Promise<void> {
    const { id, rfc, imported, imports } = connection
    const files = Array.from({ length: 1 + Math.floor(random() * 30) }, () => invoiceOf(rfc, 1))
    const uuids = files.map(({ name }) => name.slice(0, -'.xml'.length))
    for (const uuid of uuids) imported.add(uuid)
    // Some files come in two imports: one that is deleted leaves them to the other.
    for (let times = random() < 0.3 ? 2 : 1; times > 0; times--) {
      const { status, body } = await this.send('POST', `/v1/fiscal-entities/${id}/cfdi/imports`, zipOf(files))
      if (status < 300 || body.code === 'idempotency.done')
        imports.push({ import_id: body.import_id ?? body.resource_id, uuids, isDeleted: false })
    }
  }

  async deleteImport({ id, imports }: Connection, random: () => number): Promise<void> {
    const one = pick(random, imports)
    if (!one || one.isDeleted) return
    const { status } = await this.send('DELETE', `/v1/fiscal-entities/${id}/cfdi/imports/${one.import_id}`)
    if (status < 300 || status === 404) one.isDeleted = true
  }

  /** An extractor of a longer scope, which is gone once it has run. */
  async runOnce(random: () => number): Promise<void> {
    const scope_months = 1 + Math.floor(random() * 8)
    const directions = pick(random, [['issued'], ['received'], ['issued', 'received']] as Direction[][])
    const data_source_keys = directions.map((one) => SOURCES[one])
    const draft = {
      name: 'Una vez',
      trigger_kind: 'schedule',
      schedule_kind: 'daily',
      scope: 'last_n_months',
      scope_months,
      data_source_keys,
    }
    const run = { from: dayAgo(scope_months * MONTH_DAYS + 1), directions }
    this.#running.add(run)
    for (const one of this.#all) one.ask(run.from, directions)
    const { body } = await this.send('POST', '/v1/extractors', draft)
    const path = `/v1/extractors/${body.extractor_id ?? body.resource_id}`
    await this.send('POST', `${path}/run`)
    await this.send('DELETE', path)
    this.#running.delete(run)
  }

  async export({ id }: Connection, random: () => number): Promise<void> {
    const [kind, format] = pick(random, [
      ['cfdi', 'ndjson'],
      ['cfdi', 'xlsx'],
      ['conceptos', 'csv'],
      ['xml', 'zip'],
    ] as const)
    if (this.exports.size >= 8) return
    const { status, body } = await this.send('POST', '/v1/exports', { fiscal_entity_id: id, kind, format })
    if (status < 300 || body.code === 'idempotency.done') this.exports.add(body.export_id ?? body.resource_id)
  }

  async deleteExport(random: () => number): Promise<void> {
    const id = pick(random, [...this.exports])
    if (!id) return
    this.exports.delete(id)
    await this.send('DELETE', `/v1/exports/${id}`)
  }

  async pause({ id }: Connection, random: () => number): Promise<void> {
    await this.send('PATCH', `/v1/billing/rfcs/${id}`, { active: false })
    await sleep(random() * 3_000)
    await this.send('PATCH', `/v1/billing/rfcs/${id}`, { active: true })
  }

  async report({ id }: Connection, random: () => number): Promise<void> {
    const path = `/v1/reports/${pick(random, REPORTS)}`
    await this.send('POST', `${path}/refresh?fiscal_entity_id=${id}`)
    await this.send('GET', `${path}?fiscal_entity_id=${id}`)
  }

  /** What is refused, or answered with nothing; of another organization most of all. */
  async tryWrong(own: Connection, others: readonly Tenant[], random: () => number): Promise<void> {
    const other = pick(random, others)
    const { id, imports } = pick(random, other.connections)
    const [importId, exportId] = [imports[0]?.import_id ?? 'imp_1', [...other.exports][0] ?? 'exp_1']
    const requests: [string, string, object?][] = [
      ['GET', `/v1/cfdi?fiscal_entity_id=${id}`],
      ['GET', `/v1/cfdi/changes?fiscal_entity_id=${id}`],
      ['GET', `/v1/fiscal-entities/${id}/cfdi/imports/${importId}`],
      ['DELETE', `/v1/fiscal-entities/${own.id}/cfdi/imports/${importId}`],
      ['GET', `/v1/exports/${exportId}/content`],
      ['GET', `/v1/cfdi?fiscal_entity_id=${own.id}&cursor=wrong`],
      ['GET', `/v1/cfdi?fiscal_entity_id=${own.id}&limit=101`],
      ['POST', '/v1/exports', { fiscal_entity_id: id, kind: 'cfdi', format: 'csv' }],
      ['POST', '/v1/fiscal-entities', { rfc: 'no', ciec: 'secreta1' }],
      ['POST', `/v1/fiscal-entities/${own.id}/extractions`, { data_source_keys: ['sat_cfdi_issued'], from: 'tomorrow' }],
    ]
    const [method, path, body] = pick(random, requests)
    const { status } = await this.send(method, path, body)
    if (status < 400) this.faults.push(`${this.path} was answered ${status} to ${method} ${path}`)
  }

  /** One thing of many, as the numbers say. */
  async act(others: readonly Tenant[], spare: string[], random: () => number): Promise<void> {
    const one = pick(random, this.connections)
    const { id } = one
    const acts: [weight: number, deed: () => Promise<unknown>][] = [
      [20, async () => this.look('list', one, (await this.list(one, 20 + Math.floor(random() * 81))) ?? [])],
      [20, () => this.follow(one, 5 + Math.floor(random() * 96))],
      [
        10,
        () =>
          this.send('GET', `/v1/cfdi/summary/monthly?fiscal_entity_id=${id}&from=${dayAgo(200).slice(0, 7)}&to=${dayAgo(0).slice(0, 7)}`),
      ],
      [12, () => this.import(one, random)],
      [8, () => this.deleteImport(one, random)],
      [8, () => this.export(one, random)],
      [4, () => this.deleteExport(random)],
      [4, () => this.pause(one, random)],
      [
        3,
        () =>
          this.months === null
            ? this.send('POST', `/v1/fiscal-entities/${id}/extractions`, this.extraction(Math.floor(random() * 700)))
            : this.runOnce(random),
      ],
      [this.months === null ? 8 : 1, () => this.report(one, random)],
      [4, async () => spare.length > 0 && (await this.connect(spare.pop()!))],
      [4, () => this.check(one, random)],
      [8, () => this.tryWrong(one, others, random)],
    ]
    await pick(
      random,
      acts.flatMap(([weight, deed]) => Array<typeof deed>(weight).fill(deed)),
    )()
  }

  /** Asks for the status of a document, or has the authority cancel it. */
  async check(connection: Connection, random: () => number): Promise<void> {
    const uuid = pick(random, [...connection.mirror.keys()])
    if (!uuid) return
    const { id: fiscal_entity_id } = connection
    if (random() < 0.5) await this.send('POST', `/v1/cfdi/${uuid}/status-check?fiscal_entity_id=${fiscal_entity_id}`)
    else await this.send('POST', `/v1/test-helpers/cfdi/${uuid}/cancel`, { fiscal_entity_id })
  }
}
