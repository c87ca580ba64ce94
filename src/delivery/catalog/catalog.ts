import * as z from 'zod'
import { EVENT_KEYS, type EventCatalog, type EventKey } from './contract.ts'
import { type EventPayload, PAYLOADS } from './payload-contract.ts'
import { SAMPLES } from './samples.ts'

/** When each event is sent. */
export const DESCRIPTIONS: Record<EventKey, string> = {
  'cfdi.cancelled':
    'The tax authority reports that a CFDI that was valid is now cancelled. Sent once for each CFDI and RFC. What happens while the ' +
    'connection is not active is sent when it is active again. A document that only you imported sends none.',
  'cfdi.cancelled_after_payment':
    'A cancelled CFDI had payments applied to it, or was an issued income CFDI that already counted as income. Sent in addition to ' +
    'cfdi.cancelled.',
  'sync.completed':
    'A sync job ended successfully. Sent once for each RFC, period and document type, so the download of a long period sends many.',
  'sync.failed': 'A sync job failed and is not attempted again; error_class gives the reason.',
  'connection.ciec_invalid':
    'The tax authority rejected the stored CIEC or e.firma, at a login or when it was verified, or the e.firma has expired, and the connection ' +
    'has no other. Downloads stop until one is sent. Sent once for each, not for each failed login, also while the connection is paused.',
  'cfdi.issued': 'A new CFDI was ingested.',
  'document.csf.updated':
    'A run of yours downloaded a tax status certificate (CSF) that is new to you. `changes` says what differs from the one before. The ' +
    'feed has it; webhooks are not sent it.',
  'document.opinion_32d.changed':
    'The sense of the tax compliance opinion (article 32-D) is another one than that of the opinion before. The feed has it; webhooks are ' +
    'not sent it.',
  'obligation.due_soon':
    'A tax obligation is due in five days, or in one, and no return was downloaded that shows it for its period. Sent once for each of both days.',
  'storage.failed':
    'Copying to a storage connector failed five times in a row, and the connector has the status error. Nothing is copied to it until it is ' +
    'activated again. Downloads go on. Sent once each time that a connector gets this status.',
  'mailbox.notification_received':
    'The tax authority sent a notification to the tax mailbox. Sent once for each notification. The first run of a connection tells only of ' +
    'notifications of the last four business days that nobody has opened.',
  'blacklist.changed':
    'A counterparty of a CFDI that your windows show came onto a blacklist, left it, or got another situation there, with a new version of the ' +
    'list: a public one or your own. Sent once for each change and fiscal entity. The first load of a public list sends nothing.',
  'extraction.completed':
    'All downloads that a run asked for of one RFC ended successfully. Sent once for each RFC and run, with what became readable for you: what ' +
    'was downloaded, and what another organization had downloaded and the run made visible. A run whose downloads were all withdrawn has it too.',
  'extraction.failed':
    'All downloads that a run asked for of one RFC ended, and at least one of them failed. Sent in the place of extraction.completed.',
  'alert.raised': 'An alert was raised, or a warning became critical (`GET /v1/alerts`). Sent once for each.',
  'alert.resolved': 'The cause of an alert ended, so that nobody has to act on it any more. Sent once for each alert.',
  'quota.warning':
    'At least 80 % of a limit of the plan is used (`quotas` of `GET /v1/billing/usage`). Sent once for each limit and period, when something is ' +
    'made that counts: the period is the day of a daily limit, and the month of any other. What would exceed the limit is refused with 409.',
}

interface CatalogEntry {
  key: EventKey
  description: string
  /** Null while the event is not sent. */
  sample: EventPayload | null
}

/** Every event that a webhook can subscribe to, in the specification's order. */
export const CATALOG: readonly CatalogEntry[] = EVENT_KEYS.map((key) => ({
  key,
  description: DESCRIPTIONS[key],
  sample: SAMPLES[key as keyof typeof SAMPLES] ?? null,
}))

/**
 * The catalog with the JSON Schema and a sample of each payload. `npm run openapi` writes it into `assets`, and the Worker answers with that
 * file: neither this file nor the schemas and samples are in the bundle.
 */
export const listCatalog = (): EventCatalog => ({
  data: CATALOG.map(({ key, description, sample }) => {
    const payload = PAYLOADS[key as keyof typeof PAYLOADS] as z.ZodType
    const schema = sample ? (z.toJSONSchema(payload) as Record<string, unknown>) : null
    return { key, description, available: sample !== null, schema, sample }
  }),
})
