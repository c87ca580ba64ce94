import type { Ctx } from '../../platform/context.ts'
import { centralDayOf } from '../../platform/time/months.ts'
import { rulesAt } from '../../rules/rules.ts'
import { openLedger } from '../../visibility/scoped-ledger.ts'
import type { Obligations } from './contract.ts'
import { obligationsOf } from './obligations-of.ts'
import { readRegistrations } from './store.ts'

const NOTES = [
  'The obligations are those of the latest list of obligations, or else of the latest tax status certificate, that are in force.',
  'A return of a period, for any tax, files all monthly obligations of a month, or all annual ones of a year.',
  'The status goes by due_date: the extension has exceptions, and business days are those of the calendar that the authority published.',
]

/**
 * Returns the obligations of an RFC, for the last twelve months that are over, the last three years and the current ones. Throws Failure 404
 * fiscal_entity.not_found.
 */
export async function listObligations(ctx: Ctx): Promise<Obligations> {
  const ledger = openLedger(ctx)
  const { rfc, fiscal_entity_id } = ledger
  const today = centralDayOf(ctx.now.getTime())
  const [rules, [found]] = await Promise.all([rulesAt(ctx, today), readRegistrations(ledger.d1, [ledger])])
  const { source, ...registration } = found!
  const data = obligationsOf({ rfc, today, rules, ...registration })
  return {
    ...{ fiscal_entity_id, rfc, as_of: today },
    source: source && { document_id: source.document_id, data_source_key: source.source, document_date: source.document_date },
    basis: { rules: rules.basis(), notes: NOTES },
    data,
  }
}
