import { opinionIn, opinionStatement } from '../../documents/profile.ts'
import type { Ctx } from '../../platform/context.ts'
import { prepared } from '../../platform/db/statement.ts'
import { aggregateOf, type Insight, openInsight } from '../common/insight.ts'
import { type Links, linksOf, qualityLinks } from '../common/links.ts'
import { worstOf } from '../common/listed.ts'
import { REPSE_NOTE } from '../common/names.ts'
import { ratesOf } from '../common/unrated.ts'
import { setsOf } from '../risk/sets.ts'
import { supplierStatements } from '../risk/store.ts'
import { type IndicatorKey, LISTED, type Portfolio, type PortfolioQuery } from './contract.ts'
import { blacklistedIn, indicatorsOf } from './indicators.ts'
import { overdueOf, ratesWanted } from './overdue.ts'
import { partiesOf, unratedOf } from './parties.ts'
import { type OverdueRow, openStatements, type PartyRow, partyStatements } from './store.ts'

export const PATH = 'analytics/risk'

/**
 * Returns twelve indicators of the risk of a taxpayer, each with its threshold. At most six D1 calls with authentication. Throws Failure 404
 * and 422 range.invalid.
 */
export async function getPortfolio(ctx: Ctx, query: PortfolioQuery): Promise<Portfolio> {
  const insight = await openInsight(ctx, query)
  const { ledger, rules, today, span } = insight
  const { found, invoices, envelope } = await aggregateOf(insight, [opinionStatement(ledger), ...supplierStatements(ledger, span)])
  const [opinions = [], ...suppliers] = found
  const sets = await setsOf(insight, rfcsOf(suppliers), true)
  const open = openStatements(insight)
  const statements = [...open, ...partyStatements(insight, sets)]
  const results = statements.length === 0 ? [] : await ledger.d1.batch(statements.map((one) => prepared(ledger.d1, one)))
  const openRows = results.slice(0, open.length).flatMap((one) => one.results as unknown as OverdueRow[])
  const rows = results.slice(open.length).flatMap((one) => one.results as unknown as PartyRow[])
  const wanted = [...ratesWanted(openRows), ...unratedOf(rows)]
  const rates = await ratesOf(ctx, wanted)
  const split = wanted.length - unratedOf(rows).length
  const { parties, dof_rate } = partiesOf(rows, rates.slice(split))
  const opinion = opinionIn(opinions)
  const indicators = indicatorsOf(
    {
      ...{ parties, invoices, sense: opinion?.sense ?? null, own: worstOf(sets.listings.get(ledger.rfc)) },
      ...{ related: sets.related, blacklisted: blacklistedIn(sets.listings) },
      overdue: overdueOf(openRows, rates.slice(0, split), today),
    },
    rules,
  )
  const links = linksOf(insight, PATH)
  const leads = leadsOf(insight, links, opinion?.document_id ?? null)
  return {
    ...envelope(
      {
        formulas: Object.fromEntries(indicators.map(({ key, formula }) => [key, formula])),
        notes: ['Thresholds are proposed. Lists, the REPSE registry and open balances are read as they are today.', REPSE_NOTE],
      },
      rules,
      { dof_rate, drilldown: qualityLinks(links) },
    ),
    data: indicators.map((one) => ({ ...one, drilldown: leads[one.key] ?? {} })),
  }
}

const rfcsOf = (found: readonly unknown[][]): string[] => [...new Set((found.flat() as { rfc: string }[]).map(({ rfc }) => rfc))]

/** What leads from each indicator to what is behind it. */
function leadsOf(
  { ledger, span }: Insight,
  links: Links,
  document_id: string | null,
): Partial<Record<IndicatorKey, Record<string, string>>> {
  const { fiscal_entity_id, rfc } = ledger
  const range = { fiscal_entity_id, from: span.from, to: span.to }
  const to = (path: string, query: Record<string, string>) => ({ value: `/v1/${path}?${new URLSearchParams(query)}` })
  const cancelled = (direction: string) => ({
    value: links.cfdi({ direction, tipo_comprobante: 'I', estatus: 'cancelado' }).replace('&is_substituted=false', ''),
  })
  return {
    ...(document_id === null
      ? {}
      : { tax_compliance: { value: `/v1/fiscal-entities/${fiscal_entity_id}/documents/${document_id}/content` } }),
    blacklist_status: to('blacklists/lookup', { rfc }),
    customer_concentration: to('cfdi/concentration', { ...range, direction: 'issued' }),
    supplier_concentration: to('cfdi/concentration', { ...range, direction: 'received' }),
    cancelled_issued_rate: cancelled('issued'),
    cancelled_received_rate: cancelled('received'),
    ppd_overdue_share: to('analytics/financing/entries', { fiscal_entity_id, figure: 'receivables.overdue' }),
    ...Object.fromEntries(LISTED.map((key) => [key, { value: links.entries(key) }])),
  }
}
