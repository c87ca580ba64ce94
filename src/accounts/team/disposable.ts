import type { System } from '../../platform/context.ts'
import { invalid } from '../../platform/failures.ts'
import { domainsOf, hasDisposableName } from './domains.ts'

/** The list of the package `disposable-email-domains-js`, linked from `assets/`. `npm run domains` installs its newest release. */
const LIST = 'https://assets.invalid/disposable-domains.json'

// Holds lists and not promises, because a request must not await the I/O of another request.
const lists = new WeakMap<Fetcher, ReadonlySet<string>>()

async function listOf({ ASSETS }: Env): Promise<ReadonlySet<string>> {
  const known = lists.get(ASSETS)
  if (known) return known
  const response = await ASSETS.fetch(LIST)
  if (!response.ok) throw new Error(`The list of disposable e-mail domains answered ${response.status}.`)
  const list = new Set((await response.json()) as string[])
  lists.set(ASSETS, list)
  return list
}

/** Throws Failure 422 email.disposable when the address is at a disposable domain or a subdomain of one: by the list, or by its name. */
export async function refuseDisposable({ env }: System, email: string): Promise<void> {
  const list = await listOf(env)
  const domains = domainsOf(email)
  if (hasDisposableName(domains[0]!) || domains.some((domain) => list.has(domain)))
    throw invalid('email.disposable', [{ path: 'email', message: 'Must not be at a disposable e-mail domain.' }])
}
