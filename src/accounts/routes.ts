import * as z from 'zod'
import type { App, Ctx } from '../platform/context.ts'
import { Hono } from '../platform/http/hono.ts'
import {
  body,
  idempotent,
  operation,
  params,
  publicOperation,
  query,
  refuses,
  refusesAny,
  returns,
  upload,
} from '../platform/http/operation.ts'
import { pageOf } from '../platform/http/shapes.ts'
import { WHOLE } from '../platform/paging/cursor.ts'
import { getBilling, getPlan, listPlans } from './billing/billing.ts'
import { Billing, BillingPlan, BillingUsage, OfferedPlan } from './billing/contract.ts'
import { Invoice, InvoiceQuery } from './billing/invoices/contract.ts'
import { listInvoices } from './billing/invoices/invoices.ts'
import { receiveStripeEvent } from './billing/stripe/stripe-events.ts'
import type { Resume } from './billing/subscription/subscription.ts'
import { Credential, CredentialDraft, CredentialPath, CredentialQuery, CredentialRoll, NewCredential } from './credentials/contract.ts'
import { createCredential, listCredentials, rollCredential } from './credentials/credentials.ts'
import { getOrganizationStats, revokeCredential } from './identity.ts'
import { MailPreferenceChanges, MailPreferences } from './mails/contract.ts'
import { changeMailPreferences, getMailPreferences } from './mails/preferences.ts'
import { OrganizationChanges, OrganizationProfile, OrganizationStats } from './organization/contract.ts'
import { changeOrganization, getOrganization } from './organization/organization.ts'
import {
  Invitation,
  InvitationDraft,
  InvitationPath,
  Member,
  MemberChanges,
  MemberPath,
  MemberQuery,
  MemberRemoval,
  MemberRemovalQuery,
  NewInvitation,
} from './team/contract.ts'
import { inviteMember, listInvitations, withdrawInvitation } from './team/invitations.ts'
import { changeMember, deleteMember, listMembers } from './team/members.ts'

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
    returns(204, undefined, 'The credential is revoked.'),
    refuses(404, 'There is no such credential.'),
    refuses(409, 'No other credential with the role owner is valid for as long as this one.'),
    (c) => revokeCredential(c.var.ctx, c.req.valid('param').api_key).then(() => c.body(null, 204)),
  )

export const organizationRoutes = new Hono<App>()
  .get('/', operation('getOrganization', 'Organization', 'Get the organization'), returns(200, OrganizationProfile), async (c) =>
    c.json(await getOrganization(c.var.ctx)),
  )
  .patch(
    '/',
    operation(
      'updateOrganization',
      'Organization',
      'Update the organization',
      'Members that are omitted or null keep their value. An empty `logo_url` removes the logo.',
    ),
    body(OrganizationChanges),
    returns(200, OrganizationProfile),
    async (c) => c.json(await changeOrganization(c.var.ctx, c.req.valid('json'))),
  )

const TEAM = 'Team'
const REMOVED = 'The member whose credential this is was removed.'
const ABSENT = 'There is no such member.'
const CONFLICT =
  'The member is the last owner who can act: there is no other owner, or no other credential with the role owner that is valid for as ' +
  'long. Or other requests keep changing the member.'

export const teamRoutes = new Hono<App>()
  .get(
    '/members',
    operation('listMembers', TEAM, 'List the active members, in the order in which they joined'),
    query(MemberQuery),
    returns(200, pageOf(Member)),
    async (c) => c.json(await listMembers(c.var.ctx, c.req.valid('query'))),
  )
  .post(
    '/members/invite',
    operation(
      'inviteMember',
      TEAM,
      'Invite a person',
      'Where the service sends mail, the person gets a link. The token does the same: it is shown only in this answer. One of them can be used, once, ' +
        'within seven days. A new invitation replaces a pending one of the same address, so that inviting again sends another mail. Only an owner can invite owners. Addresses at disposable domains are refused with 422.',
    ),
    body(InvitationDraft),
    returns(201, NewInvitation, 'The invitation with its token, which is shown only in this answer'),
    refuses(
      409,
      'A member of the organization has this e-mail address, as many invitations are pending as the plan allows ' +
        '(`invitation.plan_limit`), or the credential of the request was revoked or got another role in the meantime.',
    ),
    refusesAny({
      429: 'Too many invitations were mailed to this address, or by your organization, within a day (`invitation.mail_limit`).',
    }),
    idempotent(),
    async (c) => c.json(await inviteMember(c.var.ctx, c.req.valid('json')), 201),
  )
  .patch(
    '/members/:member_id',
    operation(
      'updateMember',
      TEAM,
      'Update a member',
      'The member’s credentials take a new role at once. Those that the member made are lowered to it where theirs is higher, and ' +
        'pending invitations, and openings of notifications that wait, are withdrawn where it does not allow them. Only an owner can ' +
        'change an owner or give the role owner.',
    ),
    params(MemberPath),
    body(MemberChanges),
    returns(200, Member),
    refuses(404, ABSENT),
    refuses(409, CONFLICT),
    async (c) => c.json(await changeMember(c.var.ctx, c.req.valid('param').member_id, c.req.valid('json'))),
  )
  .delete(
    '/members/:member_id',
    operation(
      'removeMember',
      TEAM,
      'Remove a member',
      'The member’s credentials fail from their next request on, and the pending invitations that the member sent are withdrawn. So do ' +
        'the credentials that the member made, directly or through other credentials, unless `keep_credentials` is true: integrations ' +
        'may use them. Openings of notifications that were acknowledged with a revoked credential and wait are withdrawn. The answer lists what was revoked. Only an owner can remove an owner.',
    ),
    params(MemberPath),
    query(MemberRemovalQuery),
    returns(200, MemberRemoval, 'The member is removed.'),
    refuses(404, ABSENT),
    refuses(409, CONFLICT),
    async (c) => c.json(await deleteMember(c.var.ctx, c.req.valid('param').member_id, c.req.valid('query').keep_credentials ?? false)),
  )
  .get(
    '/mail-preferences',
    operation('getMailPreferences', TEAM, 'Get which mails you get', 'You are the member whose credential the request presents.'),
    returns(200, MailPreferences),
    refuses(404, REMOVED),
    async (c) => c.json(await getMailPreferences(c.var.ctx)),
  )
  .patch(
    '/mail-preferences',
    operation(
      'updateMailPreferences',
      TEAM,
      'Choose which mails you get',
      'Members that are omitted keep their value. At first you get critical alerts and the weekly digest, in Spanish, once your address is confirmed. Each of these mails has ' +
        'a link that ends its kind without signing in.',
    ),
    body(MailPreferenceChanges),
    returns(200, MailPreferences),
    refuses(404, REMOVED),
    async (c) => c.json(await changeMailPreferences(c.var.ctx, c.req.valid('json'))),
  )
  .get(
    '/invitations',
    operation(
      'listInvitations',
      TEAM,
      'List the pending invitations, oldest first',
      'Expired, accepted and withdrawn ones are not listed.',
    ),
    query(MemberQuery),
    returns(200, pageOf(Invitation)),
    async (c) => c.json(await listInvitations(c.var.ctx, c.req.valid('query'))),
  )
  .delete(
    '/invitations/:invitation_id',
    operation(
      'withdrawInvitation',
      TEAM,
      'Withdraw an invitation',
      'Its token fails at once. Only an owner can withdraw the invitation of an owner.',
    ),
    params(InvitationPath),
    returns(204, undefined, 'The invitation is withdrawn.'),
    refuses(404, 'There is no such pending invitation: it is unknown, was accepted, replaced or withdrawn, or has expired.'),
    (c) => withdrawInvitation(c.var.ctx, c.req.valid('param').invitation_id).then(() => c.body(null, 204)),
  )

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
      'The credential has at most the role, the scopes, the RFCs, the addresses and the life of the one that creates it: only an owner can create a ' +
        'credential with the role owner.',
    ),
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
  .post(
    '/:api_key/roll',
    operation(
      'rollCredential',
      'Credentials',
      'Give a credential another secret',
      'The api_key stays. The secret from before stays valid for `overlap_hours`, so that you can change it where it is used. Rolled again in that time, ' +
        'it keeps its end, and the secret of the first roll ends: send the request again when its answer was lost. Sessions of the console that ' +
        'began with the credential end with the secret from before. Only a credential that may do as much, and lives as long, can roll another one.',
    ),
    params(CredentialPath),
    body(CredentialRoll),
    returns(200, NewCredential, 'The credential with its new secret, which is shown only in this answer'),
    refuses(404, 'There is no such credential.'),
    refuses(409, 'The credential, or the one of the request, was rolled, revoked or given another role in the meantime.'),
    idempotent(),
    async (c) => c.json(await rollCredential(c.var.ctx, c.req.valid('param').api_key, c.req.valid('json'))),
  )

const BILLING = 'Billing'
const nothing = z.strictObject({})
const JSON_TYPE = ['application/json']
const MAX_EVENT = 1024 * 1024

/** `getUsage` counts what every domain uses of the plan; `resume` starts the work that follows when a payment ends a suspension. */
export const billingRoutes = (getUsage: (ctx: Ctx) => Promise<BillingUsage>, resume: Resume) =>
  new Hono<App>()
    .get(
      '/',
      operation('getBilling', BILLING, 'Get the subscription status and the amount due'),
      query(nothing),
      returns(200, Billing),
      async (c) => c.json(await getBilling(c.var.ctx)),
    )
    .get(
      '/plan',
      operation('getBillingPlan', BILLING, 'Get the plan with its limits, seats and prices'),
      query(nothing),
      returns(200, BillingPlan),
      async (c) => c.json(await getPlan(c.var.ctx)),
    )
    .get(
      '/plans',
      operation(
        'listBillingPlans',
        BILLING,
        'List all plans with their prices',
        'Each plan comes with its seats, limits and prices, and with a link where your organization can buy what it can buy now.',
      ),
      query(nothing),
      returns(200, pageOf(OfferedPlan)),
      async (c) => c.json({ data: await listPlans(c.var.ctx), ...WHOLE }),
    )
    .get(
      '/usage',
      operation(
        'getBillingUsage',
        BILLING,
        'Get the current usage of the plan',
        'Lists every quota with what is used of it and its limit.',
      ),
      query(nothing),
      returns(200, BillingUsage),
      async (c) => c.json(await getUsage(c.var.ctx)),
    )
    .get(
      '/invoices',
      operation(
        'listInvoices',
        BILLING,
        'List the invoices, newest first',
        'Invoices are issued monthly in advance, for the plan and the RFCs that are active at that time. They are due on the day of issue.',
      ),
      query(InvoiceQuery),
      returns(200, pageOf(Invoice)),
      async (c) => c.json(await listInvoices(c.var.ctx, c.req.valid('query'))),
    )
    .post(
      '/stripe/webhook',
      publicOperation(
        'receiveStripeEvent',
        BILLING,
        'Receive a Stripe event',
        'Stripe reports payments here and signs its requests with Stripe-Signature. An event that is sent more than once has one effect.',
      ),
      upload(JSON_TYPE, MAX_EVENT, 'A Stripe event.'),
      returns(200, z.strictObject({ received: z.literal(true) })),
      refuses(400, 'The signature is absent, wrong or older than 5 minutes, or the body is not a Stripe event.'),
      refuses(404, 'Stripe is not the payment provider.'),
      refuses(422, 'The body is empty.'),
      refuses(409, 'Other requests keep changing the billing of the organization.'),
      async (c) => c.json(await receiveStripeEvent(c.var.system, c.var.upload, c.req.header('stripe-signature'), resume)),
    )
