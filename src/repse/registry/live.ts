import { normalName } from './names.ts'
import { type Found, fieldOf, readRegistration, readSearch } from './pages.ts'
import { ABSENT, type Registry, type RegistryRecord, RegistryUnavailable } from './registry.ts'

const TIMEOUT_MS = 15_000
/** Pages of a search that are looked through, fifteen names each: a name that more have in part is not told apart. */
const MOST_PAGES = 4
/** Registrations under one name that are opened. */
const MOST_REGISTRATIONS = 3

/**
 * The registry's public web pages (repse.stps.gob.mx), which have no interface for programs and are searched by name: a registration is
 * taken for an RFC's when its name is the taxpayer's but for accents, points and the kind of company; of several the one that ends last.
 */
export const liveRegistry = (base: string): Registry => ({
  async lookUp(_rfc, nameOf) {
    const name = await nameOf()
    if (name === null || normalName(name) === '') throw new RegistryUnavailable('The registry is searched by name, and none is known.')
    const session = await openSession(base)
    const found = await searchAll(session, normalName(name))
    if (found.length === 0) return ABSENT
    if (found.length > MOST_REGISTRATIONS) throw new RegistryUnavailable('The registry has too many registrations under the name.')
    const records: RegistryRecord[] = []
    for (const { number } of found) records.push(await openRegistration(session, number))
    return records.reduce((a, b) => ((b.vigencia_hasta ?? '9999') > (a.vigencia_hasta ?? '9999') ? b : a))
  },
})

interface Session {
  base: string
  cookie: string
  token: string
}

async function ask(url: string, form: Record<string, string> | null, cookie = ''): Promise<Response> {
  const headers = { ...(cookie && { cookie }) }
  const init = form === null ? { headers } : { method: 'POST', headers, body: new URLSearchParams(form) }
  let response: Response
  try {
    response = await fetch(url, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) })
  } catch {
    throw new RegistryUnavailable('The registry does not answer.')
  }
  if (!response.ok) throw new RegistryUnavailable(`The registry answered ${response.status}.`)
  return response
}

async function openSession(base: string): Promise<Session> {
  const response = await ask(`${base}/app/`, null)
  const cookie = response.headers
    .getSetCookie()
    .map((one) => one.split(';')[0]!)
    .join('; ')
  return { base, cookie, token: fieldOf(await response.text(), 'token') }
}

/** The registrations under exactly this name. */
async function searchAll({ base, cookie, token }: Session, name: string): Promise<Found[]> {
  const all: Found[] = []
  for (let page = 1; ; page++) {
    const form = { Ce1: '1', name: '', rsoc: name, page: String(page), token, grecaptcha: '' }
    const { found, pages } = readSearch(await (await ask(`${base}/app/dataconsulta.php`, form, cookie)).text())
    all.push(...found.filter(({ razon_social }) => normalName(razon_social) === name))
    if (page >= pages) return all
    if (page === MOST_PAGES) throw new RegistryUnavailable('The registry has too many names like this one.')
  }
}

const openRegistration = async ({ base, cookie, token }: Session, number: string): Promise<RegistryRecord> =>
  readRegistration(await (await ask(`${base}/app/`, { iem: number, gcap: '', tokensec: token, repempdet: '1' }, cookie)).text())
