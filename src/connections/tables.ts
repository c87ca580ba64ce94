import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import type { DataSourceKey } from '../authority/port/authority.ts'
import type { LoginKind } from '../authority/port/login.ts'
import { flag, instant } from '../platform/db/columns.ts'

export const TRIGGER_KINDS = ['connection_created', 'connection_reactivated', 'schedule'] as const
export const SCHEDULE_KINDS = ['daily', 'every_n_days', 'nth_weekday_monthly'] as const
export const SCOPES = ['full_history', 'last_n_months', 'since_watermark'] as const

export const extractors = sqliteTable(
  'extractors',
  {
    extractor_id: text().primaryKey(),
    organization_id: text().notNull(),
    name: text().notNull(),
    is_enabled: flag().notNull(),
    trigger_kind: text({ enum: TRIGGER_KINDS }).notNull(),
    schedule_kind: text({ enum: SCHEDULE_KINDS }),
    schedule_spec: text({ mode: 'json' }).$type<Record<string, number>>().notNull(),
    timezone: text().notNull(),
    scope: text({ enum: SCOPES }).notNull(),
    scope_months: integer(),
    data_source_keys: text({ mode: 'json' }).$type<DataSourceKey[]>().notNull(),
    /** The days on which it is due, as a key of rules.ts; null when it is not scheduled. */
    cadence: text(),
    /** The local day on which the cadence was saved, `YYYY-MM-DD`. The extractor is never due on or before this day. */
    armed_day: text(),
    last_run_at: instant(),
    created_at: instant().notNull(),
  },
  (table) => [
    // The list of an organization's extractors, oldest first.
    index('extractors_organization').on(table.organization_id, table.extractor_id),
    // Ticks: the cadences in use in a zone, and a page of the extractors of one cadence.
    index('extractors_due').on(table.timezone, table.cadence, table.extractor_id).where(sql`is_enabled = 1 and cadence is not null`),
  ],
)

/** Time zones of scheduled extractors, with the last local day whose cadences have been evaluated. */
export const zones = sqliteTable('zones', {
  timezone: text().primaryKey(),
  evaluated_day: text().notNull(),
})

/** The planning progress of one cadence that is due on a local day of a zone. Inserted in the commit that advances the zone. */
export const tickPages = sqliteTable(
  'tick_pages',
  {
    timezone: text().notNull(),
    /** The local day of the tick. */
    day: text().notNull(),
    cadence: text().notNull(),
    /** The last day up to `day` on which the cadence is due: the local date of its runs. */
    due_day: text().notNull(),
    /** The tick's instant, which all its runs share. */
    instant: instant().notNull(),
    /** The last extractor that has been planned; empty before the first. */
    after: text().notNull(),
    is_done: flag().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.timezone, table.day, table.cadence] }),
    // The sweep: unfinished pages.
    index('tick_pages_open').on(table.instant).where(sql`is_done = 0`),
  ],
)

export const RUN_TRIGGERS = ['manual', 'connection_created', 'connection_reactivated', 'schedule', 'extraction'] as const

export const RUN_STATES = ['planned', 'dispatched', 'no_connections', 'cancelled'] as const

/** A download of an RFC at once: its sources, and its first and last day. */
export interface AskedRange {
  data_source_keys: DataSourceKey[]
  from: string
  to: string
}

/** One dispatch of an extractor, or of what is asked for of one RFC. Inserted before its work begins, so that a crash leaves a row to finish. */
export const runs = sqliteTable(
  'runs',
  {
    run_id: text('run_id').primaryKey(),
    organization_id: text('organization_id').notNull(),
    /** Empty for a run of no extractor. */
    extractor_id: text('extractor_id').notNull(),
    trigger: text('trigger', { enum: RUN_TRIGGERS }).notNull(),
    /** The local day of a scheduled run; null for other triggers. */
    local_date: text('local_date'),
    /** The only fiscal entity that the run covers; null when it covers all of the organization's. */
    fiscal_entity_id: text('fiscal_entity_id'),
    /** Determines ranges and windows, and which finished jobs are recent enough to be joined. */
    instant: instant('instant').notNull(),
    status: text('status', { enum: RUN_STATES }).notNull(),
    connections: integer('connections').notNull(),
    dispatched: integer('dispatched').notNull(),
    gap_jobs: integer('gap_jobs').notNull().default(0),
    /** The last connection that has been dispatched; empty before the first. The counts are those up to it. */
    after: text('after').notNull().default(''),
    created_at: instant('created_at').notNull(),
    /** When it was planned, or `after` last moved; for a run that waits for the verification of a CIEC, the time of that; when it was cancelled. */
    moved_at: instant('moved_at').notNull().default(sql`0`),
    /** Of a run of no extractor: what was asked for. */
    asked: text('asked', { mode: 'json' }).$type<AskedRange>(),
  },
  (table) => [
    // The sweep: runs that a crash left unfinished.
    index('runs_planned').on(table.moved_at).where(sql`status = 'planned'`),
    // GET /extractors/{id}/runs, newest first.
    index('runs_extractor').on(table.extractor_id, table.run_id),
    // One run per extractor and local date.
    uniqueIndex('runs_local_date').on(table.extractor_id, table.local_date).where(sql`local_date is not null`),
  ],
)

/** Signatures of requests for a lease, kept while their timestamps are good: none of them gets another one. */
export const fetcherSignatures = sqliteTable(
  'fetcher_signatures',
  {
    /** The MAC in hexadecimal. */
    mac: text('mac').primaryKey(),
    /** When its timestamp is good no more, in milliseconds since 1970. */
    until: integer('until').notNull(),
  },
  (table) => [
    // Forgetting.
    index('fetcher_signatures_until').on(table.until),
  ],
)

export const LINK_STATES = ['created', 'opened', 'verifying', 'submitted', 'connected', 'refused', 'expired', 'revoked'] as const
export const LANGUAGES = ['es', 'en'] as const
export type PageLanguage = (typeof LANGUAGES)[number]

/** What the login of a taxpayer is asked for, and what for. */
export interface AskedPurpose {
  key: string
  necessary: boolean
}

export interface Controller {
  name: string
  privacy_notice_url: string | null
  /** The name of the organization when it made the link: the name above is of its choice. */
  organization: string
}

/** Links to the page where a taxpayer gives a login for an organization. */
export const connectLinks = sqliteTable(
  'connect_links',
  {
    connect_link_id: text().primaryKey(),
    organization_id: text().notNull(),
    /** SHA-256 of the token in hexadecimal. The token itself is not stored. */
    digest: text().notNull(),
    status: text({ enum: LINK_STATES }).notNull(),
    /** The consent that a login makes. It is known before, because the e.firma signs it. */
    consent_id: text().notNull(),
    /** The connection whose login is asked for again, or the one that the link has made. */
    fiscal_entity_id: text(),
    /** Null while the taxpayer has not said it. */
    rfc: text(),
    is_relink: flag().notNull(),
    external_id: text(),
    metadata: text({ mode: 'json' }).$type<Record<string, string>>().notNull(),
    /** Empty when a relink asks for no new consent. */
    purposes: text({ mode: 'json' }).$type<AskedPurpose[]>().notNull(),
    controller: text({ mode: 'json' }).$type<Controller>().notNull(),
    sources: text({ mode: 'json' }).$type<DataSourceKey[]>().notNull(),
    logins: text({ mode: 'json' }).$type<LoginKind[]>().notNull(),
    /** The first and the last day of the access; null without a bound. */
    access_from: text(),
    access_until: text(),
    language: text({ enum: LANGUAGES }).notNull(),
    return_url: text(),
    state: text(),
    /** How many logins were refused, or are being verified. */
    attempts: integer().notNull(),
    /** Why the last one was refused. */
    code: text(),
    /** Who verifies a login now, and until when others believe that. */
    token: text(),
    lease_until: instant(),
    created_at: instant().notNull(),
    expires_at: instant().notNull(),
    opened_at: instant(),
    connected_at: instant(),
  },
  (table) => [
    // The page.
    uniqueIndex('connect_links_digest').on(table.digest),
    // The list, newest first.
    index('connect_links_organization').on(table.organization_id, table.connect_link_id),
    // The sweep: links that nobody can use any more.
    index('connect_links_open').on(table.expires_at).where(sql`status in ('created', 'opened', 'verifying', 'refused')`),
    // Pruning.
    index('connect_links_expired').on(table.expires_at),
  ],
)

export const CONSENT_METHODS = ['ciec_verified', 'ciec_given', 'efirma_signed', 'declared_by_customer'] as const
export const CONSENT_STATES = ['active', 'withdrawn', 'expired', 'superseded'] as const
export const WITHDRAWN_BY = ['subject', 'customer', 'operator'] as const
export const SUBJECT_KINDS = ['taxpayer', 'representative'] as const

/** What a taxpayer agreed to, word for word. */
export interface ConsentText {
  version: string
  language: PageLanguage
  sha256: string
  content: string
}

/** Why an organization may use the login of a taxpayer. */
export const consents = sqliteTable(
  'consents',
  {
    consent_id: text().primaryKey(),
    organization_id: text().notNull(),
    fiscal_entity_id: text().notNull(),
    entity: integer().notNull(),
    rfc: text().notNull(),
    /** Null for one that the customer declares. */
    connect_link_id: text(),
    consent_reference: text(),
    subject: text({ mode: 'json' }).$type<{ kind: (typeof SUBJECT_KINDS)[number]; name: string; email: string | null }>(),
    text: text({ mode: 'json' }).$type<ConsentText>(),
    purposes: text({ mode: 'json' }).$type<(AskedPurpose & { granted: boolean })[]>().notNull(),
    sources: text({ mode: 'json' }).$type<DataSourceKey[]>(),
    access_from: text(),
    access_until: text(),
    /** The first instant after the last day of the access. */
    ends_at: instant(),
    granted_at: instant().notNull(),
    /** The network that it came from, as a keyed hash (platform/network.ts). */
    address_hash: text(),
    user_agent: text(),
    method: text({ enum: CONSENT_METHODS }).notNull(),
    /** Of an e.firma, in base64: what it signed of the consent, and its certificate. */
    signature: text(),
    certificate: text(),
    /** SHA-256 of the code on the receipt, in hexadecimal. */
    code_digest: text(),
    status: text({ enum: CONSENT_STATES }).notNull(),
    ended_at: instant(),
    withdrawn_by: text({ enum: WITHDRAWN_BY }),
  },
  (table) => [
    // The list, newest first.
    index('consents_organization').on(table.organization_id, table.consent_id),
    // One that counts for each connection.
    uniqueIndex('consents_active').on(table.organization_id, table.fiscal_entity_id).where(sql`status = 'active'`),
    // The page of the receipt.
    uniqueIndex('consents_code').on(table.code_digest).where(sql`code_digest is not null`),
    // The sweep: consents whose time has ended.
    index('consents_ending').on(table.ends_at).where(sql`status = 'active' and ends_at is not null`),
  ],
)
