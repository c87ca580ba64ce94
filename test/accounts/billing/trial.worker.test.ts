import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { suspendExpired } from '../../../src/accounts/billing/expiry.ts'
import { reviewSubscriptions } from '../../../src/accounts/billing/subscription/review.ts'
import { resume } from '../../../src/app/resume.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { losingMessages } from '../../downloads/support/downloads.ts'
import { api, type Caller, request } from '../../support/client.ts'
import { at, restore } from '../../support/clock.ts'
import { beforeCommit } from '../../support/commits.ts'
import { runs } from '../../support/fuzz.ts'
import { freshRfc } from '../../support/tenants.ts'
import { json } from '../../support/wire.ts'
import { billed } from './support/billing.ts'

const CONNECTIONS = '/v1/fiscal-entities'

beforeEach(() => {
  at('2027-03-10T18:00:00Z')
  losingMessages()
})
afterEach(restore)

interface Account extends Caller {
  id: string
}

/** A sign-up with this address. */
async function signUpAs(email: string): Promise<Account> {
  const { status, body } = await request('POST', '/v1/auth/signup', json({ organization_name: 'Despacho', name: 'Ana', email }))
  expect(status).toBe(201)
  const { organization, credential } = body as { organization: { id: string }; credential: Caller }
  return { ...credential, id: organization.id }
}

let addresses = 0
const freshAddress = (): string => `trial${++addresses}@example.com`
const connect = (by: Caller, rfc = freshRfc(), ciec: string | null = 'empty1') =>
  api(by, 'POST', CONNECTIONS, { rfc, ...(ciec !== null && { ciec }) })
const billingOf = async (by: Caller) => (await api(by, 'GET', '/v1/billing')).body
const notified = ({ status, body }: { status: number; body: { code?: string } }): string => `${status} ${body.code ?? ''}`.trim()
const systemNow = () => systemOf(env, new Date(), 'req_test')

describe('the trial covers the first RFC that is ever connected in it', () => {
  it('unlinking it frees no room: six further RFCs are refused, and the same one may return', async () => {
    const of = await billed('diagnostic')
    const rfc = freshRfc()
    for (let round = 0; round < 6; round++) {
      const { status, body } = await of.connect(rfc)
      expect(status).toBe(201)
      expect(notified(await of.connect(freshRfc()))).toBe('402 billing.trial_rfcs')
      expect((await of.ask('DELETE', `${CONNECTIONS}/${body.fiscal_entity_id}`)).status).toBe(204)
      const refused = await of.connect(freshRfc())
      expect(notified(refused)).toBe('402 billing.trial_rfcs')
      expect(refused.body.detail).toMatch(/free trial covers 1 RFC, and an RFC that was unlinked still counts\. Choose a plan/)
    }
    expect((await of.connect(rfc)).status).toBe(201)
    expect((await of.states()).filter((state) => state !== 'unlinked')).toEqual(['active'])
  })

  it('drafts are free before and after, and take no CIEC once the first RFC was connected', async () => {
    const of = await billed('diagnostic')
    const drafts = [(await of.connect(freshRfc(), null)).body, (await of.connect(freshRfc(), null)).body]
    const give = (n: number, ciec = 'empty1') => of.ask('PATCH', `${CONNECTIONS}/${drafts[n].fiscal_entity_id}`, { ciec })
    // A CIEC that the authority refuses connects nothing.
    expect((await give(0, 'rejected1')).status).toBe(422)
    expect((await give(1)).status).toBe(200)
    expect(notified(await give(0))).toBe('402 billing.trial_rfcs')
    await of.ask('DELETE', `${CONNECTIONS}/${drafts[1].fiscal_entity_id}`)
    expect(notified(await give(0))).toBe('402 billing.trial_rfcs')
    expect((await of.connect(freshRfc(), null)).status).toBe(201)
  })

  it('an unlinked draft never counts', async () => {
    const of = await billed('diagnostic')
    for (let n = 0; n < 3; n++) await of.ask('DELETE', `${CONNECTIONS}/${(await of.connect(freshRfc(), null)).body.fiscal_entity_id}`)
    expect((await of.connect(freshRfc())).status).toBe(201)
  })

  it('of an RFC that comes back as a draft it still counts', async () => {
    const of = await billed('diagnostic')
    const rfc = freshRfc()
    await of.ask('DELETE', `${CONNECTIONS}/${(await of.connect(rfc)).body.fiscal_entity_id}`)
    const { fiscal_entity_id } = (await of.connect(rfc, null)).body
    expect(notified(await of.connect(freshRfc()))).toBe('402 billing.trial_rfcs')
    expect((await of.ask('PATCH', `${CONNECTIONS}/${fiscal_entity_id}`, { ciec: 'empty1' })).status).toBe(200)
  })

  it('is connected and unlinked between the check and the commit of another: 402, and nothing of it is left', async () => {
    const of = await billed('diagnostic')
    beforeCommit(async () => {
      const { fiscal_entity_id } = (await of.connect(freshRfc())).body
      await of.ask('DELETE', `${CONNECTIONS}/${fiscal_entity_id}`)
    })
    expect(notified(await of.connect(freshRfc()))).toBe('402 billing.trial_rfcs')
    expect(await of.states()).toEqual(['unlinked'])
  })
})

describe('whatever many requests do at once', () => {
  const step = fc.record({
    by: fc.nat(1),
    rfc: fc.nat(2),
    what: fc.constantFrom('connect', 'connect', 'draft', 'give', 'give', 'unlink', 'pause', 'resume'),
  })

  it('of two organizations with one address at most one ever has an active RFC, and at most one RFC', async () => {
    let connected = 0
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 5 }), async (rounds) => {
        const email = freshAddress()
        const accounts = [await signUpAs(email), await signUpAs(email)]
        const rfcs = [freshRfc(), freshRfc(), freshRfc()]
        const ids = accounts.map(() => new Map<string, string>())
        const act = async ({ by, rfc: n, what }: { by: number; rfc: number; what: string }): Promise<void> => {
          const [caller, rfc] = [accounts[by]!, rfcs[n]!]
          if (what === 'connect' || what === 'draft') {
            const { status, body } = await connect(caller, rfc, what === 'draft' ? null : 'empty1')
            expect([201, 402, 409]).toContain(status)
            if (status === 201) ids[by]!.set(rfc, body.fiscal_entity_id)
            return
          }
          const id = ids[by]!.get(rfc)
          if (id === undefined) return
          const reply = await (what === 'give'
            ? api(caller, 'PATCH', `${CONNECTIONS}/${id}`, { ciec: 'empty2' })
            : what === 'unlink'
              ? api(caller, 'DELETE', `${CONNECTIONS}/${id}`)
              : api(caller, 'PATCH', `/v1/billing/rfcs/${id}`, { active: what === 'resume' }))
          expect(reply.status).toBeLessThan(500)
        }
        for (const round of rounds) await Promise.all(round.map(act))
        const { results } = await env.DB.prepare(
          'select organization_id, rfc from connections where organization_id in (?, ?) and first_active_at is not null',
        )
          .bind(...accounts.map(({ id }) => id))
          .all()
        expect(results.length).toBeLessThanOrEqual(1)
        connected += results.length
        const { results: used } = await env.DB.prepare('select organization_id from trials where email = ?').bind(email).all()
        if (results.length === 1) expect(used).toEqual([{ organization_id: results[0]!['organization_id'] }])
      }),
      { numRuns: runs(5, 200) },
    )
    expect(connected).toBeGreaterThan(0)
  })
})

describe('an e-mail address gets one trial', () => {
  it('which counts when its first RFC connects: a later sign-up begins without one, and drafts are allowed', async () => {
    const email = freshAddress()
    const first = await signUpAs(email)
    expect((await connect(first)).status).toBe(201)
    const later = await signUpAs(` ${email.replace('@', '+otra@').toUpperCase()} `)
    expect(await billingOf(later)).toMatchObject({ state: 'diagnostic_expired', plan: 'diagnostic', trial_ends_at: null })
    expect((await api(later, 'GET', '/v1/billing/plan')).body.trial_ends_at).toBe(null)
    const refused = await connect(later)
    expect(notified(refused)).toBe('402 billing.trial_ended')
    expect(refused.body.detail).toMatch(/trial of this e-mail address was used by another organization.*Choose a plan/)
    const draft = await connect(later, freshRfc(), null)
    expect(draft.status).toBe(201)
    expect(notified(await api(later, 'PATCH', `${CONNECTIONS}/${draft.body.fiscal_entity_id}`, { ciec: 'empty1' }))).toBe(
      '402 billing.trial_ended',
    )
    expect(await billingOf(first)).toMatchObject({ state: 'trialing', trial_ends_at: '2027-03-17T06:00:00.000Z' })
  })

  it('which signing up, drafts and a refused CIEC do not use', async () => {
    const email = freshAddress()
    const first = await signUpAs(email)
    expect((await connect(first, freshRfc(), null)).status).toBe(201)
    expect((await connect(first, freshRfc(), 'rejected1')).status).toBe(422)
    const second = await signUpAs(email)
    expect(await billingOf(second)).toMatchObject({ state: 'trialing', trial_ends_at: '2027-03-17T06:00:00.000Z' })
    expect((await connect(second)).status).toBe(201)
    expect(notified(await connect(first))).toBe('402 billing.trial_ended')
  })

  it('of two that signed up before either connected, the first that connects has it, also at once', async () => {
    for (let round = 0; round < 5; round++) {
      const email = freshAddress()
      const accounts = [await signUpAs(email), await signUpAs(email), await signUpAs(email)]
      const replies = await Promise.all(accounts.map((one) => connect(one)))
      expect(replies.map(notified).sort()).toEqual(['201', '402 billing.trial_ended', '402 billing.trial_ended'])
      const winner = accounts[replies.findIndex(({ status }) => status === 201)]!
      const { results } = await env.DB.prepare('select organization_id from trials where email = ?').bind(email).all()
      expect(results).toEqual([{ organization_id: winner.id }])
    }
  })

  it('which another organization uses between the check and the commit: 402, and nothing of it is left', async () => {
    const email = freshAddress()
    const [one, two] = [await signUpAs(email), await signUpAs(email)]
    beforeCommit(() => connect(two))
    expect(notified(await connect(one))).toBe('402 billing.trial_ended')
    const rows = env.DB.prepare('select count(*) as n from connections where organization_id = ?').bind(one.id)
    expect(await rows.first('n')).toBe(0)
  })

  it('which unlinking and the end of the trial do not give back', async () => {
    const email = freshAddress()
    const first = await signUpAs(email)
    const { fiscal_entity_id, rfc } = (await connect(first)).body
    await api(first, 'DELETE', `${CONNECTIONS}/${fiscal_entity_id}`)
    at('2027-03-20T18:00:00Z')
    expect(notified(await connect(await signUpAs(email), rfc))).toBe('402 billing.trial_ended')
  })

  it('a plan needs none: what is bought is used, and an RFC under a plan uses no trial', async () => {
    const email = freshAddress()
    const first = await signUpAs(email)
    await api(first, 'POST', '/v1/test-helpers/organization', { plan: 'starter' })
    expect((await connect(first)).status).toBe(201)
    const second = await signUpAs(email)
    expect((await connect(second)).status).toBe(201)
    const third = await signUpAs(email)
    expect((await billingOf(third)).state).toBe('diagnostic_expired')
    await api(third, 'POST', '/v1/test-helpers/organization', { plan: 'starter' })
    expect((await billingOf(third)).state).toBe('active')
    expect((await connect(third)).status).toBe(201)
  })

  it('a trial that is granted is the organization’s whatever its address', async () => {
    const email = freshAddress()
    expect((await connect(await signUpAs(email))).status).toBe(201)
    const later = await signUpAs(email)
    await api(later, 'POST', '/v1/test-helpers/organization', { trial_ends_at: '2027-03-24T18:00:00Z' })
    expect(await billingOf(later)).toMatchObject({ state: 'trialing', trial_ends_at: '2027-03-24T18:00:00.000Z' })
    expect((await connect(later)).status).toBe(201)
    expect(notified(await connect(later))).toBe('402 billing.trial_rfcs')
  })

  it('the reviews of every day and quarter of an hour keep who has none as it is, and a plan ends that', async () => {
    const email = freshAddress()
    await connect(await signUpAs(email))
    const later = await signUpAs(email)
    for (const day of ['2027-03-11', '2027-03-18', '2027-03-19']) {
      at(`${day}T18:00:00Z`)
      await suspendExpired(systemNow(), resume)
      await reviewSubscriptions(systemNow(), resume)
      expect((await billingOf(later)).state).toBe('diagnostic_expired')
      expect(notified(await connect(later))).toBe('402 billing.trial_ended')
    }
    await api(later, 'POST', '/v1/test-helpers/organization', { plan: 'starter' })
    expect((await connect(later)).status).toBe(201)
  })
})
