import type { App } from '../platform/context.ts'
import { Hono } from '../platform/http/hono.ts'
import { operation, params, refuses, returns, roles } from '../platform/http/operation.ts'
import { CredentialPath } from './credentials/contract.ts'
import { getOrganizationStats, revokeCredential } from './identity.ts'
import { OrganizationStats } from './organization/contract.ts'

/** Operations that concern several parts of identity, for /v1. */
export const identityRoutes = new Hono<App>()
  .get(
    '/organization/stats',
    operation('getOrganizationStats', 'Organization', 'Count members and active connections'),
    returns(200, OrganizationStats),
    async (c) => c.json(await getOrganizationStats(c.var.ctx)),
  )
  .delete(
    '/credentials/:api_key',
    operation(
      'revokeCredential',
      'Credentials',
      'Revoke a credential',
      'The credential fails from its next request on, and pending invitations that were sent with it are withdrawn. So are openings of ' +
        'notifications that were acknowledged with it and wait. Only an owner can revoke a credential with the role owner.',
    ),
    params(CredentialPath),
    roles('owner', 'admin'),
    returns(204, undefined, 'The credential is revoked.'),
    refuses(404, 'There is no such credential.'),
    refuses(409, 'No other credential with the role owner is valid for as long as this one.'),
    (c) => revokeCredential(c.var.ctx, c.req.valid('param').api_key).then(() => c.body(null, 204)),
  )
