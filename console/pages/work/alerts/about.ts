import type { Alert } from '../../../api/routes.d.ts'

type About = Pick<Alert, 'kind' | 'resource_id' | 'fiscal_entity_id' | 'rfc' | 'message'>

/** The page of what an alert is about, by the form of its id. */
const PAGES: readonly [RegExp, (id: string) => string][] = [
  [/^fe_/, (id) => `/rfcs/${id}`],
  [/^wh/, (id) => `/webhooks/${id}`],
  [/^(stc|con)/, () => '/storage'],
  [/^org_/, () => '/billing'],
]
const RFC = /(?<![A-ZÑ&\d])[A-ZÑ&]{3,4}\d{6}[A-Z\d]{3}(?![A-Z\d])/

/** The documents with the counterparty that the message names first. An alert for all later ones of a day names only the RFC itself. */
function pageOfListed({ fiscal_entity_id, rfc, message }: About): string {
  const counterparty_rfc = RFC.exec(message)?.[0]
  if (counterparty_rfc === undefined || counterparty_rfc === rfc) return '/today'
  return `/cfdi?${new URLSearchParams({ fiscal_entity_id: fiscal_entity_id!, counterparty_rfc })}`
}

/** Where somebody looks at it. */
export function pageOf(alert: About): string | null {
  const { kind, resource_id, fiscal_entity_id } = alert
  if (fiscal_entity_id !== null) {
    if (kind === 'counterparty.listed') return pageOfListed(alert)
    if (kind === 'cfdi.cancelled_after_payment')
      return resource_id === fiscal_entity_id
        ? `/cfdi?${new URLSearchParams({ fiscal_entity_id, estatus: 'cancelado' })}`
        : `/cfdi/${resource_id}?${new URLSearchParams({ fiscal_entity_id })}`
    if (kind === 'cancellation.requested') return `/cancellation-requests?${new URLSearchParams({ fiscal_entity_id })}`
    if (resource_id.startsWith('ntf_')) return `/rfcs/${fiscal_entity_id}#mailbox`
  }
  const [, page] = PAGES.find(([form]) => form.test(resource_id)) ?? []
  return page?.(resource_id) ?? null
}

/** A page of alerts with those whose cause lasts first, each kind in the order of the API. */
export const openFirst = <One extends Pick<Alert, 'resolved_at'>>(page: readonly One[]): One[] => [
  ...page.filter(({ resolved_at }) => resolved_at === null),
  ...page.filter(({ resolved_at }) => resolved_at !== null),
]
