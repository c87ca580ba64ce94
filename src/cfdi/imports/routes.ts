import type { App } from '../../platform/context.ts'
import { MOST_BODY_BYTES } from '../../platform/http/body.ts'
import { Hono } from '../../platform/http/hono.ts'
import {
  confirmed,
  idempotent,
  operation,
  params,
  query,
  refuses,
  refusesAny,
  returns,
  roles,
  storedUpload,
} from '../../platform/http/operation.ts'
import { pageOf } from '../../platform/http/shapes.ts'
import { FiscalEntityPath } from '../../taxpayers/contract.ts'
import { Import, ImportPath, ImportQuery, ImportSummary } from './contract.ts'
import { deleteImport, getImport, importFiles, listImports, UPLOADS } from './imports.ts'

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
    roles('owner', 'admin'),
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
    roles('owner', 'admin'),
    returns(202, Import, 'The import. It is being deleted, and is not found once that is done.'),
    refuses(404, 'The organization has no connection to the fiscal entity, or no such import.'),
    async (c) => c.json(await deleteImport(c.var.ctx, c.req.valid('param').import_id), 202),
  )
