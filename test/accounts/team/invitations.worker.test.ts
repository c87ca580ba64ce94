import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Role } from '../../../src/platform/tenant/tenant.ts'
import { api, type Caller } from '../../support/client.ts'
import { at } from '../../support/clock.ts'
import { joined, signUp } from '../../support/tenants.ts'
import { json, send } from '../../support/wire.ts'
import { organizationWith } from '../../support/world.ts'

afterEach(() => {
  vi.useRealTimers()
})

const INVITATIONS = '/v1/team/invitations'
const ROLES = ['owner', 'admin', 'member'] as const

interface Listed {
  invitation_id: string
  email: string
}

let mails = 0
const invite = async (by: Caller, role: Role = 'member', email = `pendiente${++mails}@example.com`) =>
  (await api(by, 'POST', '/v1/team/members/invite', { email, role })).body
const accept = async (token: string) => (await send('POST', '/v1/auth/invitations/accept', json({ token, name: 'Bea' }))).status
const listed = async (by: Caller): Promise<Listed[]> => (await api(by, 'GET', `${INVITATIONS}?limit=100`)).body.data
const withdraw = async (by: Caller, { invitation_id }: Listed) => (await api(by, 'DELETE', `${INVITATIONS}/${invitation_id}`)).status

describe('the pending invitations', () => {
  it('are listed with who sent them, for every role, without their tokens', async () => {
    at('2026-11-18T12:00:00Z')
    const { owner, callers } = await organizationWith()
    const { token, is_mailed, ...shown } = await invite(callers.admin, 'admin')
    for (const role of ROLES) {
      const { status, body } = await api(callers[role], 'GET', INVITATIONS)
      expect([status, body]).toEqual([200, { data: [shown], has_more: false, next_cursor: null }])
    }
    expect(shown).toMatchObject({ role: 'admin', invited_by: callers.admin.api_key, expires_at: '2026-11-25T12:00:00.000Z' })
    expect([token, is_mailed]).toEqual([expect.stringMatching(/^fds_test_invitation_/), true])
    expect(await listed(await signUp())).toEqual([])
    expect(owner.api_key).not.toBe(callers.admin.api_key)
  })

  it('are no more those that were accepted, replaced or withdrawn, whose sender was removed, or that have expired', async () => {
    at('2026-11-18T12:00:00Z')
    const owner = await signUp()
    const bea = await joined(owner, 'admin')
    const [accepted, replaced, withdrawn] = [await invite(owner), await invite(owner), await invite(owner)]
    await invite(bea)
    await accept(accepted.token)
    const again = await invite(owner, 'member', replaced.email.toUpperCase())
    expect(await withdraw(owner, withdrawn)).toBe(204)
    await api(owner, 'DELETE', `/v1/team/members/${bea.member_id}`)
    expect((await listed(owner)).map(({ invitation_id }) => invitation_id)).toEqual([again.invitation_id])
    at('2026-11-25T12:00:00Z')
    expect(await listed(owner)).toEqual([])
    expect(await withdraw(owner, again)).toBe(404)
  })

  it('come page by page, oldest first, without a gap or a repetition', async () => {
    const owner = await signUp()
    const sent: string[] = []
    for (let n = 0; n < 7; n++) sent.push((await invite(owner)).invitation_id)
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body } = await api(owner, 'GET', `${INVITATIONS}?limit=3${cursor && `&cursor=${cursor}`}`)
      seen.push(...body.data.map((one: Listed) => one.invitation_id))
      cursor = body.next_cursor
    }
    expect(seen).toEqual(sent)
  })
})

describe('withdrawing an invitation', () => {
  it('ends its token at once, and the address can be invited again', async () => {
    const owner = await signUp()
    const invitation = await invite(owner)
    expect([await withdraw(owner, invitation), await accept(invitation.token), await withdraw(owner, invitation)]).toEqual([204, 404, 404])
    const again = await invite(owner, 'member', invitation.email)
    expect(await accept(again.token)).toBe(201)
    expect(await withdraw(owner, again)).toBe(404)
  })

  it.each(ROLES.flatMap((by) => ROLES.map((role) => [by, role] as const)))('by an %s of one as %s', async (by, role) => {
    const { owner, callers } = await organizationWith()
    const invitation = await invite(owner, role)
    const { status, body } = await api(callers[by], 'DELETE', `${INVITATIONS}/${invitation.invitation_id}`)
    const isAllowed = by === 'owner' || (by === 'admin' && role !== 'owner')
    expect([status, body.code]).toEqual(isAllowed ? [204, undefined] : [403, by === 'admin' ? 'member.owner_only' : 'credential.role'])
    expect(await accept(invitation.token)).toBe(isAllowed ? 404 : 201)
  })

  it('of another organization is 404, and leaves it', async () => {
    const [owner, other] = [await signUp(), await signUp()]
    const invitation = await invite(other, 'member')
    expect([await withdraw(owner, invitation), await accept(invitation.token)]).toEqual([404, 201])
  })

  it('and accepting it at once: one of both succeeds', async () => {
    const owner = await signUp()
    for (let round = 0; round < 8; round++) {
      const invitation = await invite(owner)
      const [withdrawn, accepted] = await Promise.all([withdraw(owner, invitation), accept(invitation.token)])
      expect([
        [204, 404],
        [404, 201],
      ]).toContainEqual([withdrawn, accepted])
      const { results } = await env.DB.prepare('select status from invitations where invitation_id = ?')
        .bind(invitation.invitation_id)
        .all()
      expect(results).toEqual([{ status: withdrawn === 204 ? 'withdrawn' : 'accepted' }])
    }
  })
})
