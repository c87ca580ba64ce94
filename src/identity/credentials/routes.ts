import { Hono } from 'hono'
import type { App } from '../../platform/context.ts'
import { body, idempotent, operation, params, query, refuses, returns, roles } from '../../platform/http/operation.ts'
import { pageOf } from '../../platform/http/shapes.ts'
import { Credential, CredentialDraft, CredentialPath, CredentialQuery, NewCredential } from './contract.ts'
import { createCredential, listOfCredentials, revokeCredential } from './credentials.ts'

export const credentialRoutes = new Hono<App>()
  .get(
    '/',
    operation('listCredentials', 'Credentials', 'List the credentials that are not revoked, oldest first'),
    query(CredentialQuery),
    returns(200, pageOf(Credential)),
    async (c) => c.json(await listOfCredentials(c.var.ctx, c.req.valid('query'))),
  )
  .post(
    '/',
    operation('createCredential', 'Credentials', 'Create a credential', 'Only an owner creates a credential with the role owner.'),
    roles('owner', 'admin'),
    body(CredentialDraft),
    returns(201, NewCredential, 'The credential with its secret, shown this once'),
    idempotent(),
    async (c) => c.json(await createCredential(c.var.ctx, c.req.valid('json')), 201),
  )
  .delete(
    '/:api_key',
    operation(
      'revokeCredential',
      'Credentials',
      'Revoke a credential',
      'It fails from the next request on. Only an owner revokes an owner’s.',
    ),
    params(CredentialPath),
    roles('owner', 'admin'),
    returns(204, undefined, 'Revoked'),
    refuses(404, 'There is no such credential.'),
    refuses(409, 'No credential of an owner would be left for as long as it is good.'),
    (c) => revokeCredential(c.var.ctx, c.req.valid('param').api_key).then(() => c.body(null, 204)),
  )
