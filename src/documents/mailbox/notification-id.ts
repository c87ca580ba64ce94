import { idOfText, idOfUuid, uuidOf } from '../../platform/db/id.ts'

/** The digits of an identifier that hold the time at which the authority sent the notification. */
const TIME_DIGITS = 12

/** The identifier of a notification as one connection is shown it. `sent_at` is in milliseconds. */
export async function notificationIdOf(fiscal_entity_id: string, sent_at: number, notification: string): Promise<string> {
  const derived = uuidOf(await idOfText('ntf', JSON.stringify([fiscal_entity_id, notification]))).replaceAll('-', '')
  return idOfUuid('ntf', sent_at.toString(16).padStart(TIME_DIGITS, '0') + derived.slice(TIME_DIGITS))
}

/** The `sent_at` in an identifier. */
export const sentAtOf = (notification_id: string): number =>
  Number.parseInt(uuidOf(notification_id).replaceAll('-', '').slice(0, TIME_DIGITS), 16)
