import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { addressAt, obligationsAt, regimesAt } from '../../src/authority/sandbox/documents/constancia.ts'
import { circleOf } from '../../src/authority/sandbox/world/taxpayers.ts'
import { keptFields } from '../../src/documents/changes.ts'
import { readPending } from '../../src/documents/pending.ts'
import { basesOf } from '../../src/documents/store.ts'
import { systemOf } from '../../src/platform/context.ts'
import { callOf, ledgerOf, losingMessages } from '../downloads/support/downloads.ts'
import { at, restore } from '../support/clock.ts'
import { runs } from '../support/fuzz.ts'
import { freshRfc } from '../support/tenants.ts'
import { DOWN, reader, runsOn } from './support/documents.ts'

beforeEach(() => {
  at('2026-03-10T18:00:00Z')
  losingMessages()
})
afterEach(restore)

const base = (fields: object) => ({ series: 'csf', document_id: 'doc_base', fields: JSON.stringify(fields) })

describe('the fields of a version', () => {
  const text = fc.constantFrom(null, '', 'Á "b"', 'x'.repeat(40))
  const value = fc.oneof(text, fc.array(text, { maxLength: 2 }), fc.record({ street: text, number: text }), fc.constant({}))
  const fields = fc.dictionary(fc.constantFrom('rfc', 'name', 'address', 'regimes', 'issued_on'), value)

  it('are kept as what differs from the base, out of which SQL makes them again byte for byte, or whole', async () => {
    const seen = { whole: 0, changed: 0 }
    await fc.assert(
      fc.asyncProperty(fields, fields, fc.boolean(), async (before, other, isLike) => {
        const changes = Object.entries(other).filter(([name]) => name in before)
        const after = isLike ? { ...before, ...Object.fromEntries(changes) } : other
        const kept = keptFields(JSON.stringify(after), base(before))
        if (kept.fields_base === null) {
          seen.whole++
          expect(kept.fields).toBe(JSON.stringify(after))
          return
        }
        seen.changed++
        const sql = await env.LEDGER_0.prepare('select json_patch(?1, ?2) as fields')
          .bind(JSON.stringify(before), kept.fields)
          .first('fields')
        expect(sql).toBe(JSON.stringify(after))
      }),
      { numRuns: runs(150, 1_500) },
    )
    for (const [form, count] of Object.entries(seen)) expect(count, form).toBeGreaterThan(10)
  })

  it('are kept whole when a patch of them cannot say it: a value that is gone, another object, other members', () => {
    const before = { name: 'A', curp: 'B', address: { street: 'C' } }
    const kept = (after: object) => keptFields(JSON.stringify(after), base(before))
    expect(kept({ ...before, name: 'Z' })).toEqual({ fields: '{"name":"Z"}', fields_base: 'doc_base' })
    expect(kept(before)).toEqual({ fields: '{}', fields_base: 'doc_base' })
    for (const after of [
      { ...before, curp: null },
      { ...before, address: { street: 'D' } },
      { name: 'A', curp: 'B' },
      { ...before, more: 1 },
    ])
      expect(kept(after)).toEqual({ fields: JSON.stringify(after), fields_base: null })
    expect(keptFields('{"a":1}', undefined)).toEqual({ fields: '{"a":1}', fields_base: null })
    expect(keptFields(null, base(before))).toEqual({ fields: null, fields_base: null })
  })

  const SOURCES = ['sat_csf', 'sat_opinion_32d', 'sat_obligations', 'sat_certificates']
  const MONTHS = ['2026-03-10', '2026-04-10', '2026-05-10']
  /** One that does not move, and whose obligations stay, in these months. */
  function settledRfc(): string {
    const rfc = freshRfc()
    const { self } = circleOf(rfc)
    const facts = (day: string) => JSON.stringify([addressAt(self, day), obligationsAt(self, day), regimesAt(self, day)])
    return facts(MONTHS[0]!) === facts(MONTHS[2]!) ? rfc : settledRfc()
  }
  const rowsOf = async (rfc: string) => {
    const { entity } = await callOf(rfc)
    const { results } = await (await ledgerOf(rfc))
      .prepare("select * from documents where entity = ? and fields_status = 'read' order by kind, document_id")
      .bind(entity)
      .all<Record<string, string>>()
    return results
  }

  it('of later months take a tenth of the first one’s, and everybody who may read one reads it whole', async () => {
    const rfc = settledRfc()
    const one = await reader(rfc, SOURCES)
    await runsOn(MONTHS[0]!, rfc, [one])
    const first = await one.documents()
    // The other one gets no document of the first month.
    const other = await reader(rfc, SOURCES)
    for (const day of MONTHS.slice(1)) await runsOn(day, rfc, [one, other])
    const rows = await rowsOf(rfc)
    const csf = rows.filter(({ kind }) => kind === 'csf')
    expect(csf.map(({ fields_base }) => fields_base)).toEqual([null, csf[0]!['document_id'], csf[0]!['document_id']])
    for (const { fields } of csf.slice(1)) expect(fields!.length).toBeLessThan(csf[0]!['fields']!.length / 10)
    const [own, theirs] = [await one.documents(), await other.documents()]
    expect(first.map(({ fields }) => fields).filter((fields) => fields !== null)).toHaveLength(4)
    expect(own.filter(({ kind }) => kind === 'csf')).toHaveLength(3)
    for (const document of first)
      expect(own.find(({ document_id }) => document_id === document.document_id)!.fields).toEqual(document.fields)
    for (const { kind, fields } of own) {
      const same = first.find((it) => it.kind === kind)!
      expect([kind, Object.keys(fields ?? {})]).toEqual([kind, Object.keys(same.fields ?? {})])
    }
    expect(theirs.map(({ document_id, fields }) => [document_id, fields])).toEqual(
      own.filter(({ document_date }) => document_date > '2026-03-31').map(({ document_id, fields }) => [document_id, fields]),
    )
    for (const who of [one, other]) {
      const profile = await who.profile()
      const latest = own.find(({ kind }) => kind === 'csf')!
      expect([profile.tax_status.fields, profile.tax_status.changes]).toEqual([latest.fields, []])
      expect(profile.obligations.fields).toEqual(own.find(({ kind }) => kind === 'obligations')!.fields)
    }
  })

  it('that are read later are kept so as well, and name their obligations', async () => {
    const rfc = settledRfc()
    const one = await reader(rfc, ['sat_csf'])
    await runsOn(MONTHS[0]!, rfc, [one])
    await runsOn(MONTHS[1]!, rfc, [one], DOWN)
    const ledger = await ledgerOf(rfc)
    const { entity, shard } = await callOf(rfc)
    await ledger.prepare('delete from obligation_rules where entity = ?').bind(entity).run()
    await readPending(systemOf(env, new Date(), 'test'), `${shard}`)
    const [first, later] = await rowsOf(rfc)
    expect([first!['fields_base'], later!['fields_base']]).toEqual([null, first!['document_id']])
    const [shown] = await one.documents('&kind=csf')
    expect(shown).toMatchObject({ document_id: later!['document_id'], fields_status: 'read', fields: { rfc, issued_on: '2026-04-01' } })
    const { n } = (await ledger.prepare('select count(*) as n from obligation_rules where entity = ?').bind(entity).first<{ n: number }>())!
    expect(n).toBeGreaterThan(0)
    const bases = await basesOf(ledger, { entity, source: 'sat_csf' }, ['csf', 'none'])
    expect([...bases.values()].map(({ document_id }) => document_id)).toEqual([first!['document_id']])
  })
})
