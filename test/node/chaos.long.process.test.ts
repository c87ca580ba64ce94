import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { randomOf } from '../support/random.ts'
import { rfcOf } from './support/books.ts'
import { type Connection, dayAgo, Outages, REPORTS, type Row, SOURCES, Tenant } from './support/chaos.ts'
import { type Delivery, Hooks, isSigned } from './support/hooks.ts'
import { FINISHED_WITHIN, killAndReturn, Runners, victimOf } from './support/kills.ts'
import { authorityHas, lastDayOver } from './support/nights.ts'
import { discard, freePort, freshState, type Started, until } from './support/runner.ts'
import { deadLettersOf, inspect, isNotified } from './support/state.ts'

const MINUTES = Number(process.env['CHAOS_MINUTES'] ?? 10)
const KILLS = Math.max(2, Math.round(1.4 * MINUTES))
const SEED = Number(process.env['CHAOS_SEED'] ?? Date.now() % 1_000_000)
/** By organization: the months of its extractors. The last one has no extractors, so it sees everything. */
const MONTHS = [1, 3, 6, null]
/** Three RFCs that all have, and one that only this one has; the others come during the load. */
const [SHARED, WORKERS] = [3, 2]
const MINUTE = 60_000

interface Run {
  run_id: string
  status: string
  connections: number
  outcome: string | null
}

interface Event {
  event: string
  event_id: string
  fiscal_entity_id?: string
  run_id?: string
  job_id?: string
  succeeded_jobs?: number
  failed_jobs?: number
  readable_count?: number
}

interface Job {
  job_id: string
  fiscal_entity_id: string
  data_source_key: string
  period: string | null
  status: string
}

interface Month {
  source: string
  month: string
  status: string
  held_count: number
}

const hooks = await Hooks.open()
const runners = new Runners({ WEBHOOK_SINK: hooks.sink })
const state = freshState()
const outages = new Outages()
const tenants: Tenant[] = []
let service: Started
afterAll(async () => {
  await discard(state, runners.all)
  hooks.close()
})

const began = Date.now()
/** Shown where the test fails. */
const notify = (what: string) => console.info(`${((Date.now() - began) / 1_000).toFixed(1).padStart(6)} s  ${what}`)

const everywhere = async (check: (tenant: Tenant, connection: Connection) => Promise<unknown>): Promise<void> => {
  for (const tenant of tenants) for (const connection of tenant.connections) await check(tenant, connection)
}
/** A list that can be read whole. */
const listed = async <T>(tenant: Tenant, path: string): Promise<T[]> => (await tenant.all<T>(path)) ?? expect.fail(`${path} cannot be read`)
const documents = async (tenant: Tenant, connection: Connection, limit = 100): Promise<Row[]> =>
  (await tenant.list(connection, limit)) ?? expect.fail(`${connection.rfc} cannot be read`)
/** What a mirror has: rows by document, without the marks of lists, of which the changes do not tell. */
const mirrored = (rows: Iterable<Row>) =>
  [...rows]
    .map((row) => ({ ...row, counterparty: row.counterparty.rfc }))
    .sort((one, other) => (one.uuid + one.direction < other.uuid + other.direction ? -1 : 1))
const runsOf = (tenant: Tenant, { id }: Connection) => listed<Run>(tenant, `/v1/fiscal-entities/${id}/runs`)
const eventsOf = (tenant: Tenant) => listed<Event>(tenant, '/v1/events')
const uuidForm = async (tenant: Tenant, { id }: Connection): Promise<string> =>
  (await tenant.send('GET', `/v1/fiscal-entities/${id}`)).body.fiscal_entity_uuid

async function load(): Promise<void> {
  const end = Date.now() + MINUTES * MINUTE
  const working = tenants.flatMap((tenant, n) => {
    const spare = [rfcOf(20 + n), rfcOf(30), rfcOf(31 + (n % 2))]
    return Array.from({ length: WORKERS }, async (_, worker) => {
      const random = randomOf(SEED + 100 * n + worker)
      const others = tenants.filter((one) => one !== tenant)
      for (; Date.now() < end; await sleep(random() * 300)) await tenant.act(others, spare, random)
    })
  })
  const random = randomOf(SEED)
  const moments = Array.from({ length: KILLS }, () => Date.now() + random() * (MINUTES - 0.1) * MINUTE).sort((one, other) => one - other)
  for (const [round, moment] of moments.entries()) {
    await sleep(Math.max(moment - Date.now(), random() * 3_000))
    const back = outages.begin()
    const { port } = service
    const notified = `kill ${round}: ${victimOf(round)}`
    notify(notified)
    service = await killAndReturn(service, victimOf(round), () => runners.start(state, port), notified)
    back()
  }
  await Promise.all(working)
}

/** What has not come to its end. */
async function unfinished(): Promise<string[]> {
  const found: string[] = isNotified(state) ? [] : ['downloads or facts']
  for (const tenant of tenants) {
    const of = async <T>(path: string, isOpen: (one: T) => boolean) =>
      found.push(...(await listed<T>(tenant, path)).filter(isOpen).map((one) => `${path}: ${JSON.stringify(one).slice(0, 200)}`))
    await of<{ status: string }>('/v1/sync', ({ status }) => status !== 'idle')
    await of<{ status: string }>('/v1/exports', ({ status }) => status === 'queued' || status === 'running')
    await of<Delivery>(`/v1/webhooks/${tenant.endpoint.webhook_id}/deliveries`, ({ status }) => status === 'pending')
    for (const { id } of tenant.connections) {
      await of<{ status: string }>(`/v1/fiscal-entities/${id}/cfdi/imports`, ({ status }) => status !== 'completed')
      await of<Run>(
        `/v1/fiscal-entities/${id}/runs`,
        ({ status, outcome }) => status === 'planned' || (status === 'dispatched' && outcome === null),
      )
      // Elsewhere reports are refused, because the windows are bounded.
      for (const key of tenant.months === null ? REPORTS : []) {
        const report = await tenant.send('GET', `/v1/reports/${key}?fiscal_entity_id=${id}`)
        if (report.status !== 200) found.push(`${key} of ${id}: ${report.status}`)
      }
    }
  }
  return found
}

beforeAll(
  async () => {
    notify(`CHAOS_SEED=${SEED}, ${MINUTES} minutes, ${KILLS} kills`)
    service = await runners.start(state, await freePort())
    for (const [n, months] of MONTHS.entries()) {
      const tenant = await Tenant.open(service.url, n, months, outages)
      tenants.push(tenant)
      for (const rfc of [rfcOf(10 + n), ...Array.from({ length: SHARED }, (_, i) => rfcOf(i))]) await tenant.connect(rfc)
    }
    notify('set up')
    await load()
    notify('the load is over')
    let left: string[] = []
    await until(
      () => `everything has ended: ${left.slice(0, 10).join('\n')}`,
      3 * FINISHED_WITHIN,
      async () => {
        left = await unfinished()
        return left.length === 0
      },
      3_000,
    )
    notify('everything has ended')
    const answers = new Map<string, number>()
    for (const tenant of tenants) for (const [answer, times] of tenant.answers) answers.set(answer, (answers.get(answer) ?? 0) + times)
    notify(
      [...answers]
        .sort()
        .map(([answer, times]) => `${String(times).padStart(6)} ${answer}`)
        .join('\n'),
    )
  },
  (2 * MINUTES + 15) * MINUTE,
)

describe(
  `after ${MINUTES} minutes of many organizations and ${KILLS} SIGKILLs (CHAOS_SEED=${SEED})`,
  () => {
    it('nothing was broken, was told to a stranger or lay outside of a window at any time', () => {
      expect(tenants.flatMap(({ faults }) => faults)).toEqual([])
    })

    it('lists have each document once, whatever the length of a page: those that the authority has and those of the imports that are left', async () => {
      let found = 0
      const incomplete: string[] = []
      await everywhere(async (tenant, connection) => {
        const rows = await documents(tenant, connection)
        await tenant.look('list', connection, rows)
        expect(await documents(tenant, connection, 37)).toEqual(rows)
        const kept = connection.imports.filter(({ isDeleted }) => !isDeleted)
        const made = await listed<{ import_id: string }>(tenant, `/v1/fiscal-entities/${connection.id}/cfdi/imports`)
        expect(made.map(({ import_id }) => import_id).sort()).toEqual(kept.map(({ import_id }) => import_id).sort())
        const imported = rows.filter(({ origin }) => origin === 'import').map(({ uuid }) => uuid)
        expect(imported.sort()).toEqual([...new Set(kept.flatMap(({ uuids }) => uuids))].sort())
        const coverage = await listed<Month>(tenant, `/v1/fiscal-entities/${connection.id}/coverage?from=2018-01`)
        for (const [direction, source] of Object.entries(SOURCES)) {
          const complete = coverage.filter((one) => one.source === source && one.status === 'complete').map(({ month }) => month)
          const from: string = (await tenant.send('GET', `/v1/fiscal-entities/${connection.id}`)).body.windows[source].visible_from
          const past = coverage.filter(
            (one) => one.source === source && one.month >= from.slice(0, 7) && one.month < lastDayOver().slice(0, 7),
          )
          incomplete.push(...past.filter(({ month }) => !complete.includes(month)).map((one) => `${tenant.path} ${JSON.stringify(one)}`))
          const shown = rows.filter(
            (row) =>
              row.origin === 'authority' &&
              row.direction === direction &&
              complete.includes(row.fecha.slice(0, 7)) &&
              row.fecha.slice(0, 10) <= lastDayOver(),
          )
          const cells = complete.map((month) => ({ rfc: connection.rfc, source, month }))
          expect(shown.map(({ uuid }) => `${direction} ${uuid}`).sort()).toEqual(
            authorityHas(cells, tenant.months === null ? '2018-01-01' : from, lastDayOver()),
          )
          found += shown.length
        }
      })
      expect(tenants.flatMap(({ faults }) => faults)).toEqual([])
      expect(incomplete).toEqual([])
      expect(found).toBeGreaterThan(500)
    })

    it('what was followed by the changes equals the list, and so does what they tell from the beginning', async () => {
      await everywhere(async (tenant, connection) => {
        await tenant.follow(connection, 50)
        const rows = mirrored(await documents(tenant, connection))
        expect(mirrored(connection.mirror.values())).toEqual(rows)
        connection.mirror.clear()
        connection.cursor = null
        await tenant.follow(connection, 100)
        expect(mirrored(connection.mirror.values())).toEqual(rows)
      })
    })

    it('exports equal the list', async () => {
      for (const tenant of tenants) {
        const kept = await listed<{ export_id: string }>(tenant, '/v1/exports')
        expect(kept.map(({ export_id }) => export_id).sort()).toEqual([...tenant.exports].sort())
        for (const id of tenant.exports) {
          const { body } = await tenant.send('GET', `/v1/exports/${id}`)
          // Its connection may have been paused when it was its turn.
          if (body.error_code === 'fiscal_entity.not_active') continue
          expect(body).toMatchObject({ status: 'ready', error_code: null })
          const { body: content } = await tenant.send('GET', `/v1/exports/${id}/content`)
          if (body.format !== 'ndjson') continue
          const rows: Row[] = content
            .split('\n')
            .filter(Boolean)
            .map((line: string) => JSON.parse(line))
          expect(rows).toHaveLength(body.rows)
          await tenant.look('export', tenant.connections.find((one) => one.id === body.fiscal_entity_id)!, rows)
        }
        const made = await Promise.all(
          tenant.connections.map(async (connection) => {
            const { body } = await tenant.send('POST', '/v1/exports', { fiscal_entity_id: connection.id, kind: 'cfdi', format: 'ndjson' })
            return { connection, path: `/v1/exports/${body.export_id}` }
          }),
        )
        for (const { connection, path } of made) {
          await until('the export is ready', FINISHED_WITHIN, async () => (await tenant.send('GET', path)).body.status === 'ready', 500)
          const { body } = await tenant.send('GET', `${path}/content`)
          const rows: Row[] = body
            .split('\n')
            .filter(Boolean)
            .map((line: string) => JSON.parse(line))
          expect(rows).toEqual(await documents(tenant, connection))
        }
      }
      expect(tenants.flatMap(({ faults }) => faults)).toEqual([])
    })

    it('summaries equal the sums over lists', async () => {
      let months = 0
      await everywhere(async (tenant, connection) => {
        const path = `/v1/cfdi/summary/monthly?fiscal_entity_id=${connection.id}&from=${dayAgo(800).slice(0, 7)}&to=${dayAgo(0).slice(0, 7)}`
        const counted = (await documents(tenant, connection)).filter((row) => row.kind === 'cfdi' && row.emisor_rfc !== row.receptor_rfc)
        const { body } = await tenant.send('GET', path)
        for (const { month, direction, count, cancelled_count, substituted_count, by_tipo, total, pue_total, ppd_total } of body.data) {
          const rows = counted.filter((row) => row.direction === direction && row.fecha.startsWith(month))
          const valid = rows.filter(({ estatus, is_substituted }) => estatus === 'vigente' && !is_substituted)
          const income = valid.filter(({ tipo_comprobante }) => tipo_comprobante === 'I')
          const sum = (some: Row[]) => some.reduce((all, { total_mxn }) => all + Math.round(Number(total_mxn) * 100), 0)
          expect({ month, count, cancelled_count, substituted_count, I: by_tipo.I }).toEqual({
            month,
            count: valid.length,
            cancelled_count: rows.filter(({ estatus }) => estatus === 'cancelado').length,
            substituted_count: rows.filter(({ estatus, is_substituted }) => estatus === 'vigente' && is_substituted).length,
            I: income.length,
          })
          const of = (metodo: string) => income.filter(({ metodo_pago }) => metodo_pago === metodo)
          // An amount in MXN is rounded in its row, and the sum once.
          for (const [shown, some] of [
            [total, income],
            [pue_total, of('PUE')],
            [ppd_total, of('PPD')],
          ] as [string, Row[]][])
            expect(Math.abs(Math.round(Number(shown) * 100) - sum(some))).toBeLessThanOrEqual(
              some.filter(({ moneda }) => moneda !== 'MXN').length,
            )
          months++
        }
      })
      expect(months).toBeGreaterThan(50)
    })

    it('events came signed, each at least once and none lost; those of a run agree with its downloads and with coverage', async () => {
      for (const tenant of tenants) {
        const log = await listed<Delivery>(tenant, `/v1/webhooks/${tenant.endpoint.webhook_id}/deliveries`)
        expect(log.filter(({ status }) => status !== 'delivered')).toEqual([])
        const received = Map.groupBy(hooks.of(tenant.path), ({ headers }) => String(headers['service-delivery-id']))
        const events = await eventsOf(tenant)
        const sent = events.filter(({ event }) => !event.startsWith('document.'))
        expect([...received.keys()].sort()).toEqual(sent.map(({ event_id }) => event_id).sort())
        for (const same of received.values()) {
          expect(new Set(same.map(({ body }) => body.toString())).size).toBe(1)
          expect(same.every((one) => isSigned(one, tenant.endpoint.signing_secret))).toBe(true)
        }
        for (const connection of tenant.connections) {
          const uuid = await uuidForm(tenant, connection)
          const about = events.filter(({ fiscal_entity_id }) => fiscal_entity_id === uuid)
          const ends = about.filter(({ event }) => event.startsWith('extraction.'))
          const runs = (await runsOf(tenant, connection)).filter(({ status, outcome }) => status === 'dispatched' && outcome !== 'nothing')
          expect(ends.map(({ run_id }) => run_id).sort()).toEqual(runs.map(({ run_id }) => run_id).sort())
          const coverage = await listed<Month>(tenant, `/v1/fiscal-entities/${connection.id}/coverage?from=2018-01`)
          expect(coverage.filter(({ status }) => status === 'requested')).toEqual([])
          for (const { run_id, succeeded_jobs, failed_jobs } of ends) {
            const jobs = (await listed<Job>(tenant, `/v1/runs/${run_id}/jobs`)).filter(
              ({ fiscal_entity_id }) => fiscal_entity_id === connection.id,
            )
            const ended = (status: string) => jobs.filter((job) => job.status === status)
            expect([run_id, succeeded_jobs, failed_jobs]).toEqual([run_id, ended('succeeded').length, ended('failed').length])
            for (const { data_source_key, period } of ended('succeeded').filter((job) => job.period !== null))
              expect(coverage.find(({ source, month }) => source === data_source_key && month === period)?.status).toMatch(
                /complete|partial/,
              )
            for (const { job_id } of jobs) expect(about.filter((one) => one.job_id === job_id)).toHaveLength(1)
          }
          const readable = ends.reduce((all, { readable_count }) => all + readable_count!, 0)
          const shown = (await documents(tenant, connection)).filter(({ origin }) => origin === 'authority').length
          /** Shows the runs with their downloads, and the documents by month. */
          const evidence = async () => ({
            runs: await Promise.all(
              ends.map(async (end) => ({
                ...end,
                instant: runs.find(({ run_id }) => run_id === end.run_id),
                jobs: (await listed<Job>(tenant, `/v1/runs/${end.run_id}/jobs`))
                  .filter((job) => job.fiscal_entity_id === connection.id)
                  .map(({ job_id, data_source_key, period, status }) => `${job_id} ${data_source_key} ${period} ${status}`),
              })),
            ),
            months: Object.fromEntries(
              [...Map.groupBy(await documents(tenant, connection), (row) => `${row.origin} ${row.direction} ${row.fecha.slice(0, 7)}`)].map(
                ([month, some]) => [month, some.length],
              ),
            ),
          })
          const isAlone = !tenants.some((other) => other !== tenant && other.connections.some(({ rfc }) => rfc === connection.rfc))
          const isRight = isAlone ? readable === shown : readable <= shown
          expect(
            isRight,
            isRight ? '' : `${tenant.path} ${connection.rfc} ${readable} of ${shown} ${JSON.stringify(await evidence(), null, 1)}`,
          ).toBe(true)
        }
      }
    })

    it('nothing is left behind in the databases', async () => {
      expect(await unfinished()).toEqual([])
      await service.stop()
      expect(deadLettersOf(state)).toEqual([])
      const { faults, ...found } = inspect(state)
      notify(JSON.stringify(found))
      expect(faults).toEqual([])
    })
  },
  10 * MINUTE,
)
