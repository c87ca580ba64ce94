/** What the list of this tab asked for last, so that a document leads back to it. */
let last = ''

export const remember = (search: string): void => {
  last = search
}

/** The list that was seen last, if it was of this RFC; else all of its documents. */
export function listOf(fiscal_entity_id: string): string {
  const isOfIt = new URLSearchParams(last).get('fiscal_entity_id') === fiscal_entity_id
  return `/cfdi?${isOfIt ? last : new URLSearchParams({ fiscal_entity_id })}`
}
