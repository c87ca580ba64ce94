/** The first month with documents. */
export const FIRST_MONTH = '2018-01'
