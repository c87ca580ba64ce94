import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { MetadataRow } from '../../../src/cfdi/package/package.ts'
import { ReportedStatuses } from '../../../src/cfdi/package/rejections.ts'
import { randomOf, uuidFrom } from '../../support/random.ts'

const hex = (length: number) => fc.stringMatching(new RegExp(`^[0-9A-F]{${length}}$`))
const uuid = fc.tuple(hex(8), hex(4), hex(4), hex(4), hex(12)).map((parts) => parts.join('-'))
const instant = fc
  .date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
  .map((at) => at.toISOString().slice(0, 19))

const rowOf = (some: Pick<MetadataRow, 'uuid' | 'cancelled'> & Partial<MetadataRow>): MetadataRow => ({
  ...{ emisor_rfc: 'A', emisor_nombre: null, receptor_rfc: 'B', receptor_nombre: null, pac_rfc: null, fecha: null, certified_at: null },
  ...{ total: null, kind: 'cfdi', tipo_comprobante: null, cancelled_at: null, cancellation_reason: null, folio_sustitucion: null },
  ...some,
})

const status = fc.oneof(
  fc.constant({ cancelled: false }),
  fc.record({
    cancelled: fc.constant(true),
    cancelled_at: fc.option(instant),
    cancellation_reason: fc.option(fc.constantFrom('01', '02', '03', '04')),
    folio_sustitucion: fc.option(uuid.filter((it) => /[1-9A-F]/.test(it))),
  }),
)

describe('the statuses that metadata reports', () => {
  it('are those of the last row of each document, unless one before says that it is cancelled, and left are those that were not delivered or are cancelled', () => {
    const act = fc.record({ nth: fc.nat(30), deliver: fc.boolean(), status })
    fc.assert(
      fc.property(fc.uniqueArray(uuid, { minLength: 31, maxLength: 31 }), fc.array(act, { maxLength: 200 }), (uuids, acts) => {
        const statuses = new ReportedStatuses()
        const expected = new Map<string, MetadataRow>()
        const delivered = new Set<string>()
        for (const { nth, deliver, status } of acts) {
          const key = uuids[nth]!
          if (deliver) {
            statuses.deliver(key)
            if (expected.get(key)?.cancelled === false) delivered.add(key)
          } else {
            const row = rowOf({ uuid: key, ...status })
            statuses.add(row)
            if (expected.get(key)?.cancelled && !row.cancelled) continue
            expected.set(key, row)
            delivered.delete(key)
          }
        }
        for (const key of uuids) {
          const row = expected.get(key)
          expect(statuses.isLeft(key)).toBe(!delivered.has(key))
          if (row === undefined) expect(statuses.get(key)).toBeUndefined()
          else expect(row).toMatchObject(statuses.get(key)!)
        }
        expect(statuses.left).toBe(expected.size - delivered.size)
      }),
    )
  })

  it('are found among 100,000, also where UUIDs differ in one digit only', () => {
    const random = randomOf(5)
    const first = uuidFrom(random)
    const uuids = Array.from({ length: 100_000 }, (_, i) =>
      i % 2 === 0 ? uuidFrom(random) : `${i.toString(16).padStart(8, '0').toUpperCase()}${first.slice(8)}`,
    )
    const statuses = new ReportedStatuses()
    for (const [i, key] of uuids.entries()) statuses.add(rowOf({ uuid: key, cancelled: i % 3 === 0 }))
    expect(uuids.every((key, i) => statuses.get(key)?.cancelled === (i % 3 === 0))).toBe(true)
    expect(statuses.get(uuidFrom(random))).toBeUndefined()
    expect(statuses.left).toBe(100_000)
  })
})
