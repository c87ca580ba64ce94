/** As many as memory is to hold. When there are more, all are forgotten. */
const MAX = 10_000

const utf8 = new TextEncoder()

const digestOf = async (network: string, authorization: string): Promise<string> =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', utf8.encode(`${network} ${authorization}`))).toBase64()

/** Credentials that are refused for a while to the network that sent them, by their hash, in the memory of this isolate. */
export class RefusedCredentials {
  readonly #forMs: number
  readonly #until = new Map<string, number>()

  constructor(forMs: number) {
    this.#forMs = forMs
  }

  async has(network: string, authorization: string): Promise<boolean> {
    if (this.#until.size === 0) return false
    return (this.#until.get(await digestOf(network, authorization)) ?? 0) > Date.now()
  }

  async add(network: string, authorization: string): Promise<void> {
    if (this.#until.size >= MAX) this.#until.clear()
    this.#until.set(await digestOf(network, authorization), Date.now() + this.#forMs)
  }
}
