import { expect, it } from 'vitest'
import { worstOf } from '../../../src/analytics/common/omitted.ts'
import { severest } from '../../../src/lists/listed/listed.ts'
import type { Listing } from '../../../src/lists/listings/listing.ts'

const ON = [
  { source: 'custom:proveedores', situacion: null },
  { source: 'sat_69_firmes', situacion: null },
  { source: 'sat_69_exigibles', situacion: null },
] as const

it('of equally severe lists a public one comes before an own one, then the first by source', () => {
  expect(severest([...ON].sort((a, b) => (a.source < b.source ? -1 : 1)))).toEqual(ON[2])
  expect(severest([ON[0]])).toEqual(ON[0])
  const listings = ON.map((one) => ({ ...one, severity: 'medium', is_active: true }) as unknown as Listing)
  expect(worstOf(listings)).toEqual(ON[2])
  expect(worstOf(listings.slice(0, 1))).toEqual(ON[0])
  const presumed = { ...listings[1]!, source: 'sat_69b', situacion: 'presunto', severity: 'high' } as Listing
  expect(worstOf([...listings, presumed])).toEqual({ source: 'sat_69b', situacion: 'presunto' })
})
