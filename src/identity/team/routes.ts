import { Hono } from 'hono'
import type { App } from '../../platform/context.ts'
import { body, idempotent, operation, params, query, refuses, returns, roles } from '../../platform/http/operation.ts'
import { pageOf } from '../../platform/http/shapes.ts'
import { InvitationDraft, Member, MemberChanges, MemberPath, MemberQuery, NewInvitation } from './contract.ts'
import { inviteMember } from './invitations.ts'
import { changeMember, deleteMember, listMembers } from './members.ts'

const TAG = 'Team'
const ABSENT = 'There is no such member.'
const LAST = 'It is the last owner who can act: there is no other owner, or none with a credential that works for as long.'

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
      'Invite somebody',
      'The token is shown this once, good for seven days and for one person; no mail is sent. Inviting an address again replaces its pending ' +
        'invitation. Only an owner invites owners. Addresses at disposable domains are 422.',
    ),
    roles('owner', 'admin'),
    body(InvitationDraft),
    returns(201, NewInvitation, 'The invitation with its token, shown this once'),
    refuses(409, 'The organization has a member with this e-mail address.'),
    idempotent(),
    async (c) => c.json(await inviteMember(c.var.ctx, c.req.valid('json')), 201),
  )
  .patch(
    '/members/:member_id',
    operation(
      'updateMember',
      TAG,
      'Change a member',
      'Their credentials take a new role at once; invitations that they sent and that it does not allow are withdrawn. Only an owner promotes to owner, or changes one.',
    ),
    params(MemberPath),
    roles('owner', 'admin'),
    body(MemberChanges),
    returns(200, Member),
    refuses(404, ABSENT),
    refuses(409, LAST),
    async (c) => c.json(await changeMember(c.var.ctx, c.req.valid('param').member_id, c.req.valid('json'))),
  )
  .delete(
    '/members/:member_id',
    operation(
      'removeMember',
      TAG,
      'Remove a member',
      'Their own credentials fail from the next request on, and what they invited is withdrawn. Credentials that they made for the organization stay, as what integrations use: the audit events `credential.created` tell which those are. Only an owner removes owners.',
    ),
    params(MemberPath),
    roles('owner', 'admin'),
    returns(204, undefined, 'Removed'),
    refuses(404, ABSENT),
    refuses(409, LAST),
    (c) => deleteMember(c.var.ctx, c.req.valid('param').member_id).then(() => c.body(null, 204)),
  )
