import { lastDayOf } from '../../platform/time/months.ts'
import type { Insight } from './insight.ts'

type Query = Record<string, string>

const DIRECTIONS = ['issued', 'received'] as const

/** What leads from the figures of a surface to the documents behind them. */
export interface Links {
  /** A page of entries: of a figure of the surface, of the row with these keys. */
  entries(figure: string, keys?: Query): string
  /** The days of a month that are in the range, as `from` and `to`. */
  days(month: string): { from: string; to: string }
  /** The search of the documents of the range that count. */
  cfdi(more?: Query): string
}

/** The links of a surface under /v1. `own` is what its query has beside the range. */
export function linksOf({ ledger: { fiscal_entity_id }, span }: Insight, path: string, own: Query = {}): Links {
  const [direction] = span.directions.length === 1 ? span.directions : []
  return {
    days: (month) => ({
      from: span.first > `${month}-01` ? span.first : `${month}-01`,
      to: span.last < lastDayOf(month) ? span.last : lastDayOf(month),
    }),
    entries: (figure, keys) =>
      `/v1/${path}/entries?${new URLSearchParams({ fiscal_entity_id, from: span.from, to: span.to, ...own, figure, ...keys })}`,
    cfdi: (more) =>
      `/v1/cfdi?${new URLSearchParams({
        ...{ fiscal_entity_id, ...(direction === undefined ? {} : { direction: DIRECTIONS[direction] }), estatus: 'vigente' },
        ...{ issued_from: span.first, issued_to: span.last, kind: 'cfdi', to_itself: 'false', is_substituted: 'false', ...more },
      })}`,
  }
}

/** The links to the documents that a surface leaves out, or converts at a rate that they do not state. */
export const leftOutLinks = ({ entries, cfdi }: Links): Query => ({
  without_xml: cfdi({ has_xml: 'false' }).replace('&is_substituted=false', ''),
  substituted: cfdi({ is_substituted: 'true' }),
  ...Object.fromEntries(['missing_rate', 'dof_rate', 'not_counted'].map((figure) => [figure, entries(figure)])),
})
