import type { System } from '../../platform/context.ts'
import { idOfUuid } from '../../platform/db/id.ts'
import { findLinked } from '../../taxpayers/taxpayers.ts'

/** A payload, as far as it says which RFC it is about. */
interface About {
  fiscal_entity_id?: string
}

/**
 * Returns which of an organization's events are hidden, because they are about an RFC that is no longer linked. Asks the control plane
 * once, and not at all when none is about an RFC.
 */
export async function hiddenOf<T extends { body: string }>({ db }: System, organization_id: string, events: readonly T[]): Promise<Set<T>> {
  const about = new Map(events.map((event) => [event, (JSON.parse(event.body) as About).fiscal_entity_id]))
  const entities = [...new Set(about.values())].flatMap((uuid) => (uuid === undefined ? [] : [idOfUuid('fe', uuid)]))
  const linked = entities.length === 0 ? new Set() : await findLinked(db, organization_id, entities)
  return new Set(
    events.filter((event) => {
      const uuid = about.get(event)
      return uuid !== undefined && !linked.has(idOfUuid('fe', uuid))
    }),
  )
}
