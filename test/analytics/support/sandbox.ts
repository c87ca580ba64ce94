import { env } from 'cloudflare:workers'
import { centralDayOf } from '../../../src/platform/time/months.ts'
import { api } from '../../support/client.ts'
import { daily } from '../../support/crons.ts'
import { connect, organization, synced } from '../../support/tenants.ts'
import type { Document, ListEntry, Registration, Return, World } from '../oracle/world.ts'
import { insertRegistrations } from './facts.ts'
import { documentsOf, ratesWith, requesterOf, rulesByDay, type Served } from './served.ts'

const SOURCES = ['sat_cfdi_issued', 'sat_cfdi_received', 'sat_opinion_32d', 'sat_declaracion_mensual']

async function listsOf(): Promise<ListEntry[]> {
  const { results } = await env.DB.prepare("select source, rfc, name, history from blacklist_entries where organization_id = ''").all<{
    source: string
    rfc: string
    name: string
    history: string
  }>()
  return results.map(({ history, ...entry }) => ({
    ...entry,
    history: (JSON.parse(history) as ListEntry['history'][number][][]).map(([situacion, sat_at, dof_at, oficio]) => ({
      ...{ situacion, sat_at, dof_at, oficio },
    })) as unknown as ListEntry['history'],
  }))
}

/** The registry has answered about three suppliers of four: registered, expired, or not registered. */
const registrationsOf = (documents: readonly Document[]): Map<string, Registration> =>
  new Map(
    [...new Set(documents.filter(({ direction }) => direction === 'received').map(({ emisor_rfc }) => emisor_rfc))].flatMap(
      (rfc): [string, Registration][] => {
        // Some suppliers are those of all three RFCs.
        const n = rfc.charCodeAt(1) + rfc.charCodeAt(5)
        const vigencia_hasta = n % 4 === 1 ? '2026-02-10' : null
        return n % 4 === 3 ? [] : [[rfc, { is_registered: n % 4 < 2, vigencia_hasta, has_activities: n % 3 === 0 }]]
      },
    ),
  )

interface Listed {
  document_id: string
  version: number
  kind: string
  period_end: string | null
  document_date: string
  attributes: Record<string, string>
  fields: { sense?: string } | null
}

/**
 * Three RFCs of the sandbox that one organization connects, after the downloads of some months. The oracle reads what the API shows of their
 * documents, returns and opinions, and the lists as they are stored.
 */
export async function sandboxRfcs(rfcs: readonly string[], months: number): Promise<Served[]> {
  const { owner, ask: send } = await organization('enterprise_gold')
  await daily()
  await send('POST', '/v1/extractors', {
    ...{ name: 'Alta', trigger_kind: 'connection_created', scope: 'last_n_months', scope_months: months, data_source_keys: SOURCES },
  })
  const today = centralDayOf(Date.now())
  const rules = await rulesByDay()
  const connected = []
  for (const rfc of rfcs) connected.push(await connect(owner, rfc))
  const lists = await listsOf()
  const served: Served[] = []
  for (const { fiscal_entity_id, rfc } of connected) {
    await synced(owner, fiscal_entity_id)
    const ask = requesterOf(owner, fiscal_entity_id)
    const documents = await documentsOf(ask)
    const repse = registrationsOf(documents)
    await insertRegistrations(repse).run()
    const listed = (await api(owner, 'GET', `/v1/fiscal-entities/${fiscal_entity_id}/documents?limit=100`)).body.data as Listed[]
    const world: World = {
      ...{ rfc, documents, today, now: Date.now(), rules, rates: ratesWith(() => null), lists, repse },
      intercompany: rfcs.filter((one) => one !== rfc),
      returns: listed.filter(({ kind }) => kind === 'declaracion') as unknown as Return[],
      opinions: listed.flatMap(({ kind, document_date: date, fields }) =>
        kind === 'opinion_32d' && fields?.sense !== undefined ? [{ date, sense: fields.sense }] : [],
      ),
    }
    served.push({ ask, world })
  }
  return served
}
