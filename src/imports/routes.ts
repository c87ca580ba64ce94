import { Hono } from 'hono'
import type { App } from '../platform/context.ts'
import { idempotent, operation, params, refuses, returns, roles, upload } from '../platform/http/operation.ts'
import { FiscalEntityPath } from '../taxpayers/contract.ts'
import { Import, ImportPath } from './contract.ts'
import { getImport, importFiles } from './imports.ts'

const CONTENT_TYPES = ['application/xml', 'text/xml', 'application/zip', 'application/octet-stream']
const MAX_BYTES = 25 * 1024 * 1024

export const importRoutes = new Hono<App>()
  .post(
    '/:fiscal_entity_id/cfdi/imports',
    operation(
      'importCfdi',
      'Imports',
      'Import CFDIs that you have',
      'One XML, or a ZIP as the tax authority packs them (XML and metadata TXT), up to 25 MiB, as a raw body. What you import is yours alone ' +
        'until the authority delivers the same UUID. One bad file never fails the rest: read the result of each with the import.',
    ),
    params(FiscalEntityPath),
    roles('owner', 'admin'),
    upload(CONTENT_TYPES, MAX_BYTES, 'One XML or a ZIP.'),
    returns(202, Import, 'The import, queued'),
    refuses(404, 'The organization has no connection to this fiscal entity.'),
    refuses(422, 'The body is empty.'),
    idempotent(),
    async (c) => c.json(await importFiles(c.var.ctx, c.var.upload), 202),
  )
  .get(
    '/:fiscal_entity_id/cfdi/imports/:import_id',
    operation('getImport', 'Imports', 'What became of an import, file by file'),
    params(ImportPath),
    returns(200, Import),
    refuses(404, 'There is no such import.'),
    async (c) => c.json(await getImport(c.var.ctx, c.req.valid('param').import_id)),
  )
