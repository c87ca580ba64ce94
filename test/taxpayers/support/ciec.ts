import { env } from 'cloudflare:workers'
import { vi } from 'vitest'
import * as adapters from '../../../src/authority/adapters.ts'
import * as logins from '../../../src/authority/logins.ts'
import type { Login } from '../../../src/authority/port/authority.ts'
import { type System, systemOf } from '../../../src/platform/context.ts'
import { Unavailable } from '../../../src/platform/failures.ts'
import { Logins } from '../../../src/taxpayers/login.ts'
import { loginVersionOf, rejectLogin } from '../../../src/taxpayers/login-answers.ts'
import { callOf } from '../../downloads/support/downloads.ts'

export const systemNow = (): System => systemOf(env, new Date(), 'req_test')

/** The authority refuses this CIEC now, at the login of a consumer. */
export const refusedNow = (rfc: string, ciec: string, system = systemNow()): Promise<void> => refusedLogin({ rfc, ciec }, system)

/** The authority refuses this login now, at the login of a consumer. */
export async function refusedLogin(login: Login, system = systemNow()): Promise<void> {
  const asked = { login, version: await loginVersionOf(system, login) }
  await rejectLogin(system, (await callOf(login.rfc)).entity, asked)
}

/** The CIEC of a login, or the number of its certificate. */
export const secretOf = (login: Login): string => ('ciec' in login ? login.ciec : login.efirma.certificate.number)

/** The CIEC, or the number of the certificate, with which jobs of these organizations are downloaded; null when they wait. */
export const ciecFor = async (rfc: string, organizations: readonly string[], system = systemNow()): Promise<string | null> => {
  const found = await new Logins(system, (await callOf(rfc)).entity).of(organizations)
  return found && secretOf(found.login)
}

/**
 * The logins about which the authority is asked from here on, and those with which something is downloaded. `answer` may answer instead of
 * the authority, or keep it from answering.
 */
export function watchLogins(answer?: (login: Login) => boolean | 'unavailable' | undefined): { asked: Login[]; used: Login[] } {
  const [asked, used]: [Login[], Login[]] = [[], []]
  const realLogins = logins.loginsOf
  vi.spyOn(logins, 'loginsOf').mockImplementation((system) => ({
    ...realLogins(system),
    async verify(login) {
      asked.push(login)
      const given = answer?.(login)
      if (given === 'unavailable') throw new Unavailable('sat_unavailable', 'The test makes the authority silent.')
      return given ?? realLogins(system).verify(login)
    },
  }))
  const real = adapters.authorityOf
  vi.spyOn(adapters, 'authorityOf').mockImplementation(async (system) => {
    const authority = await real(system)
    return {
      ...authority,
      step(request) {
        used.push(request.login)
        return authority.step(request)
      },
      documents(request) {
        used.push(request.login)
        return authority.documents(request)
      },
    }
  })
  return { asked, used }
}

export const ciecsOf = (asked: readonly Login[]): string[] => asked.map(secretOf)
