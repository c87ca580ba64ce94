import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { body, idempotent, operation, query, refuses, returns, roles } from '../../platform/http/operation.ts'
import { pageOf } from '../../platform/http/shapes.ts'
import { Credential, CredentialDraft, CredentialQuery, NewCredential } from './contract.ts'
import { createCredential, listCredentials } from './credentials.ts'

export const credentialRoutes = new Hono<App>()
  .get(
    '/',
    operation('listCredentials', 'Credentials', 'List the credentials that are not revoked, oldest first'),
    query(CredentialQuery),
    returns(200, pageOf(Credential)),
    async (c) => c.json(await listCredentials(c.var.ctx, c.req.valid('query'))),
  )
  .post(
    '/',
    operation(
      'createCredential',
      'Credentials',
      'Create a credential',
      'The credential has at most the role and the life of the one that creates it: only an owner can create a credential with the ' +
        'role owner.',
    ),
    roles('owner', 'admin'),
    body(CredentialDraft),
    returns(201, NewCredential, 'The credential with its secret, which is shown only in this answer'),
    refuses(
      409,
      'The organization has as many credentials as its plan allows (`credential.plan_limit`), or the credential of the request was ' +
        'revoked or got another role in the meantime.',
    ),
    idempotent(),
    async (c) => c.json(await createCredential(c.var.ctx, c.req.valid('json')), 201),
  )
