/** Recorded on this day of documentation, whenever a test was run. */
const DAY = Date.parse('2026-05-20T09:00:00.000Z')
const DAY_MS = 86_400_000
const MOST_ITEMS = 2
const MOST_VALUES = 6
const MOST_LINES = 3
const MOST_CHARACTERS = 1_500

const COMPANIES = [
  'EKU9003173C9',
  'URE180429TM6',
  'IVD920810GU2',
  'KIJ0906199R1',
  'XIA190128J61',
  'OÑO120726RX3',
  'IIA040805DZ4',
  'JES900109Q90',
]
const PEOPLE = ['CACX7605101P8', 'FUNK671228PH6', 'XAMA620210DQ5', 'CUSC850516316', 'MISC491214B86', 'COSC8001137NA']
/** Those of the public and of foreigners mean something. */
const isGeneric = (rfc: string): boolean => /^X[AE]XX010101000$/.test(rfc)

const CREDENTIAL = /\bfds_(test|live)_(key|secret|invitation|confirmation)_[0-9A-Za-z]+\b/g
const PLACEHOLDERS: Record<string, string> = {
  key: '4fzKq7Yb2JmT9sVxW3cRdE',
  secret: 'notARealSecret0123456789abcdefghijklmnopqrst00000',
  invitation: 'notARealToken00123456789abcdefghijklmnopqrst00000',
  confirmation: 'notARealToken00123456789abcdefghijklmnopqrst00000',
}

/** Members that nobody may read in an example, and what stands for them. */
const SECRETS: Record<string, string> = {
  ciec: 'a-ciec-1',
  password: 'the password of the private key',
  certificate: 'MIIFuzCCA6OgAwIBAgIUMzAwMDEwMDAwMDA1MDAwMDM0MTYwDQYJKoZIhvcNAQELBQAw…',
  private_key: 'MIIFDjBABgkqhkiG9w0BBQ0wMzAbBgkqhkiG9w0BBQwwDgQIAgEAAoIBAQACAggAMBQG…',
  secret_access_key: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  client_secret: 'the secret of the client',
  refresh_token: 'the refresh token',
  account_key: 'the key of the account',
  next_cursor: 'eyJ2IjoxLCJhZnRlciI6IjIwMjYtMDUtMjAifQ.c2lnbmVk',
}

/** Gives each different text the next stand-in of its kind. */
function standIns(of: (n: number) => string): (text: string) => string {
  const known = new Map<string, string>()
  return (text) => {
    const stand = known.get(text) ?? of(known.size)
    known.set(text, stand)
    return stand
  }
}

const BASE32 = '0123456789abcdefghjkmnpqrstvwxyz'

function textOf(base: number | null): (text: string) => string {
  const ids = standIns((n) => `01kabcdefghjkmnpqrstvwxy${BASE32[Math.floor(n / 32) % 32]}${BASE32[n % 32]}`)
  const uuids = standIns((n) => `5b0c6a0e-6a8f-4f0e-9d3b-0a6f1c2d${(0x3e00 + n).toString(16)}`)
  const hashes = standIns((n) => (0xa1 + n).toString(16).repeat(32))
  const companies = standIns((n) => COMPANIES[n % COMPANIES.length]!)
  const people = standIns((n) => PEOPLE[n % PEOPLE.length]!)
  const instant = (text: string): string => {
    const at = Date.parse(text)
    if (base === null || Number.isNaN(at) || Math.abs(at - base) > 2 * DAY_MS) return text
    const moved = new Date(DAY + (at - base)).toISOString()
    return text.includes('.') ? moved : moved.replace(/\.\d+Z$/, 'Z')
  }
  return (text) =>
    text
      .replace(CREDENTIAL, (_, environment, noun) => `fds_${environment}_${noun}_${PLACEHOLDERS[noun]}`)
      .replace(/\b(ada|persona)\d+@example\.com/g, (_, name) => (name === 'ada' ? 'ana.lopez@example.com' : 'beatriz.ruiz@example.com'))
      .replace(/^Org \d+$/, 'Despacho López')
      .replace(/^Ada Owner$/, 'Ana López')
      .replace(/\bwhsec_[0-9A-Za-z+/=]+/g, 'whsec_bm90IGEgcmVhbCBzZWNyZXQsIG9ubHkgYW4gZXhhbXBsZQ==')
      .replace(/\breq_[0-9a-f]{32}\b/g, 'req_0123456789abcdef0123456789abcdef')
      .replace(/\b([a-z]{2,3})_([0-7][0-9a-hjkmnp-tv-z]{25})\b/g, (_, prefix, suffix) => `${prefix}_${ids(suffix)}`)
      .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, (uuid) =>
        uuid === uuid.toUpperCase() ? uuids(uuid.toLowerCase()).toUpperCase() : uuids(uuid.toLowerCase()),
      )
      .replace(/\b[0-9a-f]{64}\b/g, hashes)
      .replace(/(?<![A-ZÑ&\d])[A-ZÑ&]{3,4}\d{6}[A-Z\d]{2}[A\d](?![A-Z\d])/g, (rfc) =>
        isGeneric(rfc) ? rfc : rfc.length === 12 ? companies(rfc) : people(rfc),
      )
      .replace(/\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, instant)
}

/** The first instant of a body that is about now. */
function nowIn(text: string, now: number): number | null {
  const instants = [...text.matchAll(/\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g)].map(([one]) => Date.parse(one))
  const recent = instants.filter((at) => Math.abs(at - now) < DAY_MS)
  return recent.length > 0 ? Math.min(...recent) : null
}

/** A recorded body as the reference shows it: short, the same for each run that says the same, and without secrets. */
export function normalized<T>(body: T, now = Date.now()): T {
  const text = textOf(nowIn(JSON.stringify(body), now))
  const of = (value: unknown, key = ''): unknown => {
    if (typeof value === 'string')
      return key in SECRETS ? SECRETS[key] : text(shortened(value.trim() === '' || value.includes('\n') ? value : value.trim()))
    if (Array.isArray(value)) return value.slice(0, isOfObjects(value) ? MOST_ITEMS : MOST_VALUES).map((inner) => of(inner))
    if (value === null || typeof value !== 'object') return value
    // The schemas of the event catalog are not examples.
    if ('$ref' in value) return {}
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [text(name), of(inner, name)]))
  }
  return of(body) as T
}

const isOfObjects = (list: unknown[]): boolean => list.some((one) => one !== null && typeof one === 'object')

function shortened(value: string): string {
  if (value.length <= MOST_CHARACTERS) return value
  if (value.startsWith('<')) return value
  return value.includes('\n') ? `${value.split('\n').slice(0, MOST_LINES).join('\n')}\n` : `${value.slice(0, MOST_CHARACTERS)}…`
}
