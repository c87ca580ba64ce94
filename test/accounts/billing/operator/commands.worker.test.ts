import { createScheduledController } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { commandOf, LATEST, sqlOf } from '../../../../scripts/operator-commands.ts'
import { runOperatorCommands } from '../../../../src/accounts/billing/operator/commands.ts'
import { resume } from '../../../../src/app/resume.ts'
import worker from '../../../../src/index.ts'
import { systemOf } from '../../../../src/platform/context.ts'
import { losingMessages } from '../../../downloads/support/downloads.ts'
import { at, restore } from '../../../support/clock.ts'
import { daily } from '../../../support/crons.ts'
import { audited, freshRfc } from '../../../support/tenants.ts'
import { billed } from '../support/billing.ts'
import { stripeEnv } from '../support/stripe.ts'

beforeEach(() => {
  at('2027-03-10T18:00:00Z')
  losingMessages()
})
afterEach(restore)

const minute = () => worker.scheduled(createScheduledController({ cron: '* * * * *', scheduledTime: new Date() }), env)

/** What `npm run billing -- …` does; how many rows it says it is about. */
async function recorded(...words: string[]): Promise<number> {
  const { results } = await env.DB.prepare(sqlOf(commandOf(words)!, crypto.randomUUID(), Date.now())).all()
  return results.length
}
const outcomes = async (id: string) =>
  (
    await env.DB.prepare(
      'select kind, done_at is not null as done, refused from operator_orders where organization_id = ? order by created_at',
    )
      .bind(id)
      .raw()
  ).map((row) => row.join(' ').trim())

describe('what an operator records', () => {
  it('as paid is paid by the same verb as any payment, once', async () => {
    const of = await billed()
    await of.connect(freshRfc())
    const { invoice_id } = await of.invoice('2027-03-01')
    await daily()
    expect(await of.states()).toEqual(['paused active payment'])
    expect([await recorded('pay', invoice_id), await recorded('pay', invoice_id)]).toEqual([1, 1])
    await Promise.all([minute(), minute()])
    await minute()
    expect([await of.states(), (await of.invoices())[0]!.status]).toEqual([['active'], 'paid'])
    expect(await audited(of, 'invoice.paid')).toEqual([expect.objectContaining({ actor: 'system:operator' })])
    expect(await outcomes(of.id)).toEqual(['pay 1', 'pay 1'])
    expect(await recorded('pay', invoice_id)).toBe(0)
  })

  it('as a plan is the organization’s, with seats of its own or without', async () => {
    const of = await billed('diagnostic')
    expect(await recorded('plan', of.id, 'api', '60')).toBe(1)
    await minute()
    expect(await of.billing()).toMatchObject({ plan: 'api', seats: { allowance: 60 } })
    at('2027-03-10T18:01:00Z')
    await recorded('plan', of.id, 'starter')
    await minute()
    expect(await of.billing()).toMatchObject({ plan: 'starter', seats: { allowance: 5 } })
    expect(await audited(of, 'billing.plan_changed')).toHaveLength(2)
  })

  it('is done once by ticks that overlap, and takes nothing back that came between', async () => {
    const of = await billed('diagnostic')
    await recorded('plan', of.id, 'starter', '3')
    await Promise.all([minute(), minute(), minute()])
    expect(await audited(of, 'billing.plan_changed')).toHaveLength(1)
    at('2027-03-10T18:01:00Z')
    await recorded('plan', of.id, 'starter', '4')
    // Another tick does it, and something is bought, after this one has read it as open.
    const stale = new Proxy(env.DB, {
      get: (target, name) => {
        if (name === 'batch')
          return async (statements: D1PreparedStatement[]) => {
            if (statements.some((one) => (one as unknown as { statement: string }).statement.includes('"operator_orders"')) && !went) {
              went = true
              await minute()
              await of.ask('POST', '/v1/test-helpers/organization', { rfc_allowance: 5 })
            }
            return target.batch(statements)
          }
        const value = Reflect.get(target, name) as unknown
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    let went = false
    await runOperatorCommands(systemOf({ ...env, DB: stale }, new Date(), 'stale'), resume)
    expect([went, (await of.billing()).seats.allowance]).toEqual([true, 5])
    expect(await audited(of, 'billing.plan_changed')).toHaveLength(2)
    expect((await outcomes(of.id)).at(-1)).toBe('plan 1')
  })

  it('in any number is done: as much as an invocation may do with one tick, in the order of recording, the rest with the next', async () => {
    const of = await billed()
    for (let n = 0; n < 240; n++) await recorded('plan', of.id, 'api', String(n))
    await minute()
    const done = (await outcomes(of.id)).map((one) => one === 'plan 1')
    expect(done.lastIndexOf(true)).toBeGreaterThan(60)
    expect(done.indexOf(false)).toBe(done.lastIndexOf(true) + 1)
    for (let n = 0; n < 4; n++) await minute()
    expect((await outcomes(of.id)).filter((one) => one === 'plan 1')).toHaveLength(240)
  })

  it('as settled is settled, also where Stripe collects', async () => {
    const of = await billed()
    const { invoice_id } = await of.invoice()
    expect(await recorded('settle', invoice_id)).toBe(1)
    await runOperatorCommands(systemOf(stripeEnv, new Date(), 'minute'), resume)
    expect([(await of.invoices())[0]!.status, await outcomes(of.id)]).toEqual(['paid', ['settle 1']])
  })

  it('and cannot be done ends with why, in the log and in the list', async () => {
    const error = vi.spyOn(console, 'error').mockImplementation(() => {})
    await env.DB.prepare('delete from operator_orders').run()
    const of = await billed()
    await env.DB.prepare(
      "insert into operator_orders (command_id, kind, organization_id, invoice_id, created_at) values ('o1', 'pay', ?1, 'inv_none', 0), ('o2', 'plan', ?1, null, 1)",
    )
      .bind(of.id)
      .run()
    await minute()
    const gone =
      'There is no such invoice. It may be deleted, or belong to another organization or environment. List invoices with GET /v1/billing/invoices.'
    expect(await outcomes(of.id)).toEqual([`pay 1 ${gone}`, 'plan 1 plan: There is no such plan.'])
    expect(error.mock.calls.map(([line]) => JSON.parse(line))).toEqual([
      expect.objectContaining({ command_id: 'o1', refused: gone }),
      expect.objectContaining({ command_id: 'o2', refused: 'plan: There is no such plan.' }),
    ])
    const { results } = await env.DB.prepare(LATEST).all()
    expect(results.slice(-2).map(({ command_id, outcome }) => [command_id, outcome])).toEqual([
      ['o2', 'refused: plan: There is no such plan.'],
      ['o1', `refused: ${gone}`],
    ])
  })

  it.each([
    [],
    ['pay'],
    ['pay', "inv_' or 1=1"],
    ['pay', 'inv_01kabcdefghjkmnpqrstvwxyz0', 'more'],
    ['plan', 'org_01kabcdefghjkmnpqrstvwxyz0'],
    ['plan', 'org_01kabcdefghjkmnpqrstvwxyz0', 'gratis'],
    ['plan', 'org_01kabcdefghjkmnpqrstvwxyz0', 'api', '-1'],
    ['void', 'inv_01kabcdefghjkmnpqrstvwxyz0'],
  ])('is nothing else: %s %s %s %s', (...words: (string | undefined)[]) => {
    expect(commandOf(words.filter((word) => word !== undefined))).toBeNull()
  })

  it('and meets a database that fails stays open for the next run', async () => {
    const of = await billed('diagnostic')
    await recorded('plan', of.id, 'starter', '3')
    const failing = new Proxy(env.DB, {
      get: (target, name) => {
        if (name === 'batch') return () => Promise.reject(new Error('D1_ERROR: Network connection lost.'))
        const value = Reflect.get(target, name) as unknown
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    vi.spyOn(console, 'error').mockImplementation(() => {})
    await runOperatorCommands(systemOf({ ...env, DB: failing }, new Date(), 'failing'), resume).catch(() => {})
    expect(await outcomes(of.id)).toEqual(['plan 0'])
    await minute()
    expect(await outcomes(of.id)).toEqual(['plan 1'])
    expect(await of.billing()).toMatchObject({ plan: 'starter', seats: { allowance: 3 } })
  })

  it('about what is not there is not recorded', async () => {
    expect(await recorded('pay', 'inv_01kabcdefghjkmnpqrstvwxyz0')).toBe(0)
    expect(await recorded('plan', 'org_01kabcdefghjkmnpqrstvwxyz0', 'api')).toBe(0)
  })
})
