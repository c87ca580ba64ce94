import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import * as logins from '../../../src/authority/logins.ts'
import { expireLinks } from '../../../src/connections/links/links.ts'
import { callOf, later, losingMessages, work } from '../../downloads/support/downloads.ts'
import { restore } from '../../support/clock.ts'
import { freshRfc, type Organization, organization } from '../../support/tenants.ts'
import { dump } from '../../support/world.ts'
import { refusedNow, systemNow, watchLogins } from '../../taxpayers/support/ciec.ts'
import { efirmaOf } from '../../taxpayers/support/efirmas.ts'
import { linkOf, PURPOSES, told, visit } from './support.ts'

beforeEach(() => {
  later(0)
  losingMessages()
})
afterEach(restore)

const entities = async (of: Organization) => (await of.ask('GET', '/v1/fiscal-entities')).body.data
const connectLinks = /^connect_link/

describe('a connect link', () => {
  it('is opened, connects an RFC once, and says so in events', async () => {
    const of = await organization()
    const rfc = freshRfc()
    const link = await linkOf(of, { external_id: 'credito-1', metadata: { canal: 'web' }, sources: ['sat_cfdi_issued'], state: 's1' })
    expect(await link.view()).toMatchObject({ status: 'created', rfc: null, tries_left: 5, consent_id: null })
    expect((await link.open()).status).toBe(200)
    expect(await link.view()).toMatchObject({ status: 'opened', opened_at: '2026-05-20T09:00:00.000Z' })
    later(1)
    const done = await link.giveCiec('secreta1', { rfc: rfc.toLowerCase() })
    expect(done.status, done.text).toBe(200)
    const [connected] = await entities(of)
    expect(connected).toMatchObject({ rfc, status: 'active', external_id: 'credito-1', metadata: { canal: 'web' } })
    expect(connected.data_source_keys).toEqual(['sat_cfdi_issued', 'sat_miinformacion'])
    const view = await link.view()
    expect(view).toMatchObject({ status: 'connected', rfc, fiscal_entity_id: connected.fiscal_entity_id, tries_left: 4 })
    expect((await link.open()).status).toBe(410)
    expect((await link.giveCiec('secreta1', { rfc })).status).toBe(410)
    expect(await told(of, connectLinks)).toMatchObject([
      { event: 'connect_link.opened', connect_link_id: link.id, fiscal_entity_id: null, rfc: null, external_id: 'credito-1' },
      {
        event: 'connect_link.connected',
        connect_link_id: link.id,
        fiscal_entity_id: connected.fiscal_entity_uuid,
        rfc,
        status: 'connected',
      },
    ])
  })

  it('is refused by the authority five times at most, and each refusal counts for the RFC as one of the API', async () => {
    const of = await organization()
    const rfc = freshRfc()
    const link = await linkOf(of, { rfc })
    const { asked } = watchLogins()
    expect((await link.giveCiec('rejected1')).text).toContain('El SAT rechazó el RFC o la contraseña')
    expect(await link.view()).toMatchObject({ status: 'refused', code: 'fiscal_entity.ciec_rejected', tries_left: 4 })
    await link.giveCiec('rejected2')
    await link.giveCiec('rejected3')
    // The limit of the organization and RFC comes before that of the link, and takes no try.
    expect((await link.giveCiec('secreta1')).text).toContain('Se rechazaron varios accesos de este RFC')
    expect((await of.ask('POST', '/v1/fiscal-entities', { rfc, ciec: 'secreta1' })).status).toBe(429)
    expect(await link.view()).toMatchObject({ status: 'refused', tries_left: 2 })
    later(16 * 60)
    await link.giveCiec('rejected4')
    await link.giveCiec('rejected5')
    later(40 * 60)
    expect(await link.giveCiec('secreta1')).toMatchObject({ status: 410, text: expect.stringContaining('Se rechazaron cinco accesos') })
    expect(asked).toHaveLength(5)
    expect((await told(of, /refused/)).map(({ code, tries_left }) => [code, tries_left])).toEqual(
      [4, 3, 2, 1, 0].map((left) => ['fiscal_entity.ciec_rejected', left]),
    )
    expect(await entities(of)).toEqual([])
  })

  it.each([
    ['a CIEC with spaces', { ciec: 'una frase larga' }, 'La contraseña del SAT no lleva espacios'],
    ['a CIEC that is too long', { ciec: 'c'.repeat(21) }, 'de 8 a 20 caracteres'],
    ['an RFC that is none', { rfc: 'ABC' }, 'Escriba el RFC completo'],
    ['no consent', { accepts: '' }, 'acepta las finalidades necesarias'],
    ['no name', { name: ' ' }, 'Escriba su nombre'],
    ['a text that has changed', { text_sha256: 'f'.repeat(64) }, 'El texto del consentimiento cambió'],
  ])('recognizes %s before the authority is asked', async (_, wrong, sentence) => {
    const of = await organization()
    const link = await linkOf(of)
    const { asked } = watchLogins()
    const shown = await link.giveCiec('secreta1', { rfc: freshRfc(), ...wrong })
    expect(shown).toMatchObject({ status: 422, text: expect.stringContaining(sentence) })
    expect(shown.text).not.toContain('secreta1')
    expect([asked, (await link.view()).tries_left]).toEqual([[], 5])
  })

  it('recognizes a wrong e.firma before the authority is asked', async () => {
    const of = await organization()
    const rfc = freshRfc()
    const link = await linkOf(of, { rfc })
    const { asked } = watchLogins()
    const say = async (files: Parameters<typeof efirmaOf>[1], owner = rfc) => (await link.giveEfirma(rfc, {}, efirmaOf(owner, files))).text
    expect(await say({}, freshRfc())).toContain('Esa e.firma es de otro RFC')
    expect(await say({ to: new Date('2026-01-01') } as never)).toContain('ya venció')
    expect((await link.giveEfirma(rfc, { signature: '' })).text).toContain('Su navegador no pudo firmar')
    expect((await link.giveEfirma(rfc, { signature: 'AAAA' })).text).toContain('no corresponde al certificado')
    expect([asked, (await link.view()).tries_left]).toEqual([[], 5])
    // Its password is tried, so that this counts.
    expect((await link.giveEfirma(rfc, { password: 'otra' })).text).toContain('La contraseña no abre la clave')
    expect(await link.view()).toMatchObject({ code: 'efirma.wrong_password', tries_left: 4 })
    expect((await link.giveEfirma(rfc)).status).toBe(200)
    expect((await entities(of))[0]).toMatchObject({ rfc, status: 'active', credential_kind: 'efirma' })
  })

  it('an unanswered login takes no try, and the page can be used again', async () => {
    const of = await organization()
    const link = await linkOf(of, { rfc: freshRfc() })
    expect((await link.giveCiec('locked123')).text).toContain('bloqueó la cuenta')
    expect(await link.view()).toMatchObject({ status: 'opened', tries_left: 5, code: null })
    expect((await link.giveCiec('secreta1')).status).toBe(200)
  })

  it('is verified by one request at a time, and a crash costs a try', async () => {
    const of = await organization()
    const link = await linkOf(of, { rfc: freshRfc() })
    await link.open()
    await env.DB.prepare("update connect_links set status = 'verifying', attempts = 1, token = 'dead', lease_until = ?")
      .bind(Date.now() + 60_000)
      .run()
    expect((await link.open()).status).toBe(409)
    expect((await visit(link.url, { login: 'ciec', ciec: 'secreta1' })).status).toBe(409)
    later(61)
    expect((await link.giveCiec('secreta1')).status).toBe(200)
    expect(await link.view()).toMatchObject({ status: 'connected', tries_left: 3 })
  })

  it('stores nothing that is given while somebody revokes it', async () => {
    const of = await organization()
    const link = await linkOf(of, { rfc: freshRfc() })
    const real = logins.loginsOf
    vi.spyOn(logins, 'loginsOf').mockImplementation((system) => ({
      ...real(system),
      async verify() {
        expect((await of.ask('DELETE', `/v1/connect-links/${link.id}`)).status).toBe(204)
        return true
      },
    }))
    expect(await link.giveCiec('secreta1')).toMatchObject({ status: 410, text: expect.stringContaining('lo anuló') })
    expect(await entities(of)).toEqual([])
    expect((await of.ask('DELETE', `/v1/connect-links/${link.id}`)).status).toBe(409)
  })

  it('expires, is told, and is forgotten 90 days later', async () => {
    const of = await organization()
    const link = await linkOf(of, { expires_in: 300 })
    later(300)
    expect((await link.open()).status).toBe(410)
    expect(await link.view()).toMatchObject({ status: 'expired' })
    expect((await of.ask('GET', '/v1/connect-links?status=expired')).body.data).toHaveLength(1)
    expect((await of.ask('GET', '/v1/connect-links?status=created')).body.data).toHaveLength(0)
    await expireLinks(systemNow())
    await expireLinks(systemNow())
    expect(await told(of, connectLinks)).toMatchObject([{ event: 'connect_link.expired', connect_link_id: link.id }])
    later(300 + 91 * 86_400)
    await expireLinks(systemNow())
    expect((await of.ask('GET', `/v1/connect-links/${link.id}`)).status).toBe(404)
  })

  it('asks again for the login of a connection, which keeps its id, windows and consent', async () => {
    const of = await organization()
    const rfc = freshRfc()
    expect((await (await linkOf(of, { rfc })).giveCiec('secreta1')).status).toBe(200)
    const [before] = await entities(of)
    const [consent] = (await of.ask('GET', '/v1/consents')).body.data
    await refusedNow(rfc, 'secreta1')
    expect((await entities(of))[0]).toMatchObject({ status: 'invalid_ciec' })
    const link = await linkOf(of, { fiscal_entity_id: before.fiscal_entity_id, purposes: undefined })
    expect(await link.view()).toMatchObject({ rfc, is_relink: true, purposes: [] })
    const done = await link.giveCiec('secreta2', { text_sha256: '', accepts: '' })
    expect(done.status, done.text).toBe(200)
    const { updated_at: _, ...same } = before
    expect((await entities(of))[0]).toMatchObject(same)
    expect((await of.ask('GET', '/v1/consents')).body.data).toEqual([consent])
    expect((await told(of, /^connection/)).map(({ event }) => event)).toEqual([
      'connection.ciec_invalid',
      'connection.relink_needed',
      'connection.relinked',
    ])
  })

  it('refuses drafts that cannot be', async () => {
    const of = await organization()
    const refusal = async (draft: object) => {
      const { status, body } = await of.ask('POST', '/v1/connect-links', draft)
      return [status, body.code]
    }
    expect(await refusal({ purposes: [{ key: 'curiosity', necessary: true }] })).toEqual([422, 'connect_link.purpose_unknown'])
    expect(await refusal({ purposes: [{ key: 'audit', necessary: false }] })).toEqual([422, 'connect_link.purposes'])
    expect(await refusal({})).toEqual([422, 'request.invalid'])
    expect(await refusal({ purposes: PURPOSES, access: { until: '2026-05-19' } })).toEqual([422, 'connect_link.access'])
    expect(await refusal({ purposes: PURPOSES, sources: ['sat_nothing'] })).toEqual([422, 'data_source.unknown'])
    expect(await refusal({ purposes: PURPOSES, return_url: 'http://x.com' })).toEqual([422, 'request.invalid'])
    expect(await refusal({ purposes: PURPOSES, expires_in: 299 })).toEqual([422, 'request.invalid'])
    expect(await refusal({ fiscal_entity_id: 'fe_01kabcdefghjkmnpqrstvwxyz0' })).toEqual([404, 'fiscal_entity.not_found'])
  })
})

describe('what a taxpayer gives', () => {
  it('is in no log, event, audit event, answer or table, and neither is the token or the code', async () => {
    const lines: string[] = []
    for (const method of ['log', 'error', 'warn', 'info'] as const)
      vi.spyOn(console, method).mockImplementation((...said: unknown[]) => void lines.push(said.map(String).join(' ')))
    const of = await organization()
    const [rfc, other] = [freshRfc(), freshRfc()]
    const link = await linkOf(of, { rfc })
    const pages = [await link.giveCiec('rejectedSecreto9'), await link.giveCiec('unSecreto9')]
    const efirma = await linkOf(of, { rfc: other })
    pages.push(await efirma.giveEfirma(other, { password: 'laClave9' }), await efirma.giveEfirma(other))
    expect(pages.map(({ status }) => status)).toEqual([422, 200, 422, 200])
    await told(of, /./)
    const answers = await Promise.all(
      ['/v1/connect-links', '/v1/consents', '/v1/events?limit=100', '/v1/audit-events?limit=100', '/v1/fiscal-entities', '/v1/alerts'].map(
        async (path) => JSON.stringify((await of.ask('GET', path)).body),
      ),
    )
    const token = link.url.split('/').at(-1)!
    const key = efirmaOf(other).private_key.slice(40, 120)
    const everywhere = [...lines, ...answers, await dump(), ...pages.map(({ text }) => text)].join('\n')
    for (const secret of ['rejectedSecreto9', 'unSecreto9', 'laClave9', token, key]) expect(everywhere).not.toContain(secret)
    const code = /<code>([^<]*)/.exec(pages[1]!.text)![1]!.replaceAll('-', '')
    expect([...lines, ...answers, await dump()].join('\n')).not.toContain(code)
    expect(lines.some((line) => line.includes('/connect/:token'))).toBe(true)
  })
})

describe('the page', () => {
  it('says who asks for what and until when, in Spanish or English, for nobody to frame, index or follow', async () => {
    const of = await organization()
    const link = await linkOf(of, {
      ...{ rfc: freshRfc(), controller: { name: 'Crédito <b>Uno</b>', privacy_notice_url: 'https://credito.example.com/aviso' } },
      ...{ access: { from: '2023-01-01', until: '2027-11-28' }, sources: ['sat_cfdi_issued'] },
    })
    const { headers, text } = await link.open()
    expect(text).toContain('Crédito &lt;b&gt;Uno&lt;/b&gt; le pide conectar su información fiscal')
    for (const one of ['2023-01-01', '2027-11-28', 'Facturas (CFDI) emitidas', 'https://credito.example.com/aviso'])
      expect(text).toContain(one)
    expect(text).toMatch(/name="purposes" value="portfolio_monitoring" >/)
    expect(text).not.toMatch(/name="purposes" value="credit_evaluation"/)
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect(headers.get('content-security-policy')).not.toContain('unsafe')
    expect(
      Object.fromEntries(['referrer-policy', 'x-robots-tag', 'cache-control', 'set-cookie'].map((one) => [one, headers.get(one)])),
    ).toEqual({
      ...{ 'referrer-policy': 'no-referrer', 'x-robots-tag': 'noindex', 'cache-control': 'no-store', 'set-cookie': null },
    })
    const english = await visit(`${link.url}?lang=en`)
    expect(english.text).toContain('<html lang="en">')
    expect(english.text).toContain('asks you to connect your tax information')
    for (const file of ['connect.js', 'connect.css']) expect((await visit(`https://api.test/connect/${file}`)).status).toBe(200)
  })

  it('of an unknown link or code says nothing', async () => {
    expect((await visit(`https://api.test/connect/${'a'.repeat(43)}`)).status).toBe(404)
    expect((await visit('https://api.test/connect/short')).status).toBe(404)
    expect((await visit('https://api.test/consent/0000')).status).toBe(404)
    expect((await visit('https://api.test/consent')).status).toBe(200)
  })

  it('leads back where the link says, with its state', async () => {
    const of = await organization()
    const link = await linkOf(of, { rfc: freshRfc(), return_url: 'https://app.example.com/fin?a=1', state: 'x y' })
    const { text } = await link.giveCiec('secreta1')
    expect(text).toContain(`href="https://app.example.com/fin?a=1&amp;connect_link_id=${link.id}&amp;status=connected&amp;state=x+y"`)
  })
})

it('two organizations that connect one RFC with links share its downloads and have a consent each', async () => {
  const rfc = freshRfc()
  const [one, two] = [await organization('enterprise_gold'), await organization('enterprise_gold')]
  for (const of of [one, two]) {
    const { extractor_id } = (
      await of.ask('POST', '/v1/extractors', {
        ...{ name: 'A', trigger_kind: 'connection_created', scope: 'last_n_months', scope_months: 1 },
        data_source_keys: ['sat_cfdi_issued'],
      })
    ).body
    expect(extractor_id).toBeDefined()
    expect((await (await linkOf(of, { rfc })).giveCiec('secreta1')).status).toBe(200)
  }
  await work(rfc)
  const { entity } = await callOf(rfc)
  const { results } = await env.LEDGER_0.prepare(
    "select month, count(*) as n from sync_jobs where entity = ? and source = 'sat_cfdi_issued' group by 1",
  )
    .bind(entity)
    .all<{ n: number }>()
  expect(results.map(({ n }) => n)).toEqual(results.map(() => 1))
  const consents = await Promise.all([one, two].map(async (of) => (await of.ask('GET', '/v1/consents?status=active')).body.data))
  expect(consents.map((all) => all.length)).toEqual([1, 1])
  expect((await one.ask('POST', `/v1/consents/${consents[1][0].consent_id}/withdraw`)).status).toBe(404)
  expect((await one.ask('POST', `/v1/consents/${consents[0][0].consent_id}/withdraw`)).body.status).toBe('withdrawn')
  expect((await entities(one))[0]).toMatchObject({ status: 'invalid_ciec', invalid_reason: 'withdrawn' })
  expect((await entities(two))[0]).toMatchObject({ status: 'active' })
  expect((await two.ask('GET', '/v1/consents')).body.data[0].status).toBe('active')
  const [mine] = await entities(two)
  expect((await two.ask('GET', `/v1/cfdi?fiscal_entity_id=${mine.fiscal_entity_id}`)).body.data.length).toBeGreaterThan(0)
})
