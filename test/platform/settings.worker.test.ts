import { describe, expect, it } from 'vitest'
import { DATA_SOURCE_KEYS } from '../../src/authority/port/authority.ts'
import { settingsOf, UnusableSettings } from '../../src/platform/settings.ts'

const KEYRING = `2:${'b'.repeat(42)}A=,1:${'a'.repeat(42)}A=`
const ledger = (n: number) => ({ ledger: n })

const RIGHT = {
  ENVIRONMENT: 'live',
  API_SECRET_KEYS: KEYRING,
  CIEC_KEYS: KEYRING,
  CURSOR_KEYS: KEYRING,
  WEBHOOK_KEYS: KEYRING,
  SESSION_KEYS: KEYRING,
  PUBLIC_HOSTS: ' API.example.com, ,www.example.com ',
  LEDGER_0: ledger(0),
  LEDGER_1: ledger(1),
  EVENTS_0: ledger(10),
  EVENTS_1: ledger(11),
  CLOSED_DATABASES: 'EVENTS_0',
  TAX_AUTHORITY: 'sat',
  SAT_STAND_IN: '',
  AUTHORITY_WAIT_FACTOR: '0.25',
  REPSE_REGISTRY: 'live',
  REPSE_REGISTRY_URL: 'https://repse.stps.gob.mx',
  CANCELLATION_QUESTIONS_PER_DAY: '20',
  SPREAD_SECONDS: '10800',
  CREDENTIAL_REQUESTS_PER_MINUTE: '600',
  ORGANIZATION_REQUESTS_PER_MINUTE: '2400',
  ADDRESS_REQUESTS_PER_MINUTE: '10',
  LIST_URLS: 'sat_69b=https://sat.example/69b.csv sat_69_firmes=http://sat.example/firmes',
  FX_RATES_URL: 'https://rates.example/fix.csv',
  BILLING_PROVIDER: 'stripe',
  CHECKOUT_URL: 'https://checkout.example.com/seats',
  STRIPE_API_BASE: 'http://127.0.0.1:4000',
  STRIPE_SECRET_KEY: 'sk_test_1',
  STRIPE_WEBHOOK_SECRET: 'whsec_1',
  EMAIL: { send: 'mail' },
  MAIL_FROM: ' avisos@example.com ',
}

const read = (changed: Record<string, unknown> = {}) => settingsOf({ ...RIGHT, ...changed } as unknown as Env)

function faultsOf(changed: Record<string, unknown>): readonly string[] {
  try {
    read(changed)
  } catch (error) {
    if (error instanceof UnusableSettings) return error.faults
    throw error
  }
  return []
}

const KEYS = 'must be a keyring: keys of the form "version:base64 of 32 bytes", newest first, separated by commas.'
const STAND_IN = 'must be empty, or http://127.0.0.1:{port} in a local service, which has no PUBLIC_HOSTS and is not live.'
const LEDGERS = 'LEDGER_0 to LEDGER_n must be bound without a gap.'

/** Each variable: what it must be, values that it may not have, and others that it may. */
const VARIABLES: [name: string, must: string, wrong: unknown[], right: unknown[]][] = [
  ['ENVIRONMENT', 'must be test or live.', [undefined, '', 'prod', 'Live'], ['test', ' live ']],
  ...['API_SECRET_KEYS', 'CIEC_KEYS', 'CURSOR_KEYS', 'WEBHOOK_KEYS', 'SESSION_KEYS'].map((name): (typeof VARIABLES)[number] => [
    name,
    KEYS,
    [undefined, '', 'secret', '1:AAAA', `1:${'a'.repeat(43)}=`, `${KEYRING},`, `v1:${'a'.repeat(42)}A=`],
    [`1:${'a'.repeat(42)}A=`, KEYRING.replace(',', ' , ')],
  ]),
  [
    'CLOSED_DATABASES',
    'must name ledgers and events shards that are bound, and not all of either kind.',
    ['LEDGER_2', 'ledger_0', 'DB', 'LEDGER_0 EVENTS_0', 'LEDGER_0,LEDGER_1', 'EVENTS_1,LEDGER_0,EVENTS_0', 'toString'],
    [undefined, '', ' ', 'LEDGER_1', ' LEDGER_0 , EVENTS_1,'],
  ],
  ['TAX_AUTHORITY', 'must be sandbox or sat.', [undefined, '', 'none', 'SAT'], ['sat']],
  // What it may be in a deployment that is not live stands below.
  ['SAT_STAND_IN', STAND_IN, ['http://127.0.0.1:9000', 'https://sat.example'], [undefined, '', ' ']],
  [
    'AUTHORITY_WAIT_FACTOR',
    'must be a number above 0.',
    ['0', '0.0', '-1', 'x', '1e3', '.5', 'Infinity', '1,5'],
    [undefined, '', '1', '0.001', ' 2.5 '],
  ],
  [
    'FETCHER_SOURCES',
    `must be empty, or some of these, separated by commas: ${DATA_SOURCE_KEYS.join(', ')}.`,
    ['sat_cfs', 'csf', 'SAT_CSF', 'sat_csf sat_rug', 'sat_csf;sat_rug', 'sat_csf,sat_opinion', 'toString'],
    [undefined, '', ' ', 'sat_csf', ' sat_rug , sat_csf,', 'sat_cfdi_issued', DATA_SOURCE_KEYS.join(',')],
  ],
  ['REPSE_REGISTRY', 'must be sandbox or live.', [undefined, '', 'none'], ['sandbox', 'live']],
  ['REPSE_REGISTRY_URL', 'must be an http or https URL.', [undefined, '', 'repse', 'ftp://repse.example'], ['http://127.0.0.1:1/']],
  ['CANCELLATION_QUESTIONS_PER_DAY', 'must be an integer from 0 to 200.', [undefined, '', '-1', '201', 'x'], ['0', '200']],
  ['SPREAD_SECONDS', 'must be an integer from 0 to 86400.', [undefined, '', '-1', '1.5', '86401', 'x', '1e3'], ['0', '86400']],
  ...['CREDENTIAL_REQUESTS_PER_MINUTE', 'ORGANIZATION_REQUESTS_PER_MINUTE', 'ADDRESS_REQUESTS_PER_MINUTE'].map(
    (name): (typeof VARIABLES)[number] => [
      name,
      'must be an integer from 0 to 1000000.',
      [undefined, '', 'many', '1000001', 600],
      ['0', '1000000'],
    ],
  ),
  [
    'LIST_URLS',
    'must be pairs such as sat_69b=https://…, with an http or https URL each, separated by spaces.',
    ['sat', 'sat_69b=file:///etc/passwd', 'sat_69b'],
    [undefined, '', ' ', 'sat_69b=http://sat.example/'],
  ],
  ['FX_RATES_URL', 'must be an http or https URL.', ['sat', 'file:///etc/passwd'], [undefined, '', ' ', 'http://sat.example/']],
  ['BILLING_PROVIDER', 'must be manual or stripe.', [undefined, '', 'paypal'], ['manual', 'stripe']],
  ['CHECKOUT_URL', 'must be an http or https URL.', [undefined, '', '/seats'], ['http://127.0.0.1/']],
  ['STRIPE_API_BASE', 'must be an http or https URL.', [undefined, '', 'api.stripe.com'], ['https://api.stripe.com']],
  ...['STRIPE_SECRET_KEY', 'STRIPE_WEBHOOK_SECRET'].map((name): (typeof VARIABLES)[number] => [
    name,
    'must be set, because BILLING_PROVIDER is stripe.',
    [undefined, '', ' '],
    ['sk_live_2'],
  ]),
  [
    'MAIL_FROM',
    'must be the address that mail comes from, because EMAIL is bound.',
    [undefined, '', 'avisos', 'Avisos <avisos@example.com>', 'a@b@c'],
    ['otro@example.com'],
  ],
]

describe('settings', () => {
  it('are every variable, parsed', () => {
    const settings = read()
    expect(settings).toMatchObject({
      environment: 'live',
      publicHosts: ['api.example.com', 'www.example.com'],
      ledgers: [ledger(0), ledger(1)],
      events: [ledger(10), ledger(11)],
      openLedgers: [0, 1],
      openEvents: [1],
      taxAuthority: 'sat',
      authorityWaitFactor: 0.25,
      repseRegistry: 'live',
      repseRegistryUrl: 'https://repse.stps.gob.mx',
      spreadSeconds: 10_800,
      credentialRequestsPerMinute: 600,
      addressRequestsPerMinute: 10,
      listUrls: { sat_69b: 'https://sat.example/69b.csv', sat_69_firmes: 'http://sat.example/firmes' },
      fxRatesUrl: 'https://rates.example/fix.csv',
      billingProvider: 'stripe',
      checkoutUrl: 'https://checkout.example.com/seats',
      stripeApiBase: 'http://127.0.0.1:4000',
      stripeSecretKey: 'sk_test_1',
      stripeWebhookSecret: 'whsec_1',
      mail: { binding: { send: 'mail' }, from: 'avisos@example.com' },
    })
    for (const ring of [settings.apiSecretKeys, settings.ciecKeys, settings.cursorKeys, settings.webhookKeys, settings.sessionKeys])
      expect(ring.all.map(({ version }) => version)).toEqual(['2', '1'])
  })

  it.each(VARIABLES)('%s %s', (name, must, wrong, right) => {
    for (const value of wrong) expect([value, faultsOf({ [name]: value })]).toEqual([value, [`${name} ${must}`]])
    for (const value of right) expect([value, faultsOf({ [name]: value })]).toEqual([value, []])
  })

  it('have no variable that is not tried above', () => {
    const tried = VARIABLES.map(([name]) => name)
    expect(Object.keys(RIGHT).filter((name) => !tried.includes(name))).toEqual([
      'PUBLIC_HOSTS',
      'LEDGER_0',
      'LEDGER_1',
      'EVENTS_0',
      'EVENTS_1',
      'EMAIL',
    ])
    expect(read({ PUBLIC_HOSTS: undefined }).publicHosts).toEqual([])
    expect([read({ LIST_URLS: '' }).listUrls, read({ FX_RATES_URL: '' }).fxRatesUrl]).toEqual([{}, null])
  })

  it('of a live deployment name the real authority, because the sandbox invents documents', () => {
    expect(faultsOf({ TAX_AUTHORITY: 'sandbox' })).toEqual(['TAX_AUTHORITY must be sat, because ENVIRONMENT is live.'])
    expect(() => read({ TAX_AUTHORITY: 'sandbox' })).toThrow(UnusableSettings)
    for (const TAX_AUTHORITY of ['sandbox', 'sat']) expect(faultsOf({ ENVIRONMENT: 'test', TAX_AUTHORITY })).toEqual([])
  })

  it('let a stand-in of the authority be on loopback only, and never in a live or a hosted deployment', () => {
    const faults = (SAT_STAND_IN: string, more = {}) => faultsOf({ ENVIRONMENT: 'test', PUBLIC_HOSTS: '', SAT_STAND_IN, ...more })
    for (const url of ['http://127.0.0.1:9000', 'http://localhost:9000/', 'http://[::1]:9000', 'http://127.0.0.1']) {
      expect([url, faults(url)]).toEqual([url, []])
      for (const hosted of [{ ENVIRONMENT: 'live' }, { PUBLIC_HOSTS: 'sandbox.example.com' }])
        expect([url, faults(url, hosted)]).toEqual([url, [`SAT_STAND_IN ${STAND_IN}`]])
    }
    for (const url of [
      'https://127.0.0.1:9000',
      'http://10.0.0.1:9000',
      'http://127.0.0.1.example.com:9000',
      'http://localhost.example.com',
      'http://user@127.0.0.1:9000',
      'http://127.0.0.1:9000/path',
      'http://[::2]:9000',
      '127.0.0.1:9000',
    ])
      expect([url, faults(url)]).toEqual([url, [`SAT_STAND_IN ${STAND_IN}`]])
  })

  it('wait as long as the authority is to be given, unless they say otherwise', () => {
    expect([undefined, '', '0.5', ' 2 '].map((AUTHORITY_WAIT_FACTOR) => read({ AUTHORITY_WAIT_FACTOR }).authorityWaitFactor)).toEqual([
      1, 1, 0.5, 2,
    ])
  })

  it('send mail with a binding and an address, or none at all', () => {
    expect(read({ EMAIL: undefined, MAIL_FROM: ' ' }).mail).toBeNull()
    expect(faultsOf({ EMAIL: undefined })).toEqual(['MAIL_FROM must be empty, because no mail is sent without the binding EMAIL.'])
    const local = { EMAIL: undefined, ENVIRONMENT: 'test', TAX_AUTHORITY: 'sandbox', PUBLIC_HOSTS: '' }
    expect(read(local).mail).toEqual({ binding: null, from: 'avisos@example.com' })
    expect(faultsOf({ ...local, PUBLIC_HOSTS: 'api.test' })).toHaveLength(1)
    expect(faultsOf({ ...local, MAIL_FROM: 'avisos' })).toEqual(['MAIL_FROM must be the address that mail comes from.'])
  })

  it('need no secret of Stripe when operators record payments', () => {
    expect(faultsOf({ BILLING_PROVIDER: 'manual', STRIPE_SECRET_KEY: undefined, STRIPE_WEBHOOK_SECRET: undefined })).toEqual([])
  })

  it('need events shards from 0 on without a gap', () => {
    const gap = 'EVENTS_0 to EVENTS_n must be bound without a gap.'
    expect(faultsOf({ CLOSED_DATABASES: '', EVENTS_0: undefined, EVENTS_1: undefined })).toEqual([gap])
    expect(faultsOf({ EVENTS_3: ledger(3) })).toEqual([gap])
    const eleven = Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`EVENTS_${n}`, ledger(n)]))
    expect(read(eleven).events).toEqual(Array.from({ length: 11 }, (_, n) => ledger(n)))
  })

  it('need ledgers from 0 on without a gap', () => {
    expect(faultsOf({ LEDGER_0: undefined, LEDGER_1: undefined })).toEqual([LEDGERS])
    expect(faultsOf({ LEDGER_0: undefined })).toEqual([LEDGERS])
    expect(faultsOf({ LEDGER_3: ledger(3) })).toEqual([LEDGERS])
    const { LEDGER_0: _, LEDGER_1: __, ...none } = RIGHT
    expect(() => settingsOf(none as unknown as Env)).toThrow(LEDGERS)
    const eleven = Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`LEDGER_${n}`, ledger(n)]))
    expect(read(eleven).ledgers).toEqual(Array.from({ length: 11 }, (_, n) => ledger(n)))
  })

  it('name all their faults at once, and never a value', () => {
    const secret = `1:${'s'.repeat(42)}`
    const faults = faultsOf({
      API_SECRET_KEYS: secret,
      CIEC_KEYS: secret,
      ENVIRONMENT: 'prod',
      STRIPE_API_BASE: 'not-a-url',
      LEDGER_0: undefined,
    })
    expect(faults.map((fault) => fault.split(' ')[0])).toEqual([
      'LEDGER_0',
      'ENVIRONMENT',
      'API_SECRET_KEYS',
      'CIEC_KEYS',
      'STRIPE_API_BASE',
    ])
    expect(faults.join()).not.toMatch(/sss|prod|not-a-url/)
    for (const fault of faults) expect(fault).toMatch(/^[A-Z][A-Z_0-9]+ .*\.$/)
  })

  it('are read once for one environment', () => {
    const env = { ...RIGHT } as unknown as Env
    expect(settingsOf(env)).toBe(settingsOf(env))
  })
})
