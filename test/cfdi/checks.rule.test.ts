import { describe, expect, it } from 'vitest'
import { ESTATUS_CANCELACION, STATUS_ANSWERS } from '../../src/authority/port/status.ts'
import { checkOf, checkWith, isCalledCancelled, needsRecheck, type StatusCheck } from '../../src/cfdi/checks/checks.ts'
import { nextDaily } from '../../src/cfdi/checks/rechecks.ts'

const DAY_MS = 86_400_000
const NOW = Date.parse('2026-03-20T18:00:00Z')
const answers = STATUS_ANSWERS.flatMap((estatus) =>
  [null, ...ESTATUS_CANCELACION].map((estatus_cancelacion) => ({
    estatus,
    es_cancelable: null,
    estatus_cancelacion,
    validacion_efos: estatus === 'vigente' ? '100' : null,
  })),
)

describe('a status check', () => {
  it('leaves a doubt when a valid document is being cancelled, or none was found, and for no longer than 30 and 7 days', () => {
    for (const answer of answers) {
      const check = checkWith(answer, NOW)
      const days =
        answer.estatus === 'no_encontrado' ? 7 : answer.estatus === 'vigente' && answer.estatus_cancelacion === 'en_proceso' ? 30 : 0
      expect([answer, needsRecheck(check, NOW + days * DAY_MS - 1)]).toEqual([answer, days > 0])
      expect(needsRecheck(check, NOW + days * DAY_MS)).toBe(false)
    }
  })

  it('that repeats a doubt goes on with it, and any other answer begins anew', () => {
    for (const first of answers)
      for (const second of answers) {
        const before = checkWith(first, NOW)
        const after = checkWith(second, NOW + DAY_MS, before)
        expect(after.slice(0, 4)).toEqual([NOW + DAY_MS, second.estatus, null, second.estatus_cancelacion])
        expect(after[5]).toBe(second.validacion_efos)
        const kind = (check: StatusCheck) => (needsRecheck(check, check[0]) ? check[1] : null)
        expect(after[4]).toBe(kind(before) !== null && kind(before) === kind(after) ? NOW : NOW + DAY_MS)
      }
  })

  it('is that of its organization alone', () => {
    const text = JSON.stringify({ fe_one: checkWith(answers[0]!, NOW), fe_two: checkWith({ ...answers[0]!, estatus: 'cancelado' }, NOW) })
    expect([checkOf(text, 'fe_one')?.[1], checkOf(text, 'fe_two')?.[1], checkOf(text, 'fe_three'), checkOf(null, 'fe_one')]).toEqual([
      'vigente',
      'cancelado',
      undefined,
      undefined,
    ])
    expect([isCalledCancelled(text), isCalledCancelled(null), isCalledCancelled('{}')]).toEqual([true, false, false])
  })
})

it('doubts are due together, when the daily work begins', () => {
  const next = (instant: string) => new Date(nextDaily(Date.parse(instant))).toISOString()
  expect(next('2026-03-20T09:59:59Z')).toBe('2026-03-20T10:00:00.000Z')
  expect(next('2026-03-20T10:00:00Z')).toBe('2026-03-21T10:00:00.000Z')
  expect(next('2026-03-20T23:00:00Z')).toBe('2026-03-21T10:00:00.000Z')
})
