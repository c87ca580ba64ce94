import { rulesAt } from '../../authority/rules/rules.ts'
import { clientPage, headOf } from '../../documents/portfolio.ts'
import type { Ctx } from '../../platform/context.ts'
import { readRows } from '../../platform/db/statement.ts'
import type { Page } from '../../platform/paging/cursor.ts'
import { centralDayOf } from '../../platform/time/months.ts'
import { isEverything, windowStateOf } from '../../taxpayers/visibility/window.ts'
import { resultOf } from '../vat/vat.ts'
import type { PortfolioVat, PortfolioVatQuery } from './contract.ts'
import { statesOf } from './state-store.ts'
import { basisOf, keptVat } from './work.ts'

/** Returns the VAT position of a month that the reports of each RFC keep. */
export async function listVat(ctx: Ctx, query: PortfolioVatQuery): Promise<Page<PortfolioVat>> {
  const today = centralDayOf(ctx.now.getTime())
  const { month = today.slice(0, 7) } = query
  const rules = await rulesAt(ctx, today)
  return clientPage(ctx, 'portfolio.vat', { ...query, month }, async (ledger, clients) => {
    const states = new Map(
      (await readRows(ledger, statesOf(clients.map(({ connection }) => connection)))).map((row) => [row.connection, row]),
    )
    return clients.map((client): PortfolioVat => {
      const isOpen = windowStateOf(client.windows) === 'open'
      const refresh = isOpen ? `/v1/reports/diot/refresh?fiscal_entity_id=${client.fiscal_entity_id}` : null
      const nothing = { ...headOf(client), month, saldo: null, resultado: null, as_of: null, is_stale: null, refresh }
      if (!isOpen) return { ...nothing, reason: 'window_bounded' }
      const state = states.get(client.connection)
      if (state === undefined) return { ...nothing, reason: 'not_made' }
      const kept = keptVat(state)
      if (kept === null) return { ...nothing, reason: 'building' }
      const saldo = kept.months[month]
      if (saldo === undefined) return { ...nothing, reason: 'not_kept' }
      const { sequence, import_sequence, delivered, imported, basis } = state
      // What was delivered would tell some when others download.
      const isBehind = isEverything(client.windows) && sequence !== delivered
      const is_stale = isBehind || import_sequence !== imported || basis !== basisOf(client.windows, rules, today)
      const known = { ...nothing, as_of: new Date(kept.at).toISOString(), is_stale }
      return saldo === null ? { ...known, reason: 'month_unknown' } : { ...known, saldo, resultado: resultOf(saldo), reason: null }
    })
  })
}
