import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { Tenant } from './tenant.ts'

/** What a credential that is bound to RFCs sees of rows about RFCs. Without a bound, every condition is absent and every check passes. */

const listOf = (ids: readonly string[]): SQL => sql`(select value from json_each(${JSON.stringify(ids)}))`

/** The condition that a row is about an RFC of the tenant. `spelled` is how the column spells a fiscal entity. */
export const isAbout = ({ bound_to }: Tenant, column: SQLWrapper, spelled = (id: string): string => id): SQL | undefined =>
  bound_to && sql`${column} in ${listOf(bound_to.map(spelled))}`

/** The condition that a JSON list of fiscal entities has none but the tenant's. Null stands for all of the organization. */
export const hasOnly = ({ bound_to }: Tenant, list: SQLWrapper, spelled = (id: string): string => id): SQL | undefined =>
  bound_to &&
  sql`(${list} is not null and not exists (select 1 from json_each(${list}) f where f.value not in ${listOf(bound_to.map(spelled))}))`

/** Whether something is about an RFC of the tenant. */
export const isOwn = ({ bound_to }: Pick<Tenant, 'bound_to'>, fiscal_entity_id: string | null): boolean =>
  bound_to === undefined || (fiscal_entity_id !== null && bound_to.includes(fiscal_entity_id))

/** The fiscal entities of something that the tenant makes: those that it names, and of a bound one its own instead of all. */
export const entitiesFor = ({ bound_to }: Tenant, given: string[] | null): string[] | null => given ?? (bound_to ? [...bound_to] : null)
