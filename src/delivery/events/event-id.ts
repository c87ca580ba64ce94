import { idOfText } from '../../platform/db/id.ts'
import { hexOf, suffixOf } from '../../platform/db/typeid.ts'

/** The digits of an identifier that hold its time, as in a UUID of version 7. */
const TIME_DIGITS = 12

const hexOfId = (id: string): string => hexOf(id.slice(id.indexOf('_') + 1))

/** Derives the identifier of an event from the change, its time in milliseconds since 1970, and the organization. */
export async function eventIdOf(change: string, at: number, organization_id: string): Promise<string> {
  const derived = hexOfId(await idOfText('evt', JSON.stringify([change, organization_id])))
  return `evt_${suffixOf(at.toString(16).padStart(TIME_DIGITS, '0') + derived.slice(TIME_DIGITS))}`
}

/** The time in an identifier, in milliseconds since 1970: of the change, or of a test. */
export const timeOf = (event_id: string): number => Number.parseInt(hexOfId(event_id).slice(0, TIME_DIGITS), 16)
