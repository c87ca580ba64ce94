import { type SQL, sql } from 'drizzle-orm'
import type { Database } from '../../../platform/db/commit.ts'
import { assertThat } from '../../../platform/db/guard.ts'
import { bare, prepared } from '../../../platform/db/statement.ts'
import { organizations } from '../../../platform/tenant/tables.ts'
import type { Suspension } from '../../../platform/tenant/tenant.ts'
import { connections } from '../../../taxpayers/tables.ts'

const { id, plan, suspension, billed_month, timezone } = organizations

/** The time zones of all organizations. Seeks once for each zone, however many organizations there are. */
export const organizationZones = async (db: Database): Promise<string[]> =>
  (
    await prepared(
      db.$client,
      sql`with recursive zone (timezone) as (
           select min(${timezone}) from ${organizations}
           union all select (select min(${timezone}) from ${organizations} where ${timezone} > zone.timezone) from zone where timezone is not null)
         select timezone from zone where timezone is not null`,
    ).raw<[string]>()
  ).flat()

/** An organization whose current month is still to be invoiced. */
export interface UnbilledOrganization {
  id: string
  plan: string
  suspension: Suspension | null
  billed_month: string | null
  active_rfcs: number
}

const unbilled = (zone: string): SQL => sql`select ${id}, ${plan}, ${suspension}, ${billed_month},
    (select count(*) from ${connections} where ${connections.organization_id} = ${id} and ${connections.state} = 'active') as active_rfcs
  from ${organizations} indexed by organizations_billed where ${timezone} = ${zone} and`

/** A page of the unbilled organizations of a time zone, with the number of their active RFCs. */
export const findUnbilled = async (db: Database, zone: string, month: string, limit: number): Promise<UnbilledOrganization[]> =>
  (
    await prepared(
      db.$client,
      sql`${unbilled(zone)} ${billed_month} is null union all ${unbilled(zone)} ${billed_month} < ${month} limit ${limit}`,
    ).all<UnbilledOrganization>()
  ).results

/** Refuses its batch when the organization was billed since, or when its plan or suspension changed. */
export const assertStillUnbilled = (db: Database, found: UnbilledOrganization): D1PreparedStatement =>
  assertThat(
    db.$client,
    sql`exists (select 1 from ${organizations} where ${id} = ${found.id} and ${billed_month} is ${found.billed_month}
      and ${plan} = ${found.plan} and ${suspension} is ${found.suspension})`,
    'organization.unbilled',
  )

/** Marks the month as billed, or as found to owe nothing. */
export const markBilled = (db: Database, found: UnbilledOrganization, month: string): D1PreparedStatement =>
  prepared(db.$client, sql`update ${organizations} set ${bare(billed_month)} = ${month} where ${id} = ${found.id}`)
