import { kindOf, type Login, type LoginKind } from '../../authority/port/login.ts'
import { raiseAlerts } from '../../platform/alerts/alerts.ts'
import { audited } from '../../platform/audit/audit.ts'
import type { Ctx, System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { Failure } from '../../platform/failures.ts'
import { log } from '../../platform/log.ts'
import type { ConnectionRow } from '../taxpayers.ts'
import {
  type AttemptLimit,
  type AttemptRow,
  attemptsAgainst,
  deleteAttempt,
  deleteAttempts,
  findGuessed,
  insertAttempt,
  markRefused,
} from './store.ts'

export type Attempt = AttemptRow

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

/** How many refused CIECs and e.firmas an organization may send for an RFC. */
const OF_ORGANIZATION: AttemptLimit = { attempts: 3, milliseconds: 15 * MINUTE_MS }
/** The most refused ones of a kind from all organizations without one accepted for the RFC. */
const OF_STRANGERS: AttemptLimit = { attempts: 10, milliseconds: DAY_MS }
/** How many refused ones of others raise an alert for an organization that is connected to the RFC. */
const ALERT_AFTER: AttemptLimit = { attempts: 3, milliseconds: DAY_MS }
/** An attempt without an answer after this long lost it in a crash. */
const ANSWERED_WITHIN_MS = MINUTE_MS

/** An organization that never had a CIEC or e.firma accepted for the RFC. `known` is its connection, also an unlinked one. */
const isStranger = (known: ConnectionRow | undefined): boolean =>
  !known || (known.first_active_at === null && known.ciec_accepted_at === null && known.efirma_accepted_at === null)

/**
 * Reserves an attempt to have a CIEC or e.firma verified, before the authority is asked. A refused attempt counts until its time has
 * passed, and so does one whose answer a crash lost. An accepted one does not count, and does not clear earlier refusals. For strangers
 * each kind counts separately: guessed CIECs do not hold up an e.firma, whose private key proves its owner. Throws Failure 429
 * fiscal_entity.ciec_attempts.
 */
export async function reserveAttempt({ db, organization }: Ctx, login: Login, known: ConnectionRow | undefined): Promise<Attempt> {
  const attempt: Attempt = {
    attempt_id: crypto.randomUUID(),
    organization_id: organization.id,
    rfc: login.rfc,
    kind: kindOf(login),
    is_stranger: isStranger(known),
    is_refused: false,
    attempted_at: new Date(),
  }
  if (await insertAttempt(db, attempt, { ofOrganization: OF_ORGANIZATION, ofStrangers: OF_STRANGERS })) return attempt
  throw await tooMany(db, attempt)
}

async function tooMany(db: Ctx['db'], attempt: AttemptRow): Promise<Failure> {
  const now = attempt.attempted_at.getTime()
  const counted = (await attemptsAgainst(db, attempt)).filter(
    ({ is_refused, attempted_at }) => is_refused || attempted_at.getTime() <= now - ANSWERED_WITHIN_MS,
  )
  const own = counted.filter(({ organization_id }) => organization_id === attempt.organization_id)
  const strangers = attempt.is_stranger ? counted.filter(({ is_stranger, kind }) => is_stranger && kind === attempt.kind) : []
  const wait = Math.max(waitFor(own, OF_ORGANIZATION, now), waitFor(strangers, OF_STRANGERS, now))
  // Without a wait, the attempts that stand in the way still await their answers.
  const retry_after_seconds = Math.max(1, Math.ceil(wait / 1_000))
  const why =
    wait > 0
      ? 'The tax authority refused too many CIECs or e.firmas for this RFC, so it was not asked about this one.'
      : 'Other CIECs or e.firmas of this RFC are being verified at this moment, so the tax authority was not asked about this one.'
  return new Failure('too_many_requests', 'fiscal_entity.ciec_attempts', `${why} Try again in ${retry_after_seconds} s.`, {
    retry_after_seconds,
  })
}

/** The milliseconds until one more attempt is allowed; 0 when it is allowed now. */
function waitFor(attempts: readonly AttemptRow[], { attempts: limit, milliseconds }: AttemptLimit, now: number): number {
  const ends = attempts.map(({ attempted_at }) => attempted_at.getTime() + milliseconds - now).filter((wait) => wait > 0)
  return ends.sort((a, b) => b - a)[limit - 1] ?? 0
}

/** Forgets an attempt, because it was not refused. */
export const releaseAttempt = async ({ db }: System, { attempt_id }: Attempt): Promise<void> => {
  await deleteAttempt(db, attempt_id)
}

/**
 * Records that the authority refused an attempt, with an audit event of the organization. From the third refusal of others within a day,
 * each organization that is connected to the RFC then gets an alert, one a day.
 */
export async function recordRefusal(ctx: Ctx, { attempt_id }: Attempt, resource_id: string, kind: LoginKind): Promise<void> {
  const { db, organization } = ctx
  await commit(db.$client, [
    markRefused(db, attempt_id),
    audited(ctx, organization.id, { action: `fiscal_entity.${kind}_refused`, resource_id, changed: [kind] }),
  ])
  await alertGuessed(ctx, attempt_id).catch((error: unknown) =>
    log.error(ctx, 'The alerts about wrong CIECs and e.firmas could not be raised. The daily task raises them.', { attempt_id }, error),
  )
}

async function alertGuessed(system: System, attempt_id?: string): Promise<void> {
  const guessed = await findGuessed(system.db, ALERT_AFTER, ANSWERED_WITHIN_MS, attempt_id)
  const drafts = guessed.map(({ organization_id, events_shard, fiscal_entity_id, rfc, attempted_at }) => {
    const day = new Date(attempted_at).toISOString().slice(0, 10)
    return {
      organization_id,
      events_shard,
      kind: 'connection.ciec_guessed' as const,
      severity: 'warning' as const,
      dedupe_key: `connection.ciec_guessed:${fiscal_entity_id}:${day}`,
      resource_id: fiscal_entity_id,
      message: `On ${day}, others sent wrong CIECs or e.firmas for the RFC ${rfc}: ${ALERT_AFTER.attempts} or more within 24 hours. Your organization did not send them.`,
      message_es: `El ${day} se enviaron CIEC o e.firmas incorrectas del RFC ${rfc} que su organización no envió: ${ALERT_AFTER.attempts} o más en 24 horas.`,
    }
  })
  await raiseAlerts(system, drafts, new Date())
}

/** Raises the alerts that a crash prevented, and deletes attempts that no longer count. */
export async function pruneAttempts(system: System): Promise<void> {
  await alertGuessed(system)
  await deleteAttempts(system.db, new Date(Date.now() - DAY_MS))
}
