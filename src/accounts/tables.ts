import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { instant } from '../platform/db/columns.ts'
import type { Scope } from '../platform/tenant/scopes.ts'
import { ROLES } from '../platform/tenant/tenant.ts'

/** The mails with a link of its own each: it confirms the address of a sign-up, signs a person in, or accepts an invitation. */
export const LINK_KINDS = ['confirmation', 'sign_in', 'invitation'] as const
/** The mails to members who want them. */
export const SUBSCRIPTIONS = ['alerts', 'digest'] as const

/** Which alerts a member gets by mail. */
export const MAILED_ALERTS = ['none', 'critical', 'all'] as const
export const LANGUAGES = ['es', 'en'] as const

export const credentials = sqliteTable(
  'credentials',
  {
    /** Key version and HMAC-SHA256 of the API secret in hex. The secret itself is not stored. */
    digest: text().primaryKey(),
    api_key: text().notNull(),
    organization_id: text().notNull(),
    name: text().notNull(),
    role: text({ enum: ROLES }).notNull(),
    /** The member who made the credential, directly or through other credentials; of the first credential of all, the member it is for. */
    member_id: text().notNull(),
    /** The api_key of the credential that made it; null for the member's own, which joining the organization makes. */
    created_by: text(),
    created_at: instant().notNull(),
    expires_at: instant(),
    /** The scopes of its role that it has, as a JSON list; null for all of them. */
    scopes: text({ mode: 'json' }).$type<Scope[]>(),
    /** The fiscal entities that it is bound to, as a JSON list; null for all of the organization. */
    fiscal_entity_ids: text({ mode: 'json' }).$type<string[]>(),
    /** The networks from which it may be used, as a JSON list of CIDRs; null for all. */
    allowed_addresses: text({ mode: 'json' }).$type<string[]>(),
    /** The secret before the last roll, as `digest` has the secret, and until when it is valid. */
    previous_digest: text(),
    overlap_until: instant(),
    /** The last day, in UTC, on which a request was authenticated with it. */
    last_used_on: text(),
    revoked_at: instant(),
  },
  (table) => [
    // Revoking by api_key.
    uniqueIndex('credentials_api_key').on(table.api_key),
    // Authenticating with the secret before the last roll.
    uniqueIndex('credentials_previous').on(table.previous_digest).where(sql`previous_digest is not null`),
    // The organization's list, oldest first.
    index('credentials_organization').on(table.organization_id, table.created_at, table.api_key),
    // The quota of credentials.
    index('credentials_valid').on(table.organization_id).where(sql`revoked_at is null`),
  ],
)

export const members = sqliteTable(
  'members',
  {
    member_id: text().primaryKey(),
    organization_id: text().notNull(),
    name: text().notNull(),
    email: text().notNull(),
    role: text({ enum: ROLES }).notNull(),
    status: text({ enum: ['active', 'removed'] }).notNull(),
    /** When the member opened a link in a mail to this address; at the sign-up where the deployment sends no mail, and null until then. */
    email_confirmed_at: instant(),
    mail_alerts: text({ enum: MAILED_ALERTS }).notNull().default('critical'),
    mail_digest: integer({ mode: 'boolean' }).notNull().default(true),
    mail_language: text({ enum: LANGUAGES }).notNull().default('es'),
    created_at: instant().notNull(),
  },
  (table) => [
    // The organization's members, and their count.
    index('members_organization').on(table.organization_id, table.member_id),
    // One active member for each address, regardless of case.
    uniqueIndex('members_email').on(table.organization_id, sql`lower(email)`).where(sql`status = 'active'`),
    // The organizations of whoever signs in by mail.
    index('members_address').on(sql`lower(email)`).where(sql`status = 'active'`),
  ],
)

export const invitations = sqliteTable(
  'invitations',
  {
    invitation_id: text().primaryKey(),
    organization_id: text().notNull(),
    email: text().notNull(),
    role: text({ enum: ROLES }).notNull(),
    name: text(),
    /** Key version and HMAC-SHA256 of the token in hex. The token itself is not stored. */
    digest: text().notNull(),
    status: text({ enum: ['pending', 'accepted', 'replaced', 'withdrawn', 'expired'] }).notNull(),
    /** The api_key that sent it. Invitations that a removed member sent are withdrawn. */
    invited_by: text().notNull(),
    /** When the credential that sent it expires, and with it the one of whoever accepts; null for never. */
    credential_expires_at: instant(),
    /** What the credential of whoever accepts is limited to, as the columns of credentials say it. */
    scopes: text({ mode: 'json' }).$type<Scope[]>(),
    fiscal_entity_ids: text({ mode: 'json' }).$type<string[]>(),
    allowed_addresses: text({ mode: 'json' }).$type<string[]>(),
    created_at: instant().notNull(),
    expires_at: instant().notNull(),
  },
  (table) => [
    // Accepting an invitation by its token.
    uniqueIndex('invitations_digest').on(table.digest),
    // One pending invitation for each address, which a new one replaces. Also finds the invitations that a member sent.
    uniqueIndex('invitations_pending').on(table.organization_id, sql`lower(email)`).where(sql`status = 'pending'`),
  ],
)

/** The mails of the service, from the commit that asks for one. They are kept for two days, and for as long as their links work. */
export const mails = sqliteTable(
  'mails',
  {
    mail_id: text().primaryKey(),
    kind: text({ enum: [...LINK_KINDS, ...SUBSCRIPTIONS] }).notNull(),
    /** Whose mail it is; null for a link that signs in. */
    organization_id: text(),
    /** The member whom it is for; null for a mail with a link. */
    member_id: text(),
    /** The invitation that it brings; the alerts, as JSON, each with its instant; the day of the digest; null for another kind. */
    about: text(),
    email: text().notNull(),
    /** The address in its normal form, by which the mails to one mailbox are counted. */
    address: text().notNull(),
    /** The network from which it was asked for, as a keyed hash (platform/network.ts). */
    network: text().notNull(),
    /** Key version and HMAC-SHA256 of the link's token in hex; null before the mail is written. The token itself is not stored. */
    digest: text(),
    /** When the link ends; null before the mail is written. */
    expires_at: instant(),
    sent_at: instant(),
    attempts: integer().notNull().default(0),
    token: text(),
    lease_until: integer().notNull().default(0),
    created_at: instant().notNull(),
  },
  (table) => [
    // The link of a token.
    uniqueIndex('mails_digest').on(table.digest).where(sql`digest is not null`),
    // Counting the mails to an address.
    index('mails_address').on(table.address, table.created_at),
    // Counting the mails of an organization.
    index('mails_organization').on(table.organization_id, table.kind, table.created_at).where(sql`organization_id is not null`),
    // The sweep: mails that were not sent.
    index('mails_unsent').on(table.lease_until).where(sql`sent_at is null`),
  ],
)

/** The sessions of the console that have not ended. A cookie whose session is not here signs nobody in. */
export const consoleSessions = sqliteTable(
  'console_sessions',
  {
    /** Sealed in the cookie, beside the api_key. */
    session_id: text().primaryKey(),
    api_key: text().notNull(),
    until: instant().notNull(),
    created_at: instant().notNull(),
    /** The address, in lower case, whose mailbox its holder could read; null when a credential was presented. */
    email: text(),
  },
  (table) => [
    // The sessions of a credential, which end together.
    index('console_sessions_credential').on(table.api_key, table.until),
    // The sessions of a person, whichever organization they are in.
    index('console_sessions_email').on(table.email).where(sql`email is not null`),
    // Pruning.
    index('console_sessions_until').on(table.until),
  ],
)

export const INVOICE_STATUSES = ['open', 'paid', 'void'] as const

export const invoices = sqliteTable(
  'invoices',
  {
    invoice_id: text().primaryKey(),
    organization_id: text().notNull(),
    /** Sequential number within the organization, from 1. */
    sequence: integer().notNull(),
    /** The month that the invoice is for, `YYYY-MM`, in the organization's time zone. */
    period: text().notNull(),
    /** Decimal amounts with two places, in `currency`. */
    subtotal: text().notNull(),
    tax: text().notNull(),
    total: text().notNull(),
    currency: text().notNull(),
    status: text({ enum: INVOICE_STATUSES }).notNull(),
    /** The invoice is due at the same time. */
    issued_at: instant().notNull(),
    /** The due day, `YYYY-MM-DD`, in the organization's time zone. */
    due_on: text().notNull(),
    paid_at: instant(),
    /** The price list; null when the invoice was not issued from a price list. */
    rule_ref: text(),
    /** The invoice's reference at the payment provider; null until it is created there. */
    provider_ref: text(),
    /** End of the grace period, at which the organization is reviewed; null after the review. */
    review_at: instant(),
    /** Time of the next attempt to send the invoice to the payment provider; null after it was sent. */
    send_at: instant(),
    /** URL of the PDF at the payment provider. */
    pdf_url: text(),
  },
  (table) => [
    // GET /billing/invoices, newest first.
    uniqueIndex('invoices_organization').on(table.organization_id, table.sequence),
    // One invoice from a price list for each organization and month.
    uniqueIndex('invoices_period').on(table.organization_id, table.period).where(sql`rule_ref is not null`),
    // Whether the organization owes something, and since when.
    index('invoices_open').on(table.organization_id, table.due_on).where(sql`status = 'open'`),
    // The review of ended grace periods, every quarter of an hour.
    index('invoices_review').on(table.review_at).where(sql`status = 'open' and review_at is not null`),
    // The daily review of everything that is due.
    index('invoices_due').on(table.due_on).where(sql`status = 'open'`),
    // Invoices to send to the payment provider.
    index('invoices_unsent').on(table.send_at).where(sql`status = 'open' and send_at is not null`),
    // Payments that the payment provider reports.
    index('invoices_provider').on(table.provider_ref).where(sql`provider_ref is not null`),
  ],
)

/** Commands that operators recorded with `npm run billing`, and their outcome. */
export const operatorCommands = sqliteTable(
  'operator_orders',
  {
    command_id: text().primaryKey(),
    /**
     * `pay` and `settle` pay an invoice; only `settle` is accepted where the payment provider collects, after the invoice was voided
     * there.
     */
    kind: text({ enum: ['pay', 'settle', 'plan'] }).notNull(),
    organization_id: text().notNull(),
    invoice_id: text(),
    plan: text(),
    /** Number of seats where it differs from the plan's. */
    rfc_allowance: integer(),
    created_at: instant().notNull(),
    done_at: instant(),
    /** Why the command was refused; null when it was carried out. */
    refused: text(),
  },
  // The sweep of commands that are not done.
  (table) => [index('operator_orders_open').on(table.created_at).where(sql`done_at is null`)],
)

/** References of organizations at the payment provider. */
export const billingCustomers = sqliteTable('billing_customers', {
  organization_id: text().primaryKey(),
  customer_ref: text().notNull(),
})

/** Payment events, recorded in the commit that applies them, so that neither an event nor a payment counts twice. */
export const providerEvents = sqliteTable(
  'provider_events',
  {
    event_id: text().primaryKey(),
    type: text().notNull(),
    /** The provider's reference of the invoice or checkout that was paid. */
    subject: text().notNull(),
    created_at: instant().notNull(),
  },
  // Several events can report one payment.
  (table) => [uniqueIndex('provider_events_subject').on(table.subject)],
)

/** The trials that were used: one for each e-mail address, from the commit that connects the organization's first RFC in it. */
export const trials = sqliteTable('trials', {
  /** The address of the sign-up in its normal form. */
  email: text().primaryKey(),
  organization_id: text().notNull(),
  started_at: instant().notNull(),
})
