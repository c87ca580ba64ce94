import { type Keyring, keyring } from './crypto/keyring.ts'

/** The variables of the environment and the numbered databases, read once per isolate. No other code reads a variable. */
export interface Settings {
  environment: 'test' | 'live'
  apiSecretKeys: Keyring
  ciecKeys: Keyring
  cursorKeys: Keyring
  webhookKeys: Keyring
  sessionKeys: Keyring
  /** The keys with which the external fetcher signs its requests. Null when there is no fetcher. */
  fetcherKeys: Keyring | null
  /** The sources besides CFDIs that the fetcher brings. Null for all of them. */
  fetcherSources: readonly string[] | null
  /** The host names of the service itself, in lower case. */
  publicHosts: readonly string[]
  /** LEDGER_0 to LEDGER_n, in this order. */
  ledgers: readonly D1Database[]
  /** EVENTS_0 to EVENTS_n, in this order. */
  events: readonly D1Database[]
  /** The numbers of the ledgers that new RFCs may get, and of the events shards that new organizations may get. */
  openLedgers: readonly number[]
  openEvents: readonly number[]
  taxAuthority: 'sandbox' | 'sat'
  /** The factor of the waits between two questions to the authority about the same request. */
  authorityWaitFactor: number
  /** The most questions of an RFC and day with which the service looks for requests for cancellation; 0 for none. */
  cancellationQuestionsPerDay: number
  repseRegistry: 'sandbox' | 'live'
  repseRegistryUrl: string
  /** Scheduled downloads are spread over this many seconds after midnight. */
  spreadSeconds: number
  credentialRequestsPerMinute: number
  organizationRequestsPerMinute: number
  addressRequestsPerMinute: number
  /** Where lists are fetched, by source. An operator loads the others. */
  listUrls: Readonly<Record<string, string>>
  /** Null when no rates are fetched and an operator loads them. */
  fxRatesUrl: string | null
  billingProvider: 'manual' | 'stripe'
  checkoutUrl: string
  stripeApiBase: string
  /** Empty unless Stripe is the payment provider. The same holds for stripeWebhookSecret. */
  stripeSecretKey: string
  stripeWebhookSecret: string
  /** From which address mail is sent, and how; without the binding it is kept. Null where sign-ups are confirmed without a mail. */
  mail: { binding: SendEmail | null; from: string } | null
}

/** The settings of this deployment cannot be used. `faults` says in one sentence for each what to change, without its value. */
export class UnusableSettings extends Error {
  readonly faults: readonly string[]

  constructor(faults: readonly string[]) {
    super(faults.join(' '))
    this.faults = faults
  }
}

/**
 * The names that FETCHER_SOURCES may have: the data sources of the catalog, which a test compares with these. CFDIs are fetched in any
 * case.
 */
export const FETCHER_SOURCES: readonly string[] = [
  ...['sat_cfdi_issued', 'sat_cfdi_received', 'sat_csf', 'sat_opinion_32d', 'sat_obligations', 'sat_declaracion_anual'],
  ...['sat_declaracion_mensual', 'sat_miinformacion', 'sat_certificates', 'sat_rug'],
]

/** Whether a deployment serves real taxpayers, so that its clock is the real one. */
export const isLive = ({ ENVIRONMENT }: Pick<Env, 'ENVIRONMENT'>): boolean => ENVIRONMENT.trim() === 'live'

/** Whether a deployment is hosted: it is live, or has a public name. Everything else is a local service. */
export const isHosted = ({ ENVIRONMENT, PUBLIC_HOSTS }: Pick<Env, 'ENVIRONMENT' | 'PUBLIC_HOSTS'>): boolean =>
  isLive({ ENVIRONMENT }) || PUBLIC_HOSTS.replaceAll(',', '').trim() !== ''

/**
 * Whether mail is kept for a page of the service instead of being sent: on somebody's own machine, where the data is invented, because
 * whoever sees the page can use the links.
 */
export const keepsMails = ({ publicHosts, taxAuthority, mail }: Pick<Settings, 'publicHosts' | 'taxAuthority' | 'mail'>): boolean =>
  publicHosts.length === 0 && taxAuthority === 'sandbox' && !mail?.binding

const known = new WeakMap<object, Settings>()

/** Returns the settings of the environment. Throws UnusableSettings, which names every fault at once. */
export function settingsOf(env: Env): Settings {
  const settings = known.get(env) ?? readSettings(env)
  known.set(env, settings)
  return settings
}

function readSettings(env: Env): Settings {
  const bindings = env as unknown as Record<string, unknown>
  const faults: string[] = []
  const read = <T>(parse: () => T): T => {
    try {
      return parse()
    } catch (error) {
      faults.push(error instanceof Error ? error.message : String(error))
      return undefined as T
    }
  }
  const text = (name: string): string => {
    const value = bindings[name]
    return typeof value === 'string' ? value.trim() : ''
  }
  const list = (name: string): string[] =>
    text(name)
      .split(',')
      .map((entry) => entry.trim())
      .filter((entry) => entry !== '')
  const ring = (name: string): Keyring => read(() => keyring(name, text(name)))
  const oneOf = <T extends string>(name: string, values: readonly T[]): T =>
    read(() => {
      const value = text(name)
      if (!values.includes(value as T)) throw new Error(`${name} must be ${values.join(' or ')}.`)
      return value as T
    })
  const whole = (name: string, max: number): number =>
    read(() => {
      const value = text(name)
      if (!/^\d{1,9}$/.test(value) || Number(value) > max) throw new Error(`${name} must be an integer from 0 to ${max}.`)
      return Number(value)
    })
  const url = (name: string): string =>
    read(() => {
      const value = text(name)
      if (!URL.canParse(value) || !/^https?:$/.test(new URL(value).protocol)) throw new Error(`${name} must be an http or https URL.`)
      return value
    })

  const optionalUrl = (name: string): string | null => (text(name) === '' ? null : url(name))

  const [ledgers, events] = [read(() => shardsOf('LEDGER', bindings)), read(() => shardsOf('EVENTS', bindings))]
  const closed = list('CLOSED_DATABASES')
  const openOf = (kind: Shards, shards: readonly D1Database[] = []): number[] =>
    [...shards.keys()].filter((n) => !closed.includes(`${kind}_${n}`))
  if (
    closed.some((name) => !/^(LEDGER|EVENTS)_\d+$/.test(name) || bindings[name] === undefined) ||
    (ledgers && openOf('LEDGER', ledgers).length === 0) ||
    (events && openOf('EVENTS', events).length === 0)
  )
    faults.push('CLOSED_DATABASES must name ledgers and events shards that are bound, and not all of either kind.')

  if (list('FETCHER_SOURCES').some((key) => !FETCHER_SOURCES.includes(key)))
    faults.push(`FETCHER_SOURCES must be empty, or some of these, separated by commas: ${FETCHER_SOURCES.join(', ')}.`)

  const waitFactor = read(() => {
    const value = text('AUTHORITY_WAIT_FACTOR') || '1'
    if (!/^\d{1,6}(\.\d{1,9})?$/.test(value) || Number(value) === 0) throw new Error('AUTHORITY_WAIT_FACTOR must be a number above 0.')
    return Number(value)
  })

  const settings: Settings = {
    environment: oneOf('ENVIRONMENT', ['test', 'live']),
    apiSecretKeys: ring('API_SECRET_KEYS'),
    ciecKeys: ring('CIEC_KEYS'),
    cursorKeys: ring('CURSOR_KEYS'),
    webhookKeys: ring('WEBHOOK_KEYS'),
    sessionKeys: ring('SESSION_KEYS'),
    fetcherKeys: text('FETCHER_KEYS') === '' ? null : ring('FETCHER_KEYS'),
    fetcherSources: list('FETCHER_SOURCES').length === 0 ? null : list('FETCHER_SOURCES'),
    publicHosts: list('PUBLIC_HOSTS').map((host) => host.toLowerCase()),
    ledgers,
    events,
    openLedgers: openOf('LEDGER', ledgers),
    openEvents: openOf('EVENTS', events),
    taxAuthority: oneOf('TAX_AUTHORITY', ['sandbox', 'sat']),
    authorityWaitFactor: waitFactor,
    cancellationQuestionsPerDay: whole('CANCELLATION_QUESTIONS_PER_DAY', 200),
    repseRegistry: oneOf('REPSE_REGISTRY', ['sandbox', 'live']),
    repseRegistryUrl: url('REPSE_REGISTRY_URL'),
    spreadSeconds: whole('SPREAD_SECONDS', 86_400),
    credentialRequestsPerMinute: whole('CREDENTIAL_REQUESTS_PER_MINUTE', 1_000_000),
    organizationRequestsPerMinute: whole('ORGANIZATION_REQUESTS_PER_MINUTE', 1_000_000),
    addressRequestsPerMinute: whole('ADDRESS_REQUESTS_PER_MINUTE', 1_000_000),
    listUrls: read(() => listUrlsOf(text('LIST_URLS'))),
    fxRatesUrl: optionalUrl('FX_RATES_URL'),
    billingProvider: oneOf('BILLING_PROVIDER', ['manual', 'stripe']),
    checkoutUrl: url('CHECKOUT_URL'),
    stripeApiBase: url('STRIPE_API_BASE'),
    stripeSecretKey: text('STRIPE_SECRET_KEY'),
    stripeWebhookSecret: text('STRIPE_WEBHOOK_SECRET'),
    mail: read(() => mailOf(bindings['EMAIL'] as SendEmail | undefined, text('MAIL_FROM'))),
  }
  if (settings.mail && !settings.mail.binding && !keepsMails(settings))
    faults.push('MAIL_FROM must be empty, because no mail is sent without the binding EMAIL.')
  if (settings.billingProvider === 'stripe')
    for (const name of ['STRIPE_SECRET_KEY', 'STRIPE_WEBHOOK_SECRET'])
      if (text(name) === '') faults.push(`${name} must be set, because BILLING_PROVIDER is stripe.`)
  if (settings.environment === 'live' && settings.taxAuthority === 'sandbox')
    faults.push('TAX_AUTHORITY must be sat, because ENVIRONMENT is live.')
  for (const name of ['SAT_STAND_IN', 'WEBHOOK_SINK', 'STORAGE_SINK'])
    if (text(name) !== '' && (isHosted(env) || !LOOPBACK.test(text(name))))
      faults.push(`${name} must be empty, or http://127.0.0.1:{port} in a local service, which has no PUBLIC_HOSTS and is not live.`)
  if (faults.length > 0) throw new UnusableSettings(faults)
  return settings
}

/** The form of the variables that name a sink, which only a local service has (platform/egress). */
const LOOPBACK = /^http:\/\/(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?\/?$/

function mailOf(binding: SendEmail | undefined, from: string): Settings['mail'] {
  if (binding === undefined && from === '') return null
  if (!/^[^\s@<>]+@[^\s@<>]+$/.test(from))
    throw new Error(`MAIL_FROM must be the address that mail comes from${binding ? ', because EMAIL is bound' : ''}.`)
  return { binding: binding ?? null, from }
}

const LIST_URL = /^(sat_[a-z0-9_]+)=(https?:\/\/\S+)$/

/** Parses `sat_69b=https://… sat_69_firmes=https://…`. */
function listUrlsOf(text: string): Record<string, string> {
  const pairs = text.split(/\s+/).filter((pair) => pair !== '')
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, source, url] = LIST_URL.exec(pair) ?? []
      if (source === undefined || url === undefined || !URL.canParse(url))
        throw new Error('LIST_URLS must be pairs such as sat_69b=https://…, with an http or https URL each, separated by spaces.')
      return [source, url]
    }),
  )
}

type Shards = 'LEDGER' | 'EVENTS'

function shardsOf(kind: Shards, bindings: Record<string, unknown>): D1Database[] {
  const names = Object.keys(bindings).filter((name) => new RegExp(`^${kind}_\\d+$`).test(name))
  const shards = names.map((_, n) => bindings[`${kind}_${n}`] as D1Database)
  if (shards.length === 0 || shards.includes(undefined as never)) throw new Error(`${kind}_0 to ${kind}_n must be bound without a gap.`)
  return shards
}
