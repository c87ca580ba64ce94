import {
  ABSENT,
  type FoundRegistration,
  fieldOf,
  normalName,
  type Registry,
  type RegistryRecord,
  RegistryUnavailable,
  readRegistration,
  readSearch,
} from './registry.ts'

const TIMEOUT_MS = 15_000
/** The maximum number of search pages to read, with fifteen names each. */
const MAX_PAGES = 4
/** The maximum number of registrations to open under one name. */
const MAX_REGISTRATIONS = 3

/**
 * The registry's public web pages (repse.stps.gob.mx), which have no API and are searched by name. A registration belongs to an RFC when
 * its name equals the taxpayer's name apart from accents, punctuation and the kind of company. Of several, the one that ends last counts.
 */
export const liveRegistry = (base: string): Registry => ({
  async lookUp(_rfc, nameOf) {
    const name = await nameOf()
    if (name === null || normalName(name) === '')
      throw new RegistryUnavailable('The registry is searched by name, and the name of this taxpayer is unknown.')
    const session = await openSession(base)
    const found = await searchAll(session, normalName(name))
    if (found.length === 0) return ABSENT
    if (found.length > MAX_REGISTRATIONS)
      throw new RegistryUnavailable(`The registry has more than ${MAX_REGISTRATIONS} registrations under the name.`)
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

async function request(url: string, form: Record<string, string> | null, cookie = ''): Promise<Response> {
  const headers = { ...(cookie && { cookie }) }
  const init = form === null ? { headers } : { method: 'POST', headers, body: new URLSearchParams(form) }
  let response: Response
  try {
    response = await fetch(url, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) })
  } catch {
    throw new RegistryUnavailable('The registry cannot be reached.')
  }
  if (!response.ok) throw new RegistryUnavailable(`The registry answered ${response.status}.`)
  return response
}

async function openSession(base: string): Promise<Session> {
  const response = await request(`${base}/app/`, null)
  const cookie = response.headers
    .getSetCookie()
    .map((one) => one.split(';')[0]!)
    .join('; ')
  return { base, cookie, token: fieldOf(await response.text(), 'token') }
}

/** Returns the registrations whose normalized name equals `name`. */
async function searchAll({ base, cookie, token }: Session, name: string): Promise<FoundRegistration[]> {
  const all: FoundRegistration[] = []
  for (let page = 1; ; page++) {
    const form = { Ce1: '1', name: '', rsoc: name, page: String(page), token, grecaptcha: '' }
    const { found, pages } = readSearch(await (await request(`${base}/app/dataconsulta.php`, form, cookie)).text())
    all.push(...found.filter(({ razon_social }) => normalName(razon_social) === name))
    if (page >= pages) return all
    if (page === MAX_PAGES) throw new RegistryUnavailable(`The registry has more than ${MAX_PAGES} pages of similar names.`)
  }
}

const openRegistration = async ({ base, cookie, token }: Session, number: string): Promise<RegistryRecord> =>
  readRegistration(await (await request(`${base}/app/`, { iem: number, gcap: '', tokensec: token, repempdet: '1' }, cookie)).text())
