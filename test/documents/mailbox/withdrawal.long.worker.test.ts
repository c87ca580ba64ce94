import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { beforeBatch } from '../../authority/support/authority.ts'
import { later, losingMessages } from '../../downloads/support/downloads.ts'
import { api, type Caller } from '../../support/client.ts'
import { restore } from '../../support/clock.ts'
import { joined } from '../../support/tenants.ts'
import { credentialOf } from '../../support/world.ts'
import { openedAtAuthority, type Reader, reader } from './support/mailbox.ts'

beforeEach(() => {
  later(0)
  losingMessages()
})
afterEach(restore)

/** A reader whose mailbox has pending notifications. */
async function pending(count = 1) {
  const acme = await reader()
  for (let n = 0; n < count; n++) await acme.send({ title: `n${n}`, sent_at: '2026-05-19T16:00:00Z' })
  await acme.receive()
  const ids = new Map((await acme.list()).map(({ title, notification_id }) => [title, notification_id]))
  const acknowledge = (by: Caller, n = 0) =>
    api(by, 'GET', `${acme.box}/document?notification_id=${ids.get(`n${n}`)}&acknowledge_notification=true`)
  return { ...acme, ids, acknowledge }
}

const waiting = (of: Reader) =>
  env.DB.prepare('select count(*) as n from mailbox_requests where organization_id = ?').bind(of.id).first<number>('n')

interface Audited {
  resource_id: string
  actor: string
  request_id: string
}
const audited = async (of: Reader, action: string): Promise<Audited[]> =>
  (await of.ask('GET', `/v1/audit-events?action=${action}&limit=100`)).body.data

type Act = (of: Reader, person: Awaited<ReturnType<typeof joined>>, made: Caller) => Promise<{ status: number }>
const revoke: Act = (of, { api_key }) => of.ask('DELETE', `/v1/credentials/${api_key}`)
const remove: Act = (of, { member_id }) => of.ask('DELETE', `/v1/team/members/${member_id}`)
const removeAlone: Act = (of, { member_id }) => of.ask('DELETE', `/v1/team/members/${member_id}?keep_credentials=true`)
const setRole =
  (role: string): Act =>
  (of, { member_id }) =>
    of.ask('PATCH', `/v1/team/members/${member_id}`, { role })

/** How a connection stops being active, who is audited for that, and how it becomes active again. */
type Leaving = readonly [how: string, by: string, leave: (of: Reader) => Promise<unknown>, back: (of: Reader) => Promise<unknown>]
const seat = (of: Reader, active: boolean) => of.ask('PATCH', `/v1/billing/rfcs/${of.fiscal_entity_id}`, { active })
const give = (of: Reader, ciec: string | null) => of.ask('PATCH', of.path, { ciec })
const OWNER = 'the owner'
const LEAVINGS: readonly Leaving[] = [
  ['is paused', OWNER, (of) => seat(of, false), (of) => seat(of, true)],
  ['has its CIEC erased', OWNER, (of) => give(of, null), (of) => give(of, 'empty123')],
  [
    'is unlinked',
    OWNER,
    (of) => of.ask('DELETE', of.path),
    (of) => of.ask('POST', '/v1/fiscal-entities', { rfc: of.rfc, ciec: 'empty123' }),
  ],
  [
    'is suspended with its organization',
    'system:billing',
    (of) => of.ask('POST', '/v1/test-helpers/organization', { plan: 'diagnostic', trial_ends_at: '2026-05-19T00:00:00Z' }),
    async (of) => {
      await of.ask('POST', '/v1/test-helpers/organization', { plan: 'enterprise_gold' })
      // After a suspension the CIEC is to be verified.
      await give(of, 'empty123')
    },
  ],
]

describe('an opening that waits', () => {
  it.each(LEAVINGS)(
    'is withdrawn in the commit in which its RFC %s: audited, and opened only when it is acknowledged again',
    async (...row) => {
      const [, by, leave, back] = row
      const [acme, other] = [await pending(), await pending()]
      const id = acme.ids.get('n0')!
      for (const one of [acme, other]) expect((await one.acknowledge(one.owner)).status).toBe(202)
      await leave(acme)
      const actor = by === OWNER ? acme.owner.api_key : by
      expect([await waiting(acme), await audited(acme, 'notification.opening_withdrawn')]).toMatchObject([0, [{ resource_id: id, actor }]])
      await back(acme)
      expect((await acme.entity()).status).toBe('active')
      later(120)
      await acme.open()
      expect(await openedAtAuthority(acme.rfc)).toEqual([])
      expect(await acme.document(id)).toMatchObject({ status: 409, body: { code: 'would_notify' } })
      expect([await waiting(other), await audited(other, 'notification.opening_withdrawn')]).toEqual([1, []])
      expect((await acme.acknowledge(acme.owner)).status).toBe(202)
      await acme.open()
      expect(await openedAtAuthority(acme.rfc)).toEqual(['n0'])
    },
  )

  it('is withdrawn when the authority refuses the CIEC, also when another CIEC comes before the service looks at it again', async () => {
    const acme = await pending()
    await acme.acknowledge(acme.owner)
    await acme.ask('POST', `/v1/test-helpers/fiscal-entities/${acme.fiscal_entity_id}/expire-ciec`)
    await acme.open()
    expect((await acme.entity()).status).toBe('invalid_ciec')
    await give(acme, 'empty124')
    expect(await acme.document(acme.ids.get('n0')!)).toMatchObject({ status: 409, body: { code: 'would_notify' } })
    later(120)
    await acme.open()
    expect([await openedAtAuthority(acme.rfc), await waiting(acme)]).toEqual([[], 0])
    expect(await audited(acme, 'notification.opening_withdrawn')).toMatchObject([{ actor: 'system:mailbox' }])
  })

  it('is not opened after its credential has expired: 409 at once, withdrawn at the next attempt, and audited', async () => {
    const acme = await pending()
    const expiring = async () => {
      const expires_at = new Date(Date.now() + 60_000).toISOString()
      return (await acme.ask('POST', '/v1/credentials', { name: 'Corta', role: 'admin', expires_at })).body as Caller
    }
    expect((await acme.acknowledge(await expiring())).status).toBe(202)
    later(61)
    const id = acme.ids.get('n0')!
    expect(await acme.document(id)).toMatchObject({ status: 409, body: { code: 'would_notify' } })
    await acme.open()
    expect([await openedAtAuthority(acme.rfc), await waiting(acme)]).toEqual([[], 0])
    expect(await audited(acme, 'notification.opening_withdrawn')).toMatchObject([{ resource_id: id, actor: 'system:mailbox' }])
    // Somebody else may acknowledge it before the service has looked at it.
    expect((await acme.acknowledge(await expiring())).status).toBe(202)
    later(123)
    expect((await acme.acknowledge(acme.owner)).status).toBe(202)
    expect(await audited(acme, 'notification.opening_withdrawn')).toHaveLength(2)
    await acme.open()
    expect(await openedAtAuthority(acme.rfc)).toEqual(['n0'])
  })

  it('is not asked for over a connection that is paused while the request is carried out: 409, and nothing is audited', async () => {
    const acme = await pending()
    beforeBatch('insert into "mailbox_requests"', () => seat(acme, false))
    expect(await acme.acknowledge(acme.owner)).toMatchObject({ status: 409, body: { code: 'fiscal_entity.not_active' } })
    expect([await waiting(acme), await audited(acme, 'notification.opening_requested')]).toEqual([0, []])
  })

  it('survives a crash in the commit of the pause together with the connection', async () => {
    const acme = await pending()
    await acme.acknowledge(acme.owner)
    beforeBatch('delete from "mailbox_requests"', 'spoil')
    expect((await seat(acme, false)).status).toBe(500)
    expect([await waiting(acme), (await acme.entity()).status]).toEqual([1, 'active'])
    await acme.open()
    expect(await openedAtAuthority(acme.rfc)).toEqual(['n0'])
  })

  it('is audited once as opened, when that is recorded, whatever its document takes', async () => {
    const acme = await pending()
    await acme.acknowledge(acme.owner)
    for (let times = 0; times < 2; times++) await acme.open()
    const id = acme.ids.get('n0')!
    const rows = await audited(acme, 'notification.opened')
    expect(rows).toMatchObject([{ resource_id: id, actor: 'system:mailbox', changed: ['opened_at'] }])
    expect(await audited(acme, 'notification.opening_withdrawn')).toEqual([])
  })

  it.each<[string, 'own' | 'made', string, Act]>([
    ['is revoked', 'own', 'credential.revoked', revoke],
    ['is that of a member who is removed', 'own', 'member.removed', remove],
    ['is that of a member who is removed without the credentials that they made', 'own', 'member.removed', removeAlone],
    ['was made by a member who is removed', 'made', 'member.removed', remove],
    ['is that of an admin who becomes a member', 'own', 'member.updated', setRole('member')],
    ['was made by an admin who becomes a member', 'made', 'member.updated', setRole('member')],
  ])('is withdrawn when the credential that acknowledged it %s: audited, and opened only when it is acknowledged again', async (...row) => {
    const [, whose, action, act] = row
    const acme = await pending()
    const person = await joined(acme.owner, 'admin')
    const made = await credentialOf(person, 'admin')
    expect((await acme.acknowledge(whose === 'own' ? person : made)).status).toBe(202)
    expect(await waiting(acme)).toBe(1)
    expect((await act(acme, person, made)).status).toBeLessThan(300)
    expect(await waiting(acme)).toBe(0)
    const id = acme.ids.get('n0')!
    const [withdrawn, ...more] = await audited(acme, 'notification.opening_withdrawn')
    const [cause] = await audited(acme, action)
    expect(more).toEqual([])
    expect(withdrawn).toMatchObject({ resource_id: id, actor: acme.owner.api_key, request_id: cause!.request_id, changed: ['opened_at'] })
    later(120)
    await acme.open()
    expect(await openedAtAuthority(acme.rfc)).toEqual([])
    expect(await acme.document(id)).toMatchObject({ status: 409, body: { code: 'would_notify' } })
    expect((await acme.acknowledge(acme.owner)).status).toBe(202)
    await acme.open()
    expect(await openedAtAuthority(acme.rfc)).toEqual(['n0'])
    expect(await audited(acme, 'notification.opening_requested')).toHaveLength(2)
  })

  it.each<[string, Act]>([
    ['another credential of the member is revoked', (of, _, made) => of.ask('DELETE', `/v1/credentials/${made.api_key}`)],
    ['an admin becomes an owner', setRole('owner')],
    ['the member is given another name', (of, { member_id }) => of.ask('PATCH', `/v1/team/members/${member_id}`, { name: 'Beatriz' })],
  ])('stays when %s', async (_, act) => {
    const acme = await pending()
    const person = await joined(acme.owner, 'admin')
    const made = await credentialOf(person, 'admin')
    await acme.acknowledge(person)
    expect((await act(acme, person, made)).status).toBeLessThan(300)
    expect([await waiting(acme), await audited(acme, 'notification.opening_withdrawn')]).toEqual([1, []])
    await acme.open()
    expect(await openedAtAuthority(acme.rfc)).toEqual(['n0'])
  })

  it('stays when its credential was made by a member who is removed with keep_credentials=true', async () => {
    const acme = await pending()
    const person = await joined(acme.owner, 'admin')
    const made = await credentialOf(person, 'admin')
    await acme.acknowledge(made)
    await removeAlone(acme, person, made)
    expect([await waiting(acme), await audited(acme, 'notification.opening_withdrawn')]).toEqual([1, []])
  })

  it('is withdrawn with all others of the credential, each audited, and those of others stay, as do requests that open nothing', async () => {
    const acme = await pending(3)
    const other = await pending()
    const person = await joined(acme.owner, 'admin')
    for (const n of [0, 1]) await acme.acknowledge(person, n)
    await acme.acknowledge(acme.owner, 2)
    await other.acknowledge(other.owner)
    await acme.send({ kind: 'aviso', title: 'Informa', sent_at: '2026-05-19T16:00:00Z' })
    await env.DB.prepare(
      `insert into mailbox_requests select organization_id, entity, sent_at, 'another', shard, 'ntf_x', null, 0, 0, null, 0
       from mailbox_requests where organization_id = ? limit 1`,
    )
      .bind(acme.id)
      .run()
    await revoke(acme, person, person)
    const notified = await audited(acme, 'notification.opening_withdrawn')
    expect(notified.map(({ resource_id }) => resource_id).sort()).toEqual([acme.ids.get('n0'), acme.ids.get('n1')].sort())
    expect([await waiting(acme), await waiting(other), await audited(other, 'notification.opening_withdrawn')]).toEqual([2, 1, []])
    await acme.open()
    expect(await openedAtAuthority(acme.rfc)).toEqual(['n2'])
  })

  it('is not asked for by a credential that is revoked while its request is carried out: 409, and nothing is audited', async () => {
    const acme = await pending()
    const person = await joined(acme.owner, 'admin')
    beforeBatch('insert into "mailbox_requests"', () => revoke(acme, person, person))
    expect(await acme.acknowledge(person)).toMatchObject({ status: 409, body: { code: 'credential.changed' } })
    expect([await waiting(acme), await audited(acme, 'notification.opening_requested')]).toEqual([0, []])
  })

  it('survives a crash in the commit of the revocation together with the credential', async () => {
    const acme = await pending()
    const person = await joined(acme.owner, 'admin')
    await acme.acknowledge(person)
    beforeBatch('delete from "mailbox_requests"', 'spoil')
    expect((await revoke(acme, person, person)).status).toBe(500)
    expect([await waiting(acme), await audited(acme, 'notification.opening_withdrawn')]).toEqual([1, []])
    expect((await api(person, 'GET', '/v1/organization')).status).toBe(200)
  })
})
