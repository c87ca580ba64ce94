import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { EfirmaInput } from '../../src/authority/efirma/efirma.ts'
import { authorityKey, certificateOf, damaged, newKey, pem, subjectOf } from '../authority/support/certificates.ts'
import { callOf, ISSUED, later, losingMessages, subscriber, work } from '../downloads/support/downloads.ts'
import { factsOf } from '../platform/outbox/support/outbox-events.ts'
import { basic, request } from '../support/client.ts'
import { restore } from '../support/clock.ts'
import { audited, freshRfc, organization } from '../support/tenants.ts'
import { secretOf, watchLogins } from '../taxpayers/support/ciec.ts'
import { base64, efirmaOf, numberOf, PASSWORD, sharedKey } from '../taxpayers/support/efirmas.ts'

beforeEach(() => {
  later(0)
  losingMessages()
})

afterEach(restore)

const PATH = '/v1/fiscal-entities'

/** A connection with an e.firma, a CIEC or both, with what its organization does to it. */
async function linked(more: object | null = {}, ciec: string | null = null, rfc = freshRfc()) {
  const one = await subscriber(rfc, ISSUED, ciec, more === null ? {} : { efirma: efirmaOf(rfc), ...more })
  return {
    ...one,
    rfc,
    patch: async (changes: object) => one.ask('PATCH', one.path, changes),
    setActive: async (active: boolean) => one.ask('PATCH', `/v1/billing/rfcs/${one.fiscal_entity_id}`, { active }),
    expire: async (kind: 'ciec' | 'efirma' = 'efirma') => one.ask('POST', `/v1/test-helpers${one.path.slice(3)}/expire-${kind}`),
    row: async () =>
      (await env.DB.prepare('select * from connections where organization_id = ?').bind(one.id).first<Record<string, unknown>>())!,
    notified: async () => (await factsOf((await callOf(rfc)).entity, 'connection.ciec_invalid')).length,
    audits: async (action: string) => (await audited(one, `fiscal_entity.${action}`)).map(({ changed }) => changed),
    alerts: async (kind: string) => (await one.ask('GET', `/v1/alerts?kind=${kind}`)).body.data as { message: string; severity: string }[],
  }
}

const attempts = async ({ id }: { id: string }) =>
  (await env.DB.prepare('select state from ciec_attempts where organization_id = ?').bind(id).all<{ state: string }>()).results.map(
    ({ state }) => state,
  )

const SHOWN = {
  certificate_number: numberOf('0001'),
  valid_from: '2025-01-01T00:00:00.000Z',
  valid_to: '2029-01-01T00:00:00.000Z',
  days_to_expiry: 956,
}
const GONE = { efirma: null, efirma_number: null, efirma_valid_to: null, efirma_accepted_at: null, efirma_verify_at: null }

describe('connecting with an e.firma', () => {
  it('makes the connection active, shows its certificate, and downloads with it', async () => {
    const { used } = watchLogins()
    const one = await linked()
    expect(await one.entity()).toMatchObject({
      ...{ status: 'active', credential_kind: 'efirma', ciec_set: false, efirma: SHOWN, invalid_reason: null },
    })
    await one.run()
    await work(one.rfc)
    expect(new Set(used.map(secretOf))).toEqual(new Set([numberOf('0001')]))
    expect((await one.jobs()).every(({ status }) => status === 'succeeded')).toBe(true)
    expect((await one.page()).body.data.length).toBeGreaterThan(0)
    expect((await one.ask('GET', PATH)).body.data).toEqual([await one.entity()])
  })

  it('takes PEM and base64, beside a CIEC or instead of it; a draft has no credential kind', async () => {
    const rfc = freshRfc()
    const { certificate, ...files } = efirmaOf(rfc)
    const text = pem('CERTIFICATE', Uint8Array.fromBase64(certificate))
    const both = await linked({ efirma: { ...files, certificate: text } }, 'secreta1', rfc)
    expect(await both.entity()).toMatchObject({ credential_kind: 'both', ciec_set: true, efirma: SHOWN })
    expect(await (await linked(null, 'secreta1')).entity()).toMatchObject({ credential_kind: 'ciec', efirma: null })
    expect(await (await linked(null)).entity()).toMatchObject({ status: 'draft', credential_kind: null, efirma: null })
  })

  it('is of the RFC as the certificate writes it, with Ñ and &, and beside the one of who represents a company', async () => {
    const acme = await organization('enterprise_gold')
    const efirma = efirmaOf('x', { subject: subjectOf('ñ&A050908GT0 / VADA800927DJ3', 't61') })
    expect((await acme.ask('POST', PATH, { rfc: 'ñ&a-050908-gt0', efirma })).body).toMatchObject({ rfc: 'Ñ&A050908GT0', status: 'active' })
  })

  it('keeps certificate and key sealed for this connection, as an e.firma, and the password not at all', async () => {
    const one = await linked({}, 'secreta1')
    const row = await one.row()
    expect(row['efirma']).toMatch(/^1:[A-Za-z0-9+/=]+$/)
    const other = await linked()
    for (const [column, value] of [
      ['efirma', (await other.row())['efirma']],
      ['efirma', row['ciec']],
    ]) {
      await env.DB.prepare(`update connections set ${column} = ?1 where organization_id = ?2`).bind(value, one.id).run()
      expect([(await one.expire()).status, column]).toEqual([409, column])
    }
    await env.DB.prepare('update connections set efirma = ?1 where organization_id = ?2').bind(row['efirma'], one.id).run()
    expect((await one.expire()).status).toBe(200)
  })

  it('is audited by the names of its members', async () => {
    const one = await linked()
    await one.patch({ efirma: efirmaOf(one.rfc, { number: numberOf('0002') }), name: 'Uno' })
    expect([await one.audits('connected'), await one.audits('updated')]).toEqual([[['rfc', 'efirma']], [['efirma', 'name']]])
  })

  it('is repeated under an Idempotency-Key, whose fingerprint and answer hold nothing of it', async () => {
    const [acme, rfc] = [await organization(), freshRfc()]
    const efirma = efirmaOf(rfc)
    const headers = { authorization: basic(acme.owner), 'content-type': 'application/json', 'idempotency-key': 'efirma-1' }
    const send = (sent: EfirmaInput) => request('POST', PATH, { headers, body: JSON.stringify({ rfc, efirma: sent }) })
    const [first, again] = [await send(efirma), await send(efirma)]
    expect([first.status, again.body]).toEqual([201, first.body])
    expect((await send({ ...efirma, password: 'otra' })).status).toBe(422)
    const kept = JSON.stringify(
      (await env.DB.prepare('select * from idempotency_keys where organization_id = ?').bind(acme.id).all()).results,
    )
    for (const secret of [efirma.private_key, efirma.certificate.slice(0, 40), PASSWORD]) expect(kept).not.toContain(secret)
  })
})

describe('an e.firma is refused', () => {
  const RFC = freshRfc()
  const key = sharedKey()
  const certificate = (more: object = {}) => base64(certificateOf(key, { subject: subjectOf(RFC), ...more }))
  const day = (text: string) => new Date(`${text}T00:00:00Z`)
  const unencrypted = (one: typeof key) => base64(one.export({ format: 'der', type: 'pkcs8' }))

  it.each<[string, string, Partial<EfirmaInput> | (() => Partial<EfirmaInput>)]>([
    ['efirma.certificate_unreadable', 'certificate', { certificate: 'Canario' }],
    ['efirma.is_csd', 'certificate', { certificate: certificate({ subject: subjectOf(RFC, 'printable', [['2.5.4.11', 'Canario']]) }) }],
    ['efirma.without_rfc', 'certificate', { certificate: certificate({ subject: [['2.5.4.3', 'Canario']] }) }],
    ['efirma.other_rfc', 'certificate', { certificate: certificate({ subject: subjectOf('EKU9003173C9') }) }],
    ['efirma.not_yet_valid', 'certificate', { certificate: certificate({ from: day('2026-05-21'), to: day('2029-01-01') }) }],
    ['efirma.expired', 'certificate', { certificate: certificate({ to: day('2026-05-20') }) }],
    ['efirma.key_unreadable', 'private_key', { private_key: base64(new TextEncoder().encode('Canario')) }],
    ['efirma.key_unsupported', 'private_key', () => ({ private_key: base64(authorityKey(key, PASSWORD, { iterations: 1, stated: 0 })) })],
    [
      'efirma.key_iterations',
      'private_key',
      () => ({ private_key: base64(authorityKey(key, PASSWORD, { iterations: 1, stated: 100_000 })) }),
    ],
  ])(
    'with %s, naming %s: nothing is stored, opened or asked, it does not count, and the sentence repeats nothing',
    async (code, member, wrong) => {
      const acme = await organization('enterprise_gold')
      const { asked } = watchLogins()
      const efirma = { ...efirmaOf(RFC), ...(typeof wrong === 'function' ? wrong() : wrong) }
      for (let n = 0; n < 4; n++) {
        const { status, body } = await acme.ask('POST', PATH, { rfc: RFC, efirma })
        expect([status, body.code, body.errors]).toEqual([422, code, [{ path: `efirma.${member}`, message: expect.stringMatching(/\.$/) }]])
        expect(JSON.stringify(body)).not.toContain('Canario')
      }
      const draft = (await acme.ask('POST', PATH, { rfc: RFC })).body
      expect([(await acme.ask('PATCH', `${PATH}/${draft.fiscal_entity_id}`, { efirma, name: 'Otro' })).body.code, asked]).toEqual([
        code,
        [],
      ])
      expect((await acme.ask('GET', `${PATH}/${draft.fiscal_entity_id}`)).body).toMatchObject({
        status: 'draft',
        credential_kind: null,
        name: null,
      })
      expect(await audited(acme, 'fiscal_entity.efirma_refused')).toEqual([])
      expect(await attempts(acme)).toEqual([])
    },
  )

  it.each<[string, string, () => Partial<EfirmaInput>]>([
    ['efirma.wrong_password', 'password', () => ({ password: 'Canario' })],
    ['efirma.key_damaged', 'private_key', () => ({ private_key: base64(damaged(authorityKey(key, PASSWORD), -1)) })],
    ['efirma.key_mismatch', 'private_key', () => ({ private_key: unencrypted(newKey()) })],
  ])('with %s, naming %s, once it is opened: each is an attempt, audited, and the fourth is not opened', async (code, member, wrong) => {
    const [acme, rfc] = [await organization('enterprise_gold'), freshRfc()]
    const { asked } = watchLogins()
    const efirma = { ...efirmaOf(rfc), ...wrong() }
    for (let n = 0; n < 3; n++) {
      const { status, body } = await acme.ask('POST', PATH, { rfc, efirma })
      expect([status, body.code, body.errors]).toEqual([422, code, [{ path: `efirma.${member}`, message: expect.stringMatching(/\.$/) }]])
      expect(JSON.stringify(body)).not.toContain('Canario')
    }
    const { status, body } = await acme.ask('POST', PATH, { rfc, efirma: efirmaOf(rfc) })
    expect([status, body.code, body.detail]).toEqual([
      429,
      'fiscal_entity.ciec_attempts',
      {
        message: expect.stringMatching(/^3 e\.firmas that your organization sent .* Check the files and the password\. /),
        retry_after_seconds: 900,
      },
    ])
    expect([asked, (await acme.ask('GET', PATH)).body.data]).toEqual([[], []])
    expect(await audited(acme, 'fiscal_entity.efirma_refused')).toHaveLength(3)
    expect(await attempts(acme)).toEqual(Array(3).fill('refused'))
    // Its CIEC, and the e.firma of another RFC, are not held up.
    const other = freshRfc()
    expect((await acme.ask('POST', PATH, { rfc: other, efirma: efirmaOf(other) })).status).toBe(201)
    expect((await acme.ask('POST', PATH, { rfc, ciec: 'secreta1' })).status).toBe(201)
  })

  it('after 402, 404 and 409, which open nothing', async () => {
    const acme = await organization('starter')
    const rfc = freshRfc()
    const { fiscal_entity_id } = (await acme.ask('POST', PATH, { rfc })).body
    const efirma = { ...efirmaOf(rfc), password: 'Canario' }
    const answers = [
      await acme.ask('POST', PATH, { rfc, efirma }),
      await acme.ask('PATCH', `${PATH}/fe_01kabcdefghjkmnpqrstvwxyz0`, { efirma }),
    ]
    await acme.ask('POST', '/v1/test-helpers/organization', { plan: 'diagnostic', trial_ends_at: '2026-01-01T00:00:00Z' })
    answers.push(await acme.ask('PATCH', `${PATH}/${fiscal_entity_id}`, { efirma }))
    expect(answers.map(({ status }) => status)).toEqual([409, 404, 402])
    expect(await attempts(acme)).toEqual([])
  })

  it('beyond 600 that were opened within an hour, whatever became of them: others are not held up', async () => {
    const [acme, other] = [await organization('enterprise_gold'), await organization('enterprise_gold')]
    const [one, two] = [freshRfc(), freshRfc()]
    expect((await acme.ask('POST', PATH, { rfc: one, efirma: efirmaOf(one) })).status).toBe(201)
    expect(await attempts(acme)).toEqual([])
    const opened = env.COOLDOWNS.getByName(`hourly:efirmas:${acme.id}`)
    for (let n = 1; n < 600; n++) expect((await opened.acquire(3_600, Date.now(), 600)).acquired).toBe(true)
    later(60)
    const send = (of: typeof acme) => of.ask('POST', PATH, { rfc: two, efirma: efirmaOf(two) })
    const { status, body } = await send(acme)
    expect([status, body.code, body.detail.retry_after_seconds]).toEqual([429, 'organization.hourly_limit', 3_540])
    // A CIEC is another thing.
    expect((await acme.ask('POST', PATH, { rfc: two, ciec: 'rejected' })).body.code).toBe('fiscal_entity.ciec_rejected')
    expect((await send(other)).status).toBe(201)
    later(3_600)
    expect((await send(acme)).status).toBe(201)
  })

  it('by the shape of the body, before anything else: unknown, missing and other members', async () => {
    const acme = await organization('enterprise_gold')
    const { password: _, ...missing } = efirmaOf(RFC)
    for (const efirma of [missing, { ...efirmaOf(RFC), pin: '1' }, 'Canario', { ...efirmaOf(RFC), password: 1 }, [], null]) {
      const { status, body } = await acme.ask('POST', PATH, { rfc: RFC, efirma })
      expect([status, JSON.stringify(body).includes('Canario')]).toEqual([422, false])
    }
  })

  it.each(['0304', '0305'])(
    'by the authority, like the number %s in the sandbox: it is stored nowhere, audited, and counted apart from CIECs',
    async (end) => {
      const [acme, rfc] = [await organization('enterprise_gold'), freshRfc()]
      const refused = { rfc, efirma: efirmaOf(rfc, { number: numberOf(end) }) }
      const { status, body } = await acme.ask('POST', PATH, refused)
      expect([status, body.code, body.errors[0].path]).toEqual([422, 'fiscal_entity.efirma_rejected', 'efirma'])
      for (let n = 0; n < 2; n++) expect((await acme.ask('POST', PATH, refused)).status).toBe(422)
      for (const more of [refused, { rfc, efirma: efirmaOf(rfc) }])
        expect((await acme.ask('POST', PATH, more)).body.code).toBe('fiscal_entity.ciec_attempts')
      expect((await acme.ask('POST', PATH, { rfc, ciec: 'rejected' })).body.code).toBe('fiscal_entity.ciec_rejected')
      expect(await audited(acme, 'fiscal_entity.efirma_refused')).toEqual(
        Array(3).fill(expect.objectContaining({ resource_id: rfc, changed: ['efirma'] })),
      )
      expect((await acme.ask('GET', PATH)).body.data).toEqual([])
    },
  )

  it('in a batch, which opens what 400,000 iterations of PBKDF2 open and leaves the rest', async () => {
    const acme = await organization('enterprise_gold')
    const slow = base64(authorityKey(key, PASSWORD, { iterations: 10_000 }))
    const items = Array.from({ length: 42 }, () => freshRfc()).map((rfc) => ({
      rfc,
      efirma: { ...efirmaOf(rfc), private_key: slow, password: 'Canario' },
    }))
    const { status, body } = await acme.ask('POST', `${PATH}/batch`, { fiscal_entities: items })
    expect([status, body.counts]).toEqual([200, { connected: 0, already_connected: 0, refused: 40, not_attempted: 2 }])
    expect(new Set(body.data.slice(0, 40).map(({ refusal }: { refusal: { code: string } }) => refusal.code))).toEqual(
      new Set(['efirma.wrong_password']),
    )
    const bombs = items.map((item) => ({
      ...item,
      efirma: { ...item.efirma, private_key: base64(authorityKey(key, PASSWORD, { iterations: 1, stated: 100_000 })) },
    }))
    const { refused, not_attempted } = (await acme.ask('POST', `${PATH}/batch`, { fiscal_entities: bombs })).body.counts
    expect([refused, not_attempted, (await attempts(acme)).length]).toEqual([42, 0, 40])
  })

  it('or its CIEC is: of two, each must be accepted, and else neither is stored', async () => {
    const [acme, rfc] = [await organization('enterprise_gold'), freshRfc()]
    const good = efirmaOf(rfc)
    expect((await acme.ask('POST', PATH, { rfc, efirma: good, ciec: 'rejected' })).body.code).toBe('fiscal_entity.ciec_rejected')
    expect((await acme.ask('POST', PATH, { rfc, efirma: good, ciec: 'locked' })).status).toBe(503)
    const bad = efirmaOf(rfc, { number: numberOf('0304') })
    expect((await acme.ask('POST', PATH, { rfc, efirma: bad, ciec: 'secreta1' })).body.code).toBe('fiscal_entity.efirma_rejected')
    expect((await acme.ask('GET', PATH)).body.data).toEqual([])
    expect((await acme.ask('POST', PATH, { rfc, efirma: good, ciec: 'secreta1' })).body.credential_kind).toBe('both')
  })

  it('after 402, without asking the authority; a seat is taken as with a CIEC', async () => {
    const trial = await organization('diagnostic')
    const [first, second] = [freshRfc(), freshRfc()]
    const { asked } = watchLogins()
    expect((await trial.ask('POST', PATH, { rfc: first, efirma: efirmaOf(first) })).status).toBe(201)
    const { status, body } = await trial.ask('POST', PATH, { rfc: second, efirma: efirmaOf(second) })
    expect([status, body.code, asked.length]).toEqual([402, 'billing.trial_rfcs', 1])
    const draft = (await trial.ask('POST', PATH, { rfc: second })).body
    expect((await trial.ask('PATCH', `${PATH}/${draft.fiscal_entity_id}`, { efirma: efirmaOf(second) })).status).toBe(402)
    expect((await trial.ask('GET', '/v1/billing/rfcs')).body.data[0]).toMatchObject({ connection_status: 'active', seat_source: 'trial' })
  })
})

describe('changing and withdrawing', () => {
  it('an e.firma activates a draft, and a connection whose CIEC was refused, which goes', async () => {
    const draft = await linked(null)
    expect((await draft.patch({ efirma: efirmaOf(draft.rfc) })).body).toMatchObject({ status: 'active', credential_kind: 'efirma' })
    const one = await linked(null, 'secreta1')
    await one.expire('ciec')
    await one.run()
    await work(one.rfc)
    expect(await one.entity()).toMatchObject({ status: 'invalid_ciec', invalid_reason: 'rejected' })
    expect((await one.patch({ efirma: efirmaOf(one.rfc) })).body).toMatchObject({
      ...{ status: 'active', credential_kind: 'efirma', ciec_set: false, invalid_reason: null },
    })
    expect((await one.patch({ ciec: 'secreta2' })).body).toMatchObject({ status: 'active', credential_kind: 'both' })
  })

  it('null erases it: the last one makes the connection invalid_ciec, withdrawn; with a CIEC it goes on', async () => {
    const one = await linked({}, 'secreta1')
    expect((await one.patch({ efirma: null })).body).toMatchObject({ status: 'active', credential_kind: 'ciec', efirma: null })
    expect(await one.row()).toMatchObject(GONE)
    await one.patch({ efirma: efirmaOf(one.rfc) })
    expect((await one.patch({ ciec: null })).body).toMatchObject({ status: 'active', credential_kind: 'efirma' })
    expect((await one.patch({ efirma: null })).body).toMatchObject({
      ...{ status: 'invalid_ciec', credential_kind: null, invalid_reason: 'withdrawn' },
    })
    expect([await one.audits('efirma_withdrawn'), await one.audits('ciec_withdrawn'), await one.notified()]).toEqual([
      ...[[['efirma'], ['efirma']], [['ciec']], 0],
    ])
    expect((await one.page()).status).toBe(404)
  })

  it('null for both, in any state and whatever is owed, leaves nothing; a draft stays one', async () => {
    const one = await linked({}, 'secreta1')
    await one.setActive(false)
    await one.ask('POST', '/v1/test-helpers/invoices', { due_date: '2026-05-01' })
    expect((await one.patch({ ciec: null, efirma: null })).body).toMatchObject({ status: 'paused', invalid_reason: 'withdrawn' })
    expect(await one.row()).toMatchObject({ ...GONE, ciec: null, paused_from: 'invalid_ciec' })
    const draft = await linked(null)
    expect((await draft.patch({ efirma: null })).body).toMatchObject({ status: 'draft', invalid_reason: null })
  })

  it('one takes the place of the other in one request', async () => {
    const one = await linked(null, 'secreta1')
    expect((await one.patch({ ciec: null, efirma: efirmaOf(one.rfc) })).body).toMatchObject({ status: 'active', credential_kind: 'efirma' })
    expect((await one.patch({ ciec: 'secreta1', efirma: null })).body).toMatchObject({ status: 'active', credential_kind: 'ciec' })
  })

  it('unlinking erases it, and linking again revives the connection with its window', async () => {
    const one = await linked()
    await one.run()
    await work(one.rfc)
    const before = await one.entity()
    expect([(await one.ask('DELETE', one.path)).status, await one.row()]).toEqual([
      204,
      expect.objectContaining({ ...GONE, state: 'unlinked' }),
    ])
    const { body } = await one.ask('POST', PATH, { rfc: one.rfc, efirma: efirmaOf(one.rfc, { number: numberOf('0002') }) })
    expect(body).toMatchObject({
      ...{ fiscal_entity_id: one.fiscal_entity_id, status: 'active', visible_from: before.visible_from, credential_kind: 'efirma' },
    })
  })

  it('withdrawn while the other one is refused, it leaves no connection active without any', async () => {
    const one = await linked({}, 'secreta1')
    await one.expire('ciec')
    const { beforeCommit } = await import('../support/commits.ts')
    const { refusedNow } = await import('../taxpayers/support/ciec.ts')
    const met = beforeCommit(() => refusedNow(one.rfc, 'secreta1'))
    expect((await one.patch({ efirma: null })).body).toMatchObject({
      status: 'invalid_ciec',
      credential_kind: null,
      invalid_reason: 'withdrawn',
    })
    expect(met()).toBe(1)
  })
})

describe('pausing and resuming', () => {
  it('the authority is asked about both; when it accepts one, the connection is active with that one', async () => {
    const one = await linked({}, 'secreta1')
    await one.setActive(false)
    await one.expire('efirma')
    const { asked } = watchLogins()
    expect((await one.setActive(true)).body).toMatchObject({ active: true })
    expect(asked.map(secretOf)).toEqual([numberOf('0001'), 'secreta1'])
    expect(await one.entity()).toMatchObject({ status: 'active', credential_kind: 'ciec', efirma: null })
    expect([(await one.alerts('connection.login_refused')).map(({ message }) => message), await one.notified()]).toEqual([
      [`The tax authority refused the e.firma ${numberOf('0001')} of ${one.rfc}, and it was erased. Downloads go on with the CIEC.`],
      0,
    ])
  })

  it('when it refuses the only one, the status is invalid_ciec, efirma_refused, with the event of a CIEC', async () => {
    const one = await linked()
    await one.setActive(false)
    await one.expire()
    expect((await one.setActive(true)).body).toMatchObject({ active: false, connection_status: 'invalid_ciec' })
    expect(await one.entity()).toMatchObject({ status: 'invalid_ciec', invalid_reason: 'efirma_refused', efirma: SHOWN })
    expect([await one.notified(), await one.audits('efirma_invalid')]).toEqual([1, [['status']]])
  })

  it('without an answer about one, the other suffices; without any, it stays paused with 503', async () => {
    const one = await linked({}, 'secreta1')
    await one.setActive(false)
    vi.spyOn(console, 'error').mockImplementation(() => {})
    let silent = ['secreta1', numberOf('0001')]
    watchLogins((login) => (silent.includes(secretOf(login)) ? 'unavailable' : undefined))
    expect([(await one.setActive(true)).status, (await one.entity()).status]).toEqual([503, 'paused'])
    silent = ['secreta1']
    expect((await one.setActive(true)).body).toMatchObject({ active: true })
    expect(await one.row()).toMatchObject({ efirma_verify_at: null, ciec_verify_at: expect.any(Number) })
  })

  it('an e.firma that expired meanwhile is not asked about: efirma_expired', async () => {
    const rfc = freshRfc()
    const one = await linked({ efirma: efirmaOf(rfc, { to: new Date('2026-05-21T00:00:00Z') }) }, null, rfc)
    await one.setActive(false)
    later(86_400)
    const { asked } = watchLogins()
    expect((await one.setActive(true)).body).toMatchObject({ connection_status: 'invalid_ciec' })
    expect(await one.entity()).toMatchObject({ invalid_reason: 'efirma_expired', efirma: { days_to_expiry: -1 } })
    expect([asked, await one.notified()]).toEqual([[], 1])
  })
})
