import { kindOf, LOGIN_KINDS, type Login, type LoginKind, loginValue } from '../authority/port/login.ts'
import { raiseAlertsOf } from '../platform/alerts/alerts.ts'
import { auditedEach } from '../platform/audit/audit.ts'
import type { System } from '../platform/context.ts'
import { commit, type Statement } from '../platform/db/commit.ts'
import { isConflict, retryOnConflict } from '../platform/db/guard.ts'
import { Failure } from '../platform/failures.ts'
import { insertOutboxEvents, wakeRelay } from '../platform/outbox/outbox.ts'
import type { RefusedReason } from '../platform/tenant/tenant.ts'
import { clock } from '../platform/time/clock.ts'
import { canLogIn, readLogin, type VersionedLogin } from './login.ts'
import {
  assertLoginVersion,
  assertStatesUnchanged,
  bumpLoginVersion,
  connectionsWithLogin,
  eraseLogin,
  invalidateLogin,
  type LoginRow,
  loginVersion,
  markVerified,
  requireVerification,
} from './login-store.ts'
import type { ConnectionRow } from './taxpayers.ts'
import { revokeGrantedRanges } from './widen-windows.ts'

/** What happened to a login, and which other login remains, in English and in Spanish. */
const REFUSED: Record<RefusedReason, (row: ConnectionRow) => readonly [message: string, message_es: string]> = {
  rejected: ({ rfc }) => [
    `The tax authority rejected the CIEC of ${rfc}, and it was erased. Downloads go on with the e.firma.`,
    `El SAT rechazó la CIEC de ${rfc} y se borró. Las descargas continúan con la e.firma.`,
  ],
  efirma_refused: ({ rfc, efirma_number }) => [
    `The tax authority refused the e.firma ${efirma_number} of ${rfc}, and it was erased. Downloads go on with the CIEC.`,
    `El SAT rechazó la e.firma ${efirma_number} de ${rfc} y se borró. Las descargas continúan con la CIEC.`,
  ],
  efirma_expired: ({ rfc, efirma_number, efirma_valid_to }) => [
    `The e.firma ${efirma_number} of ${rfc} expired at ${efirma_valid_to?.toISOString()}, and it was erased. Downloads go on with the CIEC.`,
    `La e.firma ${efirma_number} de ${rfc} venció el ${efirma_valid_to?.toISOString()} y se borró. Las descargas continúan con la CIEC.`,
  ],
}

/**
 * Raises an alert for each organization of connections that lose one of their two logins, once for each version of the RFC's logins of that
 * kind. A repetition changes nothing.
 */
const notifyRefused = (system: System, rows: readonly ConnectionRow[], reason: RefusedReason, version: number): Promise<void> =>
  raiseAlertsOf(
    system,
    rows.map((row) => {
      const [message, message_es] = REFUSED[reason](row)
      const { organization_id, fiscal_entity_id, rfc } = row
      const dedupe_key = `connection.login_refused:${fiscal_entity_id}:${reason}:${version}`
      return {
        ...{ organization_id, kind: 'connection.login_refused', severity: 'warning', dedupe_key, message, message_es },
        ...{ resource_id: fiscal_entity_id, fiscal_entity_id, rfc },
      }
    }),
    system.now,
  )

/** The version of an RFC's logins of this kind, to read before the authority is asked about one. */
export const loginVersionOf = ({ db }: System, login: Login): Promise<number> => loginVersion(db, login.rfc, kindOf(login))

export const changing = () => new Failure('contention', 'fiscal_entity.changed', 'The connections to this RFC keep changing.')

/**
 * The connections whose stored login of this kind counts: those with this login, and the others. A login that cannot be opened counts as
 * another one. CIECs are compared with CIECs; e.firmas are the same if their certificates are.
 */
async function holdersOf(system: System, entity: number, login: Login): Promise<{ same: LoginRow[]; others: LoginRow[] }> {
  const kind = kindOf(login)
  const same: LoginRow[] = []
  const others: LoginRow[] = []
  for (const { row } of await connectionsWithLogin(system.db, entity, kind))
    ((await holdsThis(system, row, login)) ? same : others).push(row)
  return { same, others }
}

/** Whether a connection holds this login. */
export async function holdsThis(system: System, row: LoginRow, login: Login): Promise<boolean> {
  const stored = await readLogin(system, row, kindOf(login))
  return stored !== null && loginValue(stored) === loginValue(login)
}

/**
 * The statements that go with storing an accepted login. Every other login of its kind that is held for the RFC has to be verified from now
 * on. Equal ones are verified, and `isVerified` is true, unless another login was accepted or refused since the authority was asked. The
 * commit is refused when one is accepted or refused before it.
 */
export async function acceptance(system: System, entity: number, { login, version }: VersionedLogin, own?: number) {
  const { db } = system
  const kind = kindOf(login)
  const current = await loginVersion(db, login.rfc, kind)
  const holders = await holdersOf(system, entity, login)
  const same = holders.same.filter(({ connection }) => connection !== own)
  const others = holders.others.filter(({ connection }) => connection !== own)
  const isVerified = current === version
  const statements: Statement[] = [
    assertLoginVersion(login.rfc, kind, current),
    bumpLoginVersion(login.rfc, kind),
    ...(others.length > 0 ? [requireVerification(others, kind, clock.date())] : []),
    ...(isVerified && same.length > 0 ? [markVerified(same, kind)] : []),
  ]
  return { statements, isVerified, areOthersOutstanding: others.length > 0 }
}

/**
 * Records that the tax authority refused a login. Every connection that holds it becomes invalid_ciec, a paused one once it is resumed,
 * unless it has a login of the other kind. Every other login of this kind and RFC has to be verified. The same commit writes each
 * organization's outbox event and audit event. When another login of this kind was accepted or refused since the authority was asked, the
 * refused one has to be verified instead. `stopped` has, by organization, the instant in milliseconds of the first run whose downloads the
 * refusal stopped: connections without another login reached nothing with it and with later runs.
 */
export async function rejectLogin(
  system: System,
  entity: number,
  { login, version }: VersionedLogin,
  stopped: ReadonlyMap<string, number> = new Map(),
): Promise<void> {
  const { db } = system
  const kind = kindOf(login)
  await retryOnConflict(async () => {
    const current = await loginVersion(db, login.rfc, kind)
    const { same, others } = await holdersOf(system, entity, login)
    if (same.length === 0) return
    const refused = { kind, reason: kind === 'ciec' ? 'rejected' : 'efirma_refused', version, stopped } as const
    const outcome =
      current === version
        ? [
            ...(await invalidation(system, entity, same, refused)),
            bumpLoginVersion(login.rfc, kind),
            ...(others.length > 0 ? [requireVerification(others, kind, clock.date())] : []),
          ]
        : [requireVerification(same, kind, clock.date())]
    await commit(db.$client, [assertLoginVersion(login.rfc, kind, current), ...outcome])
  }, changing)
  await wakeRelay(system, 'control')
}

/** The body of the outbox event of a connection without a valid login. */
export interface InvalidBody {
  rejected_at: string
  invalid_reason: RefusedReason
}

/** Why logins of a kind are not valid any more, and the version of the RFC's logins of that kind. */
interface Refused {
  kind: LoginKind
  reason: RefusedReason
  version: number
  stopped?: ReadonlyMap<string, number>
}

/**
 * The statements that end logins. Organizations with another login get an alert, raised before the commit, so that no crash prevents it.
 */
async function invalidation(system: System, entity: number, rows: readonly LoginRow[], refused: Refused): Promise<Statement[]> {
  const { db, now } = system
  const { kind, reason, version, stopped } = refused
  const others = LOGIN_KINDS.filter((one) => one !== kind)
  const [going = [], ended = []] = [true, false].map((goesOn) => rows.filter((row) => canLogIn(system, row, others) === goesOn))
  const revoked = ended.flatMap(({ connection, organization_id }) => {
    const since = stopped?.get(organization_id)
    return since === undefined ? [] : { connection, since }
  })
  await notifyRefused(system, going, reason, version)
  const audited = (of: readonly LoginRow[], changed: string) =>
    auditedEach(
      { ...system, actor: { kind: 'system', process: 'downloads' } },
      of.map((row) => ({ organization_id: row.organization_id, resource_id: row.fiscal_entity_id })),
      { action: `fiscal_entity.${kind}_invalid`, changed: [changed] },
    )
  return [
    assertStatesUnchanged(rows, kind),
    ...(going.length === 0 ? [] : [eraseLogin(db, going, kind, now), ...audited(going, kind)]),
    ...(ended.length === 0 ? [] : [invalidateLogin(ended, kind, reason, now), ...audited(ended, 'status')]),
    ...(revoked.length === 0 ? [] : [revokeGrantedRanges(revoked)]),
    ...insertOutboxEvents(
      ended.flatMap((row) =>
        (['connection.ciec_invalid', 'connection.relink_needed'] as const).map((event) => ({
          outbox_event_id: `${event}:${row.connection}:${kind === 'ciec' ? '' : 'efirma:'}${version}`,
          kind: event,
          entity,
          organizations: [row.organization_id],
          body: { rejected_at: now.toISOString(), invalid_reason: reason } satisfies InvalidBody,
        })),
      ),
      now.getTime(),
    ),
  ]
}

/** Gives up an e.firma that has ended. It says nothing about the others of the RFC. Returns false when the connection has changed since. */
export const expireEfirma = (system: System, entity: number, row: LoginRow, version: number): Promise<boolean> =>
  committed(system, async () => [
    assertLoginVersion(row.rfc, 'efirma', version),
    ...(await invalidation(system, entity, [row], { kind: 'efirma', reason: 'efirma_expired', version })),
  ])

/** Commits, and wakes the relay. Returns false when a guard refuses it. */
async function committed(system: System, statements: () => Promise<Statement[]>): Promise<boolean> {
  try {
    await commit(system.db.$client, await statements())
  } catch (error) {
    if (!isConflict(error)) throw error
    return false
  }
  await wakeRelay(system, 'control')
  return true
}

/** A conflict leaves the login unverified, because another one was accepted or refused since the authority was asked. */
export async function keepVerified(system: System, entity: number, { login, version }: VersionedLogin): Promise<void> {
  const kind = kindOf(login)
  const { same } = await holdersOf(system, entity, login)
  if (same.length === 0) return
  try {
    await commit(system.db.$client, [assertLoginVersion(login.rfc, kind, version), markVerified(same, kind)])
  } catch (error) {
    if (!isConflict(error)) throw error
  }
}
