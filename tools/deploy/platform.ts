import { DeployError } from './configuration.ts'

/** What a call is about, and the permission that the token needs for it. */
export interface Area {
  permission: string
}

/** The platform's API for one account: https://developers.cloudflare.com/api. */
export interface Platform {
  /** False for a plan without an account. */
  canLook: boolean
  /** All entries of all pages. */
  list<Entry>(area: Area, path: string): Promise<Entry[]>
  /** Undefined when there is no such thing. */
  find<Found>(area: Area, path: string): Promise<Found | undefined>
  send<Result>(area: Area, method: 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown): Promise<Result>
}

/** Where nothing exists, for a plan without an account. */
export const NOTHING: Platform = {
  canLook: false,
  list: async () => [],
  find: async () => undefined,
  send: () => Promise.reject(new Error('A plan changes nothing.')),
}

interface Answer {
  success?: boolean
  result?: unknown
  errors?: { code: number; message: string }[]
  result_info?: { total_count?: number } | null
}

const WITHIN_MS = 30_000
const PAGE = 50

export const baseUrl = (): string => process.env['CLOUDFLARE_API_BASE_URL'] || 'https://api.cloudflare.com/client/v4'

export function platformOf(token: string, account: string): Platform {
  async function call(method: string, path: string, body?: unknown): Promise<{ status: number; answer: Answer }> {
    try {
      const response = await fetch(`${baseUrl()}/accounts/${account}${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(WITHIN_MS),
      })
      return { status: response.status, answer: (await response.json().catch(() => ({}))) as Answer }
    } catch (error) {
      const { cause, message } = error as Error & { cause?: { code?: string } }
      throw new DeployError(
        `The platform's API at ${baseUrl()} cannot be reached (${cause?.code ?? message}): check the network and run the command again.`,
      )
    }
  }
  const result = (area: Area, what: string, { status, answer }: { status: number; answer: Answer }) => {
    if (status < 300 && answer.success) return answer.result
    throw new DeployError(sentenceOf(area, what, account, status, answer.errors ?? []))
  }
  return {
    canLook: true,
    async list<Entry>(area: Area, path: string) {
      const all: Entry[] = []
      for (let page = 1; ; page++) {
        const called = await call('GET', `${path}?page=${page}&per_page=${PAGE}`)
        const entries = (result(area, `GET ${path}`, called) ?? []) as Entry[]
        all.push(...entries)
        if (entries.length === 0 || all.length >= (called.answer.result_info?.total_count ?? 0)) return all
      }
    },
    async find<Found>(area: Area, path: string) {
      const called = await call('GET', path)
      if (called.status === 404 && !isAccount(called.answer.errors ?? [])) return undefined
      return result(area, `GET ${path}`, called) as Found
    },
    async send<Result>(area: Area, method: 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown) {
      return result(area, `${method} ${path}`, await call(method, path, body)) as Result
    },
  }
}

/** "Could not route": what the platform says of an account that cannot be. */
const isAccount = (errors: readonly { code: number }[]): boolean => errors.some(({ code }) => code === 7003 || code === 7000)

/** What an operator does about a refusal. Only some of the platform's codes are documented, so the status decides where they do not. */
function sentenceOf(
  { permission }: Area,
  what: string,
  account: string,
  status: number,
  errors: readonly { code: number; message: string }[],
): string {
  const codes = errors.map(({ code }) => code)
  const said = errors.map(({ code, message }) => `${message} [${code}]`).join('; ') || `status ${status}`
  if (isAccount(errors)) return `There is no account ${account}: check CLOUDFLARE_ACCOUNT_ID (${said}).`
  if (status === 401 || codes.some((code) => [1000, 6003, 6111].includes(code)))
    return `CLOUDFLARE_API_TOKEN is not accepted (${said}): make a new token at https://dash.cloudflare.com/profile/api-tokens.`
  if (status === 403)
    return `CLOUDFLARE_API_TOKEN lacks the permission “${permission}” in the account ${account} (${said}): add it to the token, or check CLOUDFLARE_ACCOUNT_ID.`
  if (status === 409 || codes.includes(7502) || /already (exists|taken)|is taken/i.test(said))
    return `The platform says that the name is taken (${what}: ${said}): run the command again, and if it stays, choose another name in wrangler.toml.`
  if (status === 429) return `The platform takes no more requests for now (${said}): run the command again in five minutes.`
  if (status >= 500) return `The platform has a fault of its own (${what}: ${said}): run the command again later.`
  return `The platform refused ${what}: ${said}.`
}
