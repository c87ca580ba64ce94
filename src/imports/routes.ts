import { Hono } from 'hono'
import type { App } from '../platform/context.ts'
import { idempotent, operation, params, refuses, returns, roles, storedUpload } from '../platform/http/operation.ts'
import { FiscalEntityPath } from '../taxpayers/contract.ts'
import { Import, ImportPath } from './contract.ts'
import { getImport, importFiles } from './imports.ts'
import { UPLOADS } from './uploads.ts'

const CONTENT_TYPES = ['application/xml', 'text/xml', 'application/zip', 'application/octet-stream']
const MAX_BYTES = 25 * 1024 * 1024

export const importRoutes = new Hono<App>()
  .post(
    '/:fiscal_entity_id/cfdi/imports',
    operation(
      'importCfdi',
      'Imports',
      'Import your own CFDIs',
      'Send one XML, one metadata TXT, or a ZIP of such files as the tax authority packs them, as the raw body, up to 25 MiB. Only your ' +
        'organization can read what it imports, and its visibility window does not limit that. Once the tax authority delivers the same ' +
        'UUID inside your window, that document replaces the imported one. Imports are processed in the background: get the import to read ' +
        'the result of each file. A rejected file does not affect the others. A CFDI may have 4 MiB, 30,000 lines and 30,000 paid ' +
        'documents; the metadata of a ZIP may have 48 MiB in all; a ZIP may have 512 MiB and 200,000 files when it is unpacked.',
    ),
    params(FiscalEntityPath),
    roles('owner', 'admin'),
    storedUpload(CONTENT_TYPES, MAX_BYTES, 'One XML, one metadata TXT, or a ZIP.', UPLOADS, ({ connection }) => connection !== null),
    returns(202, Import, 'The import. It is queued.'),
    refuses(404, 'The organization has no connection to the fiscal entity.'),
    refuses(422, 'The body is empty.'),
    idempotent(),
    async (c) => c.json(await importFiles(c.var.ctx, c.var.stored), 202),
  )
  .get(
    '/:fiscal_entity_id/cfdi/imports/:import_id',
    operation('getImport', 'Imports', 'Get an import with the result of each file'),
    params(ImportPath),
    returns(200, Import),
    refuses(404, 'The organization has no connection to the fiscal entity, or no such import.'),
    async (c) => c.json(await getImport(c.var.ctx, c.req.valid('param').import_id)),
  )
