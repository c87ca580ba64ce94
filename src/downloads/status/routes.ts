import * as z from 'zod'
import { Cfdi, CfdiUuid } from '../../cfdi/contract.ts'
import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { body, idempotent, operation, params, query, refuses, refusesAny, returns } from '../../platform/http/operation.ts'
import { pageOf } from '../../platform/http/shapes.ts'
import { NOT_READABLE, ofFiscalEntity, requireFiscalEntity } from '../../taxpayers/contract.ts'
import { checkStatus } from './check-status.ts'
import { CancellationAnswer, CancellationRequest, CancellationRequestDetail, CancellationRequestQuery } from './contract.ts'
import { answerRequest, getRequest, listRequests } from './requests.ts'

const ByUuid = z.strictObject({ uuid: CfdiUuid })
const OfEntity = z.strictObject(ofFiscalEntity).superRefine(requireFiscalEntity)

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
  params(ByUuid),
  query(OfEntity),
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

const LIST = `Lists the documents that their issuer has asked to cancel, with the deadline of the receiver and what is paid of them. The authority
tells nobody of a request: the service asks its status service (ConsultaCFDI) every day about received invoices on which money hangs, which are
those that are large, recent, not paid or just paid, and can be cancelled with acceptance only, within a number of questions for each RFC and day.
A request that your own status check shows is listed too. Some requests are therefore seen late, and some not at all. The document of a request is
its identifier, and has only its last one.`

const ANSWER = `Accepts or rejects the request for the receiver, through the certified provider (PAC) of the deployment, and returns it. The answer
cannot be taken back. \`status\` changes when the authority says so, some time later. Without an answer the authority takes the request for accepted
after three business days.`

const NO_REQUEST = 'There is no active connection to the fiscal entity, or no request about a CFDI that your visibility windows show.'

/** Requests to cancel documents, mounted at /v1/cancellation-requests. */
export const cancellationRoutes = new Hono<App>()
  .get(
    '/',
    operation('listCancellationRequests', 'CFDI', 'List the requests to cancel CFDIs, the latest first', LIST),
    query(CancellationRequestQuery),
    returns(200, pageOf(CancellationRequest)),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await listRequests(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/:uuid',
    operation(
      'getCancellationRequest',
      'CFDI',
      'Get the request to cancel a CFDI',
      'Returns the request with what was paid or credited of the CFDI.',
    ),
    params(ByUuid),
    query(OfEntity),
    returns(200, CancellationRequestDetail),
    refuses(404, NO_REQUEST),
    async (c) => c.json(await getRequest(c.var.ctx, c.req.valid('param').uuid)),
  )
  .post(
    '/:uuid/answer',
    operation('answerCancellationRequest', 'CFDI', 'Accept or reject the request to cancel a CFDI', ANSWER),
    params(ByUuid),
    query(OfEntity),
    body(CancellationAnswer),
    returns(200, CancellationRequestDetail),
    refusesAny({
      404: NO_REQUEST,
      409:
        '`cancellation_request.no_provider`: no certified provider is configured. `cancellation_request.not_received`: the fiscal entity issued the CFDI, or ' +
        'you imported it. `cancellation_request.not_pending`: the request has ended. `cancellation_request.answered`: it was answered otherwise.',
      503: 'The provider does not answer. Nobody knows whether it has sent the answer: send the same one again.',
    }),
    idempotent(),
    async (c) => c.json(await answerRequest(c.var.ctx, c.req.valid('param').uuid, c.req.valid('json'))),
  )
