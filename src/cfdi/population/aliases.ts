import { alias } from 'drizzle-orm/sqlite-core'
import { cfdi, cfdiChunks, cfdiPayments } from '../tables.ts'

// The tables of a ledger for the statements of other domains, under the names that those of this domain give them.
export { cfdi, cfdiAdvances, cfdiChunks, cfdiCommits, cfdiMonths, cfdiPayments, cfdiSubstitutions, cfdiSuppliers } from '../tables.ts'

/** The documents of `populationOf`. */
export const own = alias(cfdi, 'own')
/** An application to the invoice `i` or `own`, and the document that it is of. */
export const p = alias(cfdiPayments, 'p')
export const source = alias(cfdi, 'source')
export const i = alias(cfdi, 'i')
/** A chunk of the content of documents. */
export const k = alias(cfdiChunks, 'k')
