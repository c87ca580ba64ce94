import type { App } from '../platform/context.ts'
import { Hono } from '../platform/http/hono.ts'
import { body, operation, params, query, refuses, returns, roles } from '../platform/http/operation.ts'
import { pageOf } from '../platform/http/shapes.ts'
import { changeRfc, listRfcs } from './connections.ts'
import { BillingRfc, BillingRfcChanges, BillingRfcPath, BillingRfcQuery } from './contract.ts'

const TAG = 'Billing'

/** The RFCs with their seats, for /v1/billing. */
export const seatRoutes = new Hono<App>()
  .get(
    '/rfcs',
    operation('listBillingRfcs', TAG, 'List the RFCs with their seats'),
    query(BillingRfcQuery),
    returns(200, pageOf(BillingRfc)),
    async (c) => c.json(await listRfcs(c.var.ctx, c.req.valid('query'))),
  )
  .patch(
    '/rfcs/:fiscal_entity_id',
    operation(
      'changeBillingRfc',
      TAG,
      'Pause or resume an RFC',
      'Pausing is never refused and frees the seat. Resuming restores the status from before the pause. When that was active, the tax ' +
        'authority is first asked about the stored CIEC and e.firma: if it accepts one, the extractors for reactivated connections run; if not, ' +
        'the status is `invalid_ciec`.',
    ),
    params(BillingRfcPath),
    roles('owner', 'admin'),
    body(BillingRfcChanges),
    returns(200, BillingRfc),
    refuses(402, 'Resuming only: an invoice is unpaid after its grace period, or no seat is free, as after the trial (with checkout_url).'),
    refuses(404, 'The organization has no connection to this fiscal entity.'),
    refuses(
      409,
      'Resuming only: the connection is a draft or has no valid CIEC or e.firma. The same status is returned when other requests keep changing ' +
        'the connection.',
    ),
    refuses(503, 'Resuming only: the tax authority does not answer, or has locked the account of the RFC. The RFC stays paused.'),
    async (c) => c.json(await changeRfc(c.var.ctx, c.req.valid('param').fiscal_entity_id, c.req.valid('json'))),
  )
