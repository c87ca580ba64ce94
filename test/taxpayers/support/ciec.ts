import { env } from 'cloudflare:workers'
import { vi } from 'vitest'
import * as adapters from '../../../src/authority/adapters.ts'
import * as logins from '../../../src/authority/logins.ts'
import type { Login } from '../../../src/authority/port/authority.ts'
import { Unavailable } from '../../../src/failures.ts'
import { type System, systemOf } from '../../../src/platform/context.ts'
import { Logins } from '../../../src/taxpayers/login.ts'
import { ciecVersionOf, rejectCiec } from '../../../src/taxpayers/verification.ts'
import { callOf } from '../../downloads/support/downloads.ts'

export const systemNow = (): System => systemOf(env, new Date(), 'req_test')

/** The authority refuses this CIEC now, at the login of a consumer. */
export async function refusedNow(rfc: string, ciec: string, system = systemNow()): Promise<void> {
  const asked = { login: { rfc, ciec }, version: await ciecVersionOf(system, rfc) }
  await rejectCiec(system, (await callOf(rfc)).entity, asked)
}

/** The CIEC with which jobs of these organizations are downloaded; null when they wait. */
export const ciecFor = async (rfc: string, organizations: readonly string[], system = systemNow()): Promise<string | null> =>
  (await new Logins(system, (await callOf(rfc)).entity).of(organizations))?.login.ciec ?? null

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
  vi.spyOn(adapters, 'authorityOf').mockImplementation((system) => {
    const authority = real(system)
    return {
      ...authority,
      download(request) {
        used.push(request.login)
        return authority.download(request)
      },
      documents(login, source, now) {
        used.push(login)
        return authority.documents(login, source, now)
      },
    }
  })
  return { asked, used }
}

export const ciecsOf = (asked: readonly Login[]): string[] => asked.map(({ ciec }) => ciec)
