import { env } from 'cloudflare:workers'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { checksum } from '../../src/accounts/credentials/key.ts'
import { tick } from '../../src/app/schedule.ts'
import { authorityKey } from '../authority/support/certificates.ts'
import { destinationsOver } from '../copies/support/destinations.ts'
import { basic, type Caller } from '../support/client.ts'
import { freshRfc } from '../support/tenants.ts'
import { type Answer, essence, json, type Sent, send } from '../support/wire.ts'
import { quiet, xml } from '../support/world.ts'
import { base64, efirmaOf, numberOf, sharedKey } from '../taxpayers/support/efirmas.ts'
import { everythingKept, formsOf, leakedIn, type Secret, wiretap } from './support/canaries.ts'

const tap = wiretap()
afterAll(() => tap.stop())

/** What nobody may ever read again. Characters that every encoding writes in its own way. */
const texts: Record<string, string> = {
  'the first CIEC': 'Canario "uno" ñ/+&\\1',
  'the second CIEC': 'Canario <dos> é?=%2',
  'a refused CIEC': 'rejected Canario tres~ü',
  'a misplaced CIEC': 'Canario {cuatro}@ó#4',
  'an S3 secret': 'Canario/cinco+secreto=5',
  'an S3 token': 'Canario//seis+token&6==',
  'another S3 secret': 'Canario/siete+secreto=7',
  'an account key': btoa('Canario ocho: llave'),
  'a shared access signature': 'sv=2021-12-02&sp=rcwd&sig=CanarioNueve%2Bw%3D',
  'a private key': 'Q2FuYXJpbyBkaWV6OiBsbGF2ZSBwcml2YWRh',
  'a refresh token': '0.Canario-once~refresco_11',
  'a client secret': 'Canario~doce.cliente-12',
  'a misplaced storage secret': 'Canario/trece?x=13',
  'the password of an e.firma': 'Canario "catorce" ñ/+&\\14',
  'a wrong password of an e.firma': 'Canario <quince> ó?=%15',
}
/** The same, and what signs deliveries, as text, as the bytes that it encodes, and as the digests that are kept of both. */
const canaries: Record<string, Secret> = texts
const answers: { what: string; answer: Answer }[] = []
const shown: Record<string, Answer> = {}
const broken: Answer[] = []
/** Answers of a Worker whose settings cannot be used. */
const misconfigured: Answer[] = []
/** The same, answered again to who asked with the same Idempotency-Key. */
const again: Record<string, Answer> = {}

async function ask(what: string, caller: Caller | undefined, method: string, path: string, sent: Sent = {}): Promise<Answer> {
  const answer = await send(method, path, { ...(caller && { authorization: basic(caller) }), ...sent })
  answers.push({ what, answer })
  return answer
}

const said = ({ text, headers }: Answer): string => `${text} ${JSON.stringify([...headers])}`

let owner: Caller
let entity: string

beforeAll(async () => {
  shown['the owner’s secret'] = await ask(
    'sign-up',
    undefined,
    'POST',
    '/v1/auth/signup',
    json({ organization_name: 'Uno', name: 'Ana', email: 'ana@example.com' }),
  )
  owner = shown['the owner’s secret'].body.credential
  shown['the admin’s secret'] = await ask('a credential', owner, 'POST', '/v1/credentials', json({ name: 'x', role: 'admin' }))
  const admin: Caller = shown['the admin’s secret'].body
  Object.assign(texts, { 'the owner’s secret': owner.api_secret, 'the admin’s secret': admin.api_secret })
  await sealed(admin)
  await journey(admin)
  await signers(admin)
  await signing(admin)
  await mirroring(admin)
  await misuse(admin)
  await breakage()
  await quiet()
}, 120_000)

/** Answers that hold a secret and are kept: each is asked for twice with one key. */
async function sealed(admin: Caller): Promise<void> {
  const twice = async (name: string, path: string, body: object, secretOf: (body: Record<string, string>) => string | undefined) => {
    const { headers, ...sent } = json(body)
    const keyed = { ...sent, headers: { ...headers, 'idempotency-key': `secret ${name}` } }
    shown[name] = await ask(name, admin, 'POST', path, keyed)
    texts[name] = secretOf(shown[name].body)!
    again[name] = await ask(`${name}, again`, admin, 'POST', path, keyed)
    expect([again[name].status, again[name].headers.get('idempotency-replayed')]).toEqual([201, 'true'])
  }
  await twice('a secret under a key', '/v1/credentials', { name: 'y', role: 'member' }, ({ api_secret }) => api_secret)
  await twice('a token', '/v1/team/members/invite', { email: 'bea@example.com', role: 'member' }, ({ token }) => token)
  const token = texts['a token']!
  await ask('a token where it does not belong', admin, 'POST', '/v1/team/members/invite', json({ email: token, role: token }))
  await ask('a token as a credential', undefined, 'GET', '/v1/organization', { authorization: `Bearer ${token}` })
  await ask('a token with a wrong name', undefined, 'POST', '/v1/auth/invitations/accept', json({ token, name: '' }))
  shown['a member’s secret'] = await ask('joining', undefined, 'POST', '/v1/auth/invitations/accept', json({ token, name: 'Bea' }))
  texts['a member’s secret'] = shown['a member’s secret'].body.credential.api_secret
  await ask('joining again', undefined, 'POST', '/v1/auth/invitations/accept', json({ token, name: 'Bea' }))
  await ask('the team', admin, 'GET', '/v1/team/members')
}

/** What customers do with secrets, from the first connection to the last. */
async function journey(admin: Caller): Promise<void> {
  await ask('a plan', owner, 'POST', '/v1/test-helpers/organization', json({ plan: 'enterprise_gold' }))
  const extractors = (await ask('the extractors', owner, 'GET', '/v1/extractors')).body as { extractor_id: string }[]
  for (const { extractor_id } of extractors) await ask('one less', owner, 'DELETE', `/v1/extractors/${extractor_id}`)
  // A month is as good as three years to look for secrets in.
  const extractor = {
    name: 'x',
    trigger_kind: 'schedule',
    schedule_kind: 'daily',
    scope: 'last_n_months',
    scope_months: 1,
    data_source_keys: ['sat_cfdi_issued'],
  }
  await ask('an extractor', admin, 'POST', '/v1/extractors', json(extractor))
  const rfc = freshRfc()
  const connected = await ask('connecting', admin, 'POST', '/v1/fiscal-entities', json({ rfc, ciec: texts['the first CIEC'] }))
  entity = connected.body.fiscal_entity_id
  const path = `/v1/fiscal-entities/${entity}`
  const until = (where: string, status: string) =>
    vi.waitUntil(async () => (await send('GET', where, { authorization: basic(owner) })).body.status === status, {
      timeout: 30_000,
      interval: 50,
    })
  const settled = () => until(`${path}/sync`, 'idle')
  await settled()
  await ask('expiring', owner, 'POST', `/v1/test-helpers/fiscal-entities/${entity}/expire-ciec`)
  // What was downloaded a moment ago is not downloaded again, so that nobody would log in.
  const received = { ...extractor, data_source_keys: ['sat_cfdi_received'] }
  const { body } = await ask('another extractor', admin, 'POST', '/v1/extractors', json(received))
  await ask('a run whose login fails', admin, 'POST', `/v1/extractors/${body.extractor_id}/run`)
  await until(path, 'invalid_ciec')
  await ask('the same CIEC again', admin, 'PATCH', path, json({ ciec: texts['the first CIEC'] }))
  await ask('a refused CIEC', admin, 'PATCH', path, json({ ciec: texts['a refused CIEC'] }))
  expect((await ask('a new CIEC', admin, 'PATCH', path, json({ ciec: texts['the second CIEC'] }))).body.status).toBe('active')
  await settled()
  await ask('an import', admin, 'POST', `${path}/cfdi/imports`, { headers: { 'content-type': 'application/xml' }, body: xml })
  for (const list of [
    '/v1/organization',
    '/v1/credentials',
    '/v1/audit-events',
    '/v1/extractors',
    '/v1/fiscal-entities',
    path,
    `${path}/sync`,
    `${path}/sync-jobs`,
    `${path}/documents`,
    `/v1/cfdi?fiscal_entity_id=${entity}`,
    '/v1/openapi.json',
  ])
    await ask(`reading ${list}`, owner, 'GET', list)
  await tick({ cron: '* * * * *', scheduledTime: Date.now(), noRetry() {} } as ScheduledController, env)
}

/** What customers do with e.firmas: connect, give wrong ones, change, and give them where they do not belong. */
async function signers(admin: Caller): Promise<void> {
  const rfc = freshRfc()
  const password = texts['the password of an e.firma']!
  const [from, to] = [-1, 400].map((days) => new Date(Date.now() + days * 86_400_000)) as [Date, Date]
  const good = { ...efirmaOf(rfc, { from, to }), private_key: base64(authorityKey(sharedKey(), password, { iterations: 100 })), password }
  // Parts of the key and of its file stand for all of them.
  Object.assign(canaries, {
    'the key of an e.firma': new Uint8Array(sharedKey().export({ format: 'der', type: 'pkcs8' })).slice(400, 448),
    'the key file of an e.firma': Uint8Array.fromBase64(good.private_key).slice(400, 448),
  })
  const wrong = { ...good, password: texts['a wrong password of an e.firma'] }
  const refused = { ...good, certificate: efirmaOf(rfc, { from, to, number: numberOf('0304') }).certificate }
  const connect = (what: string, body: object) => ask(what, admin, 'POST', '/v1/fiscal-entities', json(body))
  expect((await connect('a wrong password', { rfc, efirma: wrong })).body.code).toBe('efirma.wrong_password')
  expect((await connect('a refused e.firma', { rfc, efirma: refused })).body.code).toBe('fiscal_entity.efirma_rejected')
  const { headers, ...sent } = json({ rfc, efirma: good })
  const keyed = { ...sent, headers: { ...headers, 'idempotency-key': 'e.firma' } }
  const { body } = await ask('an e.firma', admin, 'POST', '/v1/fiscal-entities', keyed)
  await ask('an e.firma again', admin, 'POST', '/v1/fiscal-entities', keyed)
  const path = `/v1/fiscal-entities/${body.fiscal_entity_id}`
  await vi.waitUntil(async () => (await send('GET', `${path}/sync`, { authorization: basic(owner) })).body.status === 'idle', {
    timeout: 30_000,
    interval: 50,
  })
  for (const efirma of [
    wrong,
    refused,
    { ...good, private_key: `${good.private_key}=` },
    { ...good, [password.slice(0, 7)]: password },
    password,
    [good],
  ])
    await ask('a wrong e.firma', admin, 'PATCH', path, json({ efirma }))
  for (const more of [
    { name: good.private_key },
    { ciec: [password] },
    { private_key: good.private_key },
    { data_source_keys: [password] },
  ])
    await ask('an e.firma where it does not belong', admin, 'PATCH', path, json(more))
  await ask('a refusal to come', owner, 'POST', `/v1/test-helpers${path.slice(3)}/expire-efirma`)
  for (let after = 0; after < 12; after++) {
    const answer = await ask('DB breaks', admin, 'PATCH', path, { ...json({ efirma: good }), env: failing('DB', after), breaks: true })
    if (answer.status >= 500) broken.push(answer)
  }
  for (const list of [path, '/v1/fiscal-entities', '/v1/audit-events', '/v1/alerts']) await ask(`reading ${list}`, owner, 'GET', list)
}

const HOOK = { name: 'ERP', url: 'https://hooks.example.com/in', event_keys: ['sync.completed'] }

/** A secret that signs is shown: from here on nobody may read it, nor what is kept of it. */
async function plant(name: string, answer: Answer): Promise<string> {
  const { signing_secret } = answer.body as { signing_secret: string }
  const bytes = Uint8Array.fromBase64(signing_secret.replace('whsec_', ''))
  const digest = async (of: Uint8Array) => new Uint8Array(await crypto.subtle.digest('SHA-256', of))
  Object.assign(shown, { [name]: answer, [`the bytes of ${name}`]: answer })
  Object.assign(canaries, {
    [name]: signing_secret,
    [`the bytes of ${name}`]: bytes,
    [`the first digest of ${name}`]: await digest(new TextEncoder().encode(signing_secret)),
    [`the second digest of ${name}`]: await digest(bytes),
  })
  return answer.body.webhook_id
}

/** What customers do with webhooks: create, try, rotate, look into the log; and one whose secret cannot be opened any more. */
async function signing(admin: Caller): Promise<void> {
  const webhook_id = await plant('the signing secret', await ask('a webhook', admin, 'POST', '/v1/webhooks', json(HOOK)))
  const path = `/v1/webhooks/${webhook_id}`
  await ask('a test', admin, 'POST', `${path}/test`)
  await plant('the next signing secret', await ask('a rotation', admin, 'POST', `${path}/rotate-secret`))
  await ask('a change', admin, 'PATCH', path, json({ name: 'Otro', url: 'https://hooks.example.com/otro' }))
  await ask('a commit', admin, 'POST', `${path}/rotate-secret/commit`)
  const second = await plant('another signing secret', await ask('a webhook', admin, 'POST', '/v1/webhooks', json(HOOK)))
  await env.EVENTS_0.prepare("update webhooks set digests = json_set(digests, '$.a', '9:AAAA') where webhook_id = ?").bind(second).run()
  await ask('a test that cannot be signed', admin, 'POST', `/v1/webhooks/${second}/test`)
  await ask('a commit of nothing', admin, 'POST', `${path}/rotate-secret/commit`)
  await quiet()
  for (const list of [
    '/v1/webhooks',
    path,
    `${path}/deliveries`,
    '/v1/webhooks/event-catalog',
    '/v1/events',
    '/v1/alerts',
    '/v1/audit-events',
  ])
    await ask(`reading ${list}`, owner, 'GET', list)
  const secret = canaries['the signing secret'] as string
  for (const wrong of [`/v1/webhooks/${secret}`, `/v1/webhooks?cursor=${secret}`, `/v1/events?event_key=${secret}`, `/v1/events/${secret}`])
    await ask('a secret where it does not belong', owner, 'GET', wrong)
  for (const body of [
    { ...HOOK, signing_secret: secret },
    { ...HOOK, url: `https://u:${secret}@hooks.example.com/` },
    { ...HOOK, event_keys: [secret] },
  ])
    await ask('a secret in a wrong body', owner, 'POST', '/v1/webhooks', json(body))
  for (const name of ['DB', 'WEBHOOKS'] as const)
    for (let after = 0; after < 6; after++) {
      const sent = { env: failing(name, after), breaks: true }
      for (const [method, where, body] of [
        ['POST', '/v1/webhooks', HOOK],
        ['POST', `${path}/rotate-secret`, undefined],
        ['POST', `${path}/test`, undefined],
        ['POST', `${path}/deliveries/redeliver`, { since: '2026-01-01T00:00:00Z' }],
      ] as const) {
        const answer = await ask(`${name} breaks`, owner, method, where, { ...(body && json(body)), ...sent })
        if (answer.status >= 500) broken.push(answer)
      }
    }
}

/** What customers do with storage, of every kind, with a provider that repeats what it is sent and refuses it. */
async function mirroring(admin: Caller): Promise<void> {
  const all = Object.values(texts).join(' ')
  destinationsOver(async (url, init) => {
    const repeated = `${url} ${JSON.stringify([...new Headers(init?.headers)])} ${all}`
    const text = `<Error><Code>AccessDenied</Code><Message>${repeated}</Message></Error>`
    return new Response(text, { status: 403, statusText: 'Forbidden', headers: { 'x-ms-error-code': 'AuthenticationFailed' } })
  })
  const PEM = ['PRIVATE KEY-----', 'PRIVATE KEY-----']
  const s3 = { access_key_id: 'AKIDCANARIO', secret_access_key: texts['an S3 secret'], session_token: texts['an S3 token'] }
  const service_account = {
    client_email: 'copia@example.iam.gserviceaccount.com',
    private_key: `-----BEGIN ${PEM[0]}\n${texts['a private key']}\n-----END ${PEM[1]}\n`,
  }
  const oauth = { client_id: 'cliente', client_secret: texts['a client secret'], refresh_token: texts['a refresh token'] }
  const azure = { account: 'fiscalarchive', container: 'cfdi' }
  const paths: string[] = []
  for (const [provider, config, credentials] of [
    ['s3', { bucket: 'fiscal' }, s3],
    ['azure_blob', azure, { account_key: texts['an account key'] }],
    ['azure_blob', { ...azure, container: 'otro' }, { sas_token: `?${texts['a shared access signature']}` }],
    ['google_drive', { folder_id: 'carpeta' }, { service_account }],
    ['google_drive', { folder_id: 'otra' }, oauth],
    ['onedrive', {}, oauth],
  ] as const) {
    const { body } = await ask(`a ${provider}`, admin, 'POST', '/v1/storage-connectors', json({ name: 'x', provider, config, credentials }))
    const path = `/v1/storage-connectors/${body.connector_id}`
    paths.push(path)
    expect((await ask(`a test of ${provider}`, admin, 'POST', `${path}/test`)).body.ok).toBe(false)
    await ask(`a backfill to ${provider}`, admin, 'POST', `${path}/backfill`)
  }
  const [first, , third] = paths
  const second = { ...s3, secret_access_key: texts['another S3 secret'] }
  const changes = { name: 'y', credentials: second, connector_status: 'active' }
  expect((await ask('other credentials', admin, 'PATCH', first!, json(changes))).status).toBe(200)
  await ask('a server of somebody else', admin, 'PATCH', third!, json({ config: { account: 'otracuenta' } }))
  const secret = texts['a misplaced storage secret']!
  for (const body of [
    { credentials: { ...s3, secret_access_key: [secret] } },
    { credentials: { ...s3, secret_access_key: `${secret} ${secret}` } },
    { credentials: { ...s3, [secret.slice(0, 7)]: secret } },
    { credentials: secret },
    { config: { bucket: secret } },
    { config: { endpoint: `https://u:${secret}@s3.example.com` } },
    { config: { endpoint: `https://s3.example.com/?${secret}` } },
    { config: { prefix: `${secret}/..` } },
    { config: { path_template: `{rfc}/{uuid}/${secret}` } },
    { scope: { kinds: [secret] } },
    { connector_status: secret },
  ]) {
    await ask('a secret in a wrong change', admin, 'PATCH', first!, json(body))
    const whole = { name: 'z', provider: 's3', config: { bucket: 'fiscal' }, credentials: s3, ...body }
    await ask('a secret in a wrong body', admin, 'POST', '/v1/storage-connectors', json(whole))
  }
  await ask('a secret as an id', admin, 'GET', `/v1/storage-connectors/${encodeURIComponent(secret)}`)
  for (const name of ['DB', 'COOLDOWNS'] as const)
    for (let after = 0; after < 6; after++)
      for (const [method, path, body] of [
        ['PATCH', first!, { credentials: second, connector_status: 'active' }],
        ['POST', `${first}/test`, undefined],
        ['POST', `${first}/backfill`, undefined],
      ] as const) {
        const sent = { ...(body && json(body)), env: failing(name, after), breaks: true }
        const answer = await ask(`${name} breaks`, admin, method, path, sent)
        if (answer.status >= 500) broken.push(answer)
      }
  await quiet()
  await tick({ cron: '* * * * *', scheduledTime: Date.now(), noRetry() {} } as ScheduledController, env)
  await quiet()
  for (const list of ['/v1/storage-connectors', ...paths, '/v1/audit-events', '/v1/alerts', '/v1/events'])
    await ask(`reading ${list}`, owner, 'GET', list)
}

/** Secrets where they do not belong: in the wrong member, parameter, path, header, or in a body that cannot be read. */
async function misuse(admin: Caller): Promise<void> {
  const ciec = texts['a misplaced CIEC']!
  const text = `{"ciec": ${JSON.stringify(ciec)}`
  const type = { 'content-type': 'application/json' }
  const rfc = freshRfc()
  const bodies: unknown[] = [
    { rfc, cieec: ciec },
    { rfc: ciec },
    { rfc, ciec: [ciec] },
    { rfc, ciec: ciec.repeat(20) },
    { rfc, data_source_keys: [ciec] },
    { rfc, name: { ciec } },
    [ciec],
    ciec,
  ]
  for (const body of bodies) await ask('a wrong body', admin, 'POST', '/v1/fiscal-entities', json(body))
  await ask('no JSON', admin, 'POST', '/v1/fiscal-entities', { headers: type, body: text })
  await ask('no JSON either', admin, 'POST', '/v1/fiscal-entities', { headers: { 'content-type': 'text/plain' }, body: `${text}}` })
  await ask('in the query', admin, 'GET', `/v1/fiscal-entities?${new URLSearchParams({ ciec, status: ciec, cursor: ciec })}`)
  await ask('in a known parameter', admin, 'GET', `/v1/audit-events?${new URLSearchParams({ cursor: ciec })}`)
  await ask('in the path', admin, 'GET', `/v1/fiscal-entities/${encodeURIComponent(ciec)}`)
  await ask('in an unknown path', admin, 'GET', `/v1/${encodeURIComponent(ciec)}`)
  const { api_secret } = owner
  for (const authorization of [
    `Token ${api_secret}`,
    `Basic ${btoa(api_secret)}`,
    `Bearer ${api_secret}x`,
    api_secret,
    `Bearer ${api_secret.slice(0, -6)}${checksum(`${api_secret}x`)}`,
  ])
    await ask('a malformed header', undefined, 'GET', '/v1/organization', { authorization })
  await ask('a secret as an id', admin, 'DELETE', `/v1/credentials/${api_secret}`)
  await ask('a secret as a cursor', admin, 'GET', `/v1/credentials?cursor=${api_secret}`)
}

/** Bindings of which one fails at its nth use. */
function failing(name: 'DB' | 'WEBHOOKS' | 'LEDGER_0' | 'FILES' | 'DOWNLOADS' | 'COOLDOWNS', after: number): Env {
  let left = after
  const binding = new Proxy(env[name] as object, {
    get(target, key) {
      const value = Reflect.get(target, key) as unknown
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        if (left-- <= 0) throw new Error(`D1_ERROR: the inside of ${name}: SQLITE_ERROR near "select"`)
        return (value as (...args: unknown[]) => unknown).apply(target, args)
      }
    },
  })
  return { ...env, [name]: binding } as Env
}

async function breakage(): Promise<void> {
  const ciec = texts['the first CIEC']
  for (const name of ['DB', 'LEDGER_0', 'FILES', 'DOWNLOADS'] as const)
    for (let after = 0; after < 9; after++) {
      const sent = { env: failing(name, after), breaks: true }
      const path = `/v1/fiscal-entities/${entity}`
      for (const answer of [
        await ask(`${name} breaks`, owner, 'POST', '/v1/fiscal-entities', { ...json({ rfc: freshRfc(), ciec }), ...sent }),
        await ask(`${name} breaks`, owner, 'PATCH', path, { ...json({ ciec: texts['the second CIEC'] }), ...sent }),
        await ask(`${name} breaks`, owner, 'GET', `/v1/cfdi?fiscal_entity_id=${entity}`, sent),
        await ask(`${name} breaks`, owner, 'POST', `${path}/cfdi/imports`, {
          headers: { 'content-type': 'application/xml' },
          body: xml,
          ...sent,
        }),
      ])
        if (answer.status >= 500) broken.push(answer)
    }
  for (const changed of [
    { ENVIRONMENT: 'prod' },
    { API_SECRET_KEYS: 'not a keyring' },
    { CIEC_KEYS: undefined },
    { WEBHOOK_KEYS: 'not a keyring' },
    { LEDGER_0: undefined },
    { TAX_AUTHORITY: 'none' },
  ]) {
    const sent = { env: { ...env, ...changed } as unknown as Env, breaks: true }
    const answer = await ask(`${Object.keys(changed)} is wrong`, owner, 'POST', '/v1/fiscal-entities', {
      ...json({ rfc: freshRfc(), ciec }),
      ...sent,
    })
    expect([changed, answer.status]).toEqual([changed, 503])
    misconfigured.push(answer)
  }
}

describe('the detector', () => {
  it('finds a secret in every form, at any place of what was encoded', () => {
    for (const [name, secret] of Object.entries(canaries)) {
      if (typeof secret !== 'string') {
        for (const before of [0, 1, 2]) {
          const bytes = new Uint8Array([...new Uint8Array(before), ...secret, 7, 7])
          for (const text of [bytes.toHex(), bytes.toBase64(), bytes.toBase64({ alphabet: 'base64url' }), JSON.stringify([...bytes])])
            expect(leakedIn(text, { [name]: secret }), text).toEqual([name])
        }
        continue
      }
      const around = ['', 'x', 'xy', '{"a":"'].map((before) => `${before}${secret}" and more`)
      const encoded = around.flatMap((text) => [
        text,
        JSON.stringify({ text }),
        btoa(unescape(encodeURIComponent(text))),
        new TextEncoder().encode(text).toHex(),
        encodeURIComponent(text),
        JSON.stringify(JSON.stringify(text)),
      ])
      const urlsafe = around.map((text) => new TextEncoder().encode(text).toBase64({ alphabet: 'base64url' }))
      for (const text of [...encoded, ...urlsafe]) expect(leakedIn(text, { [name]: secret }), text).toEqual([name])
      expect(formsOf(secret).every((form) => form.length >= 12)).toBe(true)
    }
    expect(leakedIn('nothing here', canaries)).toEqual([])
  })

  it('has listened', () => {
    expect(tap.heard.filter((line) => line.startsWith('log ')).length).toBeGreaterThan(50)
    expect(tap.heard.filter((line) => line.startsWith('queue ')).length).toBeGreaterThan(2)
    expect(tap.heard.filter((line) => line.startsWith('error ')).length).toBeGreaterThan(10)
    expect(answers.length).toBeGreaterThan(100)
  })
})

describe('a secret', () => {
  it('stands in the answer that made it, once, and in no other', () => {
    for (const { what, answer } of answers) {
      const allowed = [shown, again].flatMap((ones) => Object.entries(ones).flatMap(([name, one]) => (one === answer ? [name] : [])))
      expect([what, leakedIn(said(answer), canaries)]).toEqual([what, allowed])
    }
    for (const [name, { text }] of Object.entries(shown)) {
      const secret = canaries[name]!
      if (typeof secret === 'string') expect(text.split(secret).length).toBe(2)
    }
  })

  it('stands in no line of the log and in no message of a queue', () => {
    for (const line of tap.heard) expect(leakedIn(line, canaries), line).toEqual([])
  })

  it('stands in no row and in no object', async () => {
    expect(leakedIn(await everythingKept(), canaries)).toEqual([])
  })

  it('of ours stands nowhere either: no key that the Worker holds', async () => {
    const keys = Object.fromEntries(
      ['API_SECRET_KEYS', 'CIEC_KEYS', 'CURSOR_KEYS', 'WEBHOOK_KEYS', 'SESSION_KEYS'].map((name) => [
        name,
        (env as unknown as Record<string, string>)[name]!.split(':')[1]!,
      ]),
    )
    const all = [...answers.map(({ answer }) => said(answer)), ...tap.heard, await everythingKept()]
    for (const text of all) expect(leakedIn(text, keys), text.slice(0, 200)).toEqual([])
  })

  it('is gone from its row when the RFC is unlinked', async () => {
    const sealed = () => env.DB.prepare('select ciec from connections where fiscal_entity_id = ?').bind(entity).first<string>('ciec')
    expect(await sealed()).toMatch(/^\d+:/)
    expect((await send('DELETE', `/v1/fiscal-entities/${entity}`, { authorization: basic(owner) })).status).toBe(204)
    expect(await sealed()).toBeNull()
  })
})

describe('what breaks inside', () => {
  it('says the same constant thing and an id to ask about, whatever it was', () => {
    expect(broken.length).toBeGreaterThan(15)
    // Whose limits an answer tells depends on what broke: before or behind the credential.
    for (const { headers } of broken) headers.delete('ratelimit-policy')
    const said = new Set(broken.map(essence))
    expect(said.size, [...said].join('\n')).toBe(1)
    expect(broken[0]!.body).toEqual({
      detail: 'Something went wrong on our side.',
      code: 'internal',
      request_id: expect.any(String),
    })
  })

  it('says where its operator finds what is missing, when that is a setting', () => {
    expect(misconfigured).toHaveLength(6)
    expect(new Set(misconfigured.map(essence)).size).toBe(1)
    expect(misconfigured[0]!.body).toEqual({
      detail: 'The service is not configured completely. Its operator finds what is missing at GET /health.',
      code: 'service.unusable_settings',
      request_id: expect.any(String),
    })
    expect(misconfigured[0]!.headers.get('retry-after')).toBe('30')
  })

  it('is in the log under that id, with what it was', () => {
    const errors = tap.heard.filter((line) => line.startsWith('error '))
    for (const { body } of broken) {
      const [line] = errors.filter((one) => one.includes(body.request_id))
      expect(line).toMatch(/"stack"/)
    }
    for (const { body } of misconfigured)
      expect(errors.filter((one) => one.includes(body.request_id))).toEqual([expect.stringMatching(/"faults":\["[A-Z_0-9]+ /)])
  })
})
