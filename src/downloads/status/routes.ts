import * as z from 'zod'
import { Cfdi, CfdiUuid } from '../../cfdi/contract.ts'
import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { idempotent, operation, params, query, refuses, refusesAny, returns } from '../../platform/http/operation.ts'
import { ofFiscalEntity, requireFiscalEntity } from '../../taxpayers/contract.ts'
import { checkStatus } from './check-status.ts'

const CHECK = `Asks the authority’s status service (ConsultaCFDI) about one CFDI, and returns the document with the answer in status_answer,
es_cancelable, estatus_cancelacion, validacion_efos and status_checked_at. Every role may ask, once in ten minutes for each document. An answer is your
organization’s own: others that hold the document do not see that you asked. When the authority says cancelado, the document is cancelled
as if a download had said so: its events, sums and balances follow within seconds, without time and reason until a download states them.
No other answer changes estatus: a document that is cancelled stays so. While a cancellation is en_proceso (for 30 days), or the authority
does not find the document (for 7 days), it is asked again every day.`

/** The status check of a CFDI, mounted at /v1/cfdi. */
export const statusRoutes = new Hono<App>().post(
  '/:uuid/status-check',
  operation('checkCfdiStatus', 'CFDI', 'Ask the authority for the status of a CFDI', CHECK),
  params(z.strictObject({ uuid: CfdiUuid })),
  query(z.strictObject(ofFiscalEntity).superRefine(requireFiscalEntity)),
  returns(200, Cfdi),
  refuses(404, 'There is no active connection to the fiscal entity, or your visibility windows show no such CFDI.'),
  refusesAny({
    422: 'With the code `cfdi.retenciones_status`: the document is a CFDI de retenciones, about which the service does not ask.',
    429: 'You checked the document less than ten minutes ago. Retry-After and retry_after_seconds state when to try again.',
    503: 'The authority does not answer. Nothing is known and nothing has changed. Try again later.',
  }),
  idempotent(),
  async (c) => c.json(await checkStatus(c.var.ctx, c.req.valid('param').uuid)),
)
