import { env } from 'cloudflare:workers'
import { verify, X509Certificate } from 'node:crypto'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { expireConsents } from '../../../src/connections/consents/consents.ts'
import { giveLogin, openLink, textOfLink } from '../../../src/connections/links/giving.ts'
import { keyring } from '../../../src/platform/crypto/keyring.ts'
import { jobsOf, later, losingMessages, work } from '../../downloads/support/downloads.ts'
import { restore } from '../../support/clock.ts'
import { audited, connect, freshRfc, type Organization, organization } from '../../support/tenants.ts'
import { systemNow } from '../../taxpayers/support/ciec.ts'
import { codeIn, linkOf, told, visit } from './support.ts'

beforeEach(() => {
  later(0)
  losingMessages()
})
afterEach(restore)

const consentsOf = async (of: Organization, query = '') => (await of.ask('GET', `/v1/consents${query}`)).body.data
const entityOf = async (of: Organization) => (await of.ask('GET', '/v1/fiscal-entities')).body.data[0]
const kinds = /^consent/

it('records who agreed to what, when, from where and how it is proven', async () => {
  const of = await organization()
  const rfc = freshRfc()
  const link = await linkOf(of, { rfc, access: { from: '2024-01-01', until: '2026-06-30' }, sources: ['sat_csf'] })
  await link.giveCiec('secreta1', { purposes: ['portfolio_monitoring', 'marketing'], kind: 'representative', email: 'ada@example.com' })
  const [consent] = await consentsOf(of)
  const { text, address_hash, ...rest } = consent
  expect(rest).toMatchObject({
    ...{
      consent_id: (await link.view()).consent_id,
      rfc,
      connect_link_id: link.id,
      method: 'ciec_verified',
      status: 'active',
      signature: null,
    },
    subject: { kind: 'representative', name: 'Ada Pérez', email: 'ada@example.com' },
    purposes: [
      { key: 'credit_evaluation', necessary: true, granted: true },
      { key: 'portfolio_monitoring', necessary: false, granted: true },
    ],
    ...{ access: { from: '2024-01-01', until: '2026-06-30' }, granted_at: '2026-05-20T09:00:00.000Z', user_agent: 'Prueba' },
  })
  expect(address_hash).toBeTruthy()
  expect((await of.ask('GET', `/v1/consents/${consent.consent_id}`)).body).toEqual(consent)
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text.content))).toHex()
  expect(text).toMatchObject({ language: 'es', sha256: digest, content: expect.stringContaining(rfc) })
  expect(await told(of, kinds)).toMatchObject([
    {
      ...{ event: 'consent.granted', consent_id: consent.consent_id, rfc, method: 'ciec_verified', access_until: '2026-06-30' },
      purposes: ['credit_evaluation', 'portfolio_monitoring'],
    },
  ])
})

it('with an e.firma, anybody can verify it without this service', async () => {
  const of = await organization()
  const rfc = freshRfc()
  const link = await linkOf(of, { rfc })
  expect((await link.giveEfirma(rfc, { purposes: 'portfolio_monitoring' })).status).toBe(200)
  const [consent] = await consentsOf(of)
  const { message, value, certificate } = consent.signature
  expect(consent.method).toBe('efirma_signed')
  expect(message).toBe([consent.consent_id, consent.text.sha256, 'credit_evaluation,portfolio_monitoring'].join('\n'))
  const key = new X509Certificate(Buffer.from(certificate, 'base64')).publicKey
  expect(verify('sha256', Buffer.from(message), key, Buffer.from(value, 'base64'))).toBe(true)
})

it('the taxpayer reads and withdraws it with the code of the receipt, which erases the login', async () => {
  const of = await organization()
  const done = await (await linkOf(of, { rfc: freshRfc() })).giveCiec('secreta1')
  const code = codeIn(done)
  expect(code).toMatch(/^[0-9A-Z]{5}(-[0-9A-Z]{5}){4}-[0-9A-Z]$/)
  const shown = await visit(`https://api.test/consent/${code}`)
  expect(shown.text).toContain('Vigente')
  expect((await visit('https://api.test/consent', { code, withdraw: 'yes' })).text).toContain('Retiró su consentimiento')
  expect(await entityOf(of)).toMatchObject({ status: 'invalid_ciec', invalid_reason: 'withdrawn', ciec_set: false })
  expect(await consentsOf(of)).toMatchObject([{ status: 'withdrawn', withdrawn_by: 'subject', ended_at: '2026-05-20T09:00:00.000Z' }])
  expect((await visit('https://api.test/consent', { code, withdraw: 'yes' })).text).toContain('Retirado')
  expect((await told(of, kinds)).map(({ event, withdrawn_by }) => [event, withdrawn_by])).toEqual([
    ['consent.granted', undefined],
    ['consent.withdrawn', 'subject'],
  ])
  expect(await audited(of, 'consent.withdrawn')).toMatchObject([{ actor: 'system:taxpayer' }])
  const again = await linkOf(of, { fiscal_entity_id: (await entityOf(of)).fiscal_entity_id })
  expect((await again.giveCiec('secreta2')).status).toBe(200)
  expect((await entityOf(of)).status).toBe('active')
})

it('a connection without an active consent is relinked with purposes only', async () => {
  const of = await organization()
  const { fiscal_entity_id } = await connect(of.owner)
  const [declared] = await consentsOf(of)
  await of.ask('POST', `/v1/consents/${declared.consent_id}/withdraw`)
  const { status, body } = await of.ask('POST', '/v1/connect-links', { fiscal_entity_id })
  expect([status, body.code]).toEqual([409, 'connect_link.consent_needed'])
})

it('ends with its last day in Mexico City, and the login is erased', async () => {
  const of = await organization()
  await (await linkOf(of, { rfc: freshRfc(), access: { until: '2026-05-21' } })).giveCiec('secreta1')
  // 05:59 UTC of the next day is 23:59 in Mexico City.
  later((Date.parse('2026-05-22T05:59:00Z') - Date.parse('2026-05-20T09:00:00Z')) / 1_000)
  await expireConsents(systemNow())
  expect((await consentsOf(of))[0].status).toBe('active')
  later((Date.parse('2026-05-22T06:00:00Z') - Date.parse('2026-05-20T09:00:00Z')) / 1_000)
  await expireConsents(systemNow())
  await expireConsents(systemNow())
  expect((await consentsOf(of))[0]).toMatchObject({ status: 'expired', withdrawn_by: null, ended_at: '2026-05-22T06:00:00.000Z' })
  expect(await entityOf(of)).toMatchObject({ status: 'invalid_ciec', ciec_set: false })
  expect((await told(of, /consent.expired/)).length).toBe(1)
})

it('a connection by the API is declared by the customer, once for each time that a login is given without one', async () => {
  const of = await organization()
  const { fiscal_entity_id } = await connect(of.owner, freshRfc(), { consent_reference: 'contrato 12' })
  const path = `/v1/fiscal-entities/${fiscal_entity_id}`
  expect(await consentsOf(of)).toMatchObject([
    { method: 'declared_by_customer', consent_reference: 'contrato 12', subject: null, text: null, purposes: [], status: 'active' },
  ])
  await of.ask('PATCH', path, { ciec: 'secreta2' })
  expect(await consentsOf(of)).toHaveLength(1)
  const [declared] = await consentsOf(of, `?fiscal_entity_id=${fiscal_entity_id}`)
  const withdrawn = await of.ask('POST', `/v1/consents/${declared.consent_id}/withdraw`)
  expect(withdrawn.body).toMatchObject({ status: 'withdrawn', withdrawn_by: 'customer' })
  expect((await of.ask('POST', `/v1/consents/${declared.consent_id}/withdraw`)).body.code).toBe('consent.ended')
  await of.ask('PATCH', path, { ciec: 'secreta3' })
  expect((await consentsOf(of)).map(({ status }: { status: string }) => status)).toEqual(['active', 'withdrawn'])
  const link = await linkOf(of, { fiscal_entity_id })
  expect((await link.giveCiec('secreta4')).status).toBe(200)
  expect((await consentsOf(of)).map(({ status }: { status: string }) => status)).toEqual(['active', 'superseded', 'withdrawn'])
  await of.ask('DELETE', path)
  expect((await consentsOf(of))[0]).toMatchObject({ status: 'withdrawn', withdrawn_by: 'customer' })
})

it('does not let the organization add data sources that the taxpayer did not agree to', async () => {
  const of = await organization()
  const { fiscal_entity_id, rfc } = await connect(of.owner)
  const path = `/v1/fiscal-entities/${fiscal_entity_id}`
  expect((await of.ask('PATCH', path, { data_source_keys: ['sat_csf', 'sat_cfdi_issued'] })).status).toBe(200)
  await (await linkOf(of, { rfc, sources: ['sat_csf'] })).giveCiec('secreta1')
  expect((await entityOf(of)).data_source_keys).toEqual(['sat_csf', 'sat_miinformacion'])
  for (const data_source_keys of [['sat_csf', 'sat_cfdi_issued'], null])
    for (const more of [{}, { ciec: 'secreta2' }])
      expect((await of.ask('PATCH', path, { data_source_keys, ...more })).body.code).toBe('consent.sources')
  expect((await of.ask('PATCH', path, { data_source_keys: ['sat_csf'], name: 'Uno' })).status).toBe(200)
})

it('where the authority cannot be asked about a CIEC, the login is stored and the consent says so', async () => {
  const of = await organization()
  const link = await linkOf(of, { rfc: freshRfc(), logins: ['ciec'] })
  const system = systemNow()
  const fetcherKeys = keyring('FETCHER_KEYS', `1:${btoa('k'.repeat(32))}`)
  const sat = { ...system, settings: { ...system.settings, taxAuthority: 'sat' as const, fetcherKeys } }
  const row = (await openLink(sat, link.url.split('/').at(-1)!))!
  const text = (await textOfLink(row, 'es'))!
  const received = await giveLogin(sat, row, {
    ...{ rfc: '', language: 'es', text_sha256: text.sha256, accepts: true, purposes: [], signature: '', user_agent: '' },
    ...{ subject: { kind: 'taxpayer', name: 'Ada', email: null }, login: { ciec: 'secreta1' } },
  })
  expect(received.status).toBe('submitted')
  expect(await link.view()).toMatchObject({ status: 'submitted' })
  expect(await entityOf(of)).toMatchObject({ status: 'draft', ciec_set: true })
  expect(await consentsOf(of)).toMatchObject([{ method: 'ciec_given', status: 'active' }])
  expect((await told(of, /connected/))[0]).toMatchObject({ status: 'submitted' })
})

it('bounds what the runs of the connection ask for by its first day', async () => {
  const of = await organization('enterprise_gold')
  const extractor = { name: 'A', trigger_kind: 'connection_created', scope: 'full_history', data_source_keys: ['sat_cfdi_issued'] }
  await of.ask('POST', '/v1/extractors', extractor)
  const rfc = freshRfc()
  await (await linkOf(of, { rfc, access: { from: '2026-03-15' } })).giveCiec('secreta1')
  await work(rfc)
  const { fiscal_entity_id, visible_from } = await entityOf(of)
  expect(visible_from).toBe('2026-03-15')
  expect((await jobsOf(rfc)).filter(({ source }) => source === 'sat_cfdi_issued').map(({ month }) => month)).toEqual([
    '2026-03',
    '2026-04',
    '2026-05',
  ])
  const asked = { data_source_keys: ['sat_cfdi_issued'], from: '2025-01-01', to: '2025-02-28' }
  expect((await of.ask('POST', `/v1/fiscal-entities/${fiscal_entity_id}/extractions`, asked)).status).toBe(202)
  expect((await entityOf(of)).visible_from).toBe('2026-03-15')
})

it('a withdrawal that a crash cuts short has changed nothing', async () => {
  const of = await organization()
  await connect(of.owner)
  const [consent] = await consentsOf(of)
  const real = Object.getPrototypeOf(env.DB).batch
  Object.getPrototypeOf(env.DB).batch = () => Promise.reject(new Error('The isolate has ended.'))
  try {
    await of.ask('POST', `/v1/consents/${consent.consent_id}/withdraw`)
  } finally {
    Object.getPrototypeOf(env.DB).batch = real
  }
  expect([(await consentsOf(of))[0].status, (await entityOf(of)).status]).toEqual(['active', 'active'])
})
