import { timeOf } from './event-id.ts'

/** What a job is about, as its event says it. */
export const subjectOf = (data_source_key: string, period: string | null) => ({
  document_type: period === null ? data_source_key.replace(/^sat_/, '') : 'cfdi',
  direction: DIRECTIONS[data_source_key as keyof typeof DIRECTIONS] ?? null,
})

const DIRECTIONS = { sat_cfdi_issued: 'issued', sat_cfdi_received: 'received' } as const

/** What a `sync.completed` says of a download that brought nothing. Most events are such. */
const NO_CHANGE = { created_count: 0, updated_count: 0, cancelled_count: 0, first_issued_at: null, last_issued_at: null }

const isSync = (text: string): boolean => text.startsWith('{"event":"sync.completed"')

/** When the service recorded what an event tells, which its identifier says as well. */
const occurredAt = (event_id: string): string => new Date(timeOf(event_id)).toISOString()

/**
 * A payload as its row keeps it: that of a `sync.completed` without what follows from its other members, and without the members that say
 * that nothing changed.
 */
export function storedOf(payload: string): string {
  if (!isSync(payload)) return payload
  const { document_type: _, direction: __, ...kept } = JSON.parse(payload) as Record<string, unknown>
  if (Object.entries(NO_CHANGE).every(([name, value]) => kept[name] === value)) for (const name of Object.keys(NO_CHANGE)) delete kept[name]
  if (kept['completed_at'] === kept['occurred_at']) delete kept['completed_at']
  if (kept['occurred_at'] === occurredAt(String(kept['event_id']))) delete kept['occurred_at']
  const stored = JSON.stringify(kept)
  return payloadOf(stored) === payload ? stored : payload
}

const isSample = (body: string): boolean => body.startsWith('{"event":"webhook.test"') && body.includes('"sample":{')

/** The row of a test event that sends the sample of another one: in the feed it is a test, and its endpoint gets the sample. */
export const storedSample = (test: { event_id: string; occurred_at: string; sample_of: string }, sample: object): string => {
  const { event_id, occurred_at } = test
  return JSON.stringify({ ...test, sample: { ...sample, event_id, occurred_at } })
}

/** What a delivery of a row sends, and whether it is a sample. */
export const sentOf = (body: string): { payload: string; isTest: boolean } =>
  isSample(body)
    ? { payload: JSON.stringify((JSON.parse(body) as { sample: object }).sample), isTest: true }
    : { payload: payloadOf(body), isTest: false }

/** The payload of a row, byte for byte as it was before. */
export function payloadOf(body: string): string {
  if (isSample(body)) {
    const { sample: _, ...test } = JSON.parse(body) as { sample: object }
    return JSON.stringify(test)
  }
  if (!isSync(body) || body.includes('"document_type"')) return body
  const { event, event_id, occurred_at = occurredAt(event_id), ...more } = JSON.parse(body) as Stored
  const { fiscal_entity_id, rfc, job_id, data_source_key, period, ...counts } = more
  const head = { event, event_id, occurred_at, fiscal_entity_id, rfc, job_id, data_source_key, period }
  return JSON.stringify({ ...head, ...subjectOf(data_source_key, period), ...NO_CHANGE, completed_at: occurred_at, ...counts })
}

interface Stored {
  event: string
  event_id: string
  occurred_at?: string
  fiscal_entity_id: string
  rfc: string
  job_id: string
  data_source_key: string
  period: string | null
}
