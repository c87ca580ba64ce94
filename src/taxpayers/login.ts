import { readCertificate } from '../authority/efirma/efirma.ts'
import { isUsed } from '../authority/logins.ts'
import { kindOf, LOGIN_KINDS, type Login, type LoginKind } from '../authority/port/login.ts'
import type { System } from '../platform/context.ts'
import { base64ToBytes, bytesToBase64, isCurrent, type Keyring, openText, sealText } from '../platform/crypto/keyring.ts'
import { clock } from '../platform/time/clock.ts'
import { activeConnections, type LoginRow, resealStored, type VersionedRow } from './login-store.ts'
import { type ConnectionRow, holds } from './taxpayers.ts'

/** The connection that a login belongs to. What was sealed for one connection, or as one kind, cannot be opened for another. */
export interface LoginHolder {
  organization_id: string
  fiscal_entity_id: string
  rfc: string
}

/** An e.firma as it is sealed: certificate and key, in base64. Its password is never stored. */
interface StoredEfirma {
  certificate: string
  pkcs8: string
}

const contextOf = (kind: LoginKind, { organization_id, fiscal_entity_id }: LoginHolder): string =>
  JSON.stringify([kind, organization_id, fiscal_entity_id])

const plainOf = (login: Login): string => {
  if ('ciec' in login) return login.ciec
  const { certificate, pkcs8 } = login.efirma
  return JSON.stringify({ certificate: bytesToBase64(certificate.der), pkcs8: bytesToBase64(pkcs8) } satisfies StoredEfirma)
}

function loginOf(rfc: string, kind: LoginKind, plain: string): Login {
  if (kind === 'ciec') return { rfc, ciec: plain }
  const { certificate, pkcs8 } = JSON.parse(plain) as StoredEfirma
  return { rfc, efirma: { rfc, certificate: readCertificate(base64ToBytes(certificate)), pkcs8: base64ToBytes(pkcs8) } }
}

/** Encrypts a login for storage: `version:base64`, the key's version and the nonce and ciphertext of AES-256-GCM. */
export const sealLogin = (keys: Keyring, holder: LoginHolder, login: Login): Promise<string> =>
  sealText(keys, plainOf(login), contextOf(kindOf(login), holder))

/** Decrypts a stored login. Null when no configured key opens it. */
async function openLogin(keys: Keyring, holder: LoginHolder, kind: LoginKind, stored: string): Promise<Login | null> {
  const plain = await openText(keys, stored, contextOf(kind, holder))
  return plain === null ? null : loginOf(holder.rfc, kind, plain)
}

/** A login, and the version of the RFC's logins of its kind when it was read: the authority's answer counts while that version stands. */
export interface VersionedLogin {
  login: Login
  version: number
}

/** The login of a download, the organizations with a verified one for it, and when it was read, in milliseconds. */
export interface DownloadLogin extends VersionedLogin {
  organizations: string[]
  read_at: number
}

/** Logins are read again after this long, so that one which was withdrawn is not used for longer. */
const KEPT_MS = 5_000

/** Decrypts a connection's login of a kind. Null when none is stored, or when it cannot be opened. */
export const readLogin = async ({ settings }: System, row: LoginRow, kind: LoginKind): Promise<Login | null> => {
  const stored = row[kind]
  return stored === null ? null : openLogin(settings.ciecKeys, row, kind, stored)
}

type EfirmaPart = Pick<ConnectionRow, 'efirma_valid_to'>

/** Whether a connection's e.firma has ended at an instant, in milliseconds. False without one. */
export const hasEnded = ({ efirma_valid_to }: EfirmaPart, now: number): boolean =>
  efirma_valid_to !== null && efirma_valid_to.getTime() < now

type LoginPart = EfirmaPart & Pick<ConnectionRow, 'ciec' | 'ciec_verify_at' | 'efirma_number' | 'efirma_verify_at'>

/** Whether a connection's login of a kind is verified and has not ended at an instant, in milliseconds. */
export const isUsable = (row: LoginPart, kind: LoginKind, now = clock.now()): boolean =>
  kind === 'ciec'
    ? row.ciec !== null && row.ciec_verify_at === null
    : row.efirma_number !== null && row.efirma_verify_at === null && !hasEnded(row, now)

/** Whether a connection has a login with which runs may download now. */
export const isVerified = (row: LoginPart, now = clock.now()): boolean => LOGIN_KINDS.some((kind) => isUsable(row, kind, now))

/** Whether a connection holds a login of these kinds with which somebody can log in. Otherwise it downloads nothing, like a draft. */
export const canLogIn = (system: System, row: Parameters<typeof holds>[0], kinds: readonly LoginKind[] = LOGIN_KINDS): boolean =>
  kinds.some((kind) => holds(row, kind) && isUsed(system, kind))

/** When a login of a connection is first to be verified, or its e.firma ended; null when nothing is to be done. */
export const dueAt = (row: LoginPart, now = clock.now()): Date | null => {
  const end = hasEnded(row, now) ? row.efirma_valid_to : null
  const instants = [row.ciec_verify_at, row.efirma_verify_at, end].flatMap((at) => at?.getTime() ?? [])
  return instants.length === 0 ? null : new Date(Math.min(...instants))
}

/**
 * The usable logins of connections in the order of their trial: first the kind `first`, then e.firmas; within a kind, the latest accepted
 * first.
 */
const candidates = (rows: readonly VersionedRow[], now: number, first: LoginKind | null) =>
  LOGIN_KINDS.toSorted((a, b) => Number(b === first) - Number(a === first)).flatMap((kind) => {
    const acceptedAt = ({ row }: VersionedRow) => row[`${kind}_accepted_at`]?.getTime() ?? 0
    return rows
      .filter(({ row }) => isUsable(row, kind, now))
      .sort((a, b) => acceptedAt(b) - acceptedAt(a) || b.row.connection - a.row.connection)
      .map(({ row, versions }) => ({ kind, row, version: versions[kind] }))
  })

/**
 * The logins with which an RFC is downloaded. They stay in memory, sealed, for five seconds. They are read earlier after `forget`, and for
 * an organization without a known verified login.
 */
export class Logins {
  #asked: readonly string[] = []
  #verified: readonly VersionedRow[] = []
  #read_at = 0

  readonly system: System
  readonly entity: number

  constructor(system: System, entity: number) {
    this.system = system
    this.entity = entity
  }

  forget(): void {
    this.#asked = []
    this.#verified = []
  }

  /**
   * Returns the login for these organizations, out of the verified ones of their active connections that can be opened: the kind `first`
   * comes first, then the e.firma, then the CIEC, and within a kind the latest accepted. Null without one; another organization's login is
   * never used. A login under an old key is sealed again with the current one.
   */
  async of(organizations: readonly string[], first: LoginKind | null = null): Promise<DownloadLogin | null> {
    const { system, entity } = this
    const own = () => this.#verified.filter(({ row }) => organizations.includes(row.organization_id))
    const now = clock.now()
    if (own().length < organizations.length || now - this.#read_at > KEPT_MS) {
      this.#read_at = now
      this.#asked = [...new Set([...this.#asked, ...organizations])]
      this.#verified = (await activeConnections(system.db, entity, this.#asked)).filter(({ row }) => isVerified(row, now))
    }
    const usable = candidates(own(), now, first)
    for (const { row, kind, version } of usable) {
      const login = await readLogin(system, row, kind)
      if (login === null) continue
      await rewrap(system, row, kind, login)
      return { login, version, organizations: [...new Set(usable.map((one) => one.row.organization_id))], read_at: this.#read_at }
    }
    return null
  }
}

/** Seals a stored login again with the current key. Changes the row as well, so that it is sealed once while it is kept. */
export async function rewrap({ db, settings }: System, row: LoginRow, kind: LoginKind, login: Login): Promise<void> {
  const stored = row[kind]
  if (stored === null || isCurrent(settings.ciecKeys, stored)) return
  const sealed = await sealLogin(settings.ciecKeys, row, login)
  await resealStored(db, row.connection, kind, stored, sealed)
  row[kind] = sealed
}
