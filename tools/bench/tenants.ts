import { RFC } from '../../test/cfdi/support/documents.ts'
import { ingested } from './packages.ts'
import type { Rig } from './rig.ts'
import { sized } from './sizes.ts'

/** A customer with a connection to an RFC that has so many documents. */
export interface Tenant {
  entity: number
  authorization: string
  fiscal_entity_id: string
  /** A document of theirs. */
  uuid: string
}

const SEED = 900
/** The thousands of documents that each has. */
export const THOUSANDS = { small: 1, large: sized(100, 10) }
/** The ceiling of both windows. */
export const CEILING = Date.parse('2026-06-30T00:00:00Z')

/** Signs up as anybody does, with its two extractors, and connects to the entity. A window shows all of its documents. */
export async function signUp({ service, query }: Rig, entity: number, ceiling = CEILING): Promise<Omit<Tenant, 'uuid'>> {
  const answer = await fetch(`${service}/v1/auth/signup`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ organization_name: 'Bench', name: 'Ada', email: `ada${entity}@example.com` }),
  })
  if (answer.status !== 201) throw new Error(`Sign-up answered ${answer.status}: ${await answer.text()}`)
  const { organization, credential } = (await answer.json()) as {
    organization: { id: string }
    credential: { api_key: string; api_secret: string }
  }
  const fiscal_entity_id = `fe_01kabcdefghjkmnpqrstvwxyz${entity}`
  await query(
    'control',
    `insert into connections (organization_id, fiscal_entity_id, entity, rfc, shard, state, issued_from, issued_to, received_from, received_to, linked_at, updated_at)
     values (?1, ?2, ?3, ?4, 0, 'active', '2018-01-01', ?5, '2018-01-01', ?5, 0, 0)`,
    ...[organization.id, fiscal_entity_id, entity, RFC, ceiling],
  )
  return { entity, authorization: `Basic ${btoa(`${credential.api_key}:${credential.api_secret}`)}`, fiscal_entity_id }
}

/**
 * Fills an entity with copies of 1,000 ingested documents: other UUIDs, a day apart, half of them received, a fifth cancelled. Invoices
 * keep what was applied to them.
 */
async function fill({ query }: Rig, entity: number, copies: number): Promise<void> {
  const { columns } = await query('ledger', 'select * from cfdi limit 0')
  const swapped = (column: string, other: string) => `case when direction = 1 then ${other} else ${column} end`
  const values: Record<string, string> = {
    entity: '?1',
    uuid: 'id',
    estatus: `iif(cancelled, 'cancelado', 'vigente')`,
    issued_at: 'issued_at - 86400 * copy',
    fecha: `replace(datetime(fecha, '-' || copy || ' days'), ' ', 'T')`,
    emisor_rfc: swapped('emisor_rfc', 'receptor_rfc'),
    receptor_rfc: swapped('receptor_rfc', 'emisor_rfc'),
  }
  const made = columns.filter((name) => !['direction', 'cancelled'].includes(name))
  for (let from = 0; from < copies; from += 10) {
    await query(
      'ledger',
      `insert into cfdi (direction, cancelled, ${made.join(', ')})
       select direction, cancelled, ${made.map((name) => values[name] ?? name).join(', ')} from (
         select ${columns.filter((name) => !['direction', 'cancelled'].includes(name)).join(', ')}, value as copy,
           printf('%08X', value) || substr(uuid, 9) as id,
           unicode(substr(uuid, -1)) % 2 as direction, unicode(substr(uuid, -2)) % 5 = 0 as cancelled
         from json_each(?2) cross join cfdi where entity = ?3)`,
      ...[entity, JSON.stringify(Array.from({ length: Math.min(10, copies - from) }, (_, n) => from + n)), SEED],
    )
  }
}

/** Two tenants, one with few documents and one with many. */
export async function tenants(rig: Rig): Promise<{ small: Tenant; large: Tenant }> {
  await ingested(rig, SEED)
  const tenant = async (entity: number, thousands: number): Promise<Tenant> => {
    await fill(rig, entity, thousands)
    const { rows } = await rig.query('ledger', 'select uuid from cfdi where entity = ?1 limit 1', entity)
    return { ...(await signUp(rig, entity)), uuid: rows[0]![0] as string }
  }
  return { small: await tenant(1, THOUSANDS.small), large: await tenant(2, THOUSANDS.large) }
}
