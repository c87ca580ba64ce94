import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { raiseAlerts } from '../../platform/alerts/alerts.ts'
import type { Ctx, System } from '../../platform/context.ts'
import { commit, type Database } from '../../platform/db/commit.ts'
import { assertThat, isGuardViolation } from '../../platform/db/guard.ts'
import { bare, changesOf, readFirst, readRows } from '../../platform/db/statement.ts'
import { clock } from '../../platform/time/clock.ts'
import { readLogin } from '../login.ts'
import { rejectLogin } from '../login-answers.ts'
import { connections, fiscalEntities } from '../tables.ts'
import { findConnection, isDraft, isInvalid, NO_LOGIN, updateConnection, type WithGrantedRanges } from '../taxpayers.ts'

/** A CIEC that a fetcher is to verify. The row of its connection is the lease: nobody else takes it before `until`. */
export interface LeasedLogin {
  connection: number
  /** The version of the RFC's CIECs when it was leased. */
  version: number
  until: number
}

const LOOKED_AT = 5
const FIRST_WAIT_MS = 60_000
const LONGEST_WAIT_MS = 60 * 60_000

/** Leases a stored CIEC that is to be verified until an instant; null when there is none. */
export async function leaseLogin(system: System, until: number): Promise<(LeasedLogin & { rfc: string; ciec: string }) | null> {
  for (const { connection, version, due_at, ...of } of await dueForFetcher(system.db, clock.now(), LOOKED_AT)) {
    if (!(await moveVerification(system.db, connection, due_at, until, 1))) continue
    const row = await findConnection(system.db, { id: of.organization_id }, of.fiscal_entity_id)
    const login = row ? await readLogin(system, row, 'ciec') : null
    if (login && 'ciec' in login) return { connection, version, until, rfc: login.rfc, ciec: login.ciec }
  }
  return null
}

/** The connection of a leased CIEC, and the CIEC; null when the lease is lost. */
export async function leasedLogin(system: System, { connection, until }: LeasedLogin) {
  const found = await findLeased(system.db, connection, until)
  const row = found && (await findConnection(system.db, { id: found.organization_id }, found.fiscal_entity_id))
  const login = row ? await readLogin(system, row, 'ciec') : null
  return row && login ? { row, login } : null
}

/** Refuses its batch unless the CIEC is still the leased one. */
export const assertLeased = ({ connection, until }: LeasedLogin): SQL =>
  assertThat(
    sql`exists (select 1 from ${connections} where ${connections.connection} = ${connection} and ${connections.ciec_verify_at} = ${until}
      and ${connections.ciec} is not null)`,
    'connection.ciec_leased',
  )

/** Has a CIEC verified again after a wait that doubles from a minute to an hour, because nobody knows whether it is right. */
export async function postponeLogin(system: System, { connection, until }: LeasedLogin): Promise<void> {
  const found = await findLeased(system.db, connection, until)
  if (!found) return
  const wait = Math.min(FIRST_WAIT_MS * 2 ** (found.attempts - 1), LONGEST_WAIT_MS)
  await moveVerification(system.db, connection, until, clock.now() + wait, 0)
}

/**
 * Records that the authority refused a leased CIEC. Connections whose login counts end as after a refusal at a download. A connection that
 * was never active with it loses it; its organization gets an alert, raised before, so that no crash prevents it.
 */
export async function refuseLogin(ctx: Ctx, leased: LeasedLogin, { row, login }: NonNullable<Awaited<ReturnType<typeof leasedLogin>>>) {
  if (!isDraft(row) && !isInvalid(row)) return rejectLogin({ ...ctx, now: clock.date() }, row.entity, { login, version: leased.version })
  await notifyErased(ctx, row, leased)
  try {
    await commit(ctx.db.$client, [
      assertLeased(leased),
      updateConnection(ctx.db, row.connection, { ...NO_LOGIN.ciec, updated_at: clock.date() }),
    ])
  } catch (error) {
    // Another one has been stored since.
    if (!isGuardViolation(error, 'connection.ciec_leased')) throw error
  }
}

const notifyErased = (ctx: Ctx, { fiscal_entity_id, rfc }: WithGrantedRanges, { until }: LeasedLogin): Promise<unknown> =>
  raiseAlerts(
    ctx,
    [
      {
        organization_id: ctx.organization.id,
        events_shard: ctx.organization.events_shard,
        kind: 'connection.login_refused',
        severity: 'warning',
        dedupe_key: `connection.login_refused:${fiscal_entity_id}:first:${until}`,
        resource_id: fiscal_entity_id,
        ...{ fiscal_entity_id, rfc },
        message: `The tax authority rejected the CIEC of ${rfc} at its first login, and it was erased. Send the current CIEC.`,
        message_es: `El SAT rechazó la CIEC de ${rfc} en su primer inicio de sesión y se borró. Envíe la CIEC vigente.`,
      },
    ],
    clock.date(),
  )

const [c, f] = [alias(connections, 'c'), alias(fiscalEntities, 'f')]

/** Connections whose stored CIEC is to be verified by a fetcher now: drafts, invalid ones, and those whose login counts. */
const dueForFetcher = (db: Database, now: number, limit: number) =>
  readRows<{ organization_id: string; fiscal_entity_id: string; connection: number; due_at: number; version: number }>(
    db.$client,
    sql`select ${c.organization_id}, ${c.fiscal_entity_id}, ${c.connection}, ${c.ciec_verify_at} as due_at, ${f.ciec_version} as version
        from ${connections} ${c} indexed by connections_unverified join ${fiscalEntities} ${f} on ${f.entity} = ${c.entity}
        where ${c.ciec_verify_at} <= ${now} and ${c.ciec} is not null
          and (${c.state} in ('draft', 'invalid_ciec', 'active') or (${c.state} = 'paused' and ${c.paused_from} = 'active'))
        order by ${c.ciec_verify_at} limit ${limit}`,
  )

/** Moves the verification of a CIEC, unless it was moved since. Returns whether it did. */
const moveVerification = async (db: Database, connection: number, from: number, to: number, attempts: 0 | 1): Promise<boolean> =>
  (await changesOf(
    db.$client,
    sql`update ${connections} set ${bare(connections.ciec_verify_at)} = ${to},
        ${bare(connections.ciec_verify_attempts)} = ${connections.ciec_verify_attempts} + ${attempts}
        where ${connections.connection} = ${connection} and ${connections.ciec_verify_at} = ${from} and ${connections.ciec} is not null`,
  )) > 0

/** The connection whose CIEC was leased until an instant; null when another one was stored, or the lease taken again, since. */
const findLeased = (db: Database, connection: number, until: number) =>
  readFirst(
    db.$client,
    sql<{
      organization_id: string
      fiscal_entity_id: string
      state: string
      attempts: number
    }>`select ${connections.organization_id}, ${connections.fiscal_entity_id}, ${connections.state},
      ${connections.ciec_verify_attempts} as attempts from ${connections}
      where ${connections.connection} = ${connection} and ${connections.ciec_verify_at} = ${until} and ${connections.ciec} is not null
        and ${connections.state} <> 'unlinked'`,
  )
