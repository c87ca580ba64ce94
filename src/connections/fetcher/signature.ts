import { lt } from 'drizzle-orm'
import type { System } from '../../platform/context.ts'
import { base64ToBytes, type Keyring } from '../../platform/crypto/keyring.ts'
import { commit, type Database } from '../../platform/db/commit.ts'
import { Failure } from '../../platform/failures.ts'
import { fetcherSignatures } from '../tables.ts'

/** The signed parts of a request. */
export interface SignedRequest {
  method: string
  /** With the query. */
  path: string
  /** Fetcher-Timestamp: seconds since 1970. */
  timestamp: string
  /** Fetcher-Digest: the SHA-256 of the body in lower hexadecimal. */
  digest: string
}

/** A signature is good for so long before and after its timestamp. */
const WINDOW_SECONDS = 300

/** When no timestamp like this one is good any more, in milliseconds. */
const endOf = (timestamp: string): number => (Number(timestamp) + WINDOW_SECONDS) * 1_000

/** The MAC of a signature, which is the same however its base64 is written. */
const macOf = (signature: string): string => base64ToBytes(signature.split(':')[1] ?? '').toHex()

export const contentOf = ({ method, path, timestamp, digest }: SignedRequest): string => [timestamp, method, path, digest].join('.')

/** Whether a request was signed with one of the keys, within five minutes of now. `signature` is `{key version}:{base64}`. */
export async function isSigned(keys: Keyring, request: SignedRequest, signature: string, now: Date): Promise<boolean> {
  const [version = '', mac = ''] = signature.split(':')
  const key = keys.of(version)
  if (!key || !/^\d{1,12}$/.test(request.timestamp) || !/^[0-9a-f]{64}$/.test(request.digest)) return false
  if (Math.abs(now.getTime() / 1_000 - Number(request.timestamp)) > WINDOW_SECONDS) return false
  const expected = await key.hmac(contentOf(request))
  try {
    const given = base64ToBytes(mac)
    return given.length === expected.length && crypto.subtle.timingSafeEqual(given, expected)
  } catch {
    return false
  }
}

/** Admits a signature that is right once, as long as its timestamp is good. Throws Failure 409 fetcher.repeated. */
export async function admitOnce({ db }: System, signature: string, timestamp: string): Promise<void> {
  if (!(await keepSignature(db, macOf(signature), endOf(timestamp), Date.now())))
    throw new Failure('conflict', 'fetcher.repeated', 'A lease was asked for with this signature before. Sign another request.')
}

/** Keeps a signature until an instant, and forgets those whose instants have passed. Returns whether it is new. */
export async function keepSignature(db: Database, mac: string, until: number, now: number): Promise<boolean> {
  const [, kept] = await commit(db.$client, [
    db.delete(fetcherSignatures).where(lt(fetcherSignatures.until, now)),
    db.insert(fetcherSignatures).values({ mac, until }).onConflictDoNothing(),
  ])
  return kept!.meta.changes > 0
}
