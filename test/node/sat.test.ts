import { afterAll, describe, expect, it } from 'vitest'
import { Customer } from '../../scripts/customer.ts'
import { makeEfirma } from '../stand-in/certificates.ts'
import type { Step } from '../stand-in/script.ts'
import { type StandIn, type StandInOptions, startStandIn } from '../stand-in/stand-in.ts'
import { generate } from '../stand-in/truth/generate.ts'
import { all } from './support/books.ts'
import { FINISHED_WITHIN, killAndReturn, ROUNDS, Runners, victimOf } from './support/kills.ts'
import { discard, freePort, freshState, type Started, until } from './support/runner.ts'

const RFC = 'EKU9003173C9'
/** With every run three months and one kill; in the long run three years, every code, and kills all the time. */
const IS_LONG = process.env['CRASH_ROUNDS'] === 'full'
const MONTHS = IS_LONG ? 36 : 3
const KILLS = IS_LONG ? Math.ceil(ROUNDS / 2) : 1

const SOLICITA = ['SolicitaDescargaEmitidos', 'SolicitaDescargaRecibidos'] as const
const CODES: readonly Step[] = [
  ...['404', '5002', '5003', '5005', '5006'].map((code, n): Step => ({ operation: SOLICITA, after: n, answer: { code } })),
  ...['404', '5006'].map((code, n): Step => ({ operation: 'VerificaSolicitudDescarga', after: 3 * n, answer: { code } })),
  ...['4', '6'].map(
    (state, n): Step => ({
      ...{ operation: 'VerificaSolicitudDescarga', after: 7 + 3 * n },
      answer: { code: '5000', state, stateCode: '5000' },
    }),
  ),
  ...['404', '5007', '5008'].map((code, n): Step => ({ operation: 'Descargar', after: 2 * n, answer: { code } })),
  { operation: 'Descargar', after: 8, answer: { truncated: 'connection' } },
  { operation: SOLICITA, after: 8, answer: { closed: true, isDone: true } },
  { after: 20, times: 2, answer: { page: true } },
]
const ODD: StandInOptions = { packageSize: 40, quirks: ['duplicated', 'reordered', 'names', 'bom'], checks: 1 }

interface Shown {
  uuid: string
  has_xml: boolean
  estatus: string
}

describe(`npm start downloads ${MONTHS} months from the real authority through ${KILLS} SIGKILLs`, () => {
  const stateDir = freshState()
  let runners: Runners
  let standIn: StandIn
  afterAll(async () => {
    await discard(stateDir, runners.all)
    await standIn.close()
  })

  it('and holds what it holds, with no period asked for twice and no two requests within two seconds', {
    timeout: IS_LONG ? 3_600_000 : 400_000,
  }, async () => {
    const from = new Date()
    from.setUTCDate(1)
    from.setUTCMonth(from.getUTCMonth() - MONTHS + 1)
    const truth = generate({ rfc: RFC, from: from.toISOString().slice(0, 7), months: MONTHS })
    standIn = await startStandIn({ truth, ...(IS_LONG && { ...ODD, script: CODES }) })
    runners = new Runners({ TAX_AUTHORITY: 'sat', SAT_STAND_IN: standIn.url, AUTHORITY_WAIT_FACTOR: '0.02' })
    let service: Started = await runners.start(stateDir, await freePort())
    const customer = await Customer.signUp(service.url, 'Despacho Uno')
    const { certificate, private_key, password } = makeEfirma(RFC)
    const asked = new Date()
    const body = { rfc: RFC, efirma: { certificate, private_key, password } }
    const { fiscal_entity_id } = await customer.ask<{ fiscal_entity_id: string }>('POST', '/v1/fiscal-entities', body)
    const sync = () => customer.ask<{ status: string; jobs: Record<string, number> }>('GET', `/v1/fiscal-entities/${fiscal_entity_id}/sync`)
    // A service that was killed answers again after a while.
    const isIdle = () =>
      sync().then(
        ({ status, jobs }) => status === 'idle' && jobs['total']! > 0,
        () => false,
      )
    for (let round = 0; round < KILLS; round++) {
      const before = standIn.log.entries.length
      // Some requests later, wherever it is then.
      await until(
        'the authority is asked',
        FINISHED_WITHIN,
        async () => standIn.log.entries.length > before + 4 || (await sync()).status === 'idle',
      )
      const { port } = service
      service = await killAndReturn(service, victimOf(round), () => runners.start(stateDir, port), `kill ${round}`)
    }
    await until('all downloads are done', (IS_LONG ? 10 : 1) * FINISHED_WITHIN, isIdle, 1_000)
    expect((await sync()).jobs).toMatchObject({ failed: 0 })
    expect(standIn.log.violations).toEqual([])
    const shown = new Map(
      (await all<Shown>(customer, `/v1/cfdi?fiscal_entity_id=${fiscal_entity_id}&limit=100`)).map((one) => [one.uuid, one]),
    )
    const months = [...new Set(truth.documents.map(({ fecha }) => fecha.slice(0, 7)))]
    for (const source of ['sat_cfdi_issued', 'sat_cfdi_received'] as const)
      for (const month of months) {
        const obtainable = truth.obtainable(RFC, source, month, asked)
        const cancelled = truth.cancelled(RFC, source, month, asked)
        for (const uuid of truth.announced(RFC, source, month, new Date(asked.getTime() - 60_000))) {
          const one = shown.get(uuid)
          expect(one, `${source} ${month} ${uuid}`).toBeDefined()
          if (obtainable.has(uuid)) expect(one!.has_xml, uuid).toBe(true)
          if (cancelled.has(uuid)) expect(one!.estatus, uuid).toBe('cancelado')
        }
      }
    expect(shown.size).toBeGreaterThan(8 * (MONTHS - 1))
  })
})
