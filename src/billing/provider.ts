import type { Ctx } from '../env.ts'
import type { StoredTerms } from './store.ts'

/** Where the organization can buy the seat that it lacks; null when the provider cannot say now. */
export async function seatCheckout({ env, organization }: Ctx, _terms: StoredTerms): Promise<string | null> {
  const url = new URL(env.CHECKOUT_URL)
  url.searchParams.set('organization', organization.id)
  return url.href
}
