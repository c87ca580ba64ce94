/** Payments that are still to come: nobody awaits those of a cancelled document, of which the API says what was unpaid as well. */
const OPEN = ['unpaid', 'partially_paid']

/** The address with a filter; of what is still to be paid, the valid documents, unless a status is chosen already. */
export function chosen(params: URLSearchParams, name: string, value: string): URLSearchParams {
  if (!value) params.delete(name)
  else params.set(name, value)
  const isOpen = name === 'payment_status' && value !== '' && value.split(',').every((one) => OPEN.includes(one))
  if (isOpen && !params.has('estatus')) params.set('estatus', 'vigente')
  return params
}

const AMOUNT = /^(?:\$\s*[\d,]+(?:\.\d{1,2})?|[\d,]+\.\d{2})$/

/** An amount that was typed, as the API takes it; null for any other text. */
export const typedAmount = (text: string): string | null => (AMOUNT.test(text.trim()) ? text.replace(/[$,\s]/g, '') : null)

/** The address with what was typed into the search: an amount is a total, and a series and its folio are found as they are printed, `F-26101885`. */
export function searched(params: URLSearchParams, text: string): URLSearchParams {
  const amount = typedAmount(text)
  if (amount === null) return chosen(params, 'q', text.replace(/^([A-Za-z]{1,10})-(\d+)$/, '$1 $2'))
  params.delete('q')
  params.set('total_min', amount)
  params.set('total_max', amount)
  return params
}
