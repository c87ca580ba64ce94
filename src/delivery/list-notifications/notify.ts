import { readerOf } from '../../accounts/organization/organization.ts'
import { labelOf } from '../../lists/catalog.ts'
import { connectionsAfter, findChanged, findMarked, keepListed, type Marked, outdatedOf } from '../../lists/listed/counterparties.ts'
import { BLACKLIST_CHANGED, type BlacklistChangedBody } from '../../lists/listed/listed.ts'
import type { Ctx, System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { readRows } from '../../platform/db/statement.ts'
import { insertOutboxEvents, type OutboxEvent, wakeRelay } from '../../platform/outbox/outbox.ts'
import type { Page } from '../../platform/paging/cursor.ts'
import { clock } from '../../platform/time/clock.ts'
import { pageByPage } from '../../platform/work/pages.ts'
import { openLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { EventPayload } from '../catalog/payload-contract.ts'
import type { WatchQuery } from '../events/contract.ts'
import { listEvents } from '../events/events.ts'
import {
  findAllChanges,
  findChanges,
  markNotified,
  NOT_TRADED,
  type RecordedChange,
  type TradedWith,
  type UnnotifiedList,
  unnotifiedLists,
  visibleCounterparties,
} from './store.ts'

/** Connections of one page, and the most statements that it takes. */
const CONNECTIONS = 20
const PAGE_STATEMENTS = 200

/** So many changes are kept in memory. After more, and after a first load, all counterparties are looked up on all lists. */
const MOST_CHANGES = 10_000

type Changes = ReadonlyMap<string, readonly RecordedChange[]>

/** Where the task continues: with these versions of lists, behind a connection. */
interface Position {
  lists: UnnotifiedList[]
  after: number
}

/**
 * Goes through the connections of those who see a list that was loaded: stores which of their counterparties are listed, and reports each
 * counterparty whose place on the list has changed, once. A task. A page can be repeated without harm, because its events derive from the
 * change; the list is marked as reported at the end. The rows that it reads grow with the changes, and not with the lists.
 */
export const notifyListings = (system: System, cursor: string): Promise<string | null> => {
  const d1 = system.db.$client
  let known: { of: string; changes: Changes | null } | null = null
  const changesOf = async (lists: readonly UnnotifiedList[]): Promise<Changes | null> => {
    const of = JSON.stringify(lists)
    if (known?.of !== of) {
      const all = lists.some(({ notified_version }) => notified_version === 0) ? null : await findAllChanges(d1, lists, MOST_CHANGES)
      known = { of, changes: all && byRfc(all) }
    }
    return known.changes
  }
  return pageByPage(system, PAGE_STATEMENTS, cursor, async (from) => {
    const { lists, after } = from === '' ? { lists: await readRows(d1, unnotifiedLists()), after: 0 } : (JSON.parse(from) as Position)
    if (lists.length === 0) return null
    const changes = await changesOf(lists)
    const page = changes?.size === 0 ? [] : await connectionsAfter(d1, lists[0]!.organization_id, after, CONNECTIONS)
    // A connection that has changed since is looked at again.
    if (page.length > 0 && !(await notifyPage(system, lists, page, changes))) return JSON.stringify({ lists, after })
    if (page.length === CONNECTIONS) return JSON.stringify({ lists, after: page.at(-1)!.connection } satisfies Position)
    await commit(d1, [markNotified(lists)])
    return ''
  })
}

const byRfc = (changes: readonly RecordedChange[]): Changes => Map.groupBy(changes, ({ rfc }) => rfc)

/** Stores and reports the changes for the connections of a page, in one commit. Returns whether all could be stored. */
async function notifyPage(
  system: System,
  lists: readonly UnnotifiedList[],
  page: Parameters<typeof findMarked>[1],
  known: Changes | null,
): Promise<boolean> {
  const d1 = system.db.$client
  const marked = known ? await findChanged(system, page, known) : await findMarked(system, page)
  const changes = known ?? byRfc(await findChanges(d1, lists, [...new Set(marked.flatMap(({ counterparties }) => counterparties))]))
  const labels = new Map(lists.map(({ source, label }) => [source, labelOf(source, label)]))
  const events: OutboxEvent[] = []
  for (const one of marked) {
    const changed = one.state === 'active' ? one.counterparties.filter((rfc) => changes.has(rfc)) : []
    const visible = changed.length === 0 ? new Map<string, TradedWith>() : await visibleTo(system, one, changed)
    for (const [rfc, traded] of visible)
      for (const change of changes.get(rfc)!) events.push(eventOf(one, change, labels.get(change.source)!, traded))
  }
  const outdated = outdatedOf(marked)
  if (outdated.length + events.length === 0) return true
  const [kept] = await commit(d1, [keepListed(outdated), ...insertOutboxEvents(events, clock.now())])
  if (events.length > 0) await wakeRelay(system, 'control')
  return kept!.results.length === outdated.length
}

async function visibleTo(
  system: System,
  { organization_id, fiscal_entity_id }: Marked<unknown>,
  rfcs: readonly string[],
): Promise<Map<string, TradedWith>> {
  const reader = await readerOf(system, { id: organization_id }, fiscal_entity_id)
  if (reader?.connection.state !== 'active') return new Map()
  return visibleCounterparties(openLedger({ settings: system.settings, ...reader }), rfcs)
}

const eventOf = (
  { connection, entity, organization_id }: Marked<unknown>,
  { rfc, version, name, ...change }: RecordedChange,
  list_label: string,
  traded: TradedWith,
): OutboxEvent => ({
  outbox_event_id: `${BLACKLIST_CHANGED}:${change.source}:${version}:${rfc}:${connection}`,
  kind: BLACKLIST_CHANGED,
  entity,
  organizations: [organization_id],
  body: {
    counterparty_rfc: rfc,
    counterparty_name: name,
    list_label,
    ...change,
    ...(change.change === 'removed' ? NOT_TRADED : traded),
  } satisfies BlacklistChangedBody,
})

/**
 * Returns a page of the changes of lists that concern counterparties of the organization, oldest first, as its feed of events has them. It ends
 * like a list: who follows the feed does so with its own cursors.
 */
export async function watchBlacklists(ctx: Ctx, query: WatchQuery): Promise<Page<EventPayload>> {
  const page = await listEvents(ctx, { ...query, event_key: BLACKLIST_CHANGED })
  return page.has_more ? page : { ...page, next_cursor: null }
}

/** Returns those of these changes with which a list newly names a counterparty. */
export async function watchListed(ctx: Ctx, query: WatchQuery): Promise<Page<EventPayload>> {
  const page = await watchBlacklists(ctx, query)
  return { ...page, data: page.data.filter((one) => one.event === BLACKLIST_CHANGED && one.change === 'listed') }
}
