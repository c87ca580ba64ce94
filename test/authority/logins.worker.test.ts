import { env } from 'cloudflare:workers'
import { describe, expect, it, vi } from 'vitest'
import { loginsOf } from '../../src/authority/logins.ts'
import type { Login } from '../../src/authority/port/authority.ts'
import { rateLimiterOf } from '../../src/authority/sat/send.ts'
import { systemOf } from '../../src/platform/context.ts'
import { Unavailable } from '../../src/platform/failures.ts'
import { makeEfirma } from '../../tools/stand-in/certificates.ts'
import type { FalseAnswer } from '../../tools/stand-in/script.ts'
import { newAuthority, sendTo } from '../../tools/stand-in/stand-in.ts'
import { freshRfc } from '../support/tenants.ts'
import { openFiles } from './support/open-files.ts'

/** The logins of TAX_AUTHORITY = sat, in workerd and by the binding EGRESS, with the authority's stand-in behind it. */

const authority = newAuthority()
const fetched = vi.fn(sendTo(authority))
const system = (changed: object = {}) =>
  systemOf({ ...env, TAX_AUTHORITY: 'sat', EGRESS: { fetch: fetched }, ...changed } as unknown as Env, new Date('2020-01-01'), 'req')

async function loginOf(rfc: string, more?: Parameters<typeof makeEfirma>[1]): Promise<Login> {
  return { rfc, efirma: await openFiles(makeEfirma(rfc, more), rfc, new Date()) }
}

describe('the logins of the real authority', () => {
  it('are its own for e.firmas, with the clock of this moment', async () => {
    const rfc = freshRfc()
    expect(await loginsOf(system()).verify(await loginOf(rfc))).toBe(true)
    expect(authority.log.entries.map((entry) => [entry.rfc, entry.operation, entry.family, entry.answer])).toEqual([
      [rfc, 'Autentica', 'cfdi', 'token'],
    ])
    expect(String(fetched.mock.calls[0]![0])).toBe('https://cfdidescargamasivasolicitud.clouda.sat.gob.mx/Autenticacion/Autenticacion.svc')
  })

  it('refuse an e.firma that the authority refuses', async () => {
    authority.revoke('30001000000500007777')
    expect(await loginsOf(system()).verify(await loginOf(freshRfc(), { number: '30001000000500007777' }))).toBe(false)
  })

  it.each<FalseAnswer>([{ page: true }, { fault: 'ActionNotSupported' }, { closed: true }, { truncated: 'answer', isDone: true }])(
    'say nothing of one when the authority says nothing: %o',
    async (answer) => {
      authority.script.steps.push({ operation: 'Autentica', answer })
      const error = await loginsOf(system())
        .verify(await loginOf(freshRfc()))
        .catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(Unavailable)
      expect(error).toMatchObject({ error_class: 'sat_unavailable', isLocked: false })
    },
  )

  it('say nothing of a CIEC, and ask nobody', async () => {
    const before = fetched.mock.calls.length
    await expect(loginsOf(system()).verify({ rfc: freshRfc(), ciec: 'secreta1' })).rejects.toBeInstanceOf(Unavailable)
    expect(fetched.mock.calls.length).toBe(before)
  })

  it('deliver CFDIs only', () => expect(loginsOf(system()).sources).toEqual(['sat_cfdi_issued', 'sat_cfdi_received']))
})

describe('the pace of an RFC', () => {
  it('keeps its requests two seconds apart, whoever sends them, and not those of another one', async () => {
    const [rfc, other] = [freshRfc(), freshRfc()]
    const started = Date.now()
    const turns: number[] = []
    const turn = async (of: string) => {
      await rateLimiterOf(system(), of).turn()
      turns.push(Date.now() - started)
    }
    await Promise.all([turn(rfc), turn(other)])
    expect(turns.every((at) => at < 1_500)).toBe(true)
    const first = Math.max(...turns)
    await turn(rfc)
    expect(turns.at(-1)! - Math.min(first, turns[0]!)).toBeGreaterThanOrEqual(2_000)
  })

  it('keeps them two seconds apart also when one of them was long on its way', async () => {
    const rfc = freshRfc()
    const rateLimiter = rateLimiterOf(system(), rfc)
    await rateLimiter.turn()
    await scheduler.wait(1_000)
    rateLimiter.answered!()
    const answered = Date.now()
    await rateLimiterOf(system(), rfc).turn()
    expect(Date.now() - answered).toBeGreaterThanOrEqual(2_000)
  })

  it('lets nobody wait for ever', async () => {
    const waited = vi.spyOn(scheduler, 'wait').mockImplementation(async () => {})
    let now = Date.now()
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => (now += 1_000))
    const COOLDOWNS = { getByName: () => ({ acquire: async () => ({ acquired: false, retry_after_seconds: 2 }) }) }
    try {
      await expect(rateLimiterOf(system({ COOLDOWNS }), freshRfc()).turn()).rejects.toMatchObject({ error_class: 'rate_limited' })
      expect(waited).toHaveBeenCalledWith(2_000)
    } finally {
      clock.mockRestore()
      waited.mockRestore()
    }
  })
})
