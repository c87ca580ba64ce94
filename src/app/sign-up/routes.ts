import { Acceptance, Signup } from '../../accounts/team/contract.ts'
import { acceptInvitation } from '../../accounts/team/invitations.ts'
import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { body, perAddress, publicOperation, refuses, returns } from '../../platform/http/operation.ts'
import { SignupDraft } from './contract.ts'
import { signUp } from './sign-up.ts'

export const authRoutes = new Hono<App>()
  .post(
    '/signup',
    publicOperation(
      'signUp',
      'Sign-up',
      'Create an organization',
      'Returns the owner’s credential; its secret is shown only in this answer. Addresses at disposable domains are refused with 422.',
    ),
    body(SignupDraft),
    returns(201, Signup),
    perAddress(),
    async (c) => c.json(await signUp(c.var.system, c.req.valid('json')), 201),
  )
  .post(
    '/invitations/accept',
    publicOperation(
      'acceptInvitation',
      'Sign-up',
      'Accept an invitation',
      'Makes you a member of the organization that invited you. Returns your credential; its secret is shown only in this answer.',
    ),
    body(Acceptance),
    returns(201, Signup),
    refuses(404, 'There is no open invitation with this token: it is unknown, was accepted, replaced or withdrawn, or has expired.'),
    refuses(409, 'The organization has as many credentials as its plan allows (`credential.plan_limit`). The invitation stays open.'),
    perAddress(),
    async (c) => c.json(await acceptInvitation(c.var.system, c.req.valid('json')), 201),
  )
