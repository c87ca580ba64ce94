import { describe, expect, it } from 'vitest'
import { addBusinessDays } from '../../../src/authority/port/business-days.ts'
import { ES_CANCELABLE, ESTATUS_CANCELACION, STATUS_ANSWERS } from '../../../src/authority/port/status.ts'
import {
  type Candidate,
  chooseQuestions,
  daysLeft,
  deadlinesOf,
  followEvery,
  type LastAnswer,
  type PendingRequest,
  type QuestionRound,
  type RequestState,
  requestAfter,
} from '../../../src/downloads/status/rule.ts'
import { runs } from '../../support/fuzz.ts'
import { randomOf } from '../../support/random.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const NOW = Date.parse('2026-03-17T18:00:00Z')

type Answer = Parameters<typeof requestAfter>[1]
const ANSWERS: readonly Answer[] = STATUS_ANSWERS.flatMap((estatus) =>
  [null, ...ESTATUS_CANCELACION].map((estatus_cancelacion) => ({ estatus, estatus_cancelacion })),
)
const ASKED: Answer = { estatus: 'vigente', estatus_cancelacion: 'en_proceso' }
const CLEAR: Answer = { estatus: 'vigente', estatus_cancelacion: null }

const replayed = (answers: readonly (readonly [Answer, number])[], from: RequestState | null = null): RequestState | null =>
  answers.reduce((state, [answer, at]) => requestAfter(state, answer, at), from)

describe('a request for cancellation', () => {
  it('begins with an answer that shows it, and with no other', () => {
    for (const answer of ANSWERS) {
      const begins = answer.estatus === 'vigente' && answer.estatus_cancelacion === 'en_proceso'
      expect([answer, requestAfter(null, answer, NOW)?.status]).toEqual([answer, begins ? 'pending' : undefined])
    }
    expect(requestAfter(null, ASKED, NOW, NOW - DAY_MS)).toEqual({
      ...{ status: 'pending', number: 1, clear_at: NOW - DAY_MS, detected_at: NOW, seen_at: NOW, decided_at: null },
    })
  })

  it.each([
    ['cancelado', 'cancelado_con_aceptacion', 'accepted'],
    ['cancelado', 'plazo_vencido', 'expired'],
    ['cancelado', 'cancelado_sin_aceptacion', 'cancelled'],
    ['cancelado', null, 'cancelled'],
    ['vigente', 'rechazada', 'rejected'],
    ['vigente', 'en_proceso', 'pending'],
    ['vigente', null, 'pending'],
    ['vigente', 'plazo_vencido', 'pending'],
    ['no_encontrado', null, 'pending'],
    ['unknown', null, 'pending'],
  ] as const)('in process, with the answer %s and %s, is %s', (estatus, estatus_cancelacion, status) => {
    const before = requestAfter(null, ASKED, NOW)!
    const after = requestAfter(before, { estatus, estatus_cancelacion }, NOW + HOUR_MS)
    expect(after).toMatchObject({ status, number: 1, detected_at: NOW, decided_at: status === 'pending' ? null : NOW + HOUR_MS })
  })

  it('whose document is valid and no more in process after its deadline has ended without a cancellation', () => {
    const before = requestAfter(null, ASKED, NOW)!
    // 2026-03-20 is the third business day.
    expect(requestAfter(before, CLEAR, Date.parse('2026-03-21T05:59:59Z'))?.status).toBe('pending')
    expect(requestAfter(before, CLEAR, Date.parse('2026-03-21T06:00:00Z'))?.status).toBe('rejected')
  })

  it('comes to the same whatever answers are repeated or come late', () => {
    const random = randomOf(38)
    for (let n = 0; n < runs(300, 5_000); n++) {
      const answers = Array.from({ length: 1 + Math.floor(random() * 8) }, (_, i) => {
        const answer = random() < 0.4 ? ASKED : ANSWERS[Math.floor(random() * ANSWERS.length)]!
        return [answer, NOW + i * HOUR_MS] as const
      })
      const right = replayed(answers)
      // Each answer is followed by any of those before it, and by itself.
      const late = answers.flatMap((one, i) => [one, ...answers.slice(0, i + 1).filter(() => random() < 0.5)])
      expect(replayed(late)).toEqual(right)
      const state = right?.status
      if (state !== undefined && state !== 'pending' && state !== 'rejected')
        for (const answer of ANSWERS) expect(requestAfter(right, answer, NOW + 99 * HOUR_MS)).toBe(right)
    }
  })

  it('can follow one that was refused, which was clear when it was refused', () => {
    const refused = replayed([
      [ASKED, NOW],
      [{ estatus: 'vigente', estatus_cancelacion: 'rechazada' }, NOW + DAY_MS],
    ])
    expect(requestAfter(refused, CLEAR, NOW + 2 * DAY_MS)).toBe(refused)
    expect(requestAfter(refused, ASKED, NOW + 9 * DAY_MS, NOW + HOUR_MS)).toEqual({
      ...{
        status: 'pending',
        number: 2,
        clear_at: NOW + DAY_MS,
        detected_at: NOW + 9 * DAY_MS,
        seen_at: NOW + 9 * DAY_MS,
        decided_at: null,
      },
    })
  })

  it.each([
    ['nobody asked before', null, '2026-03-17T18:00:00Z', '2026-03-17', '2026-03-20'],
    ['the day before it was clear', '2026-03-13T18:00:00Z', '2026-03-17T18:00:00Z', '2026-03-19', '2026-03-20'],
    ['long before it was clear', '2026-02-20T18:00:00Z', '2026-03-17T18:00:00Z', '2026-03-17', '2026-03-20'],
    ['in the night', '2026-03-18T01:00:00Z', '2026-03-18T03:00:00Z', '2026-03-20', '2026-03-20'],
  ])('when %s has these deadlines', (_, clear, detected, deadline, latest_deadline) => {
    const state = { clear_at: clear && Date.parse(clear), detected_at: Date.parse(detected) }
    expect(deadlinesOf({ ...state, clear_at: state.clear_at || null })).toEqual({ deadline, latest_deadline, deadline_basis: 'published' })
  })

  it('has a deadline that no request in question misses, and counts business days up to it', () => {
    const random = randomOf(39)
    for (let n = 0; n < runs(200, 2_000); n++) {
      const clear_at = NOW + Math.floor(random() * 300) * DAY_MS
      const detected_at = clear_at + Math.floor(random() * 10 * DAY_MS)
      const { deadline, latest_deadline } = deadlinesOf({ clear_at, detected_at })
      const detected = new Date(detected_at - 6 * HOUR_MS).toISOString().slice(0, 10)
      for (let at = clear_at; at <= detected_at; at += DAY_MS / 2) {
        const due = addBusinessDays(new Date(at - 6 * HOUR_MS).toISOString().slice(0, 10), 3)
        if (due >= detected) expect(deadline <= due).toBe(true)
      }
      expect([deadline >= detected, deadline <= latest_deadline]).toEqual([true, true])
    }
    expect([daysLeft('2026-03-20', NOW), daysLeft('2026-03-17', NOW), daysLeft('2026-03-10', NOW)]).toEqual([3, 0, 0])
  })
})

describe('what is asked', () => {
  const uuidOf = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
  const candidatesIn = (random: () => number, count: number): Candidate[] =>
    Array.from({ length: count }, (_, n) => ({
      uuid: uuidOf(n),
      pesos: Math.ceil(1_000 + 10 ** (3 + random() * 4)),
      age_days: Math.floor(random() * 60),
      is_open: random() < 0.5,
    }))
  const pendingIn = (random: () => number, count: number): PendingRequest[] =>
    Array.from({ length: count }, (_, n) => {
      const detected_at = NOW - Math.floor(random() * 10 * DAY_MS)
      return { uuid: uuidOf(n), detected_at, seen_at: detected_at + Math.floor(random() * (NOW - detected_at)), replied_at: null }
    })
  const answersIn = (random: () => number, all: readonly Candidate[]): Map<string, LastAnswer> =>
    new Map(
      all
        .filter(() => random() < 0.6)
        .map(({ uuid }) => [uuid, [NOW - Math.floor(random() * 9 * DAY_MS), null, random() < 0.3 ? null : Math.floor(random() * 3)]]),
    )
  const roundIn = (random: () => number): QuestionRound => {
    const candidates = candidatesIn(random, Math.floor(random() * 60))
    const budget = Math.floor(random() * 30)
    return {
      ...{ now: NOW, budget, candidates, answers: answersIn(random, candidates), pending: pendingIn(random, Math.floor(random() * 6)) },
      ...{ searched: Math.floor((random() * budget) / 2), followed: Math.floor((random() * budget) / 4) },
    }
  }

  it('is never more than the budget, nothing twice, and of search nothing that is known or was asked lately', () => {
    const random = randomOf(40)
    for (let n = 0; n < runs(500, 5_000); n++) {
      const round = roundIn(random)
      const { follow, search } = chooseQuestions(round)
      const all = [...follow, ...search]
      expect(round.searched + round.followed + all.length).toBeLessThanOrEqual(Math.max(round.budget, round.searched + round.followed))
      expect(new Set(all).size).toBe(all.length)
      for (const uuid of search) {
        expect(round.pending.some((one) => one.uuid === uuid)).toBe(false)
        expect(NOW - (round.answers.get(uuid)?.[0] ?? 0)).toBeGreaterThanOrEqual(20 * HOUR_MS)
      }
      expect(follow.every((uuid) => round.pending.some((one) => one.uuid === uuid))).toBe(true)
    }
  })

  it('is the document with more money of two that are alike', () => {
    const random = randomOf(41)
    for (let n = 0; n < runs(500, 5_000); n++) {
      const round = roundIn(random)
      const { search } = chooseQuestions(round)
      for (const uuid of search) {
        const chosen = round.candidates.find((one) => one.uuid === uuid)!
        const richer = { ...chosen, uuid: uuidOf(999), pesos: chosen.pesos * 2 }
        const last = round.answers.get(uuid)
        const answers = new Map([...round.answers, ...(last ? [[richer.uuid, last] as const] : [])])
        expect(chooseQuestions({ ...round, candidates: [...round.candidates, richer], answers }).search).toContain(richer.uuid)
      }
    }
  })

  it('is, of documents alike in all else, the recent, the open and the one that needs acceptance', () => {
    const one = { pesos: 50_000, age_days: 5, is_open: true }
    const better = (worse: Partial<Candidate>, last: LastAnswer | null = null) =>
      chooseQuestions({
        ...{ now: NOW, budget: 2, searched: 0, followed: 0, pending: [] },
        candidates: [
          { uuid: 'B', ...one, ...worse },
          { uuid: 'A', ...one },
        ],
        answers: new Map(last === null ? [] : [['B', last] as const, ['A', [last[0], null, 1] as const] as const]),
      }).search
    expect(better({ age_days: 40 })).toEqual(['A'])
    expect(better({ is_open: false })).toEqual(['A'])
    expect(better({ pesos: 49_000 })).toEqual(['A'])
    for (const es_cancelable of ['cancelable_sin_aceptacion', 'no_cancelable'] as const)
      expect(better({}, [NOW - 2 * DAY_MS, null, ES_CANCELABLE.indexOf(es_cancelable)])).toEqual(['A'])
  })

  it('comes to every document in the end, however little it is worth, and in a year keeps to the budget of each day', () => {
    const random = randomOf(42)
    const candidates = candidatesIn(random, 120)
    for (const budget of [4, 8, 20]) {
      const answers = new Map<string, LastAnswer>()
      const most = Math.ceil(candidates.length / Math.max(1, Math.floor((budget - Math.ceil(budget / 4)) / 5))) + 1
      for (let day = 0; day < most; day++) {
        const now = NOW + day * DAY_MS
        const { search } = chooseQuestions({ now, budget, searched: 0, followed: 0, pending: [], candidates, answers })
        expect(search.length).toBe(budget - Math.ceil(budget / 4))
        for (const uuid of search) answers.set(uuid, [now, now, 1])
      }
      expect([budget, answers.size]).toEqual([budget, candidates.length])
    }
  })

  it('of known requests is spread over the day, so that a quarter of the budget suffices; an answered one comes first', () => {
    for (const budget of [4, 20, 200])
      for (const count of [1, 3, 10, 60]) {
        const pending = Array.from({ length: count }, (_, n) => ({
          uuid: uuidOf(n),
          detected_at: NOW,
          seen_at: NOW,
          replied_at: null as number | null,
        }))
        let followed = 0
        for (let now = NOW + followEvery(budget); now < NOW + DAY_MS; now += followEvery(budget)) {
          const { follow } = chooseQuestions({ now, budget, searched: 0, followed, pending, candidates: [], answers: new Map() })
          followed += follow.length
          for (const uuid of follow) pending.find((one) => one.uuid === uuid)!.seen_at = now
        }
        expect(followed).toBeLessThanOrEqual(Math.ceil(budget / 4))
        expect(followed).toBeGreaterThanOrEqual(Math.min(count, Math.ceil(budget / 4) - 1))
        // One request is asked about hourly at the most, and many in turns.
        expect(new Set(pending.filter(({ seen_at }) => seen_at > NOW)).size).toBe(Math.min(count, followed))
      }
    const pending = [1, 2].map((n) => ({
      uuid: uuidOf(n),
      detected_at: NOW - DAY_MS,
      seen_at: NOW - HOUR_MS,
      replied_at: n === 2 ? NOW : null,
    }))
    expect(chooseQuestions({ now: NOW, budget: 4, searched: 0, followed: 0, pending, candidates: [], answers: new Map() }).follow).toEqual([
      uuidOf(2),
    ])
  })
})
