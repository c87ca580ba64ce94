import { applyD1Migrations } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { CfdiHistory, CfdiRelations, RelationsQuery } from '../../../src/cfdi/related/contract.ts'
import { getHistory, listRelations } from '../../../src/cfdi/related/history.ts'
import { at } from '../../support/clock.ts'
import { FISCAL_ENTITY } from '../../support/context.ts'
import { costOf } from '../../support/meter.ts'
import { randomOf } from '../../support/random.ts'
import { Changing } from '../support/changing.ts'
import { CUSTOMERS, creditOf, type Plain, paymentOf, plainOf, RFC, substituteOf } from '../support/documents.ts'

const random = randomOf(18)
const [CUSTOMER] = CUSTOMERS
const EARLY = '2026-02-05T10:00:00'
const LATE = '2026-02-20T10:00:00'
const CEILING = '2026-02-10T12:00:00Z'
const issued = (more: Partial<Plain> = {}): Plain =>
  plainOf(random, '2026-02', { emisor: RFC, receptor: CUSTOMER, metodo: 'PPD', fecha: EARLY, ...more })

beforeEach(async () => {
  await applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS)
  at('2026-03-01T12:00:00Z')
})
afterEach(() => {
  vi.useRealTimers()
})

function reader(ceiling: string | null = CEILING): Changing {
  const one = new Changing()
  if (ceiling !== null) one.run('2026-02-01', ceiling)
  return one
}

/** All relations, page by page: `side relation uuid`, with `-` when the document is not shown. */
async function relationsOf(one: Changing, uuid: string, limit = 100): Promise<string[]> {
  const all: string[] = []
  for (let cursor: string | undefined; ; ) {
    const query = RelationsQuery.parse({ fiscal_entity_id: FISCAL_ENTITY, limit: String(limit), ...(cursor && { cursor }) })
    const page = CfdiRelations.parse(await listRelations(one.ctx, uuid, query))
    expect(page.data.length).toBeLessThanOrEqual(limit)
    if (page.has_more) expect(page.data.length).toBe(limit)
    for (const { side, relation, uuid: other, cfdi } of page.data) {
      expect(cfdi?.uuid ?? other).toBe(other)
      all.push(`${side} ${relation} ${other}${cfdi ? '' : ' -'}`)
    }
    if (!page.has_more) return all
    cursor = page.next_cursor!
  }
}

describe('the relations of a document', () => {
  it('are what it names and what names it, within the window, in pages of any size', async () => {
    const one = reader()
    const [invoice, other, unknown] = [issued(), issued(), issued()]
    const payments = Array.from({ length: 3 }, () => ({ ...paymentOf(random, '2026-02', [invoice, other], 0.1), fecha: EARLY }))
    const credit = { ...creditOf(random, '2026-02', [invoice, unknown]), fecha: EARLY }
    const substitute = { ...substituteOf(random, [invoice]), fecha: EARLY }
    const hidden = [
      { ...paymentOf(random, '2026-02', [invoice], 0.1), fecha: LATE },
      { ...creditOf(random, '2026-02', [invoice]), fecha: LATE },
      { ...substituteOf(random, [invoice]), fecha: LATE },
    ]
    await one.download([invoice, other, ...payments, credit, substitute, ...hidden])
    const expected = [
      `referred_by 01 ${credit.uuid}`,
      `referred_by 04 ${substitute.uuid}`,
      ...payments.map(({ uuid }) => `referred_by pago ${uuid}`).sort(),
    ]
    for (const limit of [1, 2, 3, 4, 5, 100]) expect(await relationsOf(one, invoice.uuid, limit)).toEqual(expected)
    const named = [invoice, other].map(({ uuid }) => `refers_to pago ${uuid}`).sort()
    for (const limit of [1, 2, 100]) expect(await relationsOf(one, payments[0]!.uuid, limit)).toEqual(named)
    // What the document itself names is no secret, but whether it is held is.
    expect(await relationsOf(one, credit.uuid)).toEqual(
      [`refers_to 01 ${invoice.uuid}`, `refers_to 01 ${unknown.uuid} -`].sort((a, b) => (a.slice(0, 50) < b.slice(0, 50) ? -1 : 1)),
    )
    await expect(relationsOf(one, hidden[0]!.uuid)).rejects.toMatchObject({ code: 'cfdi.not_found' })
    one.run('2026-02-01', '2026-02-25T00:00:00Z')
    expect(await relationsOf(one, invoice.uuid, 2)).toHaveLength(8)
  })

  it('have cursors of their own document', async () => {
    const one = reader()
    const [invoice, other] = [issued(), issued()]
    const payment = { ...paymentOf(random, '2026-02', [invoice, other], 0.1), fecha: EARLY }
    await one.download([invoice, other, payment])
    const ask = (uuid: string, cursor?: string) =>
      listRelations(one.ctx, uuid, RelationsQuery.parse({ fiscal_entity_id: FISCAL_ENTITY, limit: '1', ...(cursor && { cursor }) }))
    const { next_cursor } = await ask(payment.uuid)
    await expect(ask(invoice.uuid, next_cursor!)).rejects.toMatchObject({ code: 'cursor.invalid' })
    await expect(ask(payment.uuid, `${next_cursor}A`)).rejects.toMatchObject({ code: 'cursor.invalid' })
  })

  it('cost three calls', async () => {
    const one = reader()
    const invoice = issued()
    await one.download([invoice, { ...paymentOf(random, '2026-02', [invoice], 0.1), fecha: EARLY }])
    const { cost } = await costOf(env.LEDGER_0, env.FILES, () => relationsOf(one, invoice.uuid))
    expect(cost.d1_calls).toBe(3)
    expect(cost.rows_read).toBeLessThanOrEqual(20)
  })
})

describe('the history of a document', () => {
  const historyOf = async (one: Changing, uuid: string) => CfdiHistory.parse(await getHistory(one.ctx, uuid))
  const short = ({ events }: CfdiHistory) => events.map(({ event, at: when, known_at }) => [event, when, known_at])

  it('says what happened and since when it could be known', async () => {
    const one = reader('2026-02-27T00:00:00Z')
    const invoice = issued()
    await one.list([invoice], false)
    at('2026-03-02T12:00:00Z')
    await one.download([invoice])
    at('2026-03-04T12:00:00Z')
    const substitute = { ...substituteOf(random, [invoice]), fecha: LATE }
    await one.download([substitute])
    const story: unknown[] = [
      ['issued', '2026-02-05T16:00:00.000Z', null],
      ['certified', '2026-02-05T16:00:00.000Z', null],
    ]
    const changed = [
      ['substituted', '2026-02-20T16:00:00.000Z', '2026-03-04T12:00:00.000Z'],
      ['stored', '2026-03-01T12:00:00.000Z', '2026-03-01T12:00:00.000Z'],
      ['xml', '2026-03-02T12:00:00.000Z', '2026-03-02T12:00:00.000Z'],
    ]
    const history = await historyOf(one, invoice.uuid)
    expect(short(history)).toEqual([...story, ...changed])
    expect(history.events.find(({ event }) => event === 'substituted')!.uuid).toBe(substitute.uuid)
    expect(history.known).toEqual([
      { day: '2026-03-01', estatus: 'vigente', has_xml: false, is_substituted: false },
      { day: '2026-03-02', estatus: 'vigente', has_xml: true, is_substituted: false },
      { day: '2026-03-04', estatus: 'vigente', has_xml: true, is_substituted: true },
    ])
    at('2026-03-06T12:00:00Z')
    await one.list([invoice], true)
    at('2026-03-07T12:00:00Z')
    await one.check(invoice.uuid, 'cancelado')
    await one.check(invoice.uuid, 'cancelado', one.target.entity, 'fe_01kzzzzzzzzzzzzzzzzzzzzzzz')
    const later = await historyOf(one, invoice.uuid)
    expect(later.events.map(({ event, known_at }) => [event, known_at])).toContainEqual(['cancelled', '2026-03-06T12:00:00.000Z'])
    expect(later.events.filter(({ event }) => event === 'status_check')).toMatchObject([
      { at: '2026-03-07T12:00:00.000Z', status_answer: 'cancelado' },
    ])
    expect(later.known.at(-1)).toEqual({ day: '2026-03-06', estatus: 'cancelado', has_xml: true, is_substituted: false })
  })

  it('does not say when others downloaded it, nor what lies behind the ceiling', async () => {
    const one = reader(null)
    const invoice = issued()
    await one.download([invoice])
    await one.download([{ ...substituteOf(random, [invoice]), fecha: LATE }])
    one.run('2026-02-01', '2026-02-10T00:00:00Z')
    await expect(historyOf(one, issued().uuid)).rejects.toMatchObject({ code: 'cfdi.not_found' })
    expect((await historyOf(one, invoice.uuid)).events.map(({ event }) => event)).not.toContain('substituted')
    const bounded = reader(null)
    await bounded.download([invoice])
    bounded.run('2026-02-01', '2026-03-15T00:00:00Z')
    const { events } = await historyOf(bounded, invoice.uuid)
    for (const { known_at } of events)
      if (known_at !== null) expect(Date.parse(known_at)).toBeGreaterThanOrEqual(Date.parse('2026-03-15T00:00:00Z'))
  })

  it('says nothing of an instant that is forgotten', async () => {
    const one = reader()
    const invoice = issued()
    await one.list([invoice], false)
    at('2026-03-02T12:00:00Z')
    await one.download([invoice])
    await env.LEDGER_0.prepare('delete from cfdi_commits where entity = ? and sequence = 1').bind(one.target.entity).run()
    const { events } = await historyOf(one, invoice.uuid)
    expect(events.find(({ event }) => event === 'stored')).toMatchObject({ at: null, known_at: null })
    expect(events.find(({ event }) => event === 'xml')!.at).toBe('2026-03-02T12:00:00.000Z')
  })
})
