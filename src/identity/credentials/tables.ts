import { index, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { instant } from '../../platform/db/columns.ts'

export const credentials = sqliteTable(
  'credentials',
  {
    /** HMAC-SHA256 of the API secret under the pepper, hex. The secret itself is kept nowhere. */
    digest: text('digest').primaryKey(),
    api_key: text('api_key').notNull(),
    organization_id: text('organization_id').notNull(),
    name: text('name').notNull(),
    role: text('role', { enum: ['owner', 'admin', 'member'] }).notNull(),
    /** Whose it is, and goes with: a member’s has the member’s role. Null for one of the organization itself. */
    member_id: text('member_id'),
    created_at: instant('created_at').notNull(),
    expires_at: instant('expires_at'),
    revoked_at: instant('revoked_at'),
  },
  (table) => [
    // Revoking by key.
    uniqueIndex('credentials_api_key').on(table.api_key),
    // The organization's list, newest first.
    index('credentials_organization').on(table.organization_id, table.created_at, table.api_key),
  ],
)
