import { describe, expect, it } from 'vitest'
import { halvesOf, secondsAfter } from '../../../src/authority/sat/conversation/rules/periods.ts'
import { type StatedRequest, statedOf } from '../../../src/authority/sat/conversation/stated.ts'

const MINUTE = 60_000
const NOW = Date.parse('2026-05-20T09:00:00Z')
const asked = (some: Partial<StatedRequest>): StatedRequest => ({
  ...{
    family: 'cfdi',
    source: 'sat_cfdi_issued',
    months: '["2026-03","2026-04"]',
    state: 'waiting',
    code: '5000',
    message: 'Solicitud Aceptada',
  },
  ...{ n: 1, kind: 'metadata', first: '2026-03-01T00:00:00', last: '2026-04-30T23:59:59', announced: null },
  ...{ asked_at: NOW - 3 * MINUTE, attempts: 1, heard_at: null, due_at: NOW + 20_000, ...some },
})
const stated = (requests: StatedRequest[], more: object = {}) =>
  statedOf(requests, { source: 'sat_cfdi_issued', month: '2026-04', since: NOW - 10 * MINUTE, now: NOW, factor: 1, ...more })
const NOTHING = { last_code: null, hasFailed: false, attempts: 0, waiting_since: null, next_check_at: null }

describe('what is told of the conversation about a month', () => {
  it('is the last code in words, the attempts, and the next check by the schedule', () => {
    expect(stated([asked({})])).toEqual({
      ...{ last_code: '5000: The tax authority accepted the request.', hasFailed: false, attempts: 1, waiting_since: null },
      next_check_at: NOW + 2 * MINUTE,
    })
    const halves = [
      asked({ state: 'planned', code: null, asked_at: NOW + 7 * MINUTE, attempts: 2 }),
      asked({ state: 'replaced', code: '5003' }),
    ]
    expect(stated(halves)).toEqual({
      last_code: '5003: The request matches more documents than one request may. The service divides its period.',
      ...{ hasFailed: false, attempts: 2, waiting_since: null, next_check_at: NOW + 7 * MINUTE },
    })
    expect(stated([asked({ state: 'ready' })]).next_check_at).toBe(NOW + 20_000)
    expect(stated([asked({})], { factor: 10 }).next_check_at).toBe(NOW + 7 * MINUTE)
  })

  it('is that a list takes long, since when, and how often the authority was asked, as far as the own run goes back', () => {
    const HOUR = 60 * MINUTE
    const list = asked({ code: '1', message: 'Solicitud Aceptada', asked_at: NOW - 5 * HOUR, heard_at: NOW - HOUR, due_at: null })
    // It is sent, and checked after 1, 2, 5, 10, 20, 30, 90, 150 and 210 minutes.
    expect(stated([list], { since: NOW - 6 * HOUR })).toMatchObject({
      last_code:
        '1: The tax authority has accepted the request for the list of documents, and has not begun it. Their XML is asked for without it.',
      ...{ attempts: 10, waiting_since: NOW - 5 * HOUR, hasFailed: false },
    })
    // Of a list that an earlier run asked for, the later one is told what happened since: the checks after 150 and 210 minutes.
    expect(stated([list], { since: NOW - 3 * HOUR })).toMatchObject({ attempts: 3, waiting_since: NOW - 3 * HOUR })
    expect(stated([{ ...list, state: 'stored', code: '5000' }], { since: NOW - 6 * HOUR })).toMatchObject({
      attempts: 1,
      waiting_since: null,
    })
  })

  it('reads 301 by its message, knows answers that were none, and tells nothing in the words of the authority', () => {
    const codeOf = (code: string, message: string) => stated([asked({ state: 'failed', code, message })]).last_code
    expect(codeOf('301', 'XML Mal Formado: No se permite la descarga de xml que se encuentren cancelados.')).toBe(
      '301: The tax authority delivers no XML of cancelled received documents.',
    )
    expect(codeOf('timed_out', 'AAA010101AAA')).toBe('timed_out: The tax authority did not answer in time. The next run asks for it again.')
    expect(codeOf('9999', 'AAA010101AAA')).toBe(
      '9999: The tax authority gave an answer that the service does not know. The next run asks for it again.',
    )
    expect(codeOf('http_503', '')).toBe('http_503: The tax authority answered with the HTTP status 503. The next run asks for it again.')
    expect(stated([asked({ state: 'failed' })])).toMatchObject({ hasFailed: true, next_check_at: null })
  })

  it.each<[what: string, code: string, of: Partial<StatedRequest>, later: Partial<StatedRequest>]>([
    ['a request that failed', '301', { state: 'failed', code: '301' }, { state: 'stored' }],
    ['one that is tried again', '404', { state: 'replaced', code: '404' }, { state: 'empty', code: '5004' }],
    ['one that waits', '5000', {}, { state: 'empty', code: '5004' }],
    ['one with documents', '5000', { state: 'stored' }, { state: 'empty', code: '5004' }],
    ['metadata that is short', 'short', { state: 'stored', code: 'short' }, {}],
    ['documents that are denied', 'denied', { state: 'stored', code: 'denied' }, { state: 'waiting' }],
  ])('is the answer to %s, and not what was answered about the other family later', (_, code, of, later) => {
    const again = code === '404' ? [asked({ state: 'planned', code: null, attempts: 2 })] : []
    const requests = [asked({ family: 'retenciones', ...later }), ...again, asked(of)]
    expect(stated(requests).last_code).toMatch(new RegExp(`^${code}: The`))
    expect(stated(requests.map((one) => ({ ...one, family: one.family === 'cfdi' ? 'retenciones' : 'cfdi' }))).last_code).toMatch(
      new RegExp(`^${code}: `),
    )
  })

  it('says that it is asked again only while it is', () => {
    const denied = asked({ state: 'stored', code: 'denied' })
    expect(stated([denied])).toMatchObject({
      last_code: expect.stringMatching(/had some\. The next run asks for it again\.$/),
      next_check_at: null,
    })
    const replaced = [asked({ state: 'planned', code: null, asked_at: NOW + MINUTE }), asked({ state: 'replaced', code: 'denied' })]
    expect(stated(replaced)).toMatchObject({ last_code: expect.stringMatching(/It is asked again later\.$/), next_check_at: NOW + MINUTE })
  })

  it('is the answer about what the month waits for, or lacks: XML before the metadata from which it is known', () => {
    const listed = asked({ state: 'stored', code: '5000' })
    const others = asked({ family: 'retenciones', state: 'stored', code: '5000' })
    expect(stated([others, asked({ kind: 'xml', state: 'stored', code: '5004' }), listed]).last_code).toMatch(/^5004: /)
    const failing = [
      asked({ kind: 'xml', state: 'planned', code: null, asked_at: NOW }),
      asked({ kind: 'xml', state: 'replaced', code: '5006' }),
    ]
    expect(stated([...failing.slice(0, 1), listed, others, ...failing.slice(1)]).last_code).toMatch(/^5006: /)
  })

  it('is that a package is gone, when the authority had announced documents and does not find it', () => {
    const gone = asked({ kind: 'xml', state: 'failed', code: '5004', announced: 3 })
    expect(stated([gone]).last_code).toBe('5004: The tax authority has deleted the package. The service asks anew.')
    expect(stated([{ ...gone, announced: null }]).last_code).toBe('5004: The tax authority has no documents for the request.')
  })

  it('is that metadata was short while its parts announce less, from when all of them have come', () => {
    const divided = asked({ n: 1, state: 'replaced', code: 'short', announced: 10 })
    const [one, other] = halvesOf(divided)!
    const parts = (announced: number, state: StatedRequest['state'] = 'stored') => [
      asked({ n: 3, ...other, state, code: '5000', announced }),
      asked({ n: 2, ...one, last: secondsAfter(one.last, 2), state: 'empty', code: '5004' }),
      asked({ n: 4, first: secondsAfter(other.first, 60), last: other.last, state: 'stored', code: '5000', announced: 3 }),
      divided,
    ]
    expect(stated(parts(7)).last_code).toMatch(/^short: /)
    expect(stated(parts(10)).last_code).toMatch(/^5000: /)
    expect(stated(parts(7, 'waiting')).last_code).toMatch(/^5000: /)
  })

  it('is nothing of other months and sources, and nothing that was asked before the organization asked', () => {
    expect(stated([asked({ months: '["2026-03"]' }), asked({ source: 'sat_cfdi_received' })])).toEqual(NOTHING)
    expect(stated([asked({ asked_at: NOW - 10 * MINUTE - 1, code: '5003', attempts: 9 })])).toEqual(NOTHING)
    expect(stated([asked({ asked_at: NOW - 10 * MINUTE })]).attempts).toBe(1)
  })
})
