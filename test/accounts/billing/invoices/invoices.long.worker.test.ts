import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { created, draft } from '../../../connections/extractors/support/extractors.ts'
import { Clockwork, forget } from '../../../connections/extractors/support/ticks.ts'
import { losingMessages } from '../../../downloads/support/downloads.ts'
import { basic } from '../../../support/client.ts'
import { at, restore } from '../../../support/clock.ts'
import { beforeCommit } from '../../../support/commits.ts'
import { audited, freshRfc } from '../../../support/tenants.ts'
import { send } from '../../../support/wire.ts'
import { type Billed, billed, forgetBilled } from '../support/billing.ts'

const FIRST = '2027-03-10T18:00:00Z'
const daily = (day: string) => `${day}T10:00:00.000Z`

beforeEach(async () => {
  await forget()
  await forgetBilled()
  losingMessages()
  at(FIRST)
})
afterEach(restore)

const connectedTo = async (of: Billed, count: number): Promise<string[]> => {
  const ids: string[] = []
  for (let n = 0; n < count; n++) ids.push((await of.connect(freshRfc())).body.fiscal_entity_id)
  return ids
}

const quietly = (work: () => Promise<unknown>) => work().catch(() => {})

/** From one step on nothing more is done, as when the machine goes: the step itself happened or not. */
function dieAt(clockwork: Clockwork, step: number, when: 'before' | 'after') {
  let [steps, died] = [0, '']
  clockwork.watch = (name, now) => {
    if (now === when) steps += 1
    if (died === '' && steps === step && now === when) died = `${name} ${when}`
    if (died !== '') throw new Error(`Died at ${died}.`)
  }
  return () => {
    clockwork.watch = () => {}
    return died
  }
}

describe('invoices', () => {
  it('are issued once a local month in advance, for the plan and the RFCs that are active, due on their day', async () => {
    const [of, free] = [await billed('api'), await billed('diagnostic')]
    const ids = await connectedTo(of, 3)
    await of.connect(freshRfc(), null)
    await of.active(ids[0]!, false)
    const clockwork = new Clockwork()
    for (const day of ['2027-03-10', '2027-03-31']) await clockwork.daily(daily(day))
    expect(await of.invoices()).toEqual([])
    for (const day of ['2027-04-01', '2027-04-01', '2027-04-02', '2027-04-30']) await clockwork.daily(daily(day))
    expect(await of.invoices()).toEqual([
      {
        invoice_id: expect.stringMatching(/^inv_/),
        number: '000001',
        period: '2027-04',
        subtotal: '2157.00',
        tax: '345.12',
        total: '2502.12',
        currency: 'MXN',
        status: 'open',
        issued_at: daily('2027-04-01'),
        due_at: daily('2027-04-01'),
        grace_until: '2027-04-04T06:00:00.000Z',
        is_overdue: true,
        paid_at: null,
        pdf_url: null,
        rule_ref: 'prices/2026-01-01',
      },
    ])
    expect(await free.invoices()).toEqual([])
    expect(await audited(of, 'invoice.issued')).toHaveLength(1)
  })

  it('that a missed tick would have issued are issued once when the service is back, with their full grace', async () => {
    const of = await billed('starter')
    const clockwork = new Clockwork()
    await clockwork.daily(daily('2027-03-31'))
    await Promise.all([1, 2, 3].map(() => clockwork.daily(daily('2027-04-05'))))
    const [invoice, ...others] = await of.invoices()
    expect([others, invoice]).toEqual([[], expect.objectContaining({ period: '2027-04', grace_until: '2027-04-08T06:00:00.000Z' })])
    await of.pay(invoice!.invoice_id)
    // Months without a service are nobody’s debt.
    await clockwork.daily(daily('2027-09-15'))
    expect((await of.invoices()).map(({ period, number, status }) => [period, number, status])).toEqual([
      ['2027-09', '000002', 'open'],
      ['2027-04', '000001', 'paid'],
    ])
  })

  it('fall into the month of the organization’s zone', async () => {
    const of = await billed('starter')
    await of.set("timezone = 'Pacific/Kiritimati', billed_month = '2027-03'")
    await new Clockwork().daily('2027-03-31T10:00:00Z')
    expect((await of.invoices()).map(({ period }) => period)).toEqual(['2027-04'])
  })

  it('are pages, newest first, and nobody else’s', async () => {
    const [of, other] = [await billed(), await billed()]
    for (let n = 1; n <= 5; n++) await of.invoice(`2027-03-0${n}`)
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body } = await of.ask('GET', `/v1/billing/invoices?limit=2${cursor && `&cursor=${cursor}`}`)
      seen.push(...body.data.map(({ number }: { number: string }) => number))
      cursor = body.next_cursor
    }
    expect(seen).toEqual(['000005', '000004', '000003', '000002', '000001'])
    expect(await other.invoices()).toEqual([])
    expect((await other.pay((await of.invoices())[0]!.invoice_id)).body.code).toBe('invoice.not_found')
    expect(await of.billing()).toMatchObject({ open_invoices: 5, amount_due: '5800.00', state: 'suspended' })
  })

  it('of the helper say what was asked for', async () => {
    const of = await billed()
    const add = async (body: object) => (await of.ask('POST', '/v1/test-helpers/invoices', body)).body
    expect(await add({})).toMatchObject({ issued_at: '2027-03-10T18:00:00.000Z', total: '1160.00', subtotal: '1000.00', tax: '160.00' })
    expect(await add({ amount: '0.01', due_date: '2027-01-31' })).toMatchObject({ total: '0.01', period: '2027-01', is_overdue: true })
    expect(await add({ amount: 99.9, due_date: '2027-03-02T05:59:59Z' })).toMatchObject({
      total: '99.90',
      due_at: '2027-03-01T06:00:00.000Z',
    })
    for (const body of [{ amount: '1.001' }, { amount: '-1' }, { amount: 'x' }, { due_date: '2027-02-30' }, { due: '2027-02-03' }])
      expect([body, (await of.ask('POST', '/v1/test-helpers/invoices', body)).status]).toEqual([body, 422])
  })
})

describe('suspension', () => {
  async function overdue() {
    const of = await billed('starter')
    await created(of, { ...draft, trigger_kind: 'connection_reactivated' })
    const ids = await connectedTo(of, 3)
    await of.active(ids[0]!, false)
    return { ...of, ids, owed: await of.invoice() }
  }

  it('pauses what is active with the third local day after issue, and payment brings back that and nothing else', async () => {
    const of = await overdue()
    const clockwork = new Clockwork()
    const untouched = ['paused active customer', 'active', 'active']
    for (const time of ['2027-03-11T10:00:00Z', '2027-03-12T10:00:00Z', '2027-03-13T05:59:59Z']) {
      await clockwork.daily(time)
      expect([time, await of.states()]).toEqual([time, untouched])
    }
    for (const time of ['2027-03-13T10:00:00Z', '2027-03-14T10:00:00Z']) await clockwork.daily(time)
    expect(await of.states()).toEqual(['paused active customer', 'paused active payment', 'paused active payment'])
    expect((await of.billing()).state).toBe('suspended')
    expect((await of.ask('GET', '/v1/fiscal-entities?status=paused')).body.data).toHaveLength(3)
    expect(await of.runs()).toEqual([])
    const paid = await of.pay(of.owed.invoice_id)
    expect(paid.body).toMatchObject({ status: 'paid', paid_at: '2027-03-14T10:00:00.000Z', is_overdue: false })
    expect(await of.states()).toEqual(untouched)
    expect(await of.runs()).toEqual(['connection_reactivated', 'connection_reactivated'])
    expect((await of.pay(of.owed.invoice_id)).body).toEqual(paid.body)
    await clockwork.daily('2027-03-15T10:00:00Z')
    expect([await of.states(), await of.runs()]).toEqual([untouched, ['connection_reactivated', 'connection_reactivated']])
    for (const action of ['organization.suspended', 'organization.reactivated'])
      expect([action, (await audited(of, action)).length]).toEqual([action, 1])
  })

  it('for a debt leaves what is there to be read, unlike any other pause', async () => {
    const of = await overdue()
    const trying = await billed('diagnostic')
    const [tried] = await connectedTo(trying, 1)
    for (const day of ['2027-03-13', '2027-03-18']) await new Clockwork().daily(daily(day))
    expect([(await of.states())[1], await trying.states()]).toEqual(['paused active payment', ['paused active trial']])
    const read = async (whose: Billed, id: string) => {
      const paths = [`cfdi?fiscal_entity_id=${id}`, `fiscal-entities/${id}/documents`, `fiscal-entities/${id}/repse`]
      const [one, ...others] = await Promise.all(paths.map(async (path) => (await whose.ask('GET', `/v1/${path}`)).status))
      expect(others.map((status) => status < 300)).toEqual(others.map(() => one! < 300))
      return one
    }
    expect([await read(of, of.ids[0]!), await read(of, of.ids[1]!), await read(trying, tried!)]).toEqual([404, 200, 404])
    expect((await of.ask('POST', `/v1/fiscal-entities/${of.ids[1]}/repse/refresh`)).status).toBe(404)
    await of.active(of.ids[1]!, false)
    expect(await read(of, of.ids[1]!)).toBe(404)
  })

  it('is for all that is open: the last payment ends it, whichever it is, also two at once', async () => {
    const of = await overdue()
    const second = await of.invoice('2027-03-09')
    await new Clockwork().daily('2027-03-14T10:00:00Z')
    await of.pay(second.invoice_id)
    expect((await of.states())[1]).toBe('paused active payment')
    const third = await of.invoice('2027-03-08')
    await Promise.all([of.pay(of.owed.invoice_id), of.pay(third.invoice_id), of.pay(third.invoice_id)])
    expect(await of.states()).toEqual(['paused active customer', 'active', 'active'])
    expect(await of.runs()).toHaveLength(2)
    expect(await audited(of, 'test_helper.invoice_paid')).toHaveLength(3)
  })

  it('leaves alone what the customer suspends during it', async () => {
    const of = await overdue()
    await new Clockwork().daily('2027-03-13T10:00:00Z')
    expect((await of.active(of.ids[1]!, false)).status).toBe(200)
    await of.pay(of.owed.invoice_id)
    expect(await of.states()).toEqual(['paused active customer', 'paused active customer', 'active'])
  })

  it('and an end of it at the same time leave nobody paused who owes nothing', async () => {
    const of = await overdue()
    at('2027-03-13T10:00:00Z')
    beforeCommit(() => of.pay(of.owed.invoice_id))
    await new Clockwork().daily('2027-03-13T10:00:00Z')
    expect(await of.states()).toEqual(['paused active customer', 'active', 'active'])
    expect(await audited(of, 'organization.suspended')).toEqual([])
  })

  it('ends for as many RFCs as there are seats; the others wait', async () => {
    const of = await overdue()
    await of.set('rfc_allowance = 1')
    await new Clockwork().daily('2027-03-13T10:00:00Z')
    await of.pay(of.owed.invoice_id)
    expect(await of.states()).toEqual(['paused active customer', 'active', 'paused active customer'])
    // Who owes nothing reads what they have a seat for.
    const read = async (id: string) => (await of.ask('GET', `/v1/cfdi?fiscal_entity_id=${id}`)).status
    expect([await read(of.ids[1]!), await read(of.ids[2]!)]).toEqual([200, 404])
    expect((await of.active(of.ids[2]!, true)).body.code).toBe('billing.seats')
    await of.active(of.ids[1]!, false)
    expect((await of.active(of.ids[2]!, true)).body.active).toBe(true)
  })

  it('also follows the trial’s end, until there is a plan', async () => {
    const of = await billed('diagnostic')
    await created(of, { ...draft, trigger_kind: 'connection_reactivated' })
    const [id] = await connectedTo(of, 1)
    const clockwork = new Clockwork()
    await clockwork.daily('2027-03-16T10:00:00Z')
    expect(await of.states()).toEqual(['active'])
    await clockwork.daily('2027-03-17T10:00:00Z')
    expect(await of.states()).toEqual(['paused active trial'])
    expect(await of.billing()).toMatchObject({ state: 'diagnostic_expired' })
    expect((await of.active(id!, true)).body).toMatchObject({ code: 'billing.seats', checkout_url: expect.stringContaining(of.id) })
    await of.ask('POST', '/v1/test-helpers/organization', { plan: 'starter' })
    expect([await of.states(), await of.runs()]).toEqual([['active'], ['connection_reactivated']])
    expect(await of.billing()).toMatchObject({ state: 'active', seats: { allowance: 5, used: 1 } })
    expect((await of.rfcs())[0]).toMatchObject({ id, active: true, seat_source: 'plan', active_since: '2027-03-17T10:00:00.000Z' })
  })

  it('of an organization that owes and whose trial is over ends when both are', async () => {
    const of = await billed('diagnostic')
    const [id] = await connectedTo(of, 1)
    const invoice = await of.invoice()
    const clockwork = new Clockwork()
    const read = async () => (await of.ask('GET', `/v1/cfdi?fiscal_entity_id=${id}`)).status
    for (const day of ['2027-03-13', '2027-03-18']) await clockwork.daily(daily(day))
    expect([await of.states(), await read()]).toEqual([['paused active payment'], 200])
    await of.pay(invoice.invoice_id)
    expect([await of.states(), (await of.billing()).state]).toEqual([['paused active trial'], 'diagnostic_expired'])
    expect(await read()).toBe(404)
    await of.ask('POST', '/v1/test-helpers/organization', { trial_ends_at: null })
    expect(await of.states()).toEqual(['active'])
  })

  it('of one that nobody can look at does not keep others from theirs', async () => {
    const broken = await overdue()
    const of = await overdue()
    await broken.set("plan = 'gone'")
    expect(await new Clockwork().daily('2027-03-13T10:00:00Z')).toEqual(['reviewSubscriptions'])
    expect((await of.states()).slice(1)).toEqual(['paused active payment', 'paused active payment'])
  })
})

describe('a crash', () => {
  it.each(['before', 'after'] as const)('%s any commit of the daily work leaves what its next run completes, once', async (when) => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const clockwork = new Clockwork()
    const places: string[] = []
    for (let step = 1; ; step++) {
      await forgetBilled()
      at(FIRST)
      const owing = [await billed('starter'), await billed('api')]
      for (const of of owing) {
        await connectedTo(of, 2)
        await of.invoice('2027-03-28')
      }
      // Two pages of them.
      await env.DB.prepare(
        `insert into organizations (id, name, timezone, plan, extractor_count, events_shard, billed_month, created_at)
         select 'org_' || value, 'Una', 'America/Tijuana', 'api', 0, 0, '2027-03', 0 from json_each(?)`,
      )
        .bind(JSON.stringify(Array.from({ length: 70 }, (_, n) => n)))
        .run()
      const revive = dieAt(clockwork, step, when)
      await quietly(() => clockwork.daily(daily('2027-04-01')))
      const died = revive()
      for (const day of ['2027-04-02', '2027-04-02']) await clockwork.daily(daily(day))
      for (const of of owing) {
        expect([died, await of.states()]).toEqual([died, ['paused active payment', 'paused active payment']])
        expect([died, (await audited(of, 'organization.suspended')).length]).toEqual([died, 1])
        // Suspended before its month was looked at, it owes nothing for that.
        expect((await of.invoices()).filter(({ period }) => period === '2027-04').length).toBeLessThanOrEqual(1)
        expect(await audited(of, 'invoice.issued')).toHaveLength((await of.invoices()).filter(({ rule_ref }) => rule_ref).length)
      }
      const { results } = await env.DB.prepare(
        `select organization_id, count(*) as n from invoices where organization_id like 'org_%' and length(organization_id) < 8 group by 1`,
      ).all<{ n: number }>()
      expect([died, results.length, results.filter(({ n }) => n !== 1)]).toEqual([died, 70, []])
      if (died === '') break
      places.push(died)
    }
    // Pages of two zones, and two suspensions.
    expect(places.length).toBeGreaterThanOrEqual(5)
  })

  it.each(['before', 'after'] as const)('%s any step of a payment leaves it unpaid, or paid with all that follows', async (when) => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const clockwork = new Clockwork()
    const places: string[] = []
    for (let step = 1; ; step++) {
      at(FIRST)
      const of = await billed('starter')
      for (const trigger_kind of ['connection_reactivated', 'connection_created']) await created(of, { ...draft, trigger_kind })
      await connectedTo(of, 2)
      await env.DB.prepare("update runs set status = 'dispatched'").run()
      const { invoice_id } = await of.invoice()
      await clockwork.daily('2027-03-14T10:00:00Z')
      const revive = dieAt(clockwork, step, when)
      const path = `/v1/test-helpers/invoices/${invoice_id}/pay`
      const answer = await send('POST', path, { authorization: basic(of.owner), env: clockwork.env, breaks: true })
      const died = revive()
      const status = (await of.invoices())[0]!.status
      expect([died, status === 'paid']).toEqual([died, !died.startsWith('DB before')])
      expect([died, answer.status]).toEqual([died, died.startsWith('DB') ? 500 : 200])
      expect([died, await of.states()]).toEqual([died, Array(2).fill(status === 'paid' ? 'active' : 'paused active payment')])
      await of.pay(invoice_id)
      await clockwork.sweep('2027-03-14T10:05:00Z')
      await clockwork.settle()
      await clockwork.sweep('2027-03-14T10:06:00Z')
      const { results } = await env.DB.prepare(
        "select trigger, status, connections, count(*) as n from runs where organization_id = ? and trigger = 'connection_reactivated' group by 1, 2, 3",
      )
        .bind(of.id)
        .all()
      expect([died, results]).toEqual([died, [{ trigger: 'connection_reactivated', status: 'dispatched', connections: 1, n: 2 }]])
      if (died === '') break
      places.push(died)
    }
    expect([...new Set(places)]).toEqual([`DB ${when}`, `DISPATCH ${when}`, `LEDGER_0 ${when}`])
  })
})
