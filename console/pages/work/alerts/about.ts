import type { Alert, FiscalEntity } from '../../../api/routes.d.ts'

/** The page of what an alert is about, by the form of its id. */
const PAGES: readonly [RegExp, (id: string) => string][] = [
  [/^fe_/, (id) => `/rfcs/${id}`],
  [/^wh/, (id) => `/webhooks/${id}`],
  [/^(stc|con)/, () => '/storage'],
  [/^org_/, () => '/billing'],
]
const RFC = /(?<![A-ZÑ&\d])[A-ZÑ&]{3,4}\d{6}[A-Z\d]{3}(?![A-Z\d])/

/** Where somebody looks at it. A notification lies in the mailbox of the RFC that the message names first. */
export function pageOf(
  { resource_id, message }: Pick<Alert, 'resource_id' | 'message'>,
  entities: readonly Pick<FiscalEntity, 'fiscal_entity_id' | 'rfc'>[],
): string | null {
  const [, page] = PAGES.find(([form]) => form.test(resource_id)) ?? []
  if (page) return page(resource_id)
  if (!resource_id.startsWith('ntf_')) return null
  const rfc = RFC.exec(message)?.[0]
  const entity = entities.find((one) => one.rfc === rfc)
  return entity ? `/rfcs/${entity.fiscal_entity_id}#mailbox` : null
}

/** A text whose days, `2026-11-24`, are said as `say` does. */
export const withDays = (text: string, say: (day: string) => string): string => text.replace(/\b\d{4}-\d\d-\d\d\b(?!T)/g, say)

/** A page of alerts with those whose cause lasts first, each kind in the order of the API. */
export const openFirst = <One extends Pick<Alert, 'resolved_at'>>(page: readonly One[]): One[] => [
  ...page.filter(({ resolved_at }) => resolved_at === null),
  ...page.filter(({ resolved_at }) => resolved_at !== null),
]
