import { and, asc, eq, gt, isNull, or } from 'drizzle-orm'
import type { Database } from '../../platform/db/commit.ts'
import type { Role } from '../../platform/tenant.ts'
import { invitations } from '../team/tables.ts'
import { credentials } from './tables.ts'

export type CredentialRow = typeof credentials.$inferSelect

export const insertCredential = (db: Database, row: CredentialRow) => db.insert(credentials).values(row)

export const revoke = (db: Database, organization_id: string, api_key: string, now: Date) =>
  db
    .update(credentials)
    .set({ revoked_at: now })
    .where(and(eq(credentials.api_key, api_key), eq(credentials.organization_id, organization_id), isNull(credentials.revoked_at)))

/** Those that are a member's, at once. */
const ofMember = (organization_id: string, member_id: string) =>
  and(eq(credentials.organization_id, organization_id), eq(credentials.member_id, member_id), isNull(credentials.revoked_at))

export const revokeAll = (db: Database, organization_id: string, member_id: string, now: Date) =>
  db.update(credentials).set({ revoked_at: now }).where(ofMember(organization_id, member_id))

export const giveRole = (db: Database, organization_id: string, member_id: string, role: Role) =>
  db.update(credentials).set({ role }).where(ofMember(organization_id, member_id))

/**
 * Refuses its whole batch with a guard violation, by making a count null, unless the credential is there to be revoked and somebody is
 * left who could make another: an owner's, not expired and good for as long.
 */
export const assertRevocable = (db: Database, organization_id: string, api_key: string, now: Date) =>
  db.$client
    .prepare(
      `update organizations set extractor_count = case
         when exists (select 1 from credentials c where c.api_key = ?2 and c.organization_id = ?1 and c.revoked_at is null
           and (c.role <> 'owner' or exists (
             select 1 from credentials o where o.organization_id = ?1 and o.api_key <> ?2 and o.role = 'owner' and o.revoked_at is null
               and (o.expires_at is null or (o.expires_at > ?3 and o.expires_at >= c.expires_at)))))
         then extractor_count end
       where id = ?1`,
    )
    .bind(organization_id, api_key, now.getTime())

export const findCredential = async (db: Database, organization_id: string, api_key: string) =>
  (
    await db
      .select()
      .from(credentials)
      .where(and(eq(credentials.api_key, api_key), eq(credentials.organization_id, organization_id), isNull(credentials.revoked_at)))
      .limit(1)
  )[0]

export const listCredentials = (
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

export interface Authenticated {
  api_key: string
  role: Role
  expires_at: number | null
  organization_id: string
  organization_name: string
  timezone: string
  plan: string
  extractor_count: number
  connection: number | null
  fiscal_entity_id: string | null
  entity: number | null
  rfc: string | null
  shard: number | null
  state: string | null
  paused_by: string | null
  visible_from: string | null
  visible_to: number | null
  imported_at: number | null
}

/**
 * Who presents a secret, with the organization and its connection to one fiscal entity: three rows in one call, which every
 * request pays. Raw, because this is the hottest statement of the service.
 */
export const authenticated = async (db: Database, digests: readonly string[], fiscal_entity_id: string | null) =>
  (
    await db.$client
      .prepare(
        `select c.api_key, c.role, c.expires_at, o.id as organization_id, o.name as organization_name, o.timezone, o.plan, o.extractor_count,
           n.connection, n.fiscal_entity_id, n.entity, n.rfc, n.shard, n.state, n.paused_by, n.visible_from, n.visible_to, n.imported_at
         from credentials c
         cross join organizations o on o.id = c.organization_id
         left join connections n on n.organization_id = c.organization_id and n.fiscal_entity_id = ?1 and n.state <> 'unlinked'
         where c.digest in (${digests.map((_, n) => `?${n + 2}`).join(', ')}) and c.revoked_at is null
         limit 1`,
      )
      .bind(fiscal_entity_id, ...digests)
      .all<Authenticated>()
  ).results[0]

/** Withdraws the invitations that were sent out with a credential and that nobody has accepted. */
export const withdrawInvitationsOf = (db: Database, organization_id: string, api_key: string) =>
  db
    .update(invitations)
    .set({ status: 'withdrawn' })
    .where(and(eq(invitations.organization_id, organization_id), eq(invitations.invited_by, api_key), eq(invitations.status, 'pending')))
