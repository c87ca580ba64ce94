import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { operation, query, refuses, returnsTable } from '../../platform/http/operation.ts'
import { NOT_READABLE } from '../../taxpayers/contract.ts'
import { EntriesPage } from '../common/contract.ts'
import { getConcepts, getConceptsEntries } from './concepts.ts'
import { Concepts, ConceptsEntriesQuery, ConceptsQuery } from './contract.ts'

const CONCEPTS = `Returns what was bought or sold, by segment, family, class or key of c_ClaveProdServ, or by description, the largest
amount first. Amounts are importe − descuento in MXN, net of credit notes. Quantities, prices, the mix of IVA and outliers need the lines of
the documents: when the range has more than 5,000 documents they are null, with has_line_figures false, and level=description is refused.`

const ENTRIES = `Returns the documents behind a figure, newest first: their amounts add up to it exactly. A page may have fewer entries than
limit while has_more is true. The figures missing_rate, dof_rate and not_counted list what data_quality counts, with totals in the
document’s own currency.`

/** Mounted at /v1/analytics. */
export const conceptsRoutes = new Hono<App>()
  .get(
    '/concepts',
    operation('getConcepts', 'Insight', 'Analyze what was bought or sold', CONCEPTS),
    query(ConceptsQuery),
    returnsTable(Concepts),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getConcepts(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/concepts/entries',
    operation('listConceptsEntries', 'Insight', 'List the documents behind a figure of concepts', ENTRIES),
    query(ConceptsEntriesQuery),
    returnsTable(EntriesPage),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getConceptsEntries(c.var.ctx, c.req.valid('query'))),
  )
