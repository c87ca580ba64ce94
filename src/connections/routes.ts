import { Hono } from 'hono'
import type { App } from '../platform/context.ts'
import { body, idempotent, operation, params, query, refuses, returns, roles } from '../platform/http/operation.ts'
import { pageOf } from '../platform/http/shapes.ts'
import { FiscalEntityPath } from '../taxpayers/contract.ts'
import { changeFiscalEntity } from './change.ts'
import { connectRfc } from './connect.ts'
import { getFiscalEntity, listFiscalEntities } from './connections.ts'
import { FiscalEntity, FiscalEntityChanges, FiscalEntityDraft, FiscalEntityQuery } from './contract.ts'
import { unlinkRfc } from './unlink.ts'

const CIEC_REFUSED =
  'With a CIEC: an invoice is unpaid after its grace period, the free trial has ended or covers no other RFC, or every seat is taken (with checkout_url).'
const ABSENT = 'The organization has no connection to this fiscal entity.'

export const entityRoutes = new Hono<App>()
  .get(
    '/',
    operation('listFiscalEntities', 'Fiscal entities', 'List the connections of the organization'),
    query(FiscalEntityQuery),
    returns(200, pageOf(FiscalEntity)),
    async (c) => c.json(await listFiscalEntities(c.var.ctx, c.req.valid('query'))),
  )
  .post(
    '/',
    operation(
      'connectFiscalEntity',
      'Fiscal entities',
      'Connect an RFC',
      'With a CIEC that the tax authority accepts, the connection is active and its extractors run. Without a CIEC it is a draft, which downloads nothing and costs nothing.',
    ),
    roles('owner', 'admin'),
    body(FiscalEntityDraft),
    returns(201, FiscalEntity),
    refuses(402, CIEC_REFUSED),
    refuses(409, 'The organization is already connected to this RFC, or other requests keep changing the connection.'),
    idempotent(),
    async (c) => c.json(await connectRfc(c.var.ctx, c.req.valid('json')), 201),
  )
  .get(
    '/:fiscal_entity_id',
    operation('getFiscalEntity', 'Fiscal entities', 'Get a connection'),
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
      'Update a connection',
      'A CIEC that the tax authority accepts activates a connection whose status is draft or invalid_ciec.',
    ),
    params(FiscalEntityPath),
    roles('owner', 'admin'),
    body(FiscalEntityChanges),
    returns(200, FiscalEntity),
    refuses(402, CIEC_REFUSED),
    refuses(404, ABSENT),
    refuses(409, 'Other requests keep changing the connection.'),
    async (c) => c.json(await changeFiscalEntity(c.var.ctx, c.req.valid('param').fiscal_entity_id, c.req.valid('json'))),
  )
  .delete(
    '/:fiscal_entity_id',
    operation(
      'unlinkFiscalEntity',
      'Fiscal entities',
      'Unlink an RFC',
      'The stored CIEC is erased. Connecting the RFC again restores its visibility windows.',
    ),
    params(FiscalEntityPath),
    roles('owner', 'admin'),
    returns(204, undefined, 'The RFC is unlinked.'),
    refuses(
      402,
      'The connection is paused, or an invoice is unpaid after its grace period. Drafts that are not paused can always be unlinked.',
    ),
    refuses(404, ABSENT),
    refuses(409, 'Other requests keep changing the connection.'),
    (c) => unlinkRfc(c.var.ctx, c.req.valid('param').fiscal_entity_id).then(() => c.body(null, 204)),
  )
