/**
 * `Idempotency-Key`: a request that creates is carried out once, however often it is sent.
 *
 * A request takes the key with a lease (`running`). The commit of its change says so in the key's row (`done`, audit.ts), and fails when
 * another request has taken the key meanwhile: whatever the interleaving, one change is committed under a key. What is answered is kept
 * then, sealed (`answered`). A change that lies in several databases begins with a commit that names what it makes; whoever asks again goes
 * on with that one. So a crash leaves one of two things: nothing changed, and the key is free when the lease ends; or the change
 * without its answer, and whoever asks again is told that it is done, and what it made.
 */

import { Failure, invalid } from '../../failures.ts'
import type { Ctx, KeyClaim, System } from '../context.ts'
import { commit } from '../db/commit.ts'
import { errorMessage } from '../log.ts'
import { type Answer, openAnswer, sealAnswer } from './seal.ts'
import { claimKey, freeKey, type Held, keepAnswer, removeForgotten } from './store.ts'

export type { Answer } from './seal.ts'

const LEASE_MS = 30_000
const KEPT_MS = 24 * 3_600_000
const PRUNED_AT_ONCE = 1_000
const ROUNDS = 500
const KEY = /^[\x20-\x7e]{1,255}$/

/** What is asked, and how it is presented. */
export interface Asked {
  key: string
  /** Method, path and body. */
  request: readonly string[]
  api_secret: string
}

export const inFlight = (): Failure =>
  new Failure('conflict', 'idempotency.in_flight', 'A request with this key is being carried out. Ask again for its answer.')

const forgottenAt = (now: Date): Date => new Date(now.getTime() - KEPT_MS)

/**
 * Carries a request out, or answers what it was answered before: 24 hours long, per organization. 422 for a key that is not one, or
 * was another request’s; 409 while the first one is being carried out, or when its answer cannot be given again.
 */
export async function answerOnce(
  ctx: Ctx,
  asked: Asked,
  carryOut: (ctx: Ctx) => Promise<{ answer: Answer; isFinal: boolean }>,
): Promise<Answer & { replayed: boolean }> {
  if (!KEY.test(asked.key))
    throw invalid('idempotency.invalid_key', [{ path: 'Idempotency-Key', message: 'Must be 1 to 255 printable ASCII characters.' }])
  const holder = { organization_id: ctx.organization.id, key: asked.key, token: crypto.randomUUID() }
  const fingerprints = await fingerprintsOf(ctx, asked.request)
  const asked_at = Date.now()
  const times = { asked_at, lease_until: asked_at + LEASE_MS, now: ctx.now, forgotten: forgottenAt(ctx.now) }
  const found = await claimKey(ctx.db, { ...holder, fingerprints, ...times })
  const claim: KeyClaim = { ...holder, begun: found.resource_id }
  if (found.token !== claim.token) return { ...(await earlier(claim, asked.api_secret, found, fingerprints)), replayed: true }
  const { answer, isFinal } = await carryOut({ ...ctx, claim })
  await settle(ctx, claim, asked.api_secret, answer, isFinal)
  return { ...answer, replayed: false }
}

/** No CIEC can be guessed from it by whoever reads the row without our keys. The prefix keeps it apart from what else they hash. */
const fingerprintsOf = ({ settings }: System, request: readonly string[]): Promise<string[]> =>
  Promise.all(
    settings.apiSecretKeys.all.map(async (key) => `${key.version}.${(await key.hmac(`idempotency ${JSON.stringify(request)}`)).toHex()}`),
  )

async function earlier(claim: KeyClaim, api_secret: string, found: Held, fingerprints: readonly string[]): Promise<Answer> {
  if (!fingerprints.includes(found.fingerprint))
    throw invalid('idempotency.mismatch', [{ path: 'Idempotency-Key', message: 'Was sent with another request. Use a key once.' }])
  if (found.state === 'running') throw inFlight()
  const { answer, token, resource_id } = found
  const made = resource_id === null ? {} : { resource_id }
  if (answer === null)
    throw new Failure('conflict', 'idempotency.done', 'The request was carried out, but its answer was lost: look at what it made.', made)
  const opened = await openAnswer(api_secret, { ...claim, token }, answer)
  if (opened) return opened
  throw new Failure(
    'conflict',
    'idempotency.other_credential',
    'The request was answered to another credential, and only to that one.',
    made,
  )
}

/**
 * Keeps a final answer, frees the key after any other. Its failure is not the caller's: the change is what it is. Who has lost the key
 * has changed nothing, and what they would be told may be of what the other request made.
 */
async function settle(ctx: Ctx, claim: KeyClaim, api_secret: string, answer: Answer, isFinal: boolean): Promise<void> {
  const { db, requestId } = ctx
  let isLost = false
  try {
    const kept = isFinal ? [keepAnswer(db, claim, await sealAnswer(api_secret, claim, answer))] : freeKey(db, claim)
    const [result] = await commit(db.$client, kept)
    isLost = isFinal && result!.meta.changes === 0
  } catch (error) {
    console.error(JSON.stringify({ level: 'error', request_id: requestId, message: 'An answer was not kept.', error: errorMessage(error) }))
  }
  if (isLost) throw inFlight()
}

/** Removes the keys that are a day old. */
export async function pruneKeys({ db, now }: System): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) if ((await removeForgotten(db, forgottenAt(now), PRUNED_AT_ONCE)) < PRUNED_AT_ONCE) return
}
