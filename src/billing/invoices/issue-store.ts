import { type SQL, sql } from 'drizzle-orm'
import type { Database } from '../../platform/db/commit.ts'
import { assertThat } from '../../platform/db/guard.ts'
import { prepared } from '../../platform/db/statement.ts'
import type { Suspension } from '../../platform/tenant.ts'

/** The time zones of all organizations. Seeks once for each zone, however many organizations there are. */
export const organizationZones = async (db: Database): Promise<string[]> =>
  (
    await prepared(
      db.$client,
      sql`with recursive zone (timezone) as (
           select min(timezone) from organizations
           union all select (select min(timezone) from organizations where timezone > zone.timezone) from zone where timezone is not null)
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

const unbilled = (timezone: string): SQL => sql`select id, plan, suspension, billed_month,
    (select count(*) from connections where organization_id = organizations.id and state = 'active') as active_rfcs
  from organizations indexed by organizations_billed where timezone = ${timezone} and`

/** A page of the unbilled organizations of a time zone, with the number of their active RFCs. */
export const findUnbilled = async (db: Database, timezone: string, month: string, limit: number): Promise<UnbilledOrganization[]> =>
  (
    await prepared(
      db.$client,
      sql`${unbilled(timezone)} billed_month is null union all ${unbilled(timezone)} billed_month < ${month} limit ${limit}`,
    ).all<UnbilledOrganization>()
  ).results

/** Refuses its batch when the organization was billed meanwhile, or when its plan or suspension changed. */
export const assertStillUnbilled = (db: Database, { id, plan, suspension, billed_month }: UnbilledOrganization): D1PreparedStatement =>
  assertThat(
    db.$client,
    sql`exists (select 1 from organizations
      where id = ${id} and billed_month is ${billed_month} and plan = ${plan} and suspension is ${suspension})`,
    'organization.unbilled',
  )

/** Marks the month as billed, or as found to owe nothing. */
export const markBilled = (db: Database, { id }: UnbilledOrganization, month: string): D1PreparedStatement =>
  prepared(db.$client, sql`update organizations set billed_month = ${month} where id = ${id}`)
