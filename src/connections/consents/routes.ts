import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { idempotent, operation, params, query, refuses, returns } from '../../platform/http/operation.ts'
import { getConsent, listConsents, withdrawConsent } from './consents.ts'
import { Consent, ConsentPage, ConsentPath, ConsentQuery } from './contract.ts'

const TAG = 'Connect links'
const NO_CONSENT = 'There is no such consent.'

/** Mounted at /v1/consents. */
export const consentRoutes = new Hono<App>()
  .get(
    '/',
    operation(
      'listConsents',
      TAG,
      'List consents, newest first',
      'A connection has one active consent at most: the one that the taxpayer gave on the page of a connect link, or one that you declared by giving a login through the API.',
    ),
    query(ConsentQuery),
    returns(200, ConsentPage),
    async (c) => c.json(await listConsents(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/:consent_id',
    operation('getConsent', TAG, 'Get a consent'),
    params(ConsentPath),
    returns(200, Consent),
    refuses(404, NO_CONSENT),
    async (c) => c.json(await getConsent(c.var.ctx, c.req.valid('param').consent_id)),
  )
  .post(
    '/:consent_id/withdraw',
    operation(
      'withdrawConsent',
      TAG,
      'Withdraw a consent',
      'The CIEC and the e.firma of the connection are erased, and its status becomes `invalid_ciec` with `invalid_reason` `withdrawn`: nothing is downloaded and read any more. What was downloaded stays, and so do the windows; a new login, with a consent of its own, continues them. Other organizations with the same RFC are not affected.',
    ),
    params(ConsentPath),
    returns(200, Consent),
    refuses(404, NO_CONSENT),
    refuses(409, 'The consent has ended (`consent.ended`), or other requests keep changing the connection.'),
    idempotent(),
    async (c) => c.json(await withdrawConsent(c.var.ctx, c.req.valid('param').consent_id)),
  )
