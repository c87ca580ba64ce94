import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { prepared } from '../../platform/db/statement.ts'
import { organizations } from '../../platform/tenant/tables.ts'
import { connections } from '../../taxpayers/tables.ts'

const [o, c] = [alias(organizations, 'o'), alias(connections, 'c')]

interface Cause {
  alert_id: string
  organization_id: string
  kind: string
  resource_id: string
}

/** Which of these alerts have causes that last. Two seeks each. */
export const lastingConditions = async (d1: D1Database, alerts: readonly Cause[]): Promise<Set<string>> => {
  const json = JSON.stringify(
    alerts.map(({ alert_id, organization_id, kind, resource_id }) => [alert_id, organization_id, kind, resource_id]),
  )
  const statement = prepared(
    d1,
    sql`select a.value->>0 as alert_id from json_each(${json}) a where case a.value->>2
      when 'organization.suspended' then exists (
        select 1 from ${organizations} ${o} where ${o.id} = a.value->>1 and ${o.suspension} is not null)
      else exists (
        select 1 from ${connections} ${c} where ${c.organization_id} = a.value->>1 and ${c.fiscal_entity_id} = a.value->>3
          and ${c.state} <> 'unlinked' and (a.value->>2 = 'connection.failing' or ${c.state} = 'invalid_ciec'
            or (${c.state} = 'paused' and ${c.paused_from} = 'invalid_ciec'))) end`,
  )
  return new Set((await statement.raw<[string]>()).flat())
}
