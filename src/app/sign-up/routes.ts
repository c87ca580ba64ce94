import { confirmEmail, resendConfirmation } from '../../accounts/confirmation/confirmation.ts'
import { Confirmation, ConfirmedEmail, RequestedConfirmation } from '../../accounts/confirmation/contract.ts'
import { Acceptance, Signup } from '../../accounts/team/contract.ts'
import { acceptInvitation } from '../../accounts/team/invitations.ts'
import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { body, idempotent, operation, perAddress, publicOperation, refuses, refusesAny, returns } from '../../platform/http/operation.ts'
import { SignupDraft } from './contract.ts'
import { signUp } from './sign-up.ts'

const MAILS =
  'The address makes too many requests, with RateLimit-Policy, or too many mails were asked for to this e-mail address within a day (`email.confirmation_limit`).'

export const authRoutes = new Hono<App>()
  .post(
    '/signup',
    publicOperation(
      'signUp',
      'Sign-up',
      'Create an organization',
      'Returns the owner’s credential; its secret is shown only in this answer. Addresses at disposable domains are refused with 422. Where the service sends mail, ' +
        'the address is to be confirmed by the link in a mail before an RFC is connected; until then `organization.email_confirmed_at` is null.',
    ),
    body(SignupDraft),
    returns(201, Signup),
    perAddress(),
    refuses(429, MAILS),
    async (c) => c.json(await signUp(c.var.system, c.req.valid('json')), 201),
  )
  .post(
    '/email/confirm',
    publicOperation(
      'confirmEmail',
      'Sign-up',
      'Confirm the e-mail address of a sign-up',
      'Takes the token from the link in the mail, which works once and for 24 hours. Opening the link confirms nothing: its page asks first.',
    ),
    body(Confirmation),
    returns(200, ConfirmedEmail),
    refuses(404, 'There is no open confirmation with this token: it is unknown, was used, or has expired.'),
    perAddress(),
    async (c) => c.json(await confirmEmail(c.var.system, c.req.valid('json'))),
  )
  .post(
    '/email/resend',
    operation(
      'resendConfirmation',
      'Sign-up',
      'Have the mail of the sign-up sent again',
      'With a link of its own, to the address of the sign-up. Links of earlier mails go on working until one of them is used.',
    ),
    returns(202, RequestedConfirmation, 'The mail will be sent.'),
    refuses(409, 'The address is confirmed (`email.confirmed`).'),
    refusesAny({ 429: 'Too many mails were asked for to this e-mail address within a day (`email.confirmation_limit`).' }),
    idempotent(),
    async (c) => c.json(await resendConfirmation(c.var.ctx), 202),
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
