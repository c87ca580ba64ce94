import { describe, expect, it } from 'vitest'
import { type ToldRequest, toldOf } from '../../../src/authority/sat/conversation/told.ts'

const MINUTE = 60_000
const NOW = Date.parse('2026-05-20T09:00:00Z')
const asked = (some: Partial<ToldRequest>): ToldRequest => ({
  ...{
    family: 'cfdi',
    source: 'sat_cfdi_issued',
    months: '["2026-03","2026-04"]',
    state: 'waiting',
    code: '5000',
    message: 'Solicitud Aceptada',
  },
  ...{ asked_at: NOW - 3 * MINUTE, attempts: 1, due_at: NOW + 20_000, ...some },
})
const told = (requests: ToldRequest[], more: object = {}) =>
  toldOf(requests, { source: 'sat_cfdi_issued', month: '2026-04', since: NOW - 10 * MINUTE, now: NOW, factor: 1, ...more })
const NOTHING = { last_code: null, hasFailed: false, attempts: 0, next_check_at: null }

describe('what is told of the conversation about a month', () => {
  it('is the last code in words, the attempts, and the next check by the schedule', () => {
    expect(told([asked({})])).toEqual({
      ...{ last_code: '5000: The tax authority accepted the request.', hasFailed: false, attempts: 1 },
      next_check_at: NOW + 2 * MINUTE,
    })
    const halves = [
      asked({ state: 'planned', code: null, asked_at: NOW + 7 * MINUTE, attempts: 2 }),
      asked({ state: 'replaced', code: '5003' }),
    ]
    expect(told(halves)).toEqual({
      last_code: '5003: The request matches more documents than one request may. The service divides its period.',
      ...{ hasFailed: false, attempts: 2, next_check_at: NOW + 7 * MINUTE },
    })
    expect(told([asked({ state: 'ready' })]).next_check_at).toBe(NOW + 20_000)
    expect(told([asked({})], { factor: 10 }).next_check_at).toBe(NOW + 7 * MINUTE)
  })

  it('reads 301 by its message, knows answers that were none, and tells nothing in the words of the authority', () => {
    const codeOf = (code: string, message: string) => told([asked({ state: 'failed', code, message })]).last_code
    expect(codeOf('301', 'XML Mal Formado: No se permite la descarga de xml que se encuentren cancelados.')).toBe(
      '301: The tax authority delivers no XML of cancelled received documents.',
    )
    expect(codeOf('timed_out', 'AAA010101AAA')).toBe('timed_out: The tax authority did not answer in time. It is asked again later.')
    expect(codeOf('9999', 'AAA010101AAA')).toBe(
      '9999: The tax authority gave an answer that the service does not know. It is asked again later.',
    )
    expect(told([asked({ state: 'failed' })])).toMatchObject({ hasFailed: true, next_check_at: null })
  })

  it.each<[what: string, code: string, of: Partial<ToldRequest>, later: Partial<ToldRequest>]>([
    ['a request that failed', '301', { state: 'failed', code: '301' }, { state: 'stored' }],
    ['one that is tried again', '404', { state: 'replaced', code: '404' }, { state: 'empty', code: '5004' }],
    ['one that waits', '5000', {}, { state: 'empty', code: '5004' }],
    ['one with documents', '5000', { state: 'stored' }, { state: 'empty', code: '5004' }],
    ['metadata that is short', 'short', { state: 'stored', code: 'short' }, {}],
    ['documents that are denied', 'denied', { state: 'stored', code: 'denied' }, { state: 'waiting' }],
  ])('is the answer to %s, and not what was answered about the other family later', (_, code, of, later) => {
    const again = code === '404' ? [asked({ state: 'planned', code: null, attempts: 2 })] : []
    const requests = [asked({ family: 'retenciones', ...later }), ...again, asked(of)]
    expect(told(requests).last_code).toMatch(new RegExp(`^${code}: The`))
    expect(told(requests.map((one) => ({ ...one, family: one.family === 'cfdi' ? 'retenciones' : 'cfdi' }))).last_code).toMatch(
      new RegExp(`^${code}: `),
    )
  })

  it('is nothing of other months and sources, and nothing that was asked before the organization asked', () => {
    expect(told([asked({ months: '["2026-03"]' }), asked({ source: 'sat_cfdi_received' })])).toEqual(NOTHING)
    expect(told([asked({ asked_at: NOW - 10 * MINUTE - 1, code: '5003', attempts: 9 })])).toEqual(NOTHING)
    expect(told([asked({ asked_at: NOW - 10 * MINUTE })]).attempts).toBe(1)
  })
})
