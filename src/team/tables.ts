import { index, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { instant } from '../db/columns.ts'

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
  // The organization's members, and their count.
  (table) => [index('members_organization').on(table.organization_id, table.member_id)],
)
