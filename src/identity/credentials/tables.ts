import { sql } from 'drizzle-orm'
import { index, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { instant } from '../../platform/db/columns.ts'

export const credentials = sqliteTable(
  'credentials',
  {
    /** Key version and HMAC-SHA256 of the API secret in hex. The secret itself is not stored. */
    digest: text('digest').primaryKey(),
    api_key: text('api_key').notNull(),
    organization_id: text('organization_id').notNull(),
    name: text('name').notNull(),
    role: text('role', { enum: ['owner', 'admin', 'member'] }).notNull(),
    /** The member to whom the credential belongs, with the member's role; null for a credential of the organization. */
    member_id: text('member_id'),
    created_at: instant('created_at').notNull(),
    expires_at: instant('expires_at'),
    revoked_at: instant('revoked_at'),
  },
  (table) => [
    // Revoking by api_key.
    uniqueIndex('credentials_api_key').on(table.api_key),
    // The organization's list, oldest first.
    index('credentials_organization').on(table.organization_id, table.created_at, table.api_key),
    // The quota of credentials.
    index('credentials_valid').on(table.organization_id).where(sql`revoked_at is null`),
  ],
)
