import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { checkLoginEntitlement } from '../../../src/accounts/billing/billing.ts'
import { created, draft } from '../../connections/extractors/support/extractors.ts'
import { losingMessages } from '../../downloads/support/downloads.ts'
import { at, restore } from '../../support/clock.ts'
import { beforeCommit } from '../../support/commits.ts'
import { contextOf } from '../../support/context.ts'
import { sample } from '../../support/fuzz.ts'
import { audited, freshRfc } from '../../support/tenants.ts'
import { type Billed, billed } from './support/billing.ts'

const NOW = '2027-03-10T18:00:00Z'
const TODAY = '2027-03-10'
const CONNECTIONS = '/v1/fiscal-entities'

beforeEach(() => {
  at(NOW)
  losingMessages()
})
afterEach(restore)

/** Each dimension with how it is made; one seat wherever there is a limit. */
const PLANS = {
  trial: "plan = 'diagnostic', trial_ends_at = 1805000000000, rfc_allowance = null",
  'trial over': "plan = 'diagnostic', trial_ends_at = 1804000000000, rfc_allowance = null",
  'one seat': "plan = 'starter', rfc_allowance = 1",
  unlimited: "plan = 'enterprise_gold', rfc_allowance = null",
} as const
const INVOICES = { none: null, 'due today': TODAY, 'in grace': '2027-03-08', 'beyond grace': '2027-03-07' } as const
const STATES = [
  ...(['none', 'draft', 'active', 'invalid_ciec', 'paused from draft', 'paused from active', 'paused from invalid_ciec'] as const),
  ...(['paused from active by payment', 'paused from active by trial'] as const),
] as const
/** `none` was never connected with a CIEC, `unlinked` was. */
const OTHERS = ['none', 'unlinked', 'draft', 'active', 'invalid_ciec', 'paused from active'] as const
const OPERATIONS = ['connect', 'connect as draft', 'give a ciec', 'unlink', 'resume', 'suspend', 'read'] as const

interface Case {
  plan: keyof typeof PLANS
  invoice: keyof typeof INVOICES
  state: (typeof STATES)[number]
  other: (typeof OTHERS)[number]
  operation: (typeof OPERATIONS)[number]
}

type Notified = readonly [status: number, code?: string, checkout?: 'checkout']

const OVERDUE = [402, 'billing.overdue'] as const
const NO_SEAT = [402, 'billing.seats', 'checkout'] as const

/** Why the organization is suspended, if it is. */
const suspensionOf = ({ plan, invoice }: Pick<Case, 'plan' | 'invoice'>): 'payment' | 'trial' | null =>
  invoice === 'beyond grace' ? 'payment' : plan === 'trial over' ? 'trial' : null

/** service.md, Errors, and decisions.md 4 and 10, read out. */
function expected({ plan, invoice, state, other, operation }: Case): Notified {
  const isOverdue = invoice === 'beyond grace'
  const isTaken = (plan === 'trial' || plan === 'one seat') && (other === 'active' || other === 'invalid_ciec')
  switch (operation) {
    case 'suspend':
      return [200]
    // A debt leaves reading unaffected.
    case 'read':
      return state === 'active' || state === 'paused from active by payment'
        ? [200]
        : [404, `fiscal_entity.${state === 'none' ? 'not_found' : 'not_active'}`]
    case 'connect as draft':
      return [201]
    case 'unlink':
      if (state === 'draft' || state === 'paused from draft') return [204]
      if (isOverdue) return OVERDUE
      return state.startsWith('paused') ? [402, 'billing.connection_paused'] : [204]
    case 'connect':
    case 'give a ciec': {
      const done = [operation === 'connect' ? 201 : 200] as const
      if (isOverdue) return OVERDUE
      const was = state.replace('paused from ', '').replace(/ by .*/, '')
      if (plan === 'trial over') return [402, 'billing.trial_ended']
      if (was === 'active' || was === 'invalid_ciec') return done
      if (plan === 'trial') return other === 'none' || other === 'draft' ? done : [402, 'billing.trial_rfcs']
      // What stays paused takes no seat yet.
      return isTaken && !state.startsWith('paused') ? NO_SEAT : done
    }
    case 'resume':
      if (isOverdue) return OVERDUE
      if (state === 'draft' || state === 'invalid_ciec') return [409, `fiscal_entity.${state}`]
      if (state === 'active' || state === 'paused from draft') return [200]
      return plan === 'trial over' || isTaken ? NO_SEAT : [200]
  }
}

/** What the connection is afterwards, when nothing is refused. */
function after({ state, operation }: Case): string {
  const [, from] = state.replace(/ by .*/, '').split('paused from ')
  if (operation === 'read') return from === undefined ? state : `paused ${from}`
  if (operation === 'connect' || (operation === 'give a ciec' && from === undefined)) return 'active'
  if (operation === 'give a ciec') return 'paused active'
  if (operation === 'connect as draft') return 'draft'
  if (operation === 'unlink') return 'unlinked'
  if (operation === 'resume') return from ?? state
  return `paused ${from ?? state}`
}

interface Table {
  of: Billed
  target: { fiscal_entity_id: string; rfc: string }
  other: { fiscal_entity_id: string }
}

async function table(): Promise<Table> {
  const of = await billed('enterprise_gold')
  const rfc = freshRfc()
  const [target, other] = [(await of.connect(rfc)).body, (await of.connect(freshRfc())).body]
  return { of, target: { ...target, rfc }, other }
}

async function arrange({ of, target, other }: Table, { state, other: beside }: Case): Promise<string> {
  const [, by] = state.split(' by ')
  const put = (id: string, what: string) => {
    const [as, from] = what.startsWith('paused') ? ['paused', what.split(' ')[2]!] : [what === 'none' ? 'unlinked' : what, null]
    const first = what === 'none' || what === 'draft' ? null : 1
    return env.DB.prepare(
      `update connections set state = ?, paused_from = ?, paused_by = ?, first_active_at = ?, updated_at = 0
       where organization_id = ? and fiscal_entity_id = ?`,
    ).bind(as, from, from && (what === state && by !== undefined ? by : 'customer'), first, of.id, id)
  }
  await env.DB.batch([
    put(target.fiscal_entity_id, state),
    put(other.fiscal_entity_id, beside),
    // The midnight has come, or is to come.
    env.DB.prepare('update organizations set suspension = ? where id = ?').bind(by ?? null, of.id),
  ])
  return state
}

const stateOf = async ({ of, target }: Table): Promise<string> => {
  const [state, from] = await env.DB.prepare(
    'select state, paused_from from connections where organization_id = ? and fiscal_entity_id = ?',
  )
    .bind(of.id, target.fiscal_entity_id)
    .raw<(string | null)[]>()
    .then(([row]) => row!)
  return state === 'paused' ? `paused ${from}` : state!
}

function ask({ of, target }: Table, operation: Case['operation'], ciec: string) {
  const path = `${CONNECTIONS}/${target.fiscal_entity_id}`
  switch (operation) {
    case 'connect':
      return of.ask('POST', CONNECTIONS, { rfc: target.rfc, ciec })
    case 'connect as draft':
      return of.ask('POST', CONNECTIONS, { rfc: target.rfc })
    case 'give a ciec':
      return of.ask('PATCH', path, { ciec })
    case 'unlink':
      return of.ask('DELETE', path)
    case 'read':
      return of.ask('GET', `/v1/cfdi?fiscal_entity_id=${target.fiscal_entity_id}`)
    default:
      return of.active(target.fiscal_entity_id, operation === 'resume')
  }
}

function possible(one: Case): boolean {
  const [, by] = one.state.split(' by ')
  if (by !== undefined && by !== suspensionOf(one)) return false
  return one.operation === 'read' || (one.state === 'none') === one.operation.startsWith('connect')
}

describe('every combination of plan, invoice, connection, seats and operation', () => {
  const pairs = (Object.keys(PLANS) as Case['plan'][]).flatMap((plan) =>
    (Object.keys(INVOICES) as Case['invoice'][]).map((invoice) => ({ plan, invoice })),
  )
  it.each(pairs)('$plan, invoice $invoice', async ({ plan, invoice }) => {
    const here = await table()
    if (INVOICES[invoice] !== null) await here.of.invoice(INVOICES[invoice])
    await here.of.set(PLANS[plan])
    const cases = STATES.flatMap((state) =>
      OTHERS.flatMap((other) => OPERATIONS.map((operation): Case => ({ plan, invoice, state, other, operation }))),
    ).filter(possible)
    expect(cases.length).toBe(6 * 6 * 5 + 6 * 3 + (suspensionOf({ plan, invoice }) === null ? 0 : 6 * 5))
    // The pairs of plan and invoice take turns, so that every state, seat and operation comes with several of them.
    for (const one of sample(
      cases,
      6,
      pairs.findIndex((pair) => pair.plan === plan && pair.invoice === invoice),
    )) {
      await arrange(here, one)
      const before = await stateOf(here)
      const [status, code, checkout] = expected(one)
      // A CIEC that the authority would reject: 402 comes before it is asked.
      const reply = await ask(here, one.operation, status === 402 ? 'rejected1' : 'empty1')
      const said = status < 400 ? [reply.status] : [reply.status, reply.body.code, reply.body.checkout_url && 'checkout']
      expect([one, ...said]).toEqual([one, status, ...(status < 400 ? [] : [code, checkout])])
      expect([one, await stateOf(here)]).toEqual([one, status < 400 ? after(one) : before])
    }
  })

  it('each 402 says which rule it is and what resolves it', async () => {
    const here = await table()
    const said = async (what: Partial<Case>, set: string): Promise<string> => {
      await here.of.set(set)
      await arrange(here, { state: 'draft', other: 'active', ...what } as Case)
      const { status, body } = await ask(here, what.operation!, 'empty1')
      expect([what, status]).toEqual([what, 402])
      return body.detail
    }
    expect(await said({ operation: 'give a ciec' }, PLANS.trial)).toMatch(
      /free trial covers 1 RFC.*Choose a plan.*POST \/v1\/test-helpers\/organization with \{"plan":"api"\}/,
    )
    expect(await said({ operation: 'give a ciec' }, PLANS['trial over'])).toMatch(/trial has ended.*Choose a plan.*\{"plan":"api"\}/)
    expect(await said({ operation: 'give a ciec' }, PLANS['one seat'])).toMatch(
      /Every seat of the organization is taken: 1 of 1 \(plan Starter\).*Pause or unlink.*POST \/v1\/test-helpers\/organization with \{"rfc_allowance":50\}/,
    )
    const paused = { state: 'paused from active' } as const
    expect(await said({ ...paused, operation: 'resume' }, PLANS['trial over'])).toMatch(/trial has ended.*checkout_url/)
    expect(await said({ ...paused, operation: 'unlink' }, PLANS.unlimited)).toMatch(
      /paused.*Resume it first: PATCH \/v1\/billing\/rfcs\/fe_\w+ with \{"active": true\}\./,
    )
    await here.of.invoice('2027-03-01')
    expect(await said({ operation: 'give a ciec' }, PLANS.unlimited)).toMatch(/unpaid.*2027-03-04T06:00.*Pay the open invoices/)
  })

  it('a 402 of production leads to the plans that are sold, and to no helper of the sandbox', async () => {
    const here = await table()
    const ctx = contextOf(null, { organization: here.of.id, now: new Date(NOW) })
    const live = { ...ctx, settings: { ...ctx.settings, environment: 'live' as const } }
    const said = async (set: string): Promise<string> => {
      await here.of.set(set)
      await arrange(here, { state: 'draft', other: 'active' } as Case)
      return checkLoginEntitlement(live, freshRfc()).then(
        () => 'allowed',
        ({ message }: Error) => message,
      )
    }
    for (const set of [PLANS.trial, PLANS['trial over'], PLANS['one seat']]) {
      const message = await said(set)
      expect(message).toContain('GET /v1/billing/plans lists the plans with a link')
      expect(message).not.toMatch(/sandbox|test-helpers/)
    }
  })

  it('the order of refusals is 404, 422, 402, 409', async () => {
    const here = await table()
    const { of, target } = here
    await of.set(PLANS['one seat'])
    await arrange(here, { state: 'draft', other: 'active' } as Case)
    const path = `${CONNECTIONS}/${target.fiscal_entity_id}`
    const absent = 'fe_01kabcdefghjkmnpqrstvwxyz0'
    expect((await of.active(absent, true)).status).toBe(404)
    expect((await of.ask('PATCH', path, { ciec: 'x', data_source_keys: ['nada'] })).status).toBe(422)
    expect((await of.ask('POST', CONNECTIONS, { rfc: target.rfc, ciec: 'x', data_source_keys: ['nada'] })).status).toBe(422)
    // Linked already, and without a seat for it.
    expect((await of.ask('POST', CONNECTIONS, { rfc: target.rfc, ciec: 'x' })).status).toBe(402)
    expect((await of.ask('POST', CONNECTIONS, { rfc: target.rfc })).status).toBe(409)
    await of.invoice('2027-03-01')
    expect((await of.active(absent, true)).status).toBe(404)
    expect((await of.active(target.fiscal_entity_id, true)).status).toBe(402)
    expect((await of.ask('PATCH', `/v1/billing/rfcs/${target.fiscal_entity_id}`, { active: 'yes' })).status).toBe(422)
    expect((await of.ask('PATCH', '/v1/billing/rfcs/nonsense', { active: true })).status).toBe(400)
    expect((await of.ask('PATCH', `/v1/billing/rfcs/${target.fiscal_entity_id}`, { active: true }, 'member')).status).toBe(403)
  })
})

describe('suspending and resuming', () => {
  it('returns to the state before and runs what a reactivation runs; an invalid CIEC stays invalid, and given meanwhile is valid', async () => {
    const of = await billed()
    for (const trigger_kind of ['connection_created', 'connection_reactivated']) await created(of, { ...draft, trigger_kind })
    const { fiscal_entity_id: id } = (await of.connect(freshRfc())).body
    const { body } = await of.active(id, false)
    expect(body).toMatchObject({ id, active: false, connection_status: 'paused', seat_source: null, active_since: null })
    at('2027-03-10T19:00:00Z')
    const resumed = { active: true, connection_status: 'active', seat_source: 'plan', active_since: '2027-03-10T19:00:00.000Z' }
    expect((await of.active(id, true)).body).toMatchObject(resumed)
    expect(await of.runs()).toEqual(['connection_created', 'connection_reactivated'])
    for (const again of [true, true]) expect((await of.active(id, again)).body).toMatchObject(resumed)
    expect(await of.runs()).toHaveLength(2)
    await env.DB.prepare("update connections set state = 'invalid_ciec' where organization_id = ?").bind(of.id).run()
    await of.active(id, false)
    expect((await of.active(id, true)).body).toMatchObject({ active: false, connection_status: 'invalid_ciec', seat_source: 'plan' })
    await of.active(id, false)
    await of.ask('PATCH', `${CONNECTIONS}/${id}`, { ciec: 'empty2' })
    expect((await of.active(id, true)).body).toMatchObject({ connection_status: 'active' })
    expect([(await audited(of, 'fiscal_entity.suspended')).length, (await audited(of, 'fiscal_entity.resumed')).length]).toEqual([3, 3])
  })

  it('takes the UUID form, and nothing of another organization’s', async () => {
    const [of, other] = [await billed(), await billed()]
    const { fiscal_entity_id: id } = (await of.connect(freshRfc())).body
    expect((await other.active(id, false)).body.code).toBe('fiscal_entity.not_found')
    expect(await of.states()).toEqual(['active'])
  })

  it('and a new CIEC at once lose neither', async () => {
    const of = await billed()
    const { fiscal_entity_id: id } = (await of.connect(freshRfc())).body
    await env.DB.prepare("update connections set state = 'invalid_ciec' where organization_id = ?").bind(of.id).run()
    await of.active(id, false)
    beforeCommit(() => of.ask('PATCH', `${CONNECTIONS}/${id}`, { ciec: 'empty2' }))
    expect((await of.active(id, true)).body.connection_status).toBe('active')
  })
})

describe('the last seat', () => {
  it.each([2, 5])('of %i connections at once one gets it, the others are told 402', async (many) => {
    const of = await billed()
    await of.set('rfc_allowance = 1')
    await created(of, draft)
    const replies = await Promise.all(Array.from({ length: many }, () => of.connect(freshRfc())))
    const notified = replies.map(({ status, body }) => `${status} ${body.code ?? ''}`).sort()
    expect(notified).toEqual(['201 ', ...Array<string>(many - 1).fill('402 billing.seats')])
    expect([await of.states(), await of.runs()]).toEqual([['active'], ['connection_created']])
    expect(await audited(of, 'fiscal_entity.connected')).toHaveLength(1)
  })

  it('in the trial likewise, also when a paused RFC comes between', async () => {
    const of = await billed('diagnostic')
    beforeCommit(async () => {
      const { fiscal_entity_id } = (await of.connect(freshRfc())).body
      await of.active(fiscal_entity_id, false)
    })
    const { status, body } = await of.connect(freshRfc())
    expect([status, body.code, await of.states()]).toEqual([402, 'billing.trial_rfcs', ['paused active customer']])
  })

  it.each([
    ['connecting', 'resuming'],
    ['resuming', 'connecting'],
    ['resuming', 'giving a CIEC'],
    ['giving a CIEC', 'connecting'],
  ])('%s while %s takes it: 402 with where to buy one, and nothing of it is left', async (late, early) => {
    const of = await billed()
    await created(of, { ...draft, trigger_kind: 'connection_reactivated' })
    const [paused, other] = [
      (await of.connect(freshRfc())).body.fiscal_entity_id,
      (await of.connect(freshRfc(), null)).body.fiscal_entity_id,
    ]
    await of.active(paused, false)
    await of.set('rfc_allowance = 1')
    const rfc = freshRfc()
    const act = (what: string) => {
      if (what === 'resuming') return of.active(paused, true)
      return what === 'connecting' ? of.connect(rfc) : of.ask('PATCH', `${CONNECTIONS}/${other}`, { ciec: 'empty1' })
    }
    let first = 0
    beforeCommit(async () => {
      first = (await act(early)).status
    })
    const { status, body } = await act(late)
    expect([first < 300, status, body.code, URL.canParse(body.checkout_url)]).toEqual([true, 402, 'billing.seats', true])
    const stored = (await of.rfcs()).filter(({ active }: { active: boolean }) => active)
    expect(stored).toHaveLength(1)
  })

  it('is not taken by a connection that a suspension overtakes', async () => {
    const of = await billed()
    beforeCommit(() => of.set("suspension = 'payment'"))
    expect((await of.connect(freshRfc())).body.code).toBe('billing.overdue')
    expect(await of.states()).toEqual([])
  })
})

describe('the trial', () => {
  it('is one RFC for seven local days; drafts are free, and a plan ends it', async () => {
    const of = await billed('diagnostic')
    expect(await of.billing()).toMatchObject({
      state: 'trialing',
      seats: { allowance: 1, used: 0 },
      trial_ends_at: '2027-03-17T06:00:00.000Z',
    })
    const one = (await of.connect(freshRfc())).body.fiscal_entity_id
    const spare = (await of.connect(freshRfc(), null)).body.fiscal_entity_id
    expect((await of.connect(freshRfc())).body).toMatchObject({ code: 'billing.trial_rfcs' })
    expect((await of.ask('PATCH', `${CONNECTIONS}/${spare}`, { ciec: 'empty1' })).body.code).toBe('billing.trial_rfcs')
    expect((await of.ask('DELETE', `${CONNECTIONS}/${one}`)).status).toBe(204)
    expect((await of.ask('PATCH', `${CONNECTIONS}/${spare}`, { ciec: 'empty1' })).body.code).toBe('billing.trial_rfcs')
    await of.ask('POST', '/v1/test-helpers/organization', { plan: 'starter' })
    expect((await of.ask('PATCH', `${CONNECTIONS}/${spare}`, { ciec: 'empty1' })).status).toBe(200)
    expect((await of.connect(freshRfc())).status).toBe(201)
  })

  it('that was granted longer keeps its term, to the millisecond', async () => {
    const of = await billed('diagnostic')
    await of.ask('POST', '/v1/test-helpers/organization', { trial_ends_at: '2027-03-24T18:30:00.001Z' })
    at('2027-03-24T18:30:00.000Z')
    expect((await of.connect(freshRfc())).status).toBe(201)
    at('2027-03-24T18:30:00.001Z')
    expect((await of.billing()).state).toBe('diagnostic_expired')
    expect((await of.connect(freshRfc())).body.code).toBe('billing.trial_ended')
  })
})
