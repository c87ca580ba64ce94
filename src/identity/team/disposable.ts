import { invalid } from '../../failures.ts'
import type { System } from '../../platform/context.ts'
import { domainsOf } from './domains.ts'

/** The list of the package `disposable-email-domains-js`, as `assets/` links to it. */
const LIST = 'https://assets.invalid/disposable-domains.json'

// What was read, not the reading: one request may not wait for another one's I/O.
const lists = new WeakMap<Fetcher, ReadonlySet<string>>()

async function listOf({ ASSETS }: Env): Promise<ReadonlySet<string>> {
  const known = lists.get(ASSETS)
  if (known) return known
  const response = await ASSETS.fetch(LIST)
  if (!response.ok) throw new Error(`The list of disposable domains cannot be read: ${response.status}.`)
  const list = new Set((await response.json()) as string[])
  lists.set(ASSETS, list)
  return list
}

/** 422 for an address at a domain of disposable ones, or at a subdomain of one. */
export async function refuseDisposable({ env }: System, email: string): Promise<void> {
  const list = await listOf(env)
  if (domainsOf(email).some((domain) => list.has(domain)))
    throw invalid('email.disposable', [{ path: 'email', message: 'Addresses at disposable domains are not accepted.' }])
}
