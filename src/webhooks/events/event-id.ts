import { idOfText } from '../../platform/db/id.ts'
import { hexOf, suffixOf } from '../../platform/db/typeid.ts'

/** The digits of an identifier that hold the place in the feed: the time of a UUID of version 7. */
const PLACE_DIGITS = 12

const suffix = (id: string): string => id.slice(id.indexOf('_') + 1)

/** The identifier of an event: its place in the feed, and what is derived from the place and the organization. */
export async function eventIdOf(organization_id: string, seq: number): Promise<string> {
  const derived = hexOf(suffix(await idOfText('evt', JSON.stringify([organization_id, seq]))))
  return `evt_${suffixOf(seq.toString(16).padStart(PLACE_DIGITS, '0') + derived.slice(PLACE_DIGITS))}`
}

/** The place that an identifier of an event names, whether or not there is such an event. */
export const seqOf = (event_id: string): number => Number.parseInt(hexOf(suffix(event_id)).slice(0, PLACE_DIGITS), 16)

/** The payload of an event: `event_id` follows the first member, which is `event`. */
export const payloadOf = (body: string, event_id: string): string => body.replace(',', `,"event_id":"${event_id}",`)
