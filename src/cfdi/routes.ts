import * as z from 'zod'
import type { App } from '../platform/context.ts'
import { MOST_BODY_BYTES } from '../platform/http/body.ts'
import { Hono } from '../platform/http/hono.ts'
import {
  confirmed,
  idempotent,
  operation,
  params,
  query,
  refuses,
  refusesAny,
  returns,
  returnsTable,
  storedUpload,
} from '../platform/http/operation.ts'
import { pageOf } from '../platform/http/shapes.ts'
import { FiscalEntityPath, NOT_READABLE, ofFiscalEntity, requireFiscalEntity } from '../taxpayers/contract.ts'
import { listChanges } from './changes/changes.ts'
import { CfdiChanges, ChangesQuery } from './changes/contract.ts'
import { CfdiUuid } from './contract.ts'
import { Import, ImportPath, ImportQuery, ImportSummary } from './imports/contract.ts'
import { deleteImport, getImport, importFiles, listImports, UPLOADS } from './imports/imports.ts'
import { CfdiHistory, CfdiRelations, RelationsQuery } from './related/contract.ts'
import { getHistory, listRelations } from './related/history.ts'
import { CfdiPage, CfdiSearch, CfdiSumQuery, CfdiSums } from './search/contract.ts'
import { searchCfdi, sumCfdi } from './search/search.ts'
import { MonthlySummary, MonthlySummaryQuery } from './summary/contract.ts'
import { summarizeMonths } from './summary/summary.ts'

const SEARCH = `Returns the documents that your visibility windows show and those that you imported, in the order of sort: newest first by
default, by issued_at, then by uuid, both descending. Issued and received documents have a window each.

Indexes serve direction, estatus, tipo_comprobante, payment_status, the RFCs, uuid, issued_from and issued_to, alone and in most
combinations. For any other filter, and for q, documents are looked at one by one, at most 5,000 for a page. Only a page that ends there is
shorter than limit, or empty, while has_more is true; scanned_through then says how far it got. Continue with next_cursor until has_more is
false. A sort by total looks at no more than 5,000 documents in all, and refuses a search whose indexed filters leave more.

payment_status, paid_amount, credited_amount, balance, last_payment_at and fully_paid_at, and the filters on them, count the payment
complements and credit notes that count and were issued up to the ceiling of the invoice's direction. To follow what changes, use \`GET /v1/cfdi/changes\`.`

const SUMS = `Returns how many documents a search finds, and what they add up to in their own currencies: a row for each direction, kind, type,
status and currency, with substituted documents apart. It takes the filters of \`GET /v1/cfdi\`, and looks at the newest 5,000 documents
that the indexed filters leave.`

/** The search of CFDIs, under /v1/cfdi. */
export const searchRoutes = new Hono<App>()
  .get(
    '/',
    operation('searchCfdi', 'CFDI', 'Search CFDIs', SEARCH),
    query(CfdiSearch),
    returnsTable(CfdiPage),
    refuses(404, NOT_READABLE),
    refuses(422, '`cfdi.too_many_to_sort`: the indexed filters leave more than 5,000 documents to sort by total.'),
    async (c) => c.json(await searchCfdi(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/summary',
    operation('sumCfdi', 'CFDI', 'Sum what a search finds', SUMS),
    query(CfdiSumQuery),
    returnsTable(CfdiSums),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await sumCfdi(c.var.ctx, c.req.valid('query'))),
  )

const ByUuid = z.strictObject({ uuid: CfdiUuid })
const OfEntity = z.strictObject(ofFiscalEntity).superRefine(requireFiscalEntity)

const NOT_VISIBLE = 'There is no active connection to the fiscal entity, or your visibility windows show no such CFDI.'

const RELATIONS = `Lists first the documents that the CFDI names, then those that name it, each by relation and uuid. A document that
the CFDI names is listed even if your windows do not show it, then without its contents. A document that names the CFDI is listed only if your
windows show it.`

const HISTORY = `Returns what happened to the CFDI and since when you could know of it. It does not say when another organization
downloaded the CFDI before your own run reached it. The service knows when a document was stored for 90 days, and only while nothing else has
happened to the document.`

/** What a CFDI has to do with others, and what happened to it, under /v1/cfdi. */
export const relatedRoutes = new Hono<App>()
  .get(
    '/:uuid/relations',
    operation('listCfdiRelations', 'CFDI', 'List the documents that a CFDI names, and those that name it', RELATIONS),
    params(ByUuid),
    query(RelationsQuery),
    returns(200, CfdiRelations),
    refuses(404, NOT_VISIBLE),
    async (c) => c.json(await listRelations(c.var.ctx, c.req.valid('param').uuid, c.req.valid('query'))),
  )
  .get(
    '/:uuid/history',
    operation('getCfdiHistory', 'CFDI', 'Get the history of a CFDI', HISTORY),
    params(ByUuid),
    query(OfEntity),
    returns(200, CfdiHistory),
    refuses(404, NOT_VISIBLE),
    async (c) => c.json(await getHistory(c.var.ctx, c.req.valid('param').uuid)),
  )

const CHANGES = `Returns the CFDIs of a fiscal entity that your organization sees for the first time, that it sees changed, or that it
sees no more, since the cursor. Without a cursor that is everything, so that one loop mirrors from nothing: store what has a \`cfdi\` under its
uuid, delete what is \`removed\`, keep next_cursor with them, and ask again while has_more is true. What you then have equals
\`GET /v1/cfdi\`. A change can be reported more than once, and no change is left out. The changes include documents that another
organization fetched earlier, once your windows show them. They also include invoices whose balance changed because your windows now show a
payment. A change of a blacklist is not reported here.`

/** What changed of the CFDIs, under /v1/cfdi. */
export const changesRoutes = new Hono<App>().get(
  '/changes',
  operation('listCfdiChanges', 'CFDI', 'Follow changes of CFDIs', CHANGES),
  query(ChangesQuery),
  returns(200, CfdiChanges),
  refuses(404, NOT_READABLE),
  async (c) => c.json(await listChanges(c.var.ctx, c.req.valid('query'))),
)

const SUMMARY = `Returns totals for each month of the literal Fecha and each direction. A month that your visibility window divides is
summed only as far as the window shows it, with is_partial true: whole days from the floor on, and up to the instant of the ceiling. The
issued and the received CFDIs have a window each. A row outside its window is absent, unless imports of yours lie there: then it counts
these alone, with is_partial true and data_status missing. A row inside its window without documents has zeros, which count only when its
data_status is complete. from and to may also be days: then the first and the last month are summed from and to these days. drilldown is
the search that returns the documents of a row.`

/** The summaries of CFDIs, under /v1/cfdi. */
export const summaryRoutes = new Hono<App>().get(
  '/summary/monthly',
  operation('summarizeCfdiMonths', 'CFDI', 'Sum CFDIs by month', SUMMARY),
  query(MonthlySummaryQuery),
  returnsTable(MonthlySummary),
  refuses(404, NOT_READABLE),
  async (c) => c.json(await summarizeMonths(c.var.ctx, c.req.valid('query'))),
)

const CONTENT_TYPES = ['application/xml', 'text/xml', 'application/zip', 'application/octet-stream']

export const importRoutes = new Hono<App>()
  .post(
    '/:fiscal_entity_id/cfdi/imports',
    operation(
      'importCfdi',
      'Imports',
      'Import your own CFDIs',
      'Send one XML, one metadata TXT, or a ZIP of such files as the tax authority packs them, as the raw body, up to 100 MB (100,000,000 bytes). Only your ' +
        'organization can read what it imports, and its visibility windows do not limit that. Once the tax authority delivers the same ' +
        'UUID inside your windows, that document replaces the imported one. Imported documents and those of the tax authority do not act on each other: an ' +
        'imported payment, credit note or substitution changes only imported documents. Imports are processed in the background: get the import to read ' +
        'the result of each file. A rejected file does not affect the others. A CFDI may have 10 MiB; its first 30,000 lines are shown, ' +
        'and of the documents that it names or pays the first 10,000 are read. Metadata may have 48 MiB and 500,000 lines in all, empty ones too; ' +
        'a ZIP may have 512 MiB and 200,000 files when it is unpacked. Imports count against the plan, in the bytes that are stored of them and ' +
        'in documents, a day and in all (`GET /v1/billing/usage`), also those for drafts. The imports of different organizations take turns.',
    ),
    params(FiscalEntityPath),
    confirmed(),
    storedUpload(CONTENT_TYPES, MOST_BODY_BYTES, 'One XML, one metadata TXT, or a ZIP.', UPLOADS, ({ connection }) => connection !== null),
    returns(202, Import, 'The import. It is queued.'),
    refusesAny({
      404: 'The organization has no connection to the fiscal entity, or the request repeats one whose import was deleted (`import.not_found`).',
      409: 'The upload does not fit into the bytes that the plan allows a day or in all (`import.plan_limit`). Nothing is stored.',
      422: 'The body is empty.',
    }),
    idempotent(),
    async (c) => c.json(await importFiles(c.var.ctx, c.var.stored), 202),
  )
  .get(
    '/:fiscal_entity_id/cfdi/imports',
    operation('listImports', 'Imports', 'List the imports for an RFC, newest first'),
    params(FiscalEntityPath),
    query(ImportQuery),
    returns(200, pageOf(ImportSummary)),
    refuses(404, 'The organization has no connection to the fiscal entity.'),
    async (c) => c.json(await listImports(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/:fiscal_entity_id/cfdi/imports/:import_id',
    operation('getImport', 'Imports', 'Get an import with the result of each file'),
    params(ImportPath),
    returns(200, Import),
    refuses(404, 'The organization has no connection to the fiscal entity, or no such import.'),
    async (c) => c.json(await getImport(c.var.ctx, c.req.valid('param').import_id)),
  )
  .delete(
    '/:fiscal_entity_id/cfdi/imports/:import_id',
    operation(
      'deleteImport',
      'Imports',
      'Delete an import with its documents',
      'Deletes the documents that only this import brought, in the background; afterwards all documents, balances and sums read as if it had never ' +
        'been sent. Documents that another of your imports brought too stay, as that one brought them, also where its file was rejected as ' +
        '`cfdi.conflict` because of this import. The results of other imports go on to say what became of their files at the time. What the tax authority delivered is not touched. ' +
        'An import that is being processed stops. The import no longer counts against the total limit of the plan. It still counts against the limit of its day.',
    ),
    params(ImportPath),
    returns(202, Import, 'The import. It is being deleted, and is not found once that is done.'),
    refuses(404, 'The organization has no connection to the fiscal entity, or no such import.'),
    async (c) => c.json(await deleteImport(c.var.ctx, c.req.valid('param').import_id), 202),
  )
