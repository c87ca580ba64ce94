import { parseSum } from '../../cfdi/population/sums.ts'
import type { Micros } from '../../platform/money.ts'
import { inPesos, parseUnrated, type Unrated } from '../common/unrated.ts'
import type { PartyRow } from './store.ts'

/** A group of documents of a counterparty, in micros of MXN. */
export type Party = Pick<PartyRow, 'direction' | 'rfc' | 'is_cash' | 'is_at_risk' | 'is_foreign' | 'documents' | 'invoices'> & {
  income: Micros
  credit: Micros
  total: Micros
}

/** The documents of groups that state no exchange rate, in their order. */
export const unratedOf = (rows: readonly PartyRow[]): Unrated[] => rows.flatMap((row) => parseUnrated(row.unrated))

/** Groups with the documents that state no exchange rate, of which these are the published ones. `dof_rate` is how many have one. */
export function partiesOf(rows: readonly PartyRow[], rates: readonly (string | null)[]): { parties: Party[]; dof_rate: number } {
  let [at, dof_rate] = [0, 0]
  const parties = rows.map((row): Party => {
    const party = { ...row, income: parseSum(row.income), credit: parseSum(row.credit), total: parseSum(row.total) }
    for (const { tipo, net, total } of parseUnrated(row.unrated)) {
      const rate = rates[at++] ?? null
      const [netInPesos, totalInPesos] = [inPesos(net, rate), inPesos(total, rate)]
      if (netInPesos === null || totalInPesos === null) continue
      dof_rate++
      party.documents++
      if (tipo === 'E') party.credit += netInPesos
      else {
        party.invoices++
        party.income += netInPesos
        party.total += totalInPesos
      }
    }
    return party
  })
  return { parties, dof_rate }
}
