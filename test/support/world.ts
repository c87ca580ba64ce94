import { env } from 'cloudflare:workers'
import { vi } from 'vitest'
import type { Role } from '../../src/platform/tenant/tenant.ts'
import { api, basic, type Caller, request } from './client.ts'
import { connect, signUp, synced, type Tenant } from './tenants.ts'

/** An organization that has one of everything. */
export interface Side {
  organization_id: string
  callers: Record<Role, Caller>
  /** An active connection whose downloads are done. */
  fiscal_entity_id: string
  rfc: string
  /** Another active one, which a test may spoil. */
  spare_entity_id: string
  extractor_id: string
  /** The owner. */
  member_id: string
  import_id: string
  document_id: string
  /** Of a notification with a document that is fetched. */
  notification_id: string
  /** Of a CFDI whose XML is held. */
  uuid: string
}

export const xml = new TextEncoder().encode('<?xml version="1.0"?><nothing/>')

export const importXml = (caller: Caller, fiscal_entity_id: string, body: BodyInit = xml) =>
  request('POST', `/v1/fiscal-entities/${fiscal_entity_id}/cfdi/imports`, {
    headers: { authorization: basic(caller), 'content-type': 'application/xml' },
    body,
  })

export async function credentialOf(owner: Caller, role: Role, more: object = {}): Promise<Caller> {
  const { body } = await api(owner, 'POST', '/v1/credentials', { name: role, role, ...more })
  return { api_key: body.api_key, api_secret: body.api_secret }
}

/** An organization with a credential for each role, on a plan without limits. */
export async function organizationWith(plan = 'enterprise_gold'): Promise<{ owner: Tenant; callers: Record<Role, Caller> }> {
  const owner = await signUp()
  await api(owner, 'POST', '/v1/test-helpers/organization', { plan })
  return { owner, callers: { owner, admin: await credentialOf(owner, 'admin'), member: await credentialOf(owner, 'member') } }
}

/** Months that a side downloads: enough for several pages of everything, few enough to be quick. */
const MONTHS = 3

/** Makes an organization that has one of everything. */
export async function sideOf(): Promise<Side> {
  const { owner, callers } = await organizationWith()
  for (const { extractor_id } of (await api(owner, 'GET', '/v1/extractors')).body)
    await api(owner, 'DELETE', `/v1/extractors/${extractor_id}`)
  const extractor = await api(owner, 'POST', '/v1/extractors', {
    name: 'Al conectar',
    trigger_kind: 'connection_created',
    scope: 'last_n_months',
    scope_months: MONTHS,
    data_source_keys: ['sat_cfdi_issued', 'sat_csf', 'sat_opinion_32d', 'sat_obligations', 'sat_declaracion_mensual'],
  })
  const { fiscal_entity_id, rfc } = await connect(owner)
  const spare = await connect(owner)
  await Promise.all([synced(owner, fiscal_entity_id), synced(owner, spare.fiscal_entity_id)])
  const { body } = await importXml(owner, fiscal_entity_id)
  const { import_id } = body as { import_id: string }
  const isDone = async () =>
    (await api(owner, 'GET', `/v1/fiscal-entities/${fiscal_entity_id}/cfdi/imports/${import_id}`)).body.status === 'completed'
  await vi.waitUntil(isDone, { timeout: 20_000, interval: 50 })
  const documents = await api(owner, 'GET', `/v1/fiscal-entities/${fiscal_entity_id}/documents`)
  const notifications = await api(owner, 'GET', `/v1/fiscal-entities/${fiscal_entity_id}/buzon/notifications?status=opened`)
  const cfdi = await api(owner, 'GET', `/v1/cfdi?fiscal_entity_id=${fiscal_entity_id}&has_xml=true&limit=1`)
  return {
    organization_id: owner.organization_id,
    callers,
    fiscal_entity_id,
    rfc,
    spare_entity_id: spare.fiscal_entity_id,
    extractor_id: extractor.body.extractor_id,
    member_id: (await api(owner, 'GET', '/v1/team/members')).body.data[0].member_id,
    import_id,
    document_id: documents.body.data[0].document_id,
    notification_id: notifications.body.data.find((one: { has_document: boolean }) => one.has_document).notification_id,
    uuid: cfdi.body.data[0].uuid,
  }
}

/**
 * Asks until the answer is as it is when nothing else goes on: messages of what a row was given may be worked on meanwhile, and are waited
 * for. Returns the last of six answers otherwise.
 */
export async function undisturbed<T>(ask: () => Promise<T>, isUndisturbed: (answer: T) => boolean): Promise<T> {
  for (let n = 0; ; n++) {
    const answer = await ask()
    if (isUndisturbed(answer) || n === 5) return answer
    await quiet()
  }
}

/** Until the consumers have nothing more to do, so that what D1 does is what the test asks for. */
export const quiet = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, 1_000))

const TABLES = `select name, exists (select 1 from pragma_table_info(t.name) c where c.name = 'organization_id') as is_owned
  from sqlite_master t where type = 'table' and name not like 'sqlite_%' and name not like '_cf_%' and name not like 'd1_%'`

/** Every row of every table of all databases, or those of one organization, as text. */
export async function dump(organization_id?: string, leftOut?: RegExp): Promise<string> {
  const rows = [env.DB, env.LEDGER_0, env.EVENTS_0].map(async (database) => {
    const { results: all } = await database.prepare(TABLES).all<{ name: string; is_owned: number }>()
    const tables = all.filter(({ name, is_owned }) => (organization_id === undefined || is_owned === 1) && !leftOut?.test(name))
    const read = ({ name }: { name: string }) =>
      organization_id === undefined
        ? database.prepare(`select * from "${name}"`)
        : database.prepare(`select * from "${name}" where organization_id = ?`).bind(organization_id)
    const results = tables.length > 0 ? await database.batch(tables.map(read)) : []
    return results.flatMap(({ results }, n) => results.map((row) => `${tables[n]!.name} ${JSON.stringify(row)}`))
  })
  return (await Promise.all(rows)).flat().sort().join('\n')
}
