import { jsonChunks } from '../../platform/db/commit.ts'

/** An organization's connection to an entity, with the bounds of its windows. */
export interface RecipientRow {
  entity: number
  organization_id: string
  fiscal_entity_id: string
  rfc: string
  state: string
  /** When the connection last became active, and when it was left since; in milliseconds since 1970, null before. */
  active_since: number | null
  inactive_since: number | null
  issued_from: string | null
  issued_to: number | null
  received_from: string | null
  received_to: number | null
  extractor_count: number
  /** 1 while the organization has a planned run, which may widen its window. */
  has_planned_run: number
}

/** Finds every connection to these entities that is not unlinked. */
export const findRecipients = async (d1: D1Database, entities: readonly number[]): Promise<RecipientRow[]> =>
  (
    await d1
      .prepare(
        `with planned as materialized (select distinct organization_id from runs indexed by runs_planned where status = 'planned')
         select c.entity, c.organization_id, c.fiscal_entity_id, c.rfc, c.state, c.active_since, c.untold->>'since' as inactive_since,
           c.issued_from, c.issued_to, c.received_from, c.received_to, o.extractor_count, c.organization_id in planned as has_planned_run
         from json_each(?) e
         cross join connections c indexed by connections_entity on c.entity = e.value and c.state <> 'unlinked'
         cross join organizations o on o.id = c.organization_id`,
      )
      .bind(JSON.stringify(entities))
      .all<RecipientRow>()
  ).results

/** Returns which of these events are in a feed already. */
export const findKnownEvents = async (d1: D1Database, event_ids: readonly string[]): Promise<Set<string>> => {
  const statements = jsonChunks(event_ids).map((json) =>
    d1.prepare('select event_id from json_each(?) i cross join events on event_id = i.value').bind(json),
  )
  const results = await d1.batch<{ event_id: string }>(statements)
  return new Set(results.flatMap(({ results: rows }) => rows).map(({ event_id }) => event_id))
}
