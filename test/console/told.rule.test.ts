import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ANSWERS, answerInSpanish, WARNINGS } from '../../console/pages/work/rfc/told.ts'
import { errorInWords } from '../../src/authority/port/error-words.ts'
import { MEANINGS_OF_ANSWERS, unansweredInWords } from '../../src/authority/sat/answers.ts'

const read = (file: string): string => readFileSync(`src/${file}`, 'utf8')
/** The sentences that a file has as texts: between the same quotes, a capital at the beginning and a stop at the end. */
const sentencesOf = (text: string): string[] => [...text.matchAll(/'(?:\w+: )?([A-Z][^'\n]*\.)'/g)].map(([, sentence]) => sentence!)

const notified = [
  ...Object.values(MEANINGS_OF_ANSWERS).map(([words]) => words),
  ...sentencesOf(read('authority/sat/conversation/stated.ts')),
  ...sentencesOf(read('authority/port/error-words.ts')),
  ...sentencesOf(read('authority/sat/answers.ts').split('export class')[0]!),
  ...sentencesOf(/function whyPartial[\s\S]+?\n}/.exec(read('downloads/completeness/coverage.ts'))![0]),
].flatMap((text) => text.split(/(?<=\.) /))

describe('what the authority answered to a download, in Spanish', () => {
  it('has every sentence that the API can say, and no other', () => {
    expect([...new Set(notified)].filter((one) => !ANSWERS[one])).toEqual([])
    expect(Object.keys(ANSWERS).filter((one) => !notified.includes(one))).toEqual([])
  })

  it('is followed by its code', () => {
    expect(answerInSpanish(errorInWords('rate_limited'))).toBe('El SAT no admite más solicitudes por ahora. (rate_limited)')
    expect(answerInSpanish(`http_503: ${unansweredInWords('http_503')}`)).toBe(
      'El SAT contestó con el estado HTTP 503. Se pregunta otra vez más tarde. (http_503)',
    )
    expect(answerInSpanish('5004: Something new.')).toBe('5004: Something new.')
  })

  it('has every warning of a connection', () => {
    const codes = [...read('connections/connections.ts').matchAll(/code: '([a-z_.]+)'/g)].map(([, code]) => code!)
    expect(codes.filter((code) => !WARNINGS[code])).toEqual([])
    expect(codes.length).toBe(Object.keys(WARNINGS).length)
  })
})
