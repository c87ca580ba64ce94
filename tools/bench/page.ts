import assert from 'node:assert/strict'
import { CUSTOMERS, RFC } from '../../test/cfdi/support/documents.ts'
import { startFastify } from './fastify.ts'
import { formerPage } from './former.ts'
import { load } from './load.ts'
import { measure, median } from './measures.ts'
import { type Rig, withRig } from './rig.ts'
import { sized } from './sizes.ts'
import { CEILING, type Tenant, THOUSANDS, tenants } from './tenants.ts'

const LIMIT = 25
const ROUNDS = sized(9, 1)
const SECONDS = sized(1.5, 0.3)

/** No filter, and one value of each that an index serves. */
const queriesOf = ({ uuid }: Tenant): Record<string, string>[] => [
  {},
  { direction: 'received' },
  { estatus: 'vigente' },
  { estatus: 'cancelado' },
  ...['I', 'E', 'P', 'N'].map((tipo_comprobante) => ({ tipo_comprobante })),
  ...['paid', 'unpaid'].map((payment_status) => ({ payment_status })),
  { counterparty_rfc: CUSTOMERS[0] },
  { emisor_rfc: RFC },
  { emisor_rfc: CUSTOMERS[0] },
  { receptor_rfc: RFC },
  { receptor_rfc: CUSTOMERS[0] },
  { uuid },
  { issued_to: '2025-01-15T23:59:59-06:00' },
  { issued_from: '2024-12-01T00:00:00-06:00', issued_to: '2025-01-20T00:00:00-06:00' },
]

/** Ranges of whole days. */
const DAYS: Record<string, string>[] = [
  { issued_from: '2024-12-01' },
  { issued_from: '2024-12-01', issued_to: '2025-01-20' },
  { issued_from: '2025-01-03', issued_to: '2025-01-03' },
  { issued_to: '2024-12-24', direction: 'issued' },
]

const urlOf = ({ service }: Rig, { fiscal_entity_id }: Tenant, query: Record<string, string>): string =>
  `${service}/v1/cfdi?${new URLSearchParams({ fiscal_entity_id, limit: String(LIMIT), ...query })}`

async function pageOf(rig: Rig, tenant: Tenant, query: Record<string, string>) {
  const answer = await fetch(urlOf(rig, tenant, query), { headers: { authorization: tenant.authorization } })
  if (!answer.ok) throw new Error(`A page answered ${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as { data: unknown[]; next_cursor: string | null }
}

/** The most calls and rows that any of the tenant's first and second pages costs, authentication included. */
async function worstOf(rig: Rig, tenant: Tenant, queries = queriesOf(tenant)): Promise<{ calls: number; rows: number }> {
  const worst = { calls: 0, rows: 0 }
  // Once a day, a credential notes after an answer that it was used; that write belongs to no page.
  await rig.recorded(() => pageOf(rig, tenant, {}))
  for (const query of queries) {
    let cursor: string | null = null
    for (const _ of [1, 2]) {
      const { result, recording } = await rig.recorded(() => pageOf(rig, tenant, { ...query, ...(cursor && { cursor }) }))
      const statements = recording.calls.flatMap((call) => call.statements)
      worst.calls = Math.max(worst.calls, recording.calls.length)
      worst.rows = Math.max(
        worst.rows,
        statements.reduce((sum, { rows_read }) => sum + rows_read, 0),
      )
      cursor = result.next_cursor
      if (cursor === null) break
    }
  }
  return worst
}

const jsonOf = async (url: string, headers: Record<string, string>): Promise<unknown> => (await fetch(url, { headers })).json()

/**
 * Requests a second of the first page, to those of a bare Worker that runs the statements of November 2026 and to those of Fastify, which
 * answers the same JSON. Warm-up first, then in turns.
 */
async function ratiosOf(rig: Rig, tenant: Tenant): Promise<{ bare: number; fastify: number }> {
  const { recording } = await rig.recorded(() => pageOf(rig, tenant, {}))
  const [authentication] = recording.calls.flatMap(({ database, statements }) => (database === 'control' ? statements : []))
  const former = formerPage(tenant.entity, CEILING / 1_000, LIMIT)
  await rig.ask(
    '/bare',
    JSON.stringify({
      statements: [
        { database: 'control', ...authentication },
        { database: 'ledger', ...former },
      ],
    }),
  )
  const server = await startFastify(rig, {
    authenticate: authentication!.sql,
    page: former,
    limit: LIMIT,
  })
  try {
    const headers = { authorization: tenant.authorization }
    const page = { url: urlOf(rig, tenant, {}), headers }
    const others = { bare: { url: `${rig.work}/bare-page` }, fastify: { url: page.url.replace(rig.service, server.origin), headers } }
    assert.deepEqual(await jsonOf(others.fastify.url, headers), await jsonOf(page.url, headers))
    for (const one of [others.bare, others.fastify, page]) await load(one, SECONDS)
    const ratios: Record<keyof typeof others, number[]> = { bare: [], fastify: [] }
    for (let round = 0; round < ROUNDS; round++) {
      const ours = await load(page, SECONDS)
      for (const name of ['bare', 'fastify'] as const) ratios[name].push(ours / (await load(others[name], SECONDS)))
    }
    return { bare: median(ratios.bare), fastify: median(ratios.fastify) }
  } finally {
    server.stop()
  }
}

const ROWS =
  'rows that D1 reads for the whole request, the three of authentication included; the worst of one value of each indexed filter, pages 1 and 2'

const DOCUMENTS = (1_000 * THOUSANDS.large).toLocaleString('en')
const MANY = `page.rows_read.${THOUSANDS.large}k`

export const pages = measure({
  figures: {
    'page.d1_calls': { atMost: 2, meaning: `D1 calls of GET /v1/cfdi, the most of those pages` },
    'page.rows_read.1k': { atMost: LIMIT + 8, meaning: `Of a page of ${LIMIT} with 1,000 documents: ${ROWS}` },
    [MANY]: { atMost: LIMIT + 8, meaning: `The same with ${DOCUMENTS} documents` },
    'page.rows_read.days': { atMost: LIMIT + 9, meaning: `The same of ranges of whole days, with ${DOCUMENTS} documents` },
    'page.ratio_vs_bare': {
      isRatioOfTimes: true,
      atLeast: 0.85,
      digits: 2,
      meaning:
        `Requests per second of a page with ${DOCUMENTS} documents, to those of a bare Worker that runs the two statements of November 2026 and ` +
        'answers their rows',
    },
    'page.ratio_vs_fastify': {
      isRatioOfTimes: true,
      atLeast: 0.55,
      digits: 2,
      meaning:
        'The same, to those of Fastify over node:sqlite, which authenticates, runs the same two statements and answers the same JSON',
    },
  },
  take: () =>
    withRig(async (rig) => {
      const { small, large } = await tenants(rig)
      const few = await worstOf(rig, small)
      const many = await worstOf(rig, large)
      const { bare, fastify } = await ratiosOf(rig, large)
      return {
        'page.d1_calls': Math.max(few.calls, many.calls),
        'page.rows_read.1k': few.rows,
        [MANY]: many.rows,
        'page.rows_read.days': (await worstOf(rig, large, DAYS)).rows,
        'page.ratio_vs_bare': bare,
        'page.ratio_vs_fastify': fastify,
      }
    }),
})
