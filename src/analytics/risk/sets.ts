import { type SQL, sql } from 'drizzle-orm'
import { listedOf } from '../../lists/listed/counterparties.ts'
import { type ListedAs, listedAs } from '../../lists/listed/listed.ts'
import { type Listing, listedAmong } from '../../lists/listings/listing.ts'
import { type KnownRegistration, lapsedStatements, type RegistryRow, registrationsIn } from '../../lists/repse/registrations.ts'
import { connectedStatement } from '../../taxpayers/connection.ts'
import type { Insight } from '../common/insight.ts'

/** The counterparties whose flags depend on more than documents. */
export interface Sets {
  /** The common table expressions with them, and a comma. */
  ctes: SQL
  /** Those that have members. */
  sets: ReadonlySet<string>
  listings: ReadonlyMap<string, readonly Listing[]>
  lapsed: ReadonlyMap<string, KnownRegistration>
  /** How many of the suppliers the registry has not answered about. */
  repse_unknown: number
  /** The other RFCs that the organization connected, where they were asked for. */
  related: ReadonlySet<string>
}

/** The listings that each flag is about. */
export const LISTS = {
  list_definitivo: ({ source, situacion }: ListedAs) => source === 'sat_69b' && situacion === 'definitivo',
  list_presunto: ({ source, situacion }: ListedAs) => source === 'sat_69b' && situacion === 'presunto',
  list_bis: ({ source }: ListedAs) => source === 'sat_69b_bis',
  list_csd: ({ source }: ListedAs) => source === 'sat_csd_sin_efectos',
  list_69: ({ source }: ListedAs) => ['sat_69_no_localizados', 'sat_69_firmes', 'sat_69_exigibles'].includes(source),
}

/**
 * Finds the counterparties that are on lists today, and the suppliers among these RFCs that the REPSE registry does not have or no longer
 * has; with `isOwn`, the RFC itself on the lists, and the other RFCs that the organization connected. One call to the control database, none
 * when there is nobody to ask about.
 */
export async function setsOf({ ctx, ledger, today }: Insight, suppliers: readonly string[], isOwn = false): Promise<Sets> {
  const { db, organization } = ctx
  const rfcs = listedAs(await listedOf(ctx), [
    'sat_69b',
    'sat_69b_bis',
    'sat_csd_sin_efectos',
    'sat_69_no_localizados',
    'sat_69_firmes',
    'sat_69_exigibles',
  ])
  const registry = lapsedStatements(suppliers, today)
  const connected = isOwn ? [connectedStatement(organization)] : []
  const asked = isOwn ? [...rfcs, ledger.rfc] : rfcs
  const { listings, rest } =
    asked.length + registry.length === 0
      ? { listings: new Map<string, Listing[]>(), rest: [] }
      : await listedAmong({ db, organization_id: organization.id }, asked, today, null, [...registry, ...connected])
  const { lapsed, unknown } = registrationsIn(rest.slice(0, registry.length).flat() as RegistryRow[])
  const related = new Set((rest.slice(registry.length).flat() as { rfc: string }[]).map(({ rfc }) => rfc))
  related.delete(ledger.rfc)
  const some = (isMeant: (one: KnownRegistration) => boolean) => [...lapsed.values()].filter(isMeant)
  const members: Record<string, unknown[]> = {
    ...Object.fromEntries(
      Object.entries(LISTS).map(([set, isMeant]) => [
        set,
        [...listings].flatMap(([rfc, all]) => (all.some((one) => one.is_active && isMeant(one)) ? [rfc] : [])),
      ]),
    ),
    repse_absent: some((one) => one.is_registered === 0).map(({ rfc }) => rfc),
    repse_active: some((one) => one.has_activities === 1).map(({ rfc }) => rfc),
    repse_expired: some((one) => one.is_registered === 1).map(({ rfc, vigencia_hasta }) => [rfc, vigencia_hasta]),
  }
  const filled = Object.entries(members).filter(([, list]) => list.length > 0)
  const isRepse = lapsed.size > 0
  const named = isRepse ? Object.entries(members).filter(([name, list]) => list.length > 0 || name.startsWith('repse')) : filled
  const ctes = named.map(([name, list]) =>
    name === 'repse_expired'
      ? sql`repse_expired (rfc, until) as materialized (select value->>0, value->>1 from json_each(${JSON.stringify(list)})), `
      : sql`${sql.identifier(name)} (rfc) as (select value from json_each(${JSON.stringify(list)})), `,
  )
  return {
    ctes: sql.join([...ctes], sql``),
    sets: new Set(filled.map(([name]) => name)),
    listings,
    lapsed,
    repse_unknown: unknown,
    related,
  }
}
