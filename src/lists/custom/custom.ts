import { sql } from 'drizzle-orm'
import { takePlace } from '../../accounts/plans/place.ts'
import { change } from '../../platform/audit/audit.ts'
import type { Ctx } from '../../platform/context.ts'
import { isUniqueViolation } from '../../platform/db/guard.ts'
import { retryOnConflict } from '../../platform/db/retry.ts'
import { Failure, notFound } from '../../platform/failures.ts'
import { START } from '../../platform/pages.ts'
import { sendHints } from '../../platform/queues/send.ts'
import { localDayOf } from '../../platform/time/calendar.ts'
import { forgetListed } from '../listed/watched.ts'
import { findList, loadStatements } from '../loading/store.ts'
import type { ListState } from '../tables.ts'
import type { CustomList, CustomListDraft, CustomLists } from './contract.ts'
import { readCustomList } from './entries.ts'
import { deleteCustomList, entriesUsed, findCustomLists, insertCustomList, listsUsed } from './store.ts'

export { entriesUsed, listsUsed } from './store.ts'

const sourceOf = (slug: string): string => `custom:${slug}`

const view = ({ source, label, row_count, version, fetched_at }: ListState): CustomList => ({
  source,
  slug: source.slice(sourceOf('').length),
  label: label ?? source,
  row_count,
  version,
  uploaded_at: fetched_at === null ? null : new Date(fetched_at).toISOString(),
})

/** Returns the organization's own lists, by slug. */
export const listCustomLists = async ({ db, organization }: Ctx): Promise<CustomLists> => ({
  data: (await findCustomLists(db.$client, organization.id)).map(view),
})

async function requireList({ db, organization }: Ctx, source: string): Promise<ListState> {
  const list = await findList(db.$client, organization.id, source)
  if (!list) throw notFound('blacklist')
  return list
}

/** Creates an empty list of the organization. Throws Failure 409 blacklist.exists and blacklist.plan_limit. */
export async function createCustomList(ctx: Ctx, { slug, label }: CustomListDraft): Promise<CustomList> {
  const { db, organization, now } = ctx
  const source = sourceOf(slug)
  await takePlace(ctx, 'blacklists', listsUsed(organization.id), (place) =>
    change(ctx, { action: 'blacklist.created', resource_id: slug, changed: ['slug', 'label'] }, [
      ...place,
      insertCustomList(db.$client, organization.id, source, label, now.getTime()),
    ]),
  ).catch((error: unknown) => {
    if (!isUniqueViolation(error)) throw error
    throw new Failure('conflict', 'blacklist.exists', 'The organization has a list with this slug. Replace its content with PUT.')
  })
  return view(await requireList(ctx, source))
}

/**
 * Replaces the content of the organization's own list. The same content again changes nothing. Throws Failure 404 blacklist.not_found, 422
 * as `readCustomList` does, and 409 blacklist_entry.plan_limit.
 */
export async function replaceCustomList(ctx: Ctx, slug: string, bytes: Uint8Array, isJson: boolean): Promise<CustomList> {
  const source = sourceOf(slug)
  await requireList(ctx, source)
  const entries = readCustomList(bytes, isJson)
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)).toHex()
  await retryOnConflict(
    () => attemptReplace(ctx, slug, entries, digest),
    () => new Failure('contention', 'blacklist.changed', 'Other requests keep replacing the list at the same time. Try again.'),
  )
  await sendHints(ctx, ctx.env.TASKS, [{ body: { task: 'tellListings', at: ctx.now.getTime(), place: START } }])
  return view(await requireList(ctx, source))
}

async function attemptReplace(ctx: Ctx, slug: string, entries: ReturnType<typeof readCustomList>, digest: string): Promise<void> {
  const source = sourceOf(slug)
  const { db, organization, now } = ctx
  const { version, label, digest: held } = await requireList(ctx, source)
  if (held === digest) return
  const list_date = localDayOf(now, organization.timezone)
  const load = {
    organization_id: organization.id,
    source,
    version,
    label,
    digest,
    list_date,
    fetched_at: now.getTime(),
    row_count: entries.length,
  }
  // The last of the entries takes a place behind all others.
  const others = sql`${entries.length - 1} + (${entriesUsed(organization.id, source)})`
  await takePlace(ctx, 'blacklist_entries', sql`select ${others}`, (place) =>
    change(ctx, { action: 'blacklist.replaced', resource_id: slug, changed: ['entries'] }, [
      ...place,
      ...loadStatements(db.$client, load, entries),
      forgetListed(db.$client, organization.id),
    ]),
  )
}

/** Deletes the organization's own list. Throws Failure 404 blacklist.not_found. */
export async function removeCustomList(ctx: Ctx, slug: string): Promise<void> {
  const { db, organization } = ctx
  const source = sourceOf(slug)
  await requireList(ctx, source)
  await change(ctx, { action: 'blacklist.deleted', resource_id: slug }, [
    ...deleteCustomList(db.$client, organization.id, source),
    forgetListed(db.$client, organization.id),
  ])
}
