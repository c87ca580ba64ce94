import { env } from 'cloudflare:workers'
import { expect, vi } from 'vitest'
import * as logins from '../../../src/authority/logins.ts'
import * as sending from '../../../src/authority/sat/send.ts'
import { newAuthority, sendTo } from '../../../tools/stand-in/stand-in.ts'
import { generate } from '../../../tools/stand-in/truth/generate.ts'
import { callOf, cfdiOf, subscriber } from '../../downloads/support/downloads.ts'
import { at } from '../../support/clock.ts'
import type { Platform } from '../../support/invocations.ts'
import { freshRfc } from '../../support/tenants.ts'
import { efirmaOf } from '../../taxpayers/support/efirmas.ts'
import { countOf } from './rows.ts'

const MONTHS = 12
/** In minutes: by then everything has been downloaded. */
const SLOW_RESPONSE_LIMIT = 60

/** The conversation about a taxpayer with a year of documents in many packages. */
export async function conversationLoad(platform: Platform): Promise<void> {
  const rfc = freshRfc()
  const truth = generate({ rfc, from: '2025-06', months: MONTHS, counts: { issued: 12, received: 60, payroll: 0, retenciones: 0 } })
  // Of these there is metadata only.
  for (const one of truth.documents) if (one.receptor.rfc === rfc) one.cancelled = one.stamped
  const standIn = newAuthority({ truth, packageSize: 6 })
  vi.spyOn(sending, 'rateLimiterOf').mockReturnValue({ turn: async () => {}, answered: () => {} })
  const one = await subscriber(rfc, cfdiOf(MONTHS), null, { efirma: efirmaOf(rfc) })
  const real = logins.loginsOf
  vi.spyOn(logins, 'loginsOf').mockImplementation((system) => ({ ...real(system), sources: ['sat_cfdi_issued', 'sat_cfdi_received'] }))
  Object.assign(platform.env, { TAX_AUTHORITY: 'sat', EGRESS: { fetch: sendTo(standIn) } })
  await one.run()
  const call = await callOf(rfc)
  await platform.deliver('downloads', [call])
  const start = Date.now()
  const open = () => countOf('sync_jobs', `entity = ${call.entity} and month <> '' and open = 1`, env.LEDGER_0)
  for (let minute = 1; (await open()) > 0; minute++) {
    expect(minute).toBeLessThan(SLOW_RESPONSE_LIMIT)
    at(new Date(start + minute * 60_000).toISOString())
    await platform.deliver('downloads-spread', [{ ...call, conversation: true }])
    await platform.run(['downloads', 'downloads-spread'])
  }
  expect(await countOf('sync_jobs', `entity = ${call.entity} and month <> '' and status <> 'succeeded'`, env.LEDGER_0)).toBe(0)
  // A message did as much as it may, and sent itself on.
  expect(Math.max(...platform.invocations.map(({ statements }) => statements))).toBeGreaterThan(600)
  expect(standIn.log.of('Descargar').length).toBeGreaterThan(150)
  expect(await countOf('cfdi', `entity = ${call.entity}`, env.LEDGER_0)).toBeGreaterThan(MONTHS * 60)
}
