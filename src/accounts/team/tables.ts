import { sql } from 'drizzle-orm'
import { index, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { instant } from '../../platform/db/columns.ts'
import { ROLES } from '../../platform/tenant/tenant.ts'

export const members = sqliteTable(
  'members',
  {
    member_id: text().primaryKey(),
    organization_id: text().notNull(),
    name: text().notNull(),
    email: text().notNull(),
    role: text({ enum: ROLES }).notNull(),
    status: text({ enum: ['active', 'removed'] }).notNull(),
    created_at: instant().notNull(),
  },
  (table) => [
    // The organization's members, and their count.
    index('members_organization').on(table.organization_id, table.member_id),
    // One active member for each address, regardless of case.
    uniqueIndex('members_email').on(table.organization_id, sql`lower(email)`).where(sql`status = 'active'`),
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
