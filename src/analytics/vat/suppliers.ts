import { sql } from 'drizzle-orm'
import { complements } from '../../cfdi/cash/events.ts'
import { listedOf } from '../../lists/listed/counterparties.ts'
import { listedAs } from '../../lists/listed/listed.ts'
import { listedAmong } from '../../lists/listings/listed-among.ts'
import { type KnownRegistration, lapsedStatements } from '../../lists/repse/registrations.ts'
import { readAll } from '../../platform/db/statement.ts'
import { type Partition, partitionsToRead } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { Insight } from '../common/insight.ts'
import { supplierStatements } from '../risk/store.ts'

/** What is known of suppliers: those under article 69-B today, and those that had no REPSE registration at the end of the range. */
export interface KnownSuppliers {
  presumed: ReadonlySet<string>
  definitive: ReadonlySet<string>
  registrations: ReadonlyMap<string, KnownRegistration>
}

export const UNKNOWN_SUPPLIERS: KnownSuppliers = { presumed: new Set(), definitive: new Set(), registrations: new Map() }

const SOURCE = 'sat_69b'

/** Selects those who issued complements with a payment in the range. */
const paidStatement = (partition: Partition, { span }: Insight) =>
  complements(partition, 1, span).map((paid) => sql`select distinct counterparty_rfc as rfc from (${paid})`)

/**
 * Looks up suppliers that were paid in the range, and maybe others of its months: on the list of article 69-B and in the REPSE registry. One
 * call to the ledger and one to the control database.
 */
export async function knownSuppliers(insight: Insight): Promise<KnownSuppliers> {
  const { ctx, today, ledger, span } = insight
  const statements = [
    ...supplierStatements(ledger, span),
    ...partitionsToRead(ledger).flatMap((partition) => paidStatement(partition, insight)),
  ]
  const rfcs = new Set((await readAll<{ rfc: string }>(ledger.d1, statements)).map(({ rfc }) => rfc))
  const { listings, rest } = await listedAmong(
    { db: ctx.db, organization_id: ledger.organization_id },
    listedAs(await listedOf(ctx), [SOURCE]),
    today,
    [SOURCE],
    lapsedStatements(ctx.db, [...rfcs], span.last),
  )
  const among = (situacion: string) =>
    new Set([...listings].flatMap(([rfc, all]) => (all.some((one) => one.situacion === situacion) ? [rfc] : [])))
  return {
    ...{ presumed: among('presunto'), definitive: among('definitivo') },
    registrations: new Map((rest.flat() as KnownRegistration[]).map((row) => [row.rfc, row])),
  }
}
