import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { addressAt, isNegative, obligationsAt, regimesAt } from '../../src/authority/sandbox/documents/constancia.ts'
import { circleOf } from '../../src/authority/sandbox/world/taxpayers.ts'
import { changesOf } from '../../src/documents/changes.ts'
import { readPending } from '../../src/documents/pending.ts'
import { systemOf } from '../../src/platform/context.ts'
import { addMonths } from '../../src/platform/time/months.ts'
import { losingMessages } from '../downloads/support/downloads.ts'
import { Messages } from '../journeys/support/messages.ts'
import { at, restore } from '../support/clock.ts'
import { freshRfc, organization } from '../support/tenants.ts'
import { DOWN, reader, relay, runsOn, SOURCES, work } from './support/documents.ts'

beforeEach(() => {
  at('2026-03-10T18:00:00Z')
  losingMessages()
})
afterEach(restore)

/** The month, after January 2024, in which something of the taxpayer becomes true. */
function monthWhen(isTrue: (month: string) => boolean): string {
  let month = '2024-02'
  while (!isTrue(month)) month = addMonths(month, 1)
  return month
}

const moves = (rfc: string) => monthWhen((month) => addressAt(circleOf(rfc).self, `${month}-01`).moved_on === `${month}-01`)
const turns = (rfc: string) => monthWhen((month) => isNegative(circleOf(rfc).self, month))
const monthsAround = (month: string) => [addMonths(month, -1), month, addMonths(month, 1)].map((one) => `${one}-10`)

describe('the tax profile', () => {
  it('joins the latest documents, each with its source and what changed since the version before', async () => {
    const rfc = freshRfc()
    const { self } = circleOf(rfc)
    const [before, day, after] = monthsAround(moves(rfc)) as [string, string, string]
    const one = await reader(rfc)
    await runsOn(before, rfc, [one])
    const first = await one.profile()
    await runsOn(day, rfc, [one])
    const profile = await one.profile()
    const [csf] = await one.documents('&kind=csf&version=latest')
    const old = addressAt(self, before)
    const now = addressAt(self, day)
    expect(first.tax_status).toMatchObject({ fields: { address: { street: old.calle } }, changes: [] })
    expect(profile).toMatchObject({
      ...{ fiscal_entity_id: one.fiscal_entity_id, rfc },
      tax_status: {
        source: {
          ...{ document_id: csf!.document_id, data_source_key: 'sat_csf', version: 2, is_latest: true },
          ...{ document_date: `${day.slice(0, 8)}01`, created_at: `${day}T18:00:00.000Z` },
        },
        fields: { rfc, name: self.nombre, regimes: regimesAt(self, day), address: { street: now.calle, exterior_number: now.numero } },
      },
      opinion: { source: { version: 2 }, fields: { sense: isNegative(self, day.slice(0, 7)) ? 'negativo' : 'positivo' } },
      obligations: { fields: { obligations: obligationsAt(self, day) } },
      certificates: {
        fields: {
          certificates: [
            { kind: 'efirma', status: 'active' },
            { kind: 'csd', status: 'active' },
          ],
        },
      },
    })
    expect(profile.tax_status.changes).toContainEqual({ field: 'address.exterior_number', from: old.numero, to: now.numero })
    expect(csf!.fields).toEqual(profile.tax_status.fields)
    await runsOn(after, rfc, [one])
    const last = (await one.profile()).tax_status
    expect([last.source.version, last.fields.address, last.changes]).toEqual([3, profile.tax_status.fields.address, []])
  })

  it('says nothing of the day, the date and the folio, which every version has of its own', async () => {
    const rfc = freshRfc()
    const one = await reader(rfc)
    const quiet = monthWhen((month) => {
      const [before, after] = [`${addMonths(month, -1)}-10`, `${month}-10`]
      const { self } = circleOf(rfc)
      const facts = (day: string) => [
        addressAt(self, day),
        regimesAt(self, day),
        obligationsAt(self, day),
        isNegative(self, day.slice(0, 7)),
      ]
      return JSON.stringify(facts(before)) === JSON.stringify(facts(after))
    })
    await runsOn(`${addMonths(quiet, -1)}-10`, rfc, [one])
    const before = await one.profile()
    await runsOn(`${quiet}-10`, rfc, [one])
    const after = await one.profile()
    expect([after.tax_status.source.version, after.opinion.source.version]).toEqual([2, 2])
    for (const [part, field] of [
      ['tax_status', 'issued_on'],
      ['opinion', 'date'],
      ['opinion', 'folio'],
    ] as const)
      expect(after[part].fields[field], field).not.toBe(before[part].fields[field])
    expect([after.tax_status.changes, after.opinion.changes]).toEqual([[], []])
  })

  it('of an organization without documents is empty, and of no connection it is a 404', async () => {
    const rfc = freshRfc()
    const one = await reader(rfc, ['sat_csf'])
    expect(await one.profile()).toEqual({
      ...{ fiscal_entity_id: one.fiscal_entity_id, rfc, tax_status: null, opinion: null, obligations: null, certificates: null },
      warnings: [],
    })
    await runsOn('2026-03-10', rfc, [one])
    const profile = await one.profile()
    expect([profile.tax_status.fields.rfc, profile.opinion, profile.certificates]).toEqual([rfc, null, null])
    await one.ask('DELETE', one.path)
    expect((await one.ask('GET', `${one.path}/tax-profile`)).body.code).toBe('fiscal_entity.not_found')
  })

  it('says of lists and of the address what differs, and nothing of what differs always', () => {
    const before = { rfc: 'X', issued_on: '2026-01-01', address: { street: 'A', locality: null }, regimes: [{ code: '612' }] }
    const after = {
      rfc: 'X',
      issued_on: '2026-02-01',
      address: { street: 'B', locality: null },
      regimes: [{ code: '612' }, { code: '606' }],
    }
    expect(changesOf(before as never, after as never)).toEqual([
      { field: 'address.street', from: 'A', to: 'B' },
      { field: 'regimes', from: before.regimes, to: after.regimes },
    ])
    expect(changesOf(null, after as never)).toEqual([])
  })
})

describe('a taxpayer of the sandbox', () => {
  it('changes in the months that the documentation names: XIA190128J61 has a negative opinion in November 2027 and moves in February 2028', () => {
    const { self } = circleOf('XIA190128J61')
    const senses = ['2027-10', '2027-11', '2027-12', '2028-01', '2028-02'].map((month) => isNegative(self, month))
    expect(senses).toEqual([false, true, false, false, false])
    const moves = ['2027-10', '2027-11', '2027-12', '2028-01', '2028-02'].map((month) => addressAt(self, `${month}-15`).moved_on)
    expect([new Set(moves.slice(0, 4)).size, moves[4]]).toEqual([1, '2028-02-01'])
  })

  it('changes with the tick of a later month, fired by hand: its run gets the documents of that month', async () => {
    at('2026-11-20T18:00:00Z')
    const messages = new Messages()
    const of = await organization('enterprise_gold')
    await of.ask('POST', '/v1/extractors', {
      ...{ name: 'Diario', trigger_kind: 'schedule', scope: 'last_n_months', scope_months: 1, schedule_kind: 'daily' },
      data_source_keys: ['sat_opinion_32d'],
    })
    const { body } = await of.ask('POST', '/v1/fiscal-entities', { rfc: 'XIA190128J61', ciec: 'secreta1' })
    const profile = async () => (await of.ask('GET', `/v1/fiscal-entities/${body.fiscal_entity_id}/tax-profile`)).body.opinion
    for (const [tick, sense] of [
      ['2027-10-02T06:00:00Z', 'positivo'],
      ['2027-11-02T06:00:00Z', 'negativo'],
    ] as const) {
      await messages.cronAt('*/15 * * * *', new Date(tick))
      expect((await profile()).fields.sense).toBe(sense)
    }
    expect((await profile()).changes).toEqual([{ field: 'sense', from: 'positivo', to: 'negativo' }])
  })
})

describe('document.csf.updated and document.opinion_32d.changed', () => {
  it('tell each organization once of what is new to it, compared with what it had before', async () => {
    const rfc = freshRfc()
    const [before, day, after] = monthsAround(turns(rfc)) as [string, string, string]
    const [both, late, none] = [await reader(rfc), await reader(rfc), await reader(rfc, ['sat_obligations'])]
    await runsOn(before, rfc, [both, none])
    await runsOn(day, rfc, [both, late, none])
    await runsOn(day.replace(/10$/, '12'), rfc, [both, late, none])
    const [csf] = await both.documents('&kind=csf&version=latest')
    const all = await both.notified()
    expect(all.map(({ event, version, from, to }) => [event, version, from, to])).toEqual([
      ['document.csf.updated', 1, undefined, undefined],
      ['document.csf.updated', 2, undefined, undefined],
      ['document.opinion_32d.changed', 2, 'positivo', 'negativo'],
    ])
    expect(all[1]).toMatchObject({ document_id: csf!.document_id, document_date: csf!.document_date, fields_status: 'read', rfc })
    expect(all[1]!['changes']).toEqual((await both.profile()).tax_status.changes)
    // The opinion was negative already when it first got one.
    expect((await late.notified()).map(({ event, version, changes }) => [event, version, changes])).toEqual([
      ['document.csf.updated', 1, []],
    ])
    expect(await none.notified()).toEqual([])
    await runsOn(after, rfc, [both, late, none])
    for (const one of [both, late])
      expect((await one.notified()).slice(-2).map(({ event, from, to }) => [event, from, to])).toEqual([
        ['document.csf.updated', undefined, undefined],
        ['document.opinion_32d.changed', 'negativo', 'positivo'],
      ])
    expect(await none.notified()).toEqual([])
  })

  it('tell the one whose run finds the jobs done as well, and a message that comes again tells nothing', async () => {
    const rfc = freshRfc()
    const [one, late] = [await reader(rfc), await reader(rfc)]
    await runsOn('2026-03-10', rfc, [one])
    await runsOn('2026-03-10', rfc, [late])
    for (let n = 0; n < 3; n++) await work(rfc)
    const keys = async (of: typeof one) => (await of.notified()).map(({ event }) => event)
    expect([await keys(one), await keys(late)]).toEqual([['document.csf.updated'], ['document.csf.updated']])
  })
})

describe('while the reader of PDFs does not answer', () => {
  const system = (bindings = {}) => systemOf({ ...env, ...bindings } as unknown as Env, new Date(), 'test')

  it('documents are kept and served, and are read and told of at the next run', async () => {
    const rfc = freshRfc()
    const one = await reader(rfc)
    await runsOn('2026-03-10', rfc, [one], DOWN)
    const pending = await one.documents('&kind=csf')
    expect(pending).toMatchObject([{ fields_status: 'pending', fields: null, fields_reason: null }])
    expect((await one.jobs()).every(({ status }) => status === 'succeeded')).toBe(true)
    expect([await one.notified(), (await one.profile()).tax_status]).toEqual([[], null])
    await runsOn('2026-03-11', rfc, [one])
    expect(await one.documents('&kind=csf')).toMatchObject([{ document_id: pending[0]!.document_id, fields_status: 'read' }])
    expect(await one.notified()).toMatchObject([{ event: 'document.csf.updated', document_id: pending[0]!.document_id, version: 1 }])
    expect((await one.profile()).tax_status.fields.rfc).toBe(rfc)
  })

  it('the sweep reads them when it answers again, tells of each once, and goes on after a failure', async () => {
    const rfc = freshRfc()
    const [one, other] = [await reader(rfc), await reader(rfc)]
    await runsOn('2026-03-10', rfc, [one, other], DOWN)
    // Documents that other tests of this file left are none.
    const left = () => env.LEDGER_0.prepare("select count(*) from documents where fields_status = 'pending'").first('count(*)')
    expect(await left()).toBe(2)
    expect(await readPending(system(DOWN), '')).toBeNull()
    expect(await left()).toBe(2)
    expect(await readPending(system(), '')).toBeNull()
    expect(await left()).toBe(0)
    for (let n = 0; n < 2; n++) await relay()
    for (const of of [one, other]) expect((await of.notified()).map(({ event }) => event)).toEqual(['document.csf.updated'])
    await runsOn('2026-03-11', rfc, [one, other])
    for (const of of [one, other]) expect(await of.notified()).toHaveLength(1)
  })

  it('a PDF that is never answered for is given up, and told of without fields', async () => {
    const rfc = freshRfc()
    const one = await reader(rfc, SOURCES.slice(0, 1))
    await runsOn('2026-03-10', rfc, [one], DOWN)
    for (let n = 0; n < 20; n++) await readPending(system(DOWN), '')
    expect(await one.documents('&kind=csf')).toMatchObject([
      { fields_status: 'unreadable', fields: null, fields_reason: 'The PDF could not be read within its time.' },
    ])
    await relay()
    expect(await one.notified()).toMatchObject([{ event: 'document.csf.updated', fields_status: 'unreadable', changes: [] }])
  })

  it('a crash between reading and storing repeats the reading', async () => {
    const rfc = freshRfc()
    const one = await reader(rfc, SOURCES.slice(0, 1))
    await runsOn('2026-03-10', rfc, [one], DOWN)
    const batch = vi.spyOn(Object.getPrototypeOf(env.LEDGER_0) as D1Database, 'batch').mockRejectedValueOnce(new Error('crashed'))
    await readPending(system(), '').catch(() => null)
    expect(batch).toHaveBeenCalled()
    expect(await one.documents('&kind=csf')).toMatchObject([{ fields_status: 'pending' }])
    await readPending(system(), '')
    await relay()
    expect(await one.documents('&kind=csf')).toMatchObject([{ fields_status: 'read' }])
    expect(await one.notified()).toHaveLength(1)
  })
})
