import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { body, operation, params, query, refuses, refusesAny, returns, returnsFile } from '../../platform/http/operation.ts'
import { FiscalEntityPath, NOT_READABLE } from '../../taxpayers/contract.ts'
import {
  DiotCheck,
  DiotCheckQuery,
  DiotFileQuery,
  DiotSettings,
  DiotSettingsDraft,
  DiotSupplier,
  DiotSupplierDraft,
  DiotSupplierPath,
  DiotSuppliers,
  DiotSuppliersQuery,
} from './contract.ts'
import { checkDiot, getDiotFile } from './diot.ts'
import { getDiotSettings, listDiotSuppliers, removeDiotSupplier, setDiotSettings, setDiotSupplier } from './settings.ts'

const TAG = 'Insight'

/** Mounted at /v1/reports. */
export const diotRoutes = new Hono<App>()
  .get(
    '/diot/file',
    operation(
      'getDiotFile',
      TAG,
      'Download the file of the DIOT of a month',
      'Returns the file that the portal of the SAT takes: a line for each supplier and kind of operation, of 54 fields between 53 pipes, in whole pesos, with the ' +
        'line end CRLF. It is computed from what your windows show now. `GET /v1/reports/diot/check` says what is missing in it.',
    ),
    query(DiotFileQuery),
    returnsFile('The file', 'text/plain'),
    refusesAny({
      404: NOT_READABLE,
      409: 'The month is not complete (`diot.month_incomplete`): `detail` names what is not. `incomplete=allow` gives the file all the same.',
    }),
    async (c) => {
      const { text, name } = await getDiotFile(c.var.ctx, c.req.valid('query'))
      return c.body(text, 200, { 'Content-Type': 'text/plain; charset=utf-8', 'Content-Disposition': `attachment; filename="${name}"` })
    },
  )
  .get(
    '/diot/check',
    operation(
      'checkDiot',
      TAG,
      'Check the file of the DIOT of a month',
      'Returns the lines of the file with findings by field, what was supposed where nothing is set, and how the sums of its fields tie to the VAT position ' +
        'of the month. It answers for months that are not complete too. `ties` and `findings` are of the whole file, and stand in each page.',
    ),
    query(DiotCheckQuery),
    returns(200, DiotCheck),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await checkDiot(c.var.ctx, c.req.valid('query'))),
  )

/** Mounted at /v1/fiscal-entities. */
export const diotSettingsRoutes = new Hono<App>()
  .get(
    '/:fiscal_entity_id/diot-settings',
    operation(
      'getDiotSettings',
      TAG,
      'Get the settings of the DIOT of an RFC',
      'Returns the proportion, and the use of purchases from suppliers of whom nothing else is set.',
    ),
    params(FiscalEntityPath),
    returns(200, DiotSettings),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getDiotSettings(c.var.ctx)),
  )
  .put(
    '/:fiscal_entity_id/diot-settings',
    operation(
      'setDiotSettings',
      TAG,
      'Set the proportion and the use of purchases for the DIOT of an RFC',
      'Replaces both: a member that is left out is null. The VAT position takes them, with those of suppliers, under `prorrateo=attributed`.',
    ),
    params(FiscalEntityPath),
    body(DiotSettingsDraft),
    returns(200, DiotSettings),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await setDiotSettings(c.var.ctx, c.req.valid('json'))),
  )
  .get(
    '/:fiscal_entity_id/diot-settings/suppliers',
    operation(
      'listDiotSuppliers',
      TAG,
      'List the suppliers with settings for the DIOT',
      'Returns what is set of suppliers because CFDIs cannot tell it, by RFC.',
    ),
    params(FiscalEntityPath),
    query(DiotSuppliersQuery),
    returns(200, DiotSuppliers),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await listDiotSuppliers(c.var.ctx, c.req.valid('query'))),
  )
  .put(
    '/:fiscal_entity_id/diot-settings/suppliers/:rfc',
    operation(
      'setDiotSupplier',
      TAG,
      'Set what CFDIs cannot tell of a supplier for the DIOT',
      'Replaces everything that is set of the supplier: a member that is left out is null.',
    ),
    params(DiotSupplierPath),
    body(DiotSupplierDraft),
    returns(200, DiotSupplier),
    refusesAny({ 404: NOT_READABLE, 409: 'Something is set of 2,000 suppliers of the RFC (`diot_settings.full`).' }),
    async (c) => c.json(await setDiotSupplier(c.var.ctx, c.req.valid('param').rfc, c.req.valid('json'))),
  )
  .delete(
    '/:fiscal_entity_id/diot-settings/suppliers/:rfc',
    operation('deleteDiotSupplier', TAG, 'Delete what is set of a supplier for the DIOT'),
    params(DiotSupplierPath),
    returns(204, undefined, 'Nothing is set of the supplier any more'),
    refuses(404, `Nothing is set of the supplier (\`supplier.not_found\`), or: ${NOT_READABLE}`),
    async (c) => {
      await removeDiotSupplier(c.var.ctx, c.req.valid('param').rfc)
      return c.body(null, 204)
    },
  )
