import { doc } from '#doc'
import type { App } from '../platform/context.ts'
import { Hono } from '../platform/http/hono.ts'
import { body, idempotent, operation, params, query, refuses, refusesAny, returns, roles } from '../platform/http/operation.ts'
import { pageOf } from '../platform/http/shapes.ts'
import { FiscalEntityPath } from '../taxpayers/contract.ts'
import { changeFiscalEntity } from './change.ts'
import { connectRfc } from './connect.ts'
import { getFiscalEntity, listFiscalEntities } from './connections.ts'
import { FiscalEntity, FiscalEntityChanges, FiscalEntityDraft, FiscalEntityQuery } from './contract.ts'
import { unlinkRfc } from './unlink.ts'

const CIEC_REFUSED = doc(
  'With a CIEC: an invoice is unpaid after its grace period, the free trial has ended or covers no other RFC, or every seat is taken (with checkout_url).',
)
const TOO_MANY_CIECS = doc(
  'The tax authority refused three CIECs of the organization for this RFC within 15 minutes, or ten within a day of organizations that never had one accepted for it. It was not asked about this one. Accepted CIECs do not count and do not clear the refused ones. Retry-After states when to try again.',
)
const NO_ANSWER = doc(
  'With a CIEC: the tax authority does not answer, or has locked the account of the RFC (`authority.account_locked`). Nothing was stored.',
)
const ABSENT = doc('The organization has no connection to this fiscal entity.')

export const entityRoutes = new Hono<App>()
  .get(
    '/',
    operation('listFiscalEntities', 'Fiscal entities', doc('List the connections of the organization')),
    query(FiscalEntityQuery),
    returns(200, pageOf(FiscalEntity)),
    async (c) => c.json(await listFiscalEntities(c.var.ctx, c.req.valid('query'))),
  )
  .post(
    '/',
    operation(
      'connectFiscalEntity',
      'Fiscal entities',
      doc('Connect an RFC'),
      doc(
        'With a CIEC that the tax authority accepts, the connection is active and its extractors run. Without a CIEC it is a draft, which downloads nothing and costs nothing. A connection lives by its own CIEC: when another one is accepted for the RFC, or one is refused, the authority is asked about this one again, and until it has answered nothing is downloaded for the connection. A refused CIEC makes the status `invalid_ciec`.',
      ),
    ),
    roles('owner', 'admin'),
    body(FiscalEntityDraft),
    returns(201, FiscalEntity),
    refuses(402, CIEC_REFUSED),
    refuses(
      409,
      doc(
        'The organization is already connected to this RFC, other requests keep changing the connection, or without a CIEC: the plan allows no further drafts (`fiscal_entity.plan_limit`).',
      ),
    ),
    refusesAny({ 429: TOO_MANY_CIECS, 503: NO_ANSWER }),
    idempotent(),
    async (c) => c.json(await connectRfc(c.var.ctx, c.req.valid('json')), 201),
  )
  .get(
    '/:fiscal_entity_id',
    operation('getFiscalEntity', 'Fiscal entities', doc('Get a connection')),
    params(FiscalEntityPath),
    returns(200, FiscalEntity),
    refuses(404, ABSENT),
    async (c) => c.json(await getFiscalEntity(c.var.ctx, c.req.valid('param').fiscal_entity_id)),
  )
  .patch(
    '/:fiscal_entity_id',
    operation(
      'updateFiscalEntity',
      'Fiscal entities',
      doc('Update a connection'),
      doc(
        'A CIEC that the tax authority accepts activates a connection whose status is draft or invalid_ciec. `ciec: null` erases the stored CIEC in any status, whatever is owed: an active connection becomes `invalid_ciec` with `invalid_reason` `withdrawn`, without an event, and a draft stays a draft.',
      ),
    ),
    params(FiscalEntityPath),
    roles('owner', 'admin'),
    body(FiscalEntityChanges),
    returns(200, FiscalEntity),
    refuses(402, CIEC_REFUSED),
    refuses(404, ABSENT),
    refuses(409, doc('Other requests keep changing the connection.')),
    refusesAny({ 429: TOO_MANY_CIECS, 503: NO_ANSWER }),
    async (c) => c.json(await changeFiscalEntity(c.var.ctx, c.req.valid('param').fiscal_entity_id, c.req.valid('json'))),
  )
  .delete(
    '/:fiscal_entity_id',
    operation(
      'unlinkFiscalEntity',
      'Fiscal entities',
      doc('Unlink an RFC'),
      doc(
        'The stored CIEC is erased, and events about the RFC are hidden. Connecting the RFC again restores its visibility windows and these events.',
      ),
    ),
    params(FiscalEntityPath),
    roles('owner', 'admin'),
    returns(204, undefined, doc('The RFC is unlinked.')),
    refuses(
      402,
      doc('The connection is paused, or an invoice is unpaid after its grace period. Drafts can always be unlinked, paused ones too.'),
    ),
    refuses(404, ABSENT),
    refuses(409, doc('Other requests keep changing the connection.')),
    (c) => unlinkRfc(c.var.ctx, c.req.valid('param').fiscal_entity_id).then(() => c.body(null, 204)),
  )
