import { OneByOne } from '../../platform/one-by-one.ts'
import { call, jsonOf, type Network, type ProviderAnswer, type ProviderRequest } from './call.ts'
import { errorOf, type FaultTable, unexpected } from './faults.ts'

/** What a token endpoint grants (RFC 6749, section 5.1). */
export interface Grant {
  access_token: string
  expires_in: number
  /** A new refresh token, for a provider that replaces them. */
  refresh_token?: string
}

const DENIED = 'The provider refuses the credentials. They may have expired or been revoked: replace them'
const FAULTS: FaultTable = {
  ...Object.fromEntries(
    ['invalid_grant', 'invalid_client', 'invalid_request', 'invalid_scope', 'unauthorized_client', 'access_denied'].map((code) => [
      code,
      ['access_denied', DENIED],
    ]),
  ),
  interaction_required: ['access_denied', 'The provider asks the user to sign in again: replace the credentials'],
  consent_required: ['access_denied', 'The user has not consented to the permissions of the application'],
  temporarily_unavailable: 'unavailable',
  server_error: 'unavailable',
  slow_down: 'rate_limited',
}

/** Asks a token endpoint for an access token. Throws DestinationError. */
export async function requestGrant(network: Network, url: string, form: Record<string, string>): Promise<Grant> {
  const answer = await call(network, {
    method: 'POST',
    url,
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
    body: new URLSearchParams(form).toString(),
  })
  const { error, access_token, expires_in, refresh_token } = jsonOf(answer)
  if (answer.status !== 200) throw errorOf(answer, String(error ?? ''), FAULTS, Object.values(form))
  // The token goes into a header.
  if (typeof access_token !== 'string' || !/^[\x21-\x7e]+$/.test(access_token) || !(Number(expires_in) > 0)) throw unexpected(answer)
  return { access_token, expires_in: Number(expires_in), ...(typeof refresh_token === 'string' && { refresh_token }) }
}

/** The access tokens of this isolate, by a hash of the credentials that they were made with. They are never stored or logged. */
const tokens = new Map<string, { value: string; until: number }>()
const MOST_TOKENS = 1_000
/** A token is not used in the last minute of its life. */
const MARGIN_MS = 60_000

/** The access token of credentials: asked for when there is none, and otherwise taken from the isolate's memory. */
export class AccessToken<Credentials extends object> {
  #credentials: Credentials
  readonly #ask: (credentials: Credentials) => Promise<readonly [Grant, Credentials]>
  readonly #oneByOne = new OneByOne()

  /** `ask` returns a grant and the credentials to use from then on. */
  constructor(credentials: Credentials, ask: (credentials: Credentials) => Promise<readonly [Grant, Credentials]>) {
    this.#credentials = credentials
    this.#ask = ask
  }

  /** Sends a request with the token. A token that the provider refuses is replaced once. */
  async call(network: Network, request: ProviderRequest): Promise<ProviderAnswer> {
    const first = await this.#valueExcept('')
    const answer = await this.#send(network, request, first)
    return answer.status === 401 ? this.#send(network, request, await this.#valueExcept(first)) : answer
  }

  #send(network: Network, request: ProviderRequest, token: string): Promise<ProviderAnswer> {
    const headers = new Headers(request.headers)
    headers.set('authorization', `Bearer ${token}`)
    return call(network, { ...request, headers })
  }

  #valueExcept(refused: string): Promise<string> {
    return this.#oneByOne.do('token', async () => {
      const known = tokens.get(await keyOf(this.#credentials))
      if (known && known.value !== refused && Date.now() < known.until) return known.value
      const asked = Date.now()
      const [{ access_token, expires_in }, credentials] = await this.#ask(this.#credentials)
      this.#credentials = credentials
      if (tokens.size >= MOST_TOKENS) tokens.delete(tokens.keys().next().value!)
      tokens.set(await keyOf(credentials), { value: access_token, until: asked + expires_in * 1_000 - MARGIN_MS })
      return access_token
    })
  }
}

const keyOf = async (credentials: object): Promise<string> =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(JSON.stringify(credentials)))).toBase64()
