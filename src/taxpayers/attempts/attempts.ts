import type { LoginKind } from '../../authority/port/login.ts'
import { raiseAlerts } from '../../platform/alerts/alerts.ts'
import { audited } from '../../platform/audit/audit.ts'
import type { Ctx, System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { Failure } from '../../platform/failures.ts'
import { countHourly } from '../../platform/locks/hourly.ts'
import { log } from '../../platform/log.ts'
import { networkKey } from '../../platform/network.ts'
import { clock } from '../../platform/time/clock.ts'
import type { ConnectionRow } from '../taxpayers.ts'
import {
  type AttemptLimit,
  type AttemptRow,
  attemptsAgainst,
  deleteAttempt,
  deleteAttempts,
  findGuessed,
  insertAttempt,
  refuseAttempt,
  type StrangerLimits,
} from './store.ts'

export type Attempt = AttemptRow

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

/** How many refused CIECs, and how many refused e.firmas, an organization may send for an RFC. */
const OF_ORGANIZATION: AttemptLimit = { attempts: 3, milliseconds: 15 * MINUTE_MS }
/**
 * The refused CIECs of organizations without one accepted for the RFC. The authority locks the account of an RFC after wrong passwords, it
 * does not say how many. One sender cannot use up what all may send: the first CIEC of an organization is admitted beyond the limit of all
 * when its network has sent none, and beyond that of its network a few times.
 */
const OF_STRANGERS: StrangerLimits = { milliseconds: DAY_MS, all: 10, most: 20, network: 6, networkOfFirst: 10 }
/** How many refused ones of others raise an alert for an organization that is connected to the RFC. */
const ALERT_AFTER: AttemptLimit = { attempts: 3, milliseconds: DAY_MS }
/** An attempt without an answer after this long lost it in a crash. */
const ANSWERED_WITHIN_MS = MINUTE_MS

/** An organization that never had a CIEC or e.firma accepted for the RFC. `known` is its connection, also an unlinked one. */
const isStranger = (known: ConnectionRow | undefined): boolean =>
  !known || (known.first_active_at === null && known.ciec_accepted_at === null && known.efirma_accepted_at === null)

/**
 * Reserves an attempt to have a CIEC or e.firma verified, before an e.firma is opened and the authority is asked. A refused attempt counts
 * until its time has passed, and so does one whose answer a crash lost. An accepted one does not count, and does not clear earlier refusals.
 * CIECs and e.firmas count separately, and e.firmas of strangers hold up nobody else: the private key proves its owner, and no account is
 * locked for them. Throws Failure 429 fiscal_entity.ciec_attempts, and organization.hourly_limit: an e.firma counts as opened there.
 */
export async function reserveAttempt(
  ctx: Ctx,
  { rfc, kind }: { rfc: string; kind: LoginKind },
  known: ConnectionRow | undefined,
): Promise<Attempt> {
  const { db, organization } = ctx
  await countHourly(ctx, kind === 'efirma' ? 'efirmas' : 'logins')
  const attempt: Attempt = {
    attempt_id: crypto.randomUUID(),
    organization_id: organization.id,
    rfc,
    kind,
    network: await networkKey(ctx),
    is_stranger: isStranger(known),
    state: 'awaited',
    attempted_at: clock.date(),
  }
  if (await insertAttempt(db, attempt, { ofOrganization: OF_ORGANIZATION, ofStrangers: OF_STRANGERS })) return attempt
  throw await tooMany(db, attempt)
}

async function tooMany(db: Ctx['db'], attempt: AttemptRow): Promise<Failure> {
  const { kind, organization_id } = attempt
  const now = attempt.attempted_at.getTime()
  const counted = (await attemptsAgainst(db, attempt)).filter(
    ({ state, attempted_at }) => state === 'refused' || (state === 'awaited' && attempted_at.getTime() <= now - ANSWERED_WITHIN_MS),
  )
  const ofOwn = waitOfOwn(
    counted.filter((one) => one.organization_id === organization_id),
    now,
  )
  const ofStrangers = kind === 'ciec' && attempt.is_stranger ? waitOfStranger(counted, attempt) : 0
  const why = reasonOf(kind, ofOwn, ofStrangers)
  return new Failure('too_many_requests', 'fiscal_entity.ciec_attempts', ...waiting(Math.max(ofOwn, ofStrangers), why))
}

/** The message and the extra members of a refusal that ends after so many milliseconds. */
function waiting(milliseconds: number, why: string): [string, { retry_after_seconds: number }] {
  // Without a wait, the attempts that stand in the way still await their answers.
  const retry_after_seconds = Math.max(1, Math.ceil(milliseconds / 1_000))
  return [`${why} Try again in ${retry_after_seconds} s.`, { retry_after_seconds }]
}

const EFIRMA_INSTEAD = 'An e.firma of the RFC is not held up: send it instead.'

function reasonOf(kind: LoginKind, ofOwn: number, ofStrangers: number): string {
  const several = kind === 'ciec' ? 'CIECs' : 'e.firmas'
  if (ofOwn === 0 && ofStrangers === 0)
    return `Other ${several} of this RFC are being verified at this moment, so the tax authority was not asked about this one.`
  if (ofStrangers > ofOwn)
    return (
      'The tax authority refused too many CIECs that came from organizations without an accepted one for this RFC, so it was not asked ' +
      `about this one: it locks accounts. ${EFIRMA_INSTEAD}`
    )
  const refused = `${OF_ORGANIZATION.attempts} ${several} that your organization sent for this RFC within 15 minutes were refused`
  return kind === 'ciec'
    ? `${refused}, so the tax authority was not asked about this one. ${EFIRMA_INSTEAD}`
    : `${refused}, so this one was not opened. Check the files and the password.`
}

/** The milliseconds until one more attempt of an organization is allowed; 0 when it is allowed now. */
function waitOfOwn(attempts: readonly AttemptRow[], now: number): number {
  const { attempts: limit, milliseconds } = OF_ORGANIZATION
  const ends = attempts.map(({ attempted_at }) => attempted_at.getTime() + milliseconds - now).filter((wait) => wait > 0)
  return ends.sort((a, b) => b - a)[limit - 1] ?? 0
}

/** The same of a CIEC of a stranger. */
function waitOfStranger(attempts: readonly AttemptRow[], { organization_id, network, attempted_at: at }: AttemptRow): number {
  const { all, most, network: ofNetwork, networkOfFirst, milliseconds } = OF_STRANGERS
  const strangers = attempts
    .filter(({ is_stranger }) => is_stranger)
    .map((one) => ({ ...one, wait: one.attempted_at.getTime() + milliseconds - at.getTime() }))
  const isAdmittedAfter = (wait: number): boolean => {
    const left = strangers.filter((one) => one.wait > wait)
    const isFirst = left.every((one) => one.organization_id !== organization_id)
    const near = left.filter((one) => one.network === network).length
    return (left.length < all || (isFirst && near === 0 && left.length < most)) && (near < ofNetwork || (isFirst && near < networkOfFirst))
  }
  return [0, ...strangers.map(({ wait }) => wait).filter((wait) => wait > 0)].sort((a, b) => a - b).find(isAdmittedAfter) ?? 0
}

/** Forgets an attempt that was not refused. */
export const releaseAttempt = async ({ db }: System, { attempt_id }: Attempt): Promise<void> => {
  await deleteAttempt(db, attempt_id)
}

/**
 * Records that an attempt was refused, by the authority or because the e.firma cannot be opened, with an audit event of the organization. From the third refusal of others within a day,
 * each organization that is connected to the RFC then gets an alert, one a day.
 */
export async function recordRefusal(ctx: Ctx, { attempt_id }: Attempt, resource_id: string, kind: LoginKind): Promise<void> {
  const { db, organization } = ctx
  await commit(db.$client, [
    refuseAttempt(db, attempt_id),
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
      ...{ fiscal_entity_id, rfc },
      message: `On ${day}, others sent wrong CIECs or e.firmas for the RFC ${rfc}: ${ALERT_AFTER.attempts} or more within 24 hours. Your organization did not send them.`,
      message_es: `El ${day} se enviaron CIEC o e.firmas incorrectas del RFC ${rfc} que su organización no envió: ${ALERT_AFTER.attempts} o más en 24 horas.`,
    }
  })
  await raiseAlerts(system, drafts, clock.date())
}

/** Raises the alerts that a crash prevented, and deletes attempts that no longer count. */
export async function pruneAttempts(system: System): Promise<void> {
  await alertGuessed(system)
  await deleteAttempts(system.db, new Date(clock.now() - DAY_MS))
}
