import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CertificateList } from '../../src/authority/port/fields-contract.ts'
import { filesOf } from '../../src/authority/sandbox/documents/documents.ts'
import { alertCertificates, alertOf } from '../../src/documents/certificates.ts'
import { systemOf } from '../../src/platform/context.ts'
import { losingMessages } from '../downloads/support/downloads.ts'
import { at, restore } from '../support/clock.ts'
import { freshRfc } from '../support/tenants.ts'
import { delivers, type Reader, reader, runsOn } from './support/documents.ts'

beforeEach(() => {
  at('2026-03-10T18:00:00Z')
  losingMessages()
})
afterEach(restore)

const SERIAL = '00001000001234567890'
const dailyOn = (day: string) => alertCertificates(systemOf(env, new Date(`${day}T10:00:00Z`), 'test'), '')
const alertsOf = async (of: Reader): Promise<{ severity: string; message: string; resource_id: string }[]> =>
  (await of.ask('GET', '/v1/alerts?kind=certificate.expiring&limit=100')).body.data

/** From here on the authority lists this certificate. */
const lists = (rfc: string, valid_to: string, status: 'active' | 'revoked' = 'active') =>
  delivers((source) =>
    filesOf(rfc, source as never, new Date()).map((file) =>
      file.kind === 'certificates'
        ? {
            ...file,
            bytes: new TextEncoder().encode(`${valid_to} ${status}`),
            fields: { certificates: [{ serial: SERIAL, kind: 'csd', status, valid_from: '2022-04-20', valid_to }] },
          }
        : file,
    ),
  )

describe('the list of certificates of the sandbox', () => {
  it('says in `vence` when the next of them expires, whichever it is', () => {
    const first = new Set<string>()
    for (let n = 0; n < 12; n++) {
      const [list] = filesOf(freshRfc(), 'sat_certificates', new Date())
      const { certificates } = list!.fields as CertificateList
      const next = certificates.toSorted((a, b) => (a.valid_to < b.valid_to ? -1 : 1))[0]!
      expect(list!.attributes).toEqual({ vigentes: '2', vence: next.valid_to })
      first.add(next.kind)
    }
    expect([...first].sort()).toEqual(['csd', 'efirma'])
  })
})

describe('the alert before a certificate expires', () => {
  it('comes 30 and 7 days before, once each, to every organization with an active connection that got a list with it', async () => {
    const rfc = freshRfc()
    const [one, other, left, csfOnly] = [await reader(rfc), await reader(rfc), await reader(rfc), await reader(rfc, ['sat_csf'])]
    lists(rfc, '2026-04-20')
    await runsOn('2026-03-10', rfc, [one, other, left, csfOnly])
    await left.ask('PATCH', `/v1/billing/rfcs/${left.fiscal_entity_id}`, { active: false })
    await dailyOn('2026-03-20')
    expect(await alertsOf(one)).toEqual([])
    for (const day of ['2026-03-21', '2026-03-21', '2026-04-01', '2026-04-12']) await dailyOn(day)
    const message = `The CSD ${SERIAL} of ${rfc} expires on 2026-04-20.`
    const early = { severity: 'warning', message, read_at: null }
    expect(await alertsOf(one)).toMatchObject([{ ...early, resource_id: one.fiscal_entity_id }])
    for (const day of ['2026-04-13', '2026-04-14', '2026-04-20', '2026-04-21']) await dailyOn(day)
    for (const of of [one, other]) expect(await alertsOf(of)).toMatchObject([{ severity: 'critical', message }, early])
    for (const of of [left, csfOnly]) expect(await alertsOf(of)).toEqual([])
  })

  it('does not come for a certificate that the latest list says is revoked', async () => {
    const rfc = freshRfc()
    const one = await reader(rfc)
    lists(rfc, '2026-05-20')
    await runsOn('2026-03-10', rfc, [one])
    lists(rfc, '2026-05-20', 'revoked')
    await runsOn('2026-04-10', rfc, [one])
    await dailyOn('2026-05-15')
    expect(await alertsOf(one)).toEqual([])
  })

  it('counts the days of the organization’s own zone', () => {
    const of = { organization_id: 'org', events_shard: 0, fiscal_entity_id: 'fe', rfc: 'X' }
    const certificate = { serial: SERIAL, kind: 'efirma', valid_to: '2026-04-20' } as const
    const alert = (instant: string, timezone: string) => alertOf(certificate, { ...of, timezone }, new Date(instant))?.dedupe_key ?? null
    expect(alert('2026-03-21T04:00:00Z', 'America/Mexico_City')).toBeNull()
    expect(alert('2026-03-21T04:00:00Z', 'Europe/Madrid')).toBe(`certificate:X:${SERIAL}:30`)
    expect(alert('2026-04-21T04:00:00Z', 'America/Mexico_City')).toBe(`certificate:X:${SERIAL}:7`)
    expect(alert('2026-04-21T04:00:00Z', 'Europe/Madrid')).toBeNull()
  })
})
