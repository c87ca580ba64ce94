import { and, asc, eq, gt, inArray, isNull, lt, or, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { Database } from '../../platform/db/commit.ts'
import { assertThat } from '../../platform/db/guard.ts'
import { readRows, rendered } from '../../platform/db/statement.ts'
import { organizations } from '../../platform/tenant/tables.ts'
import { type Connection, type Role, rolesAbove } from '../../platform/tenant/tenant.ts'
import { connections } from '../../taxpayers/tables.ts'
import { consoleSessions, credentials } from '../tables.ts'

const [c, o, other] = [alias(credentials, 'c'), alias(organizations, 'o'), alias(credentials, 'other')]
const [n, s] = [alias(connections, 'n'), alias(consoleSessions, 's')]

export type CredentialRow = typeof credentials.$inferSelect

/** The columns that limit a credential within its role and its organization. */
export type CredentialLimits = Pick<CredentialRow, 'scopes' | 'fiscal_entity_ids' | 'allowed_addresses'>

/** Selects the number of the organization's credentials that are not revoked. */
export const credentialsUsed = (organization_id: string): SQL =>
  sql`select count(*) from ${credentials} indexed by credentials_valid
    where ${credentials.organization_id} = ${organization_id} and ${credentials.revoked_at} is null`

export const insertCredential = (db: Database, row: CredentialRow) => db.insert(credentials).values(row)

export const markRevoked = (db: Database, organization_id: string, api_key: string, now: Date) =>
  db
    .update(credentials)
    .set({ revoked_at: now })
    .where(and(eq(credentials.api_key, api_key), eq(credentials.organization_id, organization_id), isNull(credentials.revoked_at)))

/** The condition for the credentials of a member that are not revoked: the member's own, and those that the member made. */
const ofMember = (organization_id: string, member_id: string) =>
  and(eq(credentials.organization_id, organization_id), eq(credentials.member_id, member_id), isNull(credentials.revoked_at))

/**
 * Revokes a member's own credentials and, unless they are kept, those that the member made. Returns their keys, as `api_key` of each row.
 */
export const revokeMemberCredentials = (db: Database, organization_id: string, member_id: string, keepsMade: boolean, now: Date) =>
  db
    .update(credentials)
    .set({ revoked_at: now })
    .where(and(ofMember(organization_id, member_id), keepsMade ? isNull(credentials.created_by) : undefined))
    .returning({ api_key: credentials.api_key })

/** Gives a member's own credentials a role, and lowers those that the member made to it where theirs is higher. */
export const setCredentialRole = (db: Database, organization_id: string, member_id: string, role: Role) =>
  db
    .update(credentials)
    .set({ role })
    .where(and(ofMember(organization_id, member_id), or(isNull(credentials.created_by), inArray(credentials.role, rolesAbove(role)))))

/** Refuses its batch unless the credential with which another one is made, or a person invited, is not revoked and still has the role. */
export const assertMaker = (organization_id: string, { api_key, role }: { api_key: string; role: Role }): SQL =>
  assertThat(
    sql`exists (select 1 from ${credentials} where ${credentials.api_key} = ${api_key}
      and ${credentials.organization_id} = ${organization_id}
      and ${credentials.role} = ${role} and ${credentials.revoked_at} is null)`,
    'credential.maker',
  )

/** Notes the day of a credential's use. Several requests on one day write it once. */
export const markUsed = (db: Database, organization_id: string, api_key: string, day: string) =>
  db
    .update(credentials)
    .set({ last_used_on: day })
    .where(
      and(
        eq(credentials.api_key, api_key),
        eq(credentials.organization_id, organization_id),
        or(isNull(credentials.last_used_on), lt(credentials.last_used_on, day)),
      ),
    )

/** Refuses its batch unless the credential exists and is not revoked. */
export const assertCredentialActive = (organization_id: string, api_key: string): SQL =>
  assertThat(
    sql`exists (select 1 from ${credentials} where ${credentials.api_key} = ${api_key}
      and ${credentials.organization_id} = ${organization_id}
      and ${credentials.revoked_at} is null)`,
    'credential.active',
  )

/** Refuses its batch when the credential is an owner's and no other owner's credential is valid for as long. */
export const assertOwnerCredentialLeft = (organization_id: string, api_key: string, now: Date): SQL =>
  assertThat(
    sql`exists (select 1 from ${credentials} ${c} where ${c.api_key} = ${api_key} and (${c.role} <> 'owner' or exists (
      select 1 from ${credentials} ${other} where ${other.organization_id} = ${organization_id} and ${other.api_key} <> ${api_key}
        and ${other.role} = 'owner' and ${other.revoked_at} is null
        and (${other.expires_at} is null or (${other.expires_at} > ${now.getTime()} and ${other.expires_at} >= ${c.expires_at})))))`,
    'credential.owner_left',
  )

/** Gives a credential another secret, and refuses its batch when it has another one than was read, or is revoked. */
export const replaceSecret = (db: Database, read: CredentialRow, next: Partial<CredentialRow>) => [
  assertThat(
    sql`exists (select 1 from ${credentials} where ${credentials.digest} = ${read.digest} and ${credentials.revoked_at} is null)`,
    'credential.secret',
  ),
  db.update(credentials).set(next).where(eq(credentials.digest, read.digest)),
]

export const findCredential = async (db: Database, organization_id: string, api_key: string) =>
  (
    await db
      .select()
      .from(credentials)
      .where(and(eq(credentials.api_key, api_key), eq(credentials.organization_id, organization_id), isNull(credentials.revoked_at)))
      .limit(1)
  )[0]

export const listCredentialRows = (
  db: Database,
  organization_id: string,
  after: { created_at: Date; api_key: string } | undefined,
  limit: number,
) =>
  db
    .select()
    .from(credentials)
    .where(
      and(
        eq(credentials.organization_id, organization_id),
        isNull(credentials.revoked_at),
        after &&
          or(
            gt(credentials.created_at, after.created_at),
            and(eq(credentials.created_at, after.created_at), gt(credentials.api_key, after.api_key)),
          ),
      ),
    )
    .orderBy(asc(credentials.created_at), asc(credentials.api_key))
    .limit(limit)

/** A credential with its organization, and with the connection that is asked for where there is one. */
export type AuthenticatedRow = (Connection | { connection: null }) & {
  organization_name: string
  /** Until when the secret is valid that was presented, when it is the one from before a roll. */
  secret_until: number | null
} & Pick<CredentialRow, 'api_key' | 'role' | 'last_used_on' | 'organization_id'> &
  Pick<typeof organizations.$inferSelect, 'timezone' | 'plan' | 'extractor_count' | 'events_shard'> &
  Record<'expires_at' | 'revoked_at' | 'email_confirmed_at', number | null> &
  /** JSON. */
  Record<keyof CredentialLimits, string | null>

/** What a request presents: a secret, by its digests, or a session with its credential. */
type Presented = { digests: readonly string[] } | { session_id: string; api_key: string; now: Date }

const OF_CREDENTIAL = rendered(sql`${c.api_key}, ${c.role}, ${c.expires_at}, ${c.revoked_at}, ${c.last_used_on},
  ${c.scopes}, ${c.fiscal_entity_ids}, ${c.allowed_addresses},
  ${o.id} as organization_id, ${o.name} as organization_name, ${o.timezone}, ${o.plan}, ${o.extractor_count}, ${o.events_shard}, ${o.email_confirmed_at},
  ${n.connection}, ${n.fiscal_entity_id}, ${n.entity}, ${n.rfc}, ${n.shard}, ${n.state}, ${n.paused_by}, ${n.first_active_at},
  ${n.unnotified}->>'since' as inactive_since, ${n.issued_from}, ${n.issued_to}, ${n.received_from}, ${n.received_to},
  ${n.issued_granted_ranges}, ${n.received_granted_ranges}, ${n.asked_ranges}, ${n.imported_at}, ${n.listed}, ${n.listed_version}`)

/**
 * The credential that was presented, valid or not, with its organization and the organization's connection to one fiscal entity, in one query;
 * nothing when its session has ended. Written as SQL because every request runs it.
 */
export const findAuthenticated = async (db: Database, by: Presented, fiscal_entity_id: string | null) =>
  (
    await readRows<AuthenticatedRow>(
      db.$client,
      sql`select ${OF_CREDENTIAL}, ${'digests' in by ? sql`iif(${c.digest} in ${by.digests}, null, ${c.overlap_until})` : sql`null`} as secret_until
        from ${credentials} ${c}
        cross join ${organizations} ${o} on ${o.id} = ${c.organization_id}
        left join ${connections} ${n} on ${n.organization_id} = ${c.organization_id} and ${n.fiscal_entity_id} = ${fiscal_entity_id}
          and ${n.state} <> 'unlinked'
          and (${c.fiscal_entity_ids} is null or ${n.fiscal_entity_id} in (select value from json_each(${c.fiscal_entity_ids})))
        where ${
          'digests' in by
            ? sql`(${c.digest} in ${by.digests} or ${c.previous_digest} in ${by.digests})`
            : sql`${c.api_key} = ${by.api_key} and exists (select 1 from ${consoleSessions} ${s}
                where ${s.session_id} = ${by.session_id} and ${s.api_key} = ${c.api_key} and ${s.until} > ${by.now.getTime()})`
        }
        limit 1`,
    )
  )[0]
