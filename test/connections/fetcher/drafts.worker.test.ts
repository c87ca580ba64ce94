import { createExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { fetcherClient } from '../../../scripts/fetcher/client.ts'
import { app } from '../../../src/app/app.ts'
import { relayOutbox } from '../../../src/delivery/relay/relay.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { loginVersionOf, rejectLogin } from '../../../src/taxpayers/login-answers.ts'
import { unverifiedEntities } from '../../../src/taxpayers/verification.ts'
import { makeEfirma } from '../../../tools/stand-in/certificates.ts'
import { newAuthority, sendTo } from '../../../tools/stand-in/stand-in.ts'
import { callOf, ISSUED, subscriber } from '../../downloads/support/downloads.ts'
import { audited, freshRfc, type Organization, organization } from '../../support/tenants.ts'
import { efirmaLogin, efirmaOf } from '../../taxpayers/support/efirmas.ts'
import { askOf, FETCHER_KEY, withFetcher, withoutFetcher } from './support/deployment.ts'

const PATH = '/v1/fiscal-entities'
const codes = (body: { warnings: { code: string }[] }): string[] => body.warnings.map(({ code }) => code)
const ask = (of: Organization, method: string, path: string, json?: unknown) => askOf(withoutFetcher, of.owner, method, path, json)

describe('a CIEC where only web services are spoken', () => {
  it('is stored with a draft, whose warnings say what is missing; nothing is downloaded or shown with it', async () => {
    const acme = await organization()
    const rfc = freshRfc()
    const made = await ask(acme, 'POST', PATH, { rfc, ciec: 'deCanario1' })
    expect(made).toMatchObject({ status: 201, body: { status: 'draft', ciec_set: true, credential_kind: 'ciec', invalid_reason: null } })
    expect(codes(made.body)).toEqual(['ciec.no_fetcher'])
    expect(JSON.stringify(made.body)).not.toContain('Canario')
    const path = `${PATH}/${made.body.fiscal_entity_id}`
    const sync = await ask(acme, 'GET', `${path}/sync`)
    expect(sync.body).toMatchObject({ state: 'blocked', next_attempt_at: null, error_class: null })
    expect([sync.body.summary, sync.body.message_es]).toEqual([
      'The CIEC is stored, and nothing is downloaded with it: this deployment has no fetcher, which alone can log in with a CIEC at the portal of the tax authority. Send a valid e.firma with PATCH /v1/fiscal-entities/{fiscal_entity_id}.',
      'La CIEC está guardada, pero no se descarga nada con ella: este servicio no tiene el programa que inicia sesión en el portal del SAT con una CIEC. Envíe una e.firma válida para reanudar las descargas.',
    ])
    expect((await askOf(withFetcher, acme.owner, 'GET', `${path}/sync`)).body).toMatchObject({ state: 'waiting' })
    expect((await ask(acme, 'GET', path)).body).toEqual(made.body)
    expect((await ask(acme, 'GET', `/v1/cfdi?fiscal_entity_id=${made.body.fiscal_entity_id}`)).status).toBe(404)
    expect(await env.DB.prepare('select count(*) as n from runs where organization_id = ?').bind(acme.id).first('n')).toBe(0)
  })

  it('is asked about by no sweep, which would ask in vain every minute', async () => {
    const acme = await organization()
    const rfc = freshRfc()
    await ask(acme, 'POST', PATH, { rfc, ciec: 'deAna1' })
    const { entity } = await callOf(rfc)
    const due = await unverifiedEntities(systemOf(withoutFetcher, new Date(), 'req_test'), 10_000)
    expect(due.map((one) => one.entity)).not.toContain(entity)
  })

  it('is erased by null, and a draft stays one', async () => {
    const acme = await organization()
    const made = (await ask(acme, 'POST', PATH, { rfc: freshRfc(), ciec: 'deAna1' })).body
    const left = await ask(acme, 'PATCH', `${PATH}/${made.fiscal_entity_id}`, { ciec: null })
    expect(left.body).toMatchObject({ status: 'draft', ciec_set: false, warnings: [] })
  })

  it('can be given to a draft later, which stays one, and a second time', async () => {
    const acme = await organization()
    const made = (await ask(acme, 'POST', PATH, { rfc: freshRfc() })).body
    for (const ciec of ['deAna1', 'deAna2']) {
      const given = await ask(acme, 'PATCH', `${PATH}/${made.fiscal_entity_id}`, { ciec })
      expect([given.status, given.body.status, given.body.ciec_set, codes(given.body)]).toEqual([200, 'draft', true, ['ciec.no_fetcher']])
    }
  })
})

describe('a CIEC with which nobody can log in any more', () => {
  /** A connection that another deployment activated, with a CIEC and perhaps an e.firma. */
  async function active(hasEfirma: boolean) {
    const rfc = freshRfc()
    const acme = await subscriber(rfc, ISSUED, 'deCanario1', hasEfirma ? { efirma: efirmaOf(rfc) } : {})
    expect(await acme.entity()).toMatchObject({ status: 'active', warnings: [] })
    const of = (deployment: Env) => ({
      ask: (method: string, path: string, json?: unknown) => askOf(deployment, acme.owner, method, path, json),
      run: async () => (await askOf(deployment, acme.owner, 'POST', `/v1/extractors/${acme.extractor_id}/run`)).body,
    })
    return { rfc, path: acme.path, of }
  }

  it('downloads nothing and fails nothing, and the warning says why; with a fetcher the runs go on', async () => {
    const { path, of } = await active(false)
    const without = of(withoutFetcher)
    const { body } = await without.ask('GET', path)
    expect([body.status, codes(body)]).toEqual(['active', ['ciec.no_fetcher']])
    expect((await without.ask('GET', `${path}/sync`)).body).toMatchObject({ state: 'blocked', connection_status: 'active' })
    const before = (await without.ask('GET', `${path}/sync-jobs?limit=100`)).body.data
    expect(await without.run()).toMatchObject({ status: 'no_connections', connections: 0 })
    expect((await without.ask('GET', `${path}/sync-jobs?limit=100`)).body.data).toEqual(before)
    expect(codes((await of(withFetcher).ask('GET', path)).body)).toEqual([])
    expect(await of(withFetcher).run()).toMatchObject({ status: 'dispatched', connections: 1 })
  })

  it('is no login to go on with when the e.firma is withdrawn: the connection says that it has none, and keeps the CIEC', async () => {
    const [one, other] = [await active(true), await active(true)]
    const left = await one.of(withoutFetcher).ask('PATCH', one.path, { efirma: null })
    expect(left.body).toMatchObject({ status: 'invalid_ciec', invalid_reason: 'withdrawn', credential_kind: 'ciec', ciec_set: true })
    expect(codes(left.body)).toEqual(['ciec.no_fetcher'])
    expect(await one.of(withoutFetcher).run()).toMatchObject({ status: 'no_connections' })
    const kept = await other.of(withFetcher).ask('PATCH', other.path, { efirma: null })
    expect(kept.body).toMatchObject({ status: 'active', credential_kind: 'ciec', warnings: [] })
  })

  it('is none when the tax authority refuses the e.firma', async () => {
    const { rfc, path, of } = await active(true)
    const [login, { entity }] = [await efirmaLogin(rfc, '0001'), await callOf(rfc)]
    const system = systemOf(withoutFetcher, new Date(), 'req_test')
    await rejectLogin(system, entity, { login, version: await loginVersionOf(system, login) })
    const { body } = await of(withoutFetcher).ask('GET', path)
    expect(body).toMatchObject({ status: 'invalid_ciec', invalid_reason: 'efirma_refused', credential_kind: 'both' })
    expect(codes(body)).toEqual(['ciec.no_fetcher'])
    const { summary, message_es } = (await of(withoutFetcher).ask('GET', `${path}/sync`)).body
    expect([summary, message_es].map((text) => /Send a valid e\.firma with|Envíe una e\.firma válida/.test(text))).toEqual([true, true])
    await relayOutbox(system, 'control')
    const [alert] = (await of(withoutFetcher).ask('GET', '/v1/alerts')).body.data
    expect(alert).toMatchObject({ kind: 'connection.invalid', message: expect.stringContaining('has no valid e.firma, and nothing') })
    const notified = (await of(withoutFetcher).ask('GET', '/v1/events?event_key=connection.ciec_invalid')).body.data
    expect(notified).toEqual([expect.objectContaining({ invalid_reason: 'efirma_refused' })])
  })
})

describe('what is stored and not sent', () => {
  const asked = sendTo(newAuthority())
  const [none, one] = [withoutFetcher, withFetcher].map((of) => ({ ...of, EGRESS: { fetch: asked } }) as unknown as Env) as [Env, Env]

  /** A connection of an RFC, in the deployment without a fetcher unless another one is said, and what refuses its logins. */
  async function connected(has: { ciec: string | null; efirma?: boolean }) {
    const rfc = freshRfc()
    const acme = await subscriber(rfc, ISSUED, has.ciec, has.efirma ? { efirma: efirmaOf(rfc) } : {})
    const { entity } = await callOf(rfc)
    const system = systemOf(none, new Date(), 'req_test')
    return {
      ...{ rfc, acme },
      patch: async (json: object, of = none) => (await askOf(of, acme.owner, 'PATCH', acme.path, json)).body,
      refuse: async (kind: 'ciec' | 'efirma') => {
        const login = kind === 'ciec' ? { rfc, ciec: has.ciec! } : await efirmaLogin(rfc, '0001')
        await rejectLogin(system, entity, { login, version: await loginVersionOf(system, login) })
      },
      another: () => makeEfirma(rfc, { number: '30001000000500000002' }),
    }
  }
  const given = ({ certificate, private_key, password }: ReturnType<typeof makeEfirma>) => ({
    efirma: { certificate, private_key, password },
  })
  const BOTH = { status: 'active', credential_kind: 'both', ciec_set: true, invalid_reason: null }

  it('stays when an e.firma makes an invalid connection active: the CIEC, given before or after its e.firma was refused', async () => {
    const before = await connected({ ciec: 'deAna1', efirma: true })
    await before.refuse('efirma')
    const both = await before.patch(given(before.another()))
    expect(both).toMatchObject(BOTH)
    expect(both.warnings[0].message).toContain('there is nothing to do')
    const after = await connected({ ciec: null, efirma: true })
    await after.refuse('efirma')
    expect(await after.patch({ ciec: 'deAna1' })).toMatchObject({ status: 'invalid_ciec', credential_kind: 'both' })
    expect(await after.patch(given(after.another()))).toMatchObject({ ...BOTH, efirma: { certificate_number: '30001000000500000002' } })
  })

  it('stays when what was withdrawn is sent again', async () => {
    const { patch, another } = await connected({ ciec: 'deAna1', efirma: true })
    expect(await patch({ efirma: null })).toMatchObject({ status: 'invalid_ciec', invalid_reason: 'withdrawn', credential_kind: 'ciec' })
    expect(await patch(given(another()))).toMatchObject(BOTH)
  })

  it('goes when it was refused, which the audit says, and not another one that was given since', async () => {
    const refused = await connected({ ciec: 'deAna1' })
    await refused.refuse('ciec')
    // Withdrawing what is not there does not hide why the connection is invalid.
    expect(await refused.patch({ efirma: null })).toMatchObject({ invalid_reason: 'rejected' })
    expect(await refused.patch(given(refused.another()))).toMatchObject({ status: 'active', credential_kind: 'efirma', ciec_set: false })
    expect((await audited(refused.acme, 'fiscal_entity.updated')).at(-1)?.changed).toEqual(['efirma', 'ciec'])
    const since = await connected({ ciec: 'deAna1' })
    await since.refuse('ciec')
    expect(await since.patch({ ciec: 'deAna2' })).toMatchObject({ status: 'invalid_ciec', invalid_reason: 'rejected' })
    expect(await since.patch(given(since.another()))).toMatchObject(BOTH)
  })

  it('goes with a CIEC that the fetcher finds right when it was the refused e.firma', async () => {
    const { patch, refuse, acme } = await connected({ ciec: null, efirma: true })
    await refuse('efirma')
    await env.DB.prepare('update connections set ciec_verify_at = null where ciec_verify_at is not null').run()
    expect(await patch({ ciec: 'deAna1' }, one)).toMatchObject({ status: 'invalid_ciec', credential_kind: 'both' })
    const client = fetcherClient('https://api.test', `1:${FETCHER_KEY.toBase64()}`, async (request) =>
      app.fetch(request, one, createExecutionContext()),
    )
    await client.complete((await client.lease())!, { metadata: 0, xml: 0 })
    expect((await askOf(one, acme.owner, 'GET', acme.path)).body).toMatchObject({ status: 'active', credential_kind: 'ciec' })
  })
})
