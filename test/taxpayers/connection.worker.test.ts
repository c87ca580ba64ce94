import { expect, it } from 'vitest'
import type { Settings } from '../../src/platform/settings.ts'
import { notActive } from '../../src/taxpayers/connection.ts'

const reader = (taxAuthority: Settings['taxAuthority'], fetcherKeys: unknown = null) => ({
  settings: { taxAuthority, fetcherKeys } as unknown as Settings,
})

it.each([
  ['draft', null, /is a draft.*PATCH \/v1\/fiscal-entities/],
  ['invalid_ciec', null, /is invalid_ciec.*PATCH \/v1\/fiscal-entities/],
  ['paused', 'customer', /is paused\. Resume it with PATCH \/v1\/billing\/rfcs/],
  ['paused', 'payment', /is paused, because an invoice is unpaid\. GET \/v1\/billing\/invoices/],
  ['paused', 'trial', /is paused, because the trial has ended\. GET \/v1\/billing\/plans /],
] as const)('%s by %s: the refusal says the state and the way out', (state, paused_by, sentence) => {
  const { code, message } = notActive(reader('sandbox'), { state, paused_by })
  expect([code, message]).toEqual(['fiscal_entity.not_active', expect.stringMatching(sentence)])
})

it.each(['draft', 'invalid_ciec'] as const)('%s: a CIEC is the way out only where somebody can log in with it', (state) => {
  const says = (of: ReturnType<typeof reader>): boolean => notActive(of, { state, paused_by: null }).message.includes('CIEC')
  expect([says(reader('sandbox')), says(reader('sat', {})), says(reader('sat'))]).toEqual([true, true, false])
})

it('of an RFC that the organization has not connected it says nothing else', () => {
  for (const absent of [null, undefined]) expect(notActive(reader('sandbox'), absent).code).toBe('fiscal_entity.not_found')
})
