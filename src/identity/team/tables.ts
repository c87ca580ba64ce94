import { sql } from 'drizzle-orm'
import { index, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { instant } from '../../platform/db/columns.ts'

export const members = sqliteTable(
  'members',
  {
    member_id: text('member_id').primaryKey(),
    organization_id: text('organization_id').notNull(),
    name: text('name').notNull(),
    email: text('email').notNull(),
    role: text('role', { enum: ['owner', 'admin', 'member'] }).notNull(),
    status: text('status', { enum: ['active', 'removed'] }).notNull(),
    created_at: instant('created_at').notNull(),
  },
  (table) => [
    // The organization's members, and their count.
    index('members_organization').on(table.organization_id, table.member_id),
    // One active membership an address, in whatever case it is written.
    uniqueIndex('members_email').on(table.organization_id, sql`lower(email)`).where(sql`status = 'active'`),
  ],
)

export const invitations = sqliteTable(
  'invitations',
  {
    invitation_id: text('invitation_id').primaryKey(),
    organization_id: text('organization_id').notNull(),
    email: text('email').notNull(),
    role: text('role', { enum: ['owner', 'admin', 'member'] }).notNull(),
    name: text('name'),
    /** HMAC-SHA256 of the token under the pepper, hex. The token itself is kept nowhere. */
    digest: text('digest').notNull(),
    status: text('status', { enum: ['pending', 'accepted', 'replaced', 'withdrawn'] }).notNull(),
    /** The api_key that invited: what a removed member has sent out is withdrawn. */
    invited_by: text('invited_by').notNull(),
    created_at: instant('created_at').notNull(),
    expires_at: instant('expires_at').notNull(),
  },
  (table) => [
    // Accepting, by what is presented.
    uniqueIndex('invitations_digest').on(table.digest),
    // One pending invitation an address: a new one replaces it. Also those that a removed member sent.
    uniqueIndex('invitations_pending').on(table.organization_id, sql`lower(email)`).where(sql`status = 'pending'`),
  ],
)
