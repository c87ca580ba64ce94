import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { body, idempotent, operation, params, query, refuses, returns, roles } from '../../platform/http/operation.ts'
import { pageOf } from '../../platform/http/shapes.ts'
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
} from './contract.ts'
import { inviteMember, listInvitations, withdrawInvitation } from './invitations.ts'
import { changeMember, deleteMember, listMembers } from './members.ts'

const TAG = 'Team'
const ABSENT = 'There is no such member.'
const CONFLICT =
  'The member is the last owner who can act: there is no other owner, or no other credential with the role owner that is valid for as ' +
  'long. Or other requests keep changing the member.'

export const teamRoutes = new Hono<App>()
  .get(
    '/members',
    operation('listMembers', TAG, 'List the active members, in the order in which they joined'),
    query(MemberQuery),
    returns(200, pageOf(Member)),
    async (c) => c.json(await listMembers(c.var.ctx, c.req.valid('query'))),
  )
  .post(
    '/members/invite',
    operation(
      'inviteMember',
      TAG,
      'Invite a person',
      'The token is shown only in this answer and can be used once, within seven days. No e-mail is sent. A new invitation replaces a ' +
        'pending one of the same address. Only an owner can invite owners. Addresses at disposable domains are refused with 422.',
    ),
    roles('owner', 'admin'),
    body(InvitationDraft),
    returns(201, NewInvitation, 'The invitation with its token, which is shown only in this answer'),
    refuses(
      409,
      'A member of the organization has this e-mail address, as many invitations are pending as the plan allows ' +
        '(`invitation.plan_limit`), or the credential of the request was revoked or got another role in the meantime.',
    ),
    idempotent(),
    async (c) => c.json(await inviteMember(c.var.ctx, c.req.valid('json')), 201),
  )
  .patch(
    '/members/:member_id',
    operation(
      'updateMember',
      TAG,
      'Update a member',
      'The member’s credentials take a new role at once. Those that the member made are lowered to it where theirs is higher, and ' +
        'pending invitations, and openings of notifications that wait, are withdrawn where it does not allow them. Only an owner can ' +
        'change an owner or give the role owner.',
    ),
    params(MemberPath),
    roles('owner', 'admin'),
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
      TAG,
      'Remove a member',
      'The member’s credentials fail from their next request on, and the pending invitations that the member sent are withdrawn. So do ' +
        'the credentials that the member made, directly or through other credentials, unless `keep_credentials` is true: integrations ' +
        'may use them. Openings of notifications that were acknowledged with a revoked credential and wait are withdrawn. The answer lists what was revoked. Only an owner can remove an owner.',
    ),
    params(MemberPath),
    roles('owner', 'admin'),
    query(MemberRemovalQuery),
    returns(200, MemberRemoval, 'The member is removed.'),
    refuses(404, ABSENT),
    refuses(409, CONFLICT),
    async (c) => c.json(await deleteMember(c.var.ctx, c.req.valid('param').member_id, c.req.valid('query').keep_credentials ?? false)),
  )
  .get(
    '/invitations',
    operation('listInvitations', TAG, 'List the pending invitations, oldest first', 'Expired, accepted and withdrawn ones are not listed.'),
    query(MemberQuery),
    returns(200, pageOf(Invitation)),
    async (c) => c.json(await listInvitations(c.var.ctx, c.req.valid('query'))),
  )
  .delete(
    '/invitations/:invitation_id',
    operation(
      'withdrawInvitation',
      TAG,
      'Withdraw an invitation',
      'Its token fails at once. Only an owner can withdraw the invitation of an owner.',
    ),
    params(InvitationPath),
    roles('owner', 'admin'),
    returns(204, undefined, 'The invitation is withdrawn.'),
    refuses(404, 'There is no such pending invitation: it is unknown, was accepted, replaced or withdrawn, or has expired.'),
    (c) => withdrawInvitation(c.var.ctx, c.req.valid('param').invitation_id).then(() => c.body(null, 204)),
  )
