import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, it } from 'vitest'
import { Customer } from '../../scripts/customer.ts'
import { makeEfirma } from '../../tools/stand-in/certificates.ts'
import type { FalseAnswer, Operation, Step } from '../../tools/stand-in/script.ts'
import { type StandIn, type StandInOptions, startStandIn } from '../../tools/stand-in/stand-in.ts'
import { generate } from '../../tools/stand-in/truth/generate.ts'
import { AuthorityTruth } from './support/authority-truth.ts'
import { FINISHED_WITHIN, killAndReturn, ROUNDS, Runners, victimOf } from './support/kills.ts'
import { discard, freePort, freshState, type Started, until } from './support/runner.ts'

const RFC = 'EKU9003173C9'
/** With every run three months, a fifth of the codes and one kill; in the long run three years, every code, and kills all the time. */
const IS_LONG = process.env['CRASH_ROUNDS'] === 'full'
const MONTHS = IS_LONG ? 36 : 3
const KILLS = IS_LONG ? Math.ceil(ROUNDS / 2) : 1
/** After most kills the next one comes at once; after every fourth the service has time to go on. */
const isQuick = (round: number): boolean => round % 4 !== 0

const SOLICITA = ['SolicitaDescargaEmitidos', 'SolicitaDescargaRecibidos'] as const
const VERIFICA = 'VerificaSolicitudDescarga'

/** False answers to an operation, each a few of its requests after the one before. */
const said = (operation: Operation | readonly Operation[], first: number, apart: number, answers: readonly FalseAnswer[]): Step[] =>
  answers.map((answer, n) => ({ operation, after: first + n * apart, answer }))

/** Every code with which the service goes on, and everything that is no answer. Those that end a download are in test/downloads/conversation. */
const CODES: readonly Step[] = [
  ...said(SOLICITA, 1, 1, [
    ...['300', '404', '5002', '5003', '5005', '5006', '5011', '5012'].map((code) => ({ code })),
    ...[{ page: true } as const, { fault: 'InternalServiceFault' }, { truncated: 'answer', isDone: true } as const],
    { closed: true, isDone: true },
  ]),
  ...said(VERIFICA, 2, 2, [
    ...['300', '404', '5006'].map((code) => ({ code })),
    { code: '5004', state: '0', stateCode: '' },
    ...(['0', '4', '6'] as const).map((state) => ({ state, stateCode: '5000' })),
    ...(['5002', '5003'] as const).map((stateCode) => ({ state: '5', stateCode })),
    ...[{ page: true } as const, { fault: 'InternalServiceFault' }, { truncated: 'connection' } as const, { closed: true } as const],
  ]),
  ...said('Descargar', 1, 1, [
    ...['300', '404', '5004', '5006', '5007', '5008'].map((code) => ({ code })),
    ...[{ page: true } as const, { fault: 'InternalServiceFault' }],
    ...(['answer', 'connection'] as const).map((truncated) => ({ truncated, isDone: true })),
    { closed: true, isDone: true },
  ]),
  ...said('Autentica', 1, 1, [{ page: true }, { fault: 'InternalServiceFault' }, { truncated: 'answer' }, { closed: true, isDone: true }]),
  // Longer than the service waits for an answer.
  ...(IS_LONG ? [{ operation: SOLICITA, after: 15, answer: { slowMs: 61_000, isDone: true } } as const] : []),
]
/** Tokens say that they are good for five minutes. */
const ODD: StandInOptions = {
  ...{ packageSize: IS_LONG ? 40 : 8, quirks: ['duplicated', 'reordered', 'names', 'bom'], checks: 1 },
  ...{ strict: true, tokenLifeMs: 40_000 },
}

describe(`npm start downloads ${MONTHS} months from the real authority through ${KILLS} SIGKILLs`, () => {
  const stateDir = freshState()
  let runners: Runners
  let standIn: StandIn
  afterAll(async () => {
    await discard(stateDir, runners.all)
    await standIn.close()
  })

  it('and holds what it holds, with no period asked for twice, no two requests within two seconds, and coverage that says no more than that', {
    timeout: IS_LONG ? 5_400_000 : 900_000,
  }, async () => {
    const from = new Date()
    from.setUTCDate(1)
    from.setUTCMonth(from.getUTCMonth() - MONTHS + 1)
    const truth = generate({ rfc: RFC, from: from.toISOString().slice(0, 7), months: MONTHS })
    standIn = await startStandIn({ truth, ...ODD, script: IS_LONG ? CODES : CODES.filter((_, n) => n % 5 === 0) })
    runners = new Runners({ TAX_AUTHORITY: 'sat', SAT_STAND_IN: standIn.url, AUTHORITY_WAIT_FACTOR: '0.005' })
    let service: Started = await runners.start(stateDir, await freePort())
    const customer = await Customer.signUp(service.url, 'Despacho Uno')
    const { certificate, private_key, password } = makeEfirma(RFC)
    const asked = new Date()
    const body = { rfc: RFC, efirma: { certificate, private_key, password } }
    const { fiscal_entity_id } = await customer.ask<{ fiscal_entity_id: string }>('POST', '/v1/fiscal-entities', body)
    const stored = new AuthorityTruth(truth, RFC, customer, fiscal_entity_id, asked)
    const sync = () => customer.ask<{ status: string; jobs: Record<string, number> }>('GET', `/v1/fiscal-entities/${fiscal_entity_id}/sync`)
    // A service that was killed answers again after a while.
    const isIdle = () =>
      sync().then(
        ({ status, jobs }) => status === 'idle' && jobs['total']! > 0,
        () => false,
      )
    const complete: number[] = []
    const look = async () => {
      const seen = await stored.lies().catch(() => null)
      if (seen === null) return
      expect(seen.lies).toEqual([])
      complete.push(seen.complete)
    }
    for (let round = 0; round < KILLS; round++) {
      const before = standIn.log.entries.length
      const isLater = async () => standIn.log.entries.length > before + 4 || (await isIdle())
      if (isQuick(round)) await sleep(3_000 * Math.random())
      else await until('the authority is asked some requests later', 2 * FINISHED_WITHIN, isLater)
      const { port } = service
      service = await killAndReturn(service, victimOf(round), () => runners.start(stateDir, port), `kill ${round}`)
      await look()
    }
    await until(
      'all downloads are done',
      (IS_LONG ? 15 : 4) * FINISHED_WITHIN,
      async () => {
        await look()
        return isIdle()
      },
      5_000,
    )
    const { log } = standIn
    const figures = { kills: KILLS, seconds: Math.round((Date.now() - asked.getTime()) / 1_000), looks: complete.length }
    // Shown with --silent=false.
    console.log(JSON.stringify({ ...figures, answers: log.answers(), complete: [...new Set(complete)] }))
    expect((await sync()).jobs).toMatchObject({ failed: 0 })
    expect(log.violations).toEqual([])
    expect(await stored.differences()).toEqual([])
    expect(complete.length).toBeGreaterThan(3)
    expect(truth.documents.length).toBeGreaterThan(8 * (MONTHS - 1))
  })
})
