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
