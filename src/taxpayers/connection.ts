import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { DataSourceKey } from '../authority/port/authority.ts'
import { takesCiecs } from '../authority/port/login.ts'
import { defaultKeys, withMandatory } from '../authority/sources.ts'
import type { Ctx, System } from '../platform/context.ts'
import type { Database } from '../platform/db/commit.ts'
import { all, readRows } from '../platform/db/statement.ts'
import { Failure, notFound, refuseFaults } from '../platform/failures.ts'
import { isAbout } from '../platform/tenant/bound.ts'
import type { Connection, Tenant } from '../platform/tenant/tenant.ts'
import { connections, fiscalEntities } from './tables.ts'
import { findLinked } from './taxpayers.ts'

/**
 * Whether the organization may read the RFC's documents: while the connection is active, and while an unpaid invoice pauses it, because
 * that stops downloads only.
 */
export const isReadable = ({ state, paused_by }: Pick<Connection, 'state' | 'paused_by'>): boolean =>
  state === 'active' || (state === 'paused' && paused_by === 'payment')

type Standing = Pick<Connection, 'state' | 'paused_by'>

/** Says why a connection is not active, and what activates it. Where nobody logs in with CIECs, only an e.firma does. */
function remedy({ state, paused_by }: Standing, settings: System['settings']): string {
  const [login, an] = takesCiecs(settings) ? ['CIEC or e.firma', 'a CIEC or an e.firma'] : ['e.firma', 'an e.firma']
  const give = `Send ${an} with PATCH /v1/fiscal-entities/{fiscal_entity_id}.`
  if (state === 'draft') return `is a draft, because no ${login} was accepted yet. ${give}`
  if (state === 'invalid_ciec') return `is invalid_ciec: it has no valid ${login} any more. ${give}`
  if (paused_by === 'payment') return 'is paused, because an invoice is unpaid. GET /v1/billing/invoices shows what to pay.'
  if (paused_by === 'trial')
    return 'is paused, because the trial has ended. GET /v1/billing/plans lists the plans with a link where you can buy each.'
  return 'is paused. Resume it with PATCH /v1/billing/rfcs/{fiscal_entity_id} and {"active": true}.'
}

/** The refusal for an RFC that is not active. It says nothing more of an RFC that is absent, or that only others connected. */
export const notActive = ({ settings }: Pick<System, 'settings'>, connection: Standing | null | undefined): Failure =>
  connection
    ? new Failure('not_found', 'fiscal_entity.not_active', `The connection to this fiscal entity ${remedy(connection, settings)}`)
    : notFound('fiscal_entity')

/** Refuses fiscal entities that the organization is not connected to. `path` is the member that names them. Throws Failure 422. */
export async function refuseUnlinked(
  { db, organization }: Pick<Ctx, 'db' | 'organization'>,
  ids: readonly string[] | null | undefined,
  path: string,
  code: string,
): Promise<void> {
  if (!ids) return
  const linked = await findLinked(db, organization, ids)
  const message = 'The organization has no connection to this fiscal entity. List its fiscal entities with GET /v1/fiscal-entities.'
  refuseFaults(
    code,
    ids.flatMap((id, n) => (linked.has(id) ? [] : [{ path: `${path}[${n}]`, message }])),
  )
}

const [c, f] = [alias(connections, 'c'), alias(fiscalEntities, 'f')]

/** Selects the RFCs that a tenant has connected, one row for each. */
export const connectedStatement = (tenant: Tenant): SQL =>
  sql`select ${connections.rfc} from ${connections} indexed by connections_organization
      where ${all([sql`${connections.organization_id} = ${tenant.id}`, isAbout(tenant, connections.fiscal_entity_id), sql`${connections.state} <> 'unlinked'`])}`

/** The RFCs among these that a tenant has connected and not unlinked. Reads at most two rows each. One call, none without RFCs. */
export async function connectedAmong(db: Database, tenant: Tenant, rfcs: readonly string[]): Promise<Set<string>> {
  if (rfcs.length === 0) return new Set()
  const rows = await readRows<{ rfc: string }>(
    db.$client,
    sql`select ${f.rfc} from json_each(${JSON.stringify(rfcs)}) j cross join ${fiscalEntities} ${f} on ${f.rfc} = j.value
       cross join ${connections} ${c} on ${all([sql`${c.organization_id} = ${tenant.id}`, sql`${c.entity} = ${f.entity}`, isAbout(tenant, c.fiscal_entity_id)])}
         and ${c.state} <> 'unlinked'`,
  )
  return new Set(rows.map(({ rfc }) => rfc))
}

/** The data sources of a connection: its own list, or all active ones that are not premium; always with the mandatory ones. */
export const sourcesOf = (row: { data_source_keys: DataSourceKey[] | null }, active: readonly DataSourceKey[]): DataSourceKey[] =>
  row.data_source_keys === null ? withMandatory(defaultKeys(active)) : withMandatory(row.data_source_keys)
