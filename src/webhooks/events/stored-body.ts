/** What a `sync.completed` says of a download that brought nothing. Most events are such. */
const NO_CHANGE = '"created_count":0,"updated_count":0,"cancelled_count":0,"first_issued_at":null,"last_issued_at":null,'
const NEXT = '"completed_at"'

const isSync = (text: string): boolean => text.startsWith('{"event":"sync.completed"')

/** A payload as its row keeps it: that of a `sync.completed` without the members that say that nothing changed. */
export const storedOf = (payload: string): string => (isSync(payload) ? payload.replace(NO_CHANGE + NEXT, NEXT) : payload)

/** The payload of a row, byte for byte as it was before. */
export const payloadOf = (body: string): string =>
  isSync(body) && !body.includes('"created_count"') ? body.replace(NEXT, NO_CHANGE + NEXT) : body
