/** The page on which the CFDIs of a month can be exported, with its form open and filled. */
export function monthExportOf(fiscal_entity_id: string, month: string, direction?: 'issued' | 'received'): string {
  const [year, number] = month.split('-').map(Number) as [number, number]
  const last = new Date(Date.UTC(year, number, 0)).toISOString().slice(0, 10)
  const filters = { fiscal_entity_id, issued_from: `${month}-01`, issued_to: last, ...(direction && { direction }) }
  return `/cfdi?${new URLSearchParams({ ...filters, export: '1' })}`
}
