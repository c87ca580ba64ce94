import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { type Ctx, eventsOf, type KeyClaim, type System } from '../context.ts'
import { base64ToBytes, bytesToBase64, type Key, keyOf } from '../crypto/keyring.ts'
import { commit } from '../db/commit.ts'
import { Failure, type FirstAnswer, invalid } from '../failures.ts'
import { countHourly } from '../locks/hourly.ts'
import { log } from '../log.ts'
import { deleteReceipts, findReceipt } from '../receipts/receipts.ts'
import { localDayOf } from '../time/calendar.ts'
import { clock } from '../time/clock.ts'
import { pageByPage } from '../work/pages.ts'
import { type ClaimedKey, claimKey, deleteExpired, keepAnswer, markKey, releaseKey } from './store.ts'

interface Answer {
  status: number
  content_type: string
  text: string
}

const utf8 = new TextEncoder()

const contextOf = ({ organization_id, key, token }: KeyClaim): string => JSON.stringify(['idempotency', organization_id, key, token])

/** Derives the key of one answer from the caller's api_secret (HKDF-SHA256), which is stored nowhere. */
async function keyFor(api_secret: string, claim: KeyClaim): Promise<Key> {
  const material = await crypto.subtle.importKey('raw', utf8.encode(api_secret), 'HKDF', false, ['deriveBits'])
  const parameters = { name: 'HKDF', hash: 'SHA-256', salt: utf8.encode(claim.token), info: utf8.encode(contextOf(claim)) }
  return keyOf('', new Uint8Array(await crypto.subtle.deriveBits(parameters, material, 256)))
}

/** Seals an answer for storage, because it can contain a secret. Only the caller who got it can open it. */
const sealAnswer = async (api_secret: string, claim: KeyClaim, answer: Answer | FirstAnswer): Promise<string> =>
  bytesToBase64(await (await keyFor(api_secret, claim)).seal(deflateRawSync(JSON.stringify(answer)), contextOf(claim)))

/** Opens a sealed answer. Returns null unless the same api_secret is presented as when it was sealed. */
async function openAnswer(api_secret: string, claim: KeyClaim, sealed: string): Promise<Answer | FirstAnswer | null> {
  const bytes = await (await keyFor(api_secret, claim)).openBytes(base64ToBytes(sealed), contextOf(claim))
  return bytes && (JSON.parse(inflateRawSync(bytes).toString()) as Answer | FirstAnswer)
}

/**
 * `Idempotency-Key`: a request that creates something is carried out once, however often it is sent.
 *
 * A request claims its key with a lease (`running`). The commit of its change also marks the key (`done`, audit.ts), and is refused when
 * another request has claimed the key since: in any interleaving, one change is committed for a key. The answer is then kept, sealed
 * (`answered`). A change of an events shard commits there with a receipt of the key instead, which a repetition looks for first. A change
 * that spans several databases begins with a commit that records which resource it makes; a repetition continues with that resource. A
 * crash therefore leaves one of two states. Either nothing has changed, and the key can be claimed again when the
 * lease ends; or the change is committed without its answer, and a repetition is refused with the id of what was made.
 *
 * All answers lie in the control plane, so that each is bounded, and those of an organization on a day. Of an answer that exceeds this, the
 * status and the digest are kept, and a repetition is refused with them and with the id of what was made; or it is answered from what was
 * made, where a verb can do this (`isCarriedOut`). A refusal that exceeds it and has changed nothing releases the key.
 */

const LEASE_MS = 30_000
const LIFETIME_MS = 24 * 3_600_000
const PRUNE_BATCH = 1_000
/** The most bytes of an answer, as it is stored: deflated, sealed and in base64. */
const MOST_OF_AN_ANSWER = 64 * 1024
/** The most bytes of the answers of an organization that are kept on a day. */
export const MOST_OF_A_DAY = 16 * 1024 * 1024
const KEY = /^[\x20-\x7e]{1,255}$/

/** A request with an Idempotency-Key. */
export interface KeyedRequest {
  key: string
  /** Method, path, query and body. */
  content: readonly string[]
  api_secret: string
  /** Whether a repetition can be answered from what was made: the verb then heeds `isCarriedOut`. */
  canAnswerAgain: boolean
}

export const inFlight = (): Failure =>
  new Failure(
    'conflict',
    'idempotency.in_flight',
    'A request with this Idempotency-Key is being carried out. Send the request again later to get its answer.',
  )

/** A key that was created then or before is free again. */
export const expiredAt = (now: Date): Date => new Date(now.getTime() - LIFETIME_MS)

/**
 * Carries a request out, or returns the answer that it got before. Keys are valid for 24 hours, per organization. Throws Failure 422 for a
 * malformed key or one that belongs to another request, and 409 while the first request is being carried out or when its answer cannot be
 * repeated, and 429 organization.hourly_limit. `carryOut` gets the claim in its ctx; an answer that is not final releases the key.
 */
export async function answerOnce(
  ctx: Ctx,
  request: KeyedRequest,
  carryOut: (ctx: Ctx) => Promise<{ answer: Answer; isFinal: boolean }>,
): Promise<Answer & { isReplayed: boolean }> {
  if (!KEY.test(request.key))
    throw invalid('idempotency.invalid_key', [{ path: 'Idempotency-Key', message: 'Must be 1 to 255 printable ASCII characters.' }])
  const own = { organization_id: ctx.organization.id, key: request.key, token: crypto.randomUUID() }
  const fingerprints = await fingerprintsOf(ctx, request.content)
  const asked_at = clock.now()
  const times = { asked_at, lease_until: asked_at + LEASE_MS, now: ctx.now, expired_at: expiredAt(ctx.now) }
  const found = await claimKey(ctx.db, { ...own, fingerprints, ...times })
  const claim: KeyClaim = { ...own, begun: found.resource_id }
  if (found.token !== claim.token) {
    const previous = await previousAnswer(claim, request.api_secret, found, fingerprints)
    if ('text' in previous) return { ...previous, isReplayed: true }
    if (!request.canAnswerAgain) throw notKept(previous, madeBy(found))
    const { answer } = await carryOut({ ...ctx, claim: { ...claim, isCarriedOut: true } })
    return { ...answer, isReplayed: true }
  }
  if (found.isRepeated) await refuseDone(ctx, claim)
  else await countChange(ctx, claim)
  const { answer, isFinal } = await carryOut({ ...ctx, claim })
  if (isFinal) await keep(ctx, claim, request.api_secret, answer)
  else await release(ctx, claim)
  return { ...answer, isReplayed: false }
}

/** Counts a request that its key makes one of a kind. Throws Failure 429, and leaves no row of the key. */
async function countChange(ctx: Ctx, claim: KeyClaim): Promise<void> {
  try {
    await countHourly(ctx, 'changes')
  } catch (error) {
    await release(ctx, claim)
    throw error
  }
}

/**
 * Keyed hashes of a request, so that a stored fingerprint does not allow a CIEC or a password to be guessed. The prefix separates them from other uses of
 * the keys.
 */
const fingerprintsOf = ({ settings }: System, content: readonly string[]): Promise<string[]> =>
  Promise.all(
    settings.apiSecretKeys.all.map(async (key) => `${key.version}.${(await key.hmac(`idempotency ${JSON.stringify(content)}`)).toHex()}`),
  )

/** What a request has made or changed, if anything. */
interface Made {
  resource_id?: string
}

const madeBy = ({ resource_id }: ClaimedKey): Made => (resource_id === null ? {} : { resource_id })

const done = (made: Made): Failure =>
  new Failure(
    'conflict',
    'idempotency.done',
    'The request was carried out, but its answer was lost. Read the resource that resource_id names.',
    made,
  )

const notKept = (first_answer: FirstAnswer, made: Made): Failure =>
  new Failure(
    'conflict',
    'idempotency.done',
    `The request was answered with ${first_answer.status}, and the answer was not kept: it is too large, or your organization has used the ` +
      'room of the day for answers (kept_answers of GET /v1/billing/usage). Read the resource that resource_id names.',
    { ...made, first_answer },
  )

/** Throws Failure 409 idempotency.done when a request with the key has changed the events shard. */
export async function refuseDone(ctx: Ctx, claim: KeyClaim): Promise<void> {
  const resource_id = await findReceipt(eventsOf(ctx).$client, claim, expiredAt(ctx.now))
  if (resource_id === null) return
  await commit(ctx.db.$client, [markKey(ctx.db, claim, resource_id, 'done')])
  throw done({ resource_id })
}

async function previousAnswer(
  claim: KeyClaim,
  api_secret: string,
  found: ClaimedKey,
  fingerprints: readonly string[],
): Promise<Answer | FirstAnswer> {
  if (!fingerprints.includes(found.fingerprint))
    throw invalid('idempotency.mismatch', [
      { path: 'Idempotency-Key', message: 'Was sent with another request before. Use a new key for each request.' },
    ])
  if (found.state === 'running') throw inFlight()
  const { answer, token } = found
  if (answer === null) throw done(madeBy(found))
  const opened = await openAnswer(api_secret, { ...claim, token }, answer)
  if (opened) return opened
  throw new Failure(
    'conflict',
    'idempotency.other_credential',
    'The request was carried out with another credential, and its answer is repeated to that one only.',
    madeBy(found),
  )
}

/**
 * Keeps an answer as keepAnswer does. Throws Failure 409 when another request has claimed the key since: then this one has changed nothing, and its answer may
 * be about what the other request made. A failure to keep the answer is only logged, because the change is committed.
 */
async function keep({ db, now, organization, requestId }: Ctx, claim: KeyClaim, api_secret: string, answer: Answer): Promise<void> {
  let isLost = false
  try {
    const whole = await sealAnswer(api_secret, claim, answer)
    const brief = await sealAnswer(api_secret, claim, await identityOf(answer))
    const room = { day: localDayOf(now, organization.timezone), most: MOST_OF_A_DAY }
    const sealed = { whole: whole.length > MOST_OF_AN_ANSWER ? null : whole, brief, isRefusal: answer.status >= 400 }
    const [released, kept] = await commit(db.$client, keepAnswer(db, claim, sealed, room))
    isLost = released!.meta.changes + kept!.meta.changes === 0
  } catch (error) {
    log.error({ requestId }, 'An answer was not kept under its Idempotency-Key.', {}, error)
  }
  if (isLost) throw inFlight()
}

async function identityOf({ status, text }: Answer): Promise<FirstAnswer> {
  const bytes = utf8.encode(text)
  return { status, bytes: bytes.length, sha256: new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)).toHex() }
}

export { bytesKept } from './store.ts'

/** Releases a key whose request may be carried out later. A failure is only logged: the lease ends anyway. */
async function release({ db, requestId }: Ctx, claim: KeyClaim): Promise<void> {
  try {
    await commit(db.$client, releaseKey(db, claim))
  } catch (error) {
    log.error({ requestId }, 'An Idempotency-Key was not released.', {}, error)
  }
}

/** Deletes the keys that are older than 24 hours, and their receipts. A task. */
export function pruneKeys(system: System, cursor = ''): Promise<string | null> {
  const { db, settings, now } = system
  return pageByPage(system, 1 + settings.events.length, cursor, async () => {
    const deleted = [await deleteExpired(db, expiredAt(now), PRUNE_BATCH)]
    for (const d1 of settings.events) deleted.push(await deleteReceipts(d1, expiredAt(now), PRUNE_BATCH))
    return Math.max(...deleted) < PRUNE_BATCH ? null : ''
  })
}
