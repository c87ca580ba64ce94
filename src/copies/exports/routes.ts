import { askedOf } from '../../platform/content.ts'
import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { body, idempotent, operation, params, query, refuses, returns, returnsContent } from '../../platform/http/operation.ts'
import { NOT_READABLE } from '../../taxpayers/contract.ts'
import { Export, ExportPage, ExportPath, ExportQuery, NewExport } from './contract.ts'
import { createExport, deleteExport, getExport, listExports, readContent } from './exports.ts'

const TAG = 'Exports'
const TYPES = [
  'text/csv',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  'application/x-ndjson',
  'application/zip',
] as const

const NO_EXPORT = 'There is no such export.'

export const exportRoutes = new Hono<App>()
  .post(
    '/',
    operation(
      'createExport',
      TAG,
      'Begin an export',
      'Has everything that the filters find for an RFC written into one file, in the background: what your windows show now, also when they change ' +
        'meanwhile. Get the export to follow it, and its content once it is `ready`. Rows are those of `GET /v1/cfdi` in its order, newest first. ' +
        'The guide [Exports](/docs/exports) lists the columns. Exports that are made or kept count against the plan.',
    ),
    body(NewExport),
    returns(202, Export, 'The export. It is queued.', { Location: 'The path of the export.' }),
    refuses(404, NOT_READABLE),
    refuses(409, 'The plan allows no further export (`export.plan_limit`). Delete one, or wait until one expires.'),
    idempotent(),
    async (c) => {
      const made = await createExport(c.var.ctx, c.req.valid('json'))
      c.header('Location', `/v1/exports/${made.export_id}`)
      return c.json(made, 202)
    },
  )
  .get('/', operation('listExports', TAG, 'List exports, newest first'), query(ExportQuery), returns(200, ExportPage), async (c) =>
    c.json(await listExports(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/:export_id',
    operation('getExport', TAG, 'Get an export with its progress'),
    params(ExportPath),
    returns(200, Export),
    refuses(404, NO_EXPORT),
    async (c) => c.json(await getExport(c.var.ctx, c.req.valid('param').export_id)),
  )
  .delete(
    '/:export_id',
    operation('deleteExport', TAG, 'Delete an export with its content', 'An export that is being made stops.'),
    params(ExportPath),
    returns(204),
    refuses(404, NO_EXPORT),
    async (c) => {
      await deleteExport(c.var.ctx, c.req.valid('param').export_id)
      return c.body(null, 204)
    },
  )
  .get(
    '/:export_id/content',
    operation(
      'readExport',
      TAG,
      'Download the content of an export',
      'The header Range may ask for one part of it, so that a download that broke off can go on; If-Range for the part only if the ETag is ' +
        'still the same, and If-None-Match for the file only if it is not.',
    ),
    params(ExportPath),
    returnsContent('The file', ...TYPES),
    refuses(
      404,
      'There is no such export, its content is not ready yet (`export.not_ready`) or deleted (`export.expired`), or the connection to the ' +
        'fiscal entity is not active any more (`fiscal_entity.not_active`).',
    ),
    async (c) => {
      const answer = await readContent(c.var.ctx, c.req.valid('param').export_id, askedOf(c.req.raw))
      return c.newResponse(answer.body, answer)
    },
  )
