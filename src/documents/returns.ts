import { type SQL, sql } from 'drizzle-orm'
import type { ScopedLedger } from '../taxpayers/visibility/scoped-ledger.ts'
import { d, documentOf, readersOf, versionsOf } from './store.ts'

/** A return as the authority lists it. */
export interface ReturnRow {
  document_id: string
  version: number
  /** The last day of its period. */
  period_end: string
  /** JSON, flat. */
  attributes: string
}

/** Selects the returns whose period ends on some days and that the organization may read, in all versions: rows are `ReturnRow`. */
export const returnsOf = (ledger: ScopedLedger, first: string, last: string): SQL => sql`
  with ${versionsOf(readersOf(ledger), sql`${d.kind} = 'declaracion'`)}
  select ${d.document_id}, v.version, ${d.period_end}, ${d.attributes}
  from versions v ${documentOf('v')}
  where ${d.period_end} >= ${first} and ${d.period_end} <= ${last}`
