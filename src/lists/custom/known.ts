import type { Ctx } from '../../platform/context.ts'
import { readRows } from '../../platform/db/statement.ts'
import { refuseFaults } from '../../platform/failures.ts'
import { isCustom, keysWith } from '../catalog.ts'
import { findCustomLists } from './store.ts'

/** The most own lists that are named one by one. */
const MOST_NAMED = 20

/**
 * Refuses keys of own lists that the organization does not have, so that a misspelled one does not answer as an empty list does. `values` may
 * have other keys too. Throws Failure 422 blacklist.unknown.
 */
export async function refuseUnknownLists(
  { db, organization }: Ctx,
  path: string,
  values: readonly string[] | null | undefined,
): Promise<void> {
  if (!values?.some(isCustom)) return
  const own = (await readRows(db.$client, findCustomLists(organization.id))).map(({ source }) => source)
  const named = own.length > MOST_NAMED ? [...own.slice(0, MOST_NAMED), '…'] : own
  const message = `Must be ${keysWith(named)}: the organization has no other list. GET /v1/blacklists/custom lists your own.`
  const faults = values.flatMap((value, n) => (isCustom(value) && !own.includes(value) ? [{ path: `${path}[${n}]`, message }] : []))
  refuseFaults('blacklist.unknown', faults)
}
