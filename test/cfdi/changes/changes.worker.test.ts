import { applyD1Migrations } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { latestChanges } from '../../../src/cfdi/changes/latest.ts'
import { at } from '../../support/clock.ts'
import { FISCAL_ENTITY } from '../../support/context.ts'
import { costOf } from '../../support/meter.ts'
import { randomOf } from '../../support/random.ts'
import { Changing, notified } from '../support/changing.ts'
import { CUSTOMERS, type Plain, paymentOf, plainOf, RFC, substituteOf } from '../support/documents.ts'

const random = randomOf(4_711)
const [CUSTOMER] = CUSTOMERS
const issued = (fecha: string, more: Partial<Plain> = {}): Plain =>
  plainOf(random, '2026-02', { emisor: RFC, receptor: CUSTOMER, metodo: 'PPD', fecha, ...more })
const EARLY = '2026-02-05T10:00:00'
const LATE = '2026-02-20T10:00:00'
/** Between the two. */
const CEILING = '2026-02-10T12:00:00Z'

beforeEach(async () => {
  await applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS)
  at('2026-03-01T12:00:00Z')
})
afterEach(() => {
  vi.useRealTimers()
})

/** An organization that reads what was issued in February, up to an instant. */
function reader(ceiling: string | null = CEILING): Changing {
  const one = new Changing()
  if (ceiling !== null) one.run('2026-02-01', ceiling)
  return one
}

describe('what is told of a document', () => {
  it('is that it appeared when it is stored in the window, by whomever, and nothing of what lies outside', async () => {
    const one = reader()
    const [shown, hidden] = [issued(EARLY), issued(LATE)]
    await one.page()
    await one.download([shown, hidden])
    const changes = await one.follow()
    expect(notified(changes)).toEqual({ [shown.uuid]: 'appeared' })
    expect(changes[0]!.cfdi).toEqual((await one.listed()).get(shown.uuid))
  })

  it('is that it appeared when a window that widens shows what others had downloaded', async () => {
    const one = reader()
    const [early, first, later] = [issued('2026-01-20T10:00:00'), issued(EARLY), issued(LATE)]
    await one.download([early, first, later])
    expect(notified(await one.follow())).toEqual({ [first.uuid]: 'appeared' })
    one.run('2026-02-01', '2026-02-25T00:00:00Z')
    expect(notified(await one.follow())).toEqual({ [later.uuid]: 'appeared' })
    one.run('2026-01-15', '2026-02-26T00:00:00Z')
    expect(notified(await one.follow())).toEqual({ [early.uuid]: 'appeared' })
    expect(await one.follow()).toEqual([])
  })

  it('is that it got its XML, and that it was cancelled', async () => {
    const one = reader()
    const invoice = issued(EARLY)
    await one.list([invoice], false)
    expect(notified(await one.follow())).toEqual({ [invoice.uuid]: 'appeared' })
    await one.download([invoice])
    expect(notified(await one.follow())).toEqual({ [invoice.uuid]: 'xml' })
    await one.list([invoice], true)
    expect(notified(await one.follow())).toEqual({ [invoice.uuid]: 'cancelled' })
    await one.expectSame()
  })

  it('is a payment, when one that the window shows is stored or cancelled, and when a ceiling reaches one', async () => {
    const one = reader()
    const invoice = issued(EARLY)
    const [payment, later] = [0, 1].map((n) => ({ ...paymentOf(random, '2026-02', [invoice], 0.5), fecha: n === 0 ? EARLY : LATE }))
    await one.download([invoice])
    await one.follow()
    await one.download([payment!])
    expect(notified(await one.follow())).toEqual({ [payment!.uuid]: 'appeared', [invoice.uuid]: 'payment' })
    // A payment after the ceiling moves the stored balance, and not the one that is shown.
    await one.download([later!])
    expect(await one.follow()).toEqual([])
    await one.list([later!], true)
    expect(await one.follow()).toEqual([])
    const third = { ...paymentOf(random, '2026-02', [invoice], 0.5), fecha: LATE }
    await one.download([third])
    one.run('2026-02-01', '2026-02-25T00:00:00Z')
    expect(notified(await one.follow())).toEqual({ [later!.uuid]: 'appeared', [third.uuid]: 'appeared', [invoice.uuid]: 'payment' })
    await one.list([payment!], true)
    expect(notified(await one.follow())).toEqual({ [payment!.uuid]: 'cancelled', [invoice.uuid]: 'payment' })
    await one.expectSame()
  })

  it('is a payment although the stored balance stays the same', async () => {
    const one = reader()
    const invoice = issued(EARLY)
    const pagos = paymentOf(random, '2026-02', [invoice]).pagos
    const [paid, again, last] = [EARLY, LATE, '2026-02-21T10:00:00'].map((fecha, n) => ({
      ...paymentOf(random, '2026-02', [invoice], n === 2 ? 0.1 : 1),
      fecha,
      ...(n < 2 && { pagos }),
    }))
    await one.download([invoice, paid!, last!])
    await one.follow()
    // One commit cancels what the window shows, and stores the same amount behind its ceiling.
    await one.download([again!])
    expect(await one.follow()).toEqual([])
    await one.list([paid!], true)
    expect(notified(await one.follow())).toEqual({ [paid!.uuid]: 'cancelled', [invoice.uuid]: 'payment' })
    await one.expectSame()
  })

  it('is that it is substituted, when the other one is stored, and when a ceiling reaches that', async () => {
    const one = reader()
    const [first, second] = [issued(EARLY), issued(EARLY)]
    const [now, later] = [
      { ...substituteOf(random, [first]), fecha: EARLY },
      { ...substituteOf(random, [second]), fecha: LATE },
    ]
    await one.download([first, second])
    await one.follow()
    await one.download([now, later])
    expect(notified(await one.follow())).toEqual({ [now.uuid]: 'appeared', [first.uuid]: 'substituted' })
    one.run('2026-02-01', '2026-02-25T00:00:00Z')
    expect(notified(await one.follow())).toEqual({ [later.uuid]: 'appeared', [second.uuid]: 'substituted' })
    await one.expectSame()
  })

  it('is the answer to one’s own status check, and never that of another organization', async () => {
    const one = reader()
    const invoice = issued(EARLY)
    await one.download([invoice])
    await one.follow()
    await one.check(invoice.uuid, 'vigente', one.target.entity, 'fe_01kzzzzzzzzzzzzzzzzzzzzzzz')
    expect(await one.follow()).toEqual([])
    await one.check(invoice.uuid, 'cancelado')
    const [change] = await one.follow()
    expect(change).toMatchObject({ uuid: invoice.uuid, reasons: ['status'], cfdi: { estatus: 'cancelado', status_answer: 'cancelado' } })
  })

  it('is that it is removed when its import is deleted, unless the authority has it too', async () => {
    const one = reader()
    const [own, both] = [issued(EARLY), issued(EARLY)]
    await one.import([own, both])
    expect(notified(await one.follow())).toEqual({ [own.uuid]: 'appeared', [both.uuid]: 'appeared' })
    await one.download([both])
    const [twin] = await one.follow()
    expect([twin!.uuid, twin!.cfdi!.origin]).toEqual([both.uuid, 'authority'])
    await one.deleteImported([own.uuid, both.uuid])
    const changes = await one.follow()
    expect(notified(changes)).toEqual({ [own.uuid]: 'removed' })
    expect(changes[0]!.cfdi).toBeNull()
    await one.expectSame()
  })

  it('is that it is removed when its XML dates it behind the ceiling, before which its metadata was', async () => {
    const one = reader('2026-02-05T16:30:00Z')
    // At ten in Mexico City it is before the ceiling, at ten in Tijuana it is not.
    const invoice = issued(EARLY, { lugar: '22000' })
    await one.list([invoice], false)
    expect(notified(await one.follow())).toEqual({ [invoice.uuid]: 'appeared' })
    const latest = async (of: Changing) =>
      (await latestChanges(of.ctx, [{ connection: of.ctx.connection!, widened: of.widened }])).get(of.ctx.connection!.connection)!.at
    at('2026-03-01T13:00:00Z')
    await one.download([invoice])
    expect(notified(await one.follow())).toEqual({ [invoice.uuid]: 'removed' })
    expect(await latest(one)).toBe(Date.parse('2026-03-01T13:00:00Z'))
    one.run('2026-02-01', '2026-02-25T00:00:00Z')
    expect(notified(await one.follow())).toEqual({ [invoice.uuid]: 'appeared' })
    // Of one that came with its XML nobody is told that it lies there.
    const other = reader('2026-02-05T16:30:00Z')
    await other.page()
    await other.download([issued(EARLY, { lugar: '22000' })])
    expect([await other.follow(), await latest(other)]).toEqual([[], null])
  })
})

describe('when everything is visible no more', () => {
  it('what was read is taken back, and nothing is named that came later', async () => {
    const one = reader()
    one.extractor_count = 0
    const [shown, beyond, own] = [issued(EARLY), issued(LATE), issued(LATE)]
    await one.import([own])
    await one.download([shown, beyond, own])
    expect(Object.keys(notified(await one.follow())).sort()).toEqual([shown, beyond, own].map(({ uuid }) => uuid).sort())
    one.extractor_count = 1
    const [later, another] = [issued(LATE), issued(LATE)]
    await one.download([later])
    await one.list([beyond], true)
    await one.download([another])
    const changes = await one.follow(1)
    expect(changes.filter(({ cfdi }) => cfdi === null).map(({ uuid }) => uuid)).toEqual([beyond.uuid])
    expect(changes.find(({ uuid }) => uuid === own.uuid)!.cfdi!.origin).toBe('import')
    expect(JSON.stringify(changes)).not.toContain(later.uuid)
    await one.expectSame()
    expect(await one.follow()).toEqual([])
  })
})

describe('following', () => {
  it('begins now when it is asked to', async () => {
    const one = reader()
    await one.download([issued(EARLY)])
    const { listChanges } = await import('../../../src/cfdi/changes/changes.ts')
    const answer = await listChanges(one.ctx, { fiscal_entity_id: FISCAL_ENTITY, limit: 25, from: 'now' })
    expect(answer).toMatchObject({ data: [], has_more: false })
    one.cursor = answer.next_cursor
    const next = issued(EARLY)
    await one.download([next])
    expect(notified(await one.follow())).toEqual({ [next.uuid]: 'appeared' })
  })

  it('goes through everything again when commits are forgotten, or name nothing', async () => {
    const one = reader()
    const [first, second] = [issued(EARLY), issued(EARLY)]
    await one.page()
    await one.download([first])
    await one.download([second])
    await env.LEDGER_0.prepare('delete from cfdi_commits where entity = ? and sequence = 1').bind(one.target.entity).run()
    expect(notified(await one.follow())).toEqual({ [first.uuid]: 'appeared', [second.uuid]: 'appeared' })
    await one.list([first], true)
    await env.LEDGER_0.prepare('update cfdi_commits set touched = null where entity = ? and sequence = 3').bind(one.target.entity).run()
    expect(notified(await one.follow())).toEqual({ [first.uuid]: 'appeared', [second.uuid]: 'appeared' })
    await one.expectSame()
  })

  it('tells rows again whose updated_at moved, because a run of one’s own is noted no more', async () => {
    const one = reader(null)
    const invoice = issued(EARLY)
    await one.download([invoice])
    for (const day of ['2026-03-02', '2026-03-05', '2026-03-09']) one.run('2026-02-01', `${day}T00:00:00Z`)
    const [first] = await one.follow()
    expect(first!.cfdi!.updated_at).toBe('2026-03-02T00:00:00.000Z')
    one.forgotten.add(one.runs.issued[0]!)
    const [again] = await one.follow()
    expect([again!.uuid, again!.cfdi!.updated_at]).toEqual([invoice.uuid, '2026-03-05T00:00:00.000Z'])
    await one.expectSame()
    expect(await one.follow()).toEqual([])
  })

  it('goes on within an answer past what others download, and ends it only when it is full or nothing is left', async () => {
    const one = reader()
    await one.page()
    for (let n = 0; n < 45; n++) await one.download([issued(LATE)])
    const shown = Array.from({ length: 12 }, () => issued(EARLY))
    await one.download(shown.slice(0, 5))
    for (let n = 0; n < 25; n++) await one.download([issued(LATE)])
    await one.download(shown.slice(5))
    for (const [length, has_more] of [
      [7, true],
      [5, false],
    ] as const) {
      const page = await one.page(7)
      expect([page.data.length, page.has_more]).toEqual([length, has_more])
    }
    // As many as fit are not followed by an empty answer.
    await one.download([issued(EARLY), issued(EARLY)])
    expect(await one.page(2)).toMatchObject({ data: [{}, {}], has_more: false })
  })

  it('goes on after a pause, in which nothing is answered', async () => {
    const one = reader()
    await one.page()
    one.state = 'paused'
    const invoice = issued(EARLY)
    await one.download([invoice])
    await expect(one.page()).rejects.toMatchObject({ code: 'fiscal_entity.not_active' })
    one.state = 'active'
    expect(notified(await one.follow())).toEqual({ [invoice.uuid]: 'appeared' })
  })

  it('tells nobody by its cursor what others download', async () => {
    const one = reader()
    await one.page()
    const before = one.cursor!
    for (let n = 0; n < 12; n++) await one.download([issued(LATE)])
    const { data, has_more } = await one.page()
    expect([data, has_more, one.cursor!.length]).toEqual([[], false, before.length])
    expect(before.length).toBeLessThan(1_000)
    // What is sealed is not the same twice, so that it does not say either whether something happened.
    expect(one.cursor).not.toBe(before)
    const text = new TextDecoder('latin1').decode(Uint8Array.fromBase64(one.cursor!.split('.')[1]!, { alphabet: 'base64url' }))
    expect(text).not.toContain('2026-02-01')
  })

  it.each([
    ['another RFC', (cursor: string) => cursor, { fiscal_entity_id: 'fe_01kzzzzzzzzzzzzzzzzzzzzzzz' }],
    ['another organization', (cursor: string) => cursor, { organization: 'org_01kzzzzzzzzzzzzzzzzzzzzzzz' }],
    ['none, because it was altered', (cursor: string) => `${cursor.slice(0, -3)}AAA`, {}],
    ['none, because it is a word', () => 'hello', {}],
  ])(
    'refuses a cursor of %s',
    async (_, altered, { organization, ...connection }: { organization?: string; fiscal_entity_id?: string }) => {
      const one = reader()
      await one.page()
      const { ctx } = one
      const of = {
        ...ctx,
        organization: { ...ctx.organization, ...(organization && { id: organization }) },
        connection: { ...ctx.connection!, ...connection },
      }
      const { listChanges } = await import('../../../src/cfdi/changes/changes.ts')
      const asked = { fiscal_entity_id: FISCAL_ENTITY, limit: 25, cursor: altered(one.cursor!) }
      await expect(listChanges(of, asked)).rejects.toMatchObject({ code: 'cursor.invalid' })
    },
  )
})

describe('an answer costs', () => {
  const cost = async (one: Changing, limit?: number) => (await costOf(env.LEDGER_0, env.FILES, () => one.page(limit))).cost

  it('one call and a row of each partition when nothing has changed', async () => {
    const one = reader()
    await one.import([issued(EARLY)])
    await one.download(Array.from({ length: 30 }, () => issued(EARLY)))
    await one.follow()
    const { d1_calls, rows_read, rows_written, r2_gets } = await cost(one)
    expect({ d1_calls, rows_read, rows_written, r2_gets }).toEqual({ d1_calls: 1, rows_read: 2, rows_written: 0, r2_gets: 0 })
  })

  it('a row a document that is read from the beginning, and two for one that a commit names', async () => {
    const one = reader()
    const all = Array.from({ length: 60 }, () => issued(EARLY))
    await one.download(all)
    const first = await cost(one, 25)
    expect([first.d1_calls, first.rows_read]).toEqual([2, 31])
    await one.follow()
    await one.list(all.slice(0, 20), true)
    const cancelled = await cost(one, 25)
    expect([cancelled.d1_calls, cancelled.rows_read]).toEqual([2, 41])
  })
})
