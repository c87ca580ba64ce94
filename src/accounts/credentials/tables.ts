import { sql } from 'drizzle-orm'
import { index, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { instant } from '../../platform/db/columns.ts'
import { ROLES } from '../../platform/tenant/tenant.ts'

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
    /** The last day, in UTC, on which a request was authenticated with it. */
    last_used_on: text(),
    revoked_at: instant(),
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
