import type { SQL } from 'drizzle-orm'
import type { ComplianceOpinion, DocumentFields } from '../authority/port/fields-contract.ts'
import { inactiveWarnings } from '../authority/sources.ts'
import type { Ctx } from '../platform/context.ts'
import { openLedger, type ScopedLedger } from '../taxpayers/visibility/scoped-ledger.ts'
import { changesOf } from './changes.ts'
import type { TaxProfile } from './contract.ts'
import { gotAt } from './documents.ts'
import { latestRead, latestReadStatement, type ReadVersion } from './store.ts'

const KINDS = { tax_status: 'csf', opinion: 'opinion_32d', obligations: 'obligations', certificates: 'certificates' } as const
/** The sources of these, in the same order. */
const SOURCES = ['sat_csf', 'sat_opinion_32d', 'sat_obligations', 'sat_certificates'] as const

/** Returns what the latest documents of an RFC say that the organization may read, each with what changed since the version before. */
export async function getTaxProfile(ctx: Ctx): Promise<TaxProfile> {
  const ledger = openLedger(ctx)
  const rows = await latestRead(ledger, Object.values(KINDS))
  const part = (kind: string) => {
    const row = rows.find((one) => one.kind === kind)
    return row ? partOf(ctx, row) : null
  }
  return {
    fiscal_entity_id: ledger.fiscal_entity_id,
    rfc: ledger.rfc,
    ...(Object.fromEntries(Object.entries(KINDS).map(([name, kind]) => [name, part(kind)])) as Pick<TaxProfile, keyof typeof KINDS>),
    warnings: inactiveWarnings(ctx, SOURCES),
  }
}

/** Selects the latest compliance opinion (32-D) that the organization may read, for `opinionIn`. */
export const opinionStatement = (ledger: ScopedLedger): SQL => latestReadStatement(ledger, [KINDS.opinion])

/** What it says, out of its rows. Null without one. */
export function opinionIn(rows: readonly unknown[]): { document_id: string; sense: ComplianceOpinion['sense'] } | null {
  const [row] = rows as ReadVersion[]
  return row ? { document_id: row.document_id, sense: (JSON.parse(row.fields) as ComplianceOpinion).sense } : null
}

function partOf(ctx: Ctx, row: ReadVersion) {
  const fields = JSON.parse(row.fields) as DocumentFields
  return {
    source: {
      document_id: row.document_id,
      data_source_key: row.source,
      version: row.version,
      is_latest: row.version === row.versions,
      document_date: row.document_date,
      created_at: gotAt(ctx, row),
    },
    fields,
    changes: changesOf(row.before === null ? null : (JSON.parse(row.before) as DocumentFields), fields),
  }
}
