import { LEFT_OUT } from './contract.ts'
import type { Insight } from './insight.ts'

type Query = Record<string, string>

const DIRECTIONS = ['issued', 'received'] as const

/** What leads from the figures of a surface to the documents behind them. */
export interface Links {
  /** A page of entries: of a figure of the surface, of the row with these keys. */
  entries(figure: string, keys?: Query): string
  /** The search of the documents of the range that are vigente and to others. */
  cfdi(more?: Query): string
}

/** The links of a surface under /v1. `own` is what its query has beside the range. */
export function linksOf({ ledger: { fiscal_entity_id }, span }: Insight, path: string, own: Query = {}): Links {
  const [direction] = span.directions.length === 1 ? span.directions : []
  return {
    entries: (figure, keys) =>
      `/v1/${path}/entries?${new URLSearchParams({ fiscal_entity_id, from: span.from, to: span.to, ...own, figure, ...keys })}`,
    cfdi: (more) =>
      `/v1/cfdi?${new URLSearchParams({
        ...{ fiscal_entity_id, ...(direction === undefined ? {} : { direction: DIRECTIONS[direction] }), estatus: 'vigente' },
        ...{ issued_from: span.first, issued_to: span.last, kind: 'cfdi', to_itself: 'false', ...more },
      })}`,
  }
}

/** The `drilldown` of data_quality. `more` are further figures of the surface's entries. */
export const qualityLinks = ({ entries, cfdi }: Links, more: readonly string[] = []): Query => ({
  ...{ cfdi_total: cfdi(), with_xml: cfdi({ has_xml: 'true' }), without_xml: cfdi({ has_xml: 'false' }) },
  substituted: cfdi({ is_substituted: 'true' }),
  ...Object.fromEntries([...LEFT_OUT, ...more].map((figure) => [figure, entries(figure)])),
})
