import { env } from 'cloudflare:workers'
import { app } from '../../../src/app/app.ts'
import type { RuleRow } from '../../../src/authority/rules/dated.ts'
import { sandboxRate } from '../../../src/authority/sandbox/world/comprobante.ts'
import { routesOf } from '../../../tools/openapi/route-table.ts'
import { api, type Caller } from '../../support/client.ts'
import { at } from '../../support/clock.ts'
import { reaching } from '../../support/context.ts'
import { connect, organization } from '../../support/tenants.ts'
import { type RateTable, rateTable } from '../oracle/rules.ts'
import type { Document, World } from '../oracle/world.ts'
import { worldOfYear } from '../years/readable.ts'
import type { Sight } from '../years/sights.ts'
import type { Year } from '../years/year.ts'
import type { Ask } from './compare.ts'
import { loadFacts, setOwnRules } from './facts.ts'
import { rulesFrom } from './rules.ts'
import { ingestYear } from './service.ts'

const paths = new Set(routesOf(app).map(({ path }) => path))
/** Whether the service has a surface. */
export const isServed = (path: string): boolean => paths.has(`/v1${path}`)

/** Asks over HTTP, as a customer does. The client holds each answer against its route. */
export const requesterOf =
  (caller: Caller, fiscal_entity_id: string): Ask =>
  async (path, query) => {
    const ofEntity = path.startsWith('/blacklists/') || path.startsWith('/fiscal-entities/') ? {} : { fiscal_entity_id }
    const url = `/v1${path}?${new URLSearchParams({ ...ofEntity, ...query })}`
    const { status, body } = await api(caller, 'GET', url)
    if (status !== 200) throw new Error(`${url} answered ${status}: ${JSON.stringify(body)}`)
    return body
  }

/** Every document that an organization can read, with its detail. */
export async function documentsOf(ask: Ask): Promise<Document[]> {
  const documents: Document[] = []
  for (let query: Record<string, string> | null = { limit: '100' }; query; ) {
    const page: Awaited<ReturnType<Ask>> = await ask('/cfdi', query)
    documents.push(...((await Promise.all(page.data.map((one) => ask(`/cfdi/${one['uuid']}`, {})))) as unknown as Document[]))
    query = page.has_more ? { limit: '100', cursor: page.next_cursor! } : null
  }
  return documents
}

/** What is loaded, and in its place what the sandbox invents. */
export const ratesWith =
  (loaded: RateTable): RateTable =>
  (currency, day) => {
    const invented = () => sandboxRate(currency, day)
    const known = loaded(currency, day) ?? invented()
    return known && { source: 'sandbox', ...known }
  }

/** The rules of each day: the defaults, and an operator's own values. */
export const rulesByDay = async (own: readonly RuleRow[] = []) => {
  const response = await env.ASSETS.fetch('https://assets.invalid/rules.json')
  return rulesFrom((await response.json()) as RuleRow[], own)
}

export interface Served {
  ask: Ask
  /** What the oracle reads: the documents as the API answers them, and what is known besides. */
  world: World
}

const UNUSED = { name: 'Uno', trigger_kind: 'connection_reactivated', scope: 'full_history', data_source_keys: ['sat_csf'] }

/** A seeded year in the service on its last day, as a new organization sees it. Queues must be silent. */
export async function serve(year: Year, sight: Sight): Promise<Served> {
  const plain = worldOfYear({ ...year, documents: [] })
  at(new Date(plain.now).toISOString())
  await loadFacts(year)
  await setOwnRules(year.rules)
  const { owner, ask: send } = await organization('enterprise_gold')
  if (sight !== null) await send('POST', '/v1/extractors', UNUSED)
  const { fiscal_entity_id } = await connect(owner, year.rfc)
  for (const rfc of year.intercompany) await connect(owner, rfc)
  const windows = Object.entries(sight ? reaching(sight.issued, sight.received) : reaching(null))
  const { entity } = (await env.DB.prepare(
    `update connections set ${windows.map(([name], n) => `${name} = ?${n + 2}`).join(', ')} where fiscal_entity_id = ?1 returning entity`,
  )
    .bind(fiscal_entity_id, ...windows.map(([, value]) => value))
    .first<{ entity: number }>())!
  const ledger = { ledger: env.LEDGER_0, files: env.FILES, provenance: 'authority' as const }
  await ingestYear({ ...ledger, entity, rfc: year.rfc, now: new Date() }, year)
  const ask = requesterOf(owner, fiscal_entity_id)
  const rates = ratesWith(rateTable(year.rates))
  const hidden = (['issued', 'received'] as const).filter((side) => sight !== null && sight[side] === null)
  return { ask, world: { ...plain, hidden, rates, rules: await rulesByDay(year.rules), documents: await documentsOf(ask) } }
}
