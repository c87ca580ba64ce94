import type { Login } from '../authority/port/authority.ts'
import type { System } from '../platform/context.ts'
import { isCurrent, openCiec, sealCiec } from './ciec.ts'
import { resealCiec, type VersionedRow, verifiedConnections } from './login-store.ts'
import type { ConnectionRow } from './taxpayers.ts'

/** A login, with the version of the RFC's CIECs at which it was read: the authority's answer counts while the version is the same. */
export interface VersionedLogin {
  login: Login
  version: number
}

/** The login of a download, the organizations that have a verified CIEC for it, and when that was read, in milliseconds. */
export interface DownloadLogin extends VersionedLogin {
  organizations: string[]
  read_at: number
}

/** Logins are read again after this long, so that a CIEC which was withdrawn is not used for longer. */
const KEPT_MS = 5_000

/** Decrypts a connection's CIEC. Null when none is stored, or when it cannot be opened. */
export const readCiec = async ({ settings }: System, row: ConnectionRow): Promise<string | null> =>
  row.ciec === null ? null : openCiec(settings.ciecKeys, row, row.ciec)

/**
 * The logins with which an RFC is downloaded. They are read once for five seconds, and kept with CIECs that stay sealed; earlier they are
 * read again after `forget`, and for an organization of which no verified CIEC is known.
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
   * Returns the login for these organizations: the CIEC that was accepted last among the verified ones of their active connections, of
   * those that can be opened. Null when there is none; the CIEC of another organization is never used. A CIEC that is sealed with an old
   * key is sealed again with the current one (decisions.md 11).
   */
  async of(organizations: readonly string[]): Promise<DownloadLogin | null> {
    const { system, entity } = this
    const own = () => this.#verified.filter(({ row }) => organizations.includes(row.organization_id))
    const now = Date.now()
    if (own().length < organizations.length || now - this.#read_at > KEPT_MS) {
      this.#read_at = now
      this.#asked = [...new Set([...this.#asked, ...organizations])]
      this.#verified = await verifiedConnections(system.db, entity, this.#asked)
    }
    for (const { row, version } of own()) {
      const ciec = await readCiec(system, row)
      if (ciec === null) continue
      await rewrap(system, row, ciec)
      return { login: { rfc: row.rfc, ciec }, version, organizations: own().map((one) => one.row.organization_id), read_at: this.#read_at }
    }
    return null
  }
}

/** Changes the row as well, so that it is sealed once while it is kept. */
async function rewrap({ db, settings }: System, row: ConnectionRow, ciec: string): Promise<void> {
  if (row.ciec === null || isCurrent(settings.ciecKeys, row.ciec)) return
  const sealed = await sealCiec(settings.ciecKeys, row, ciec)
  await resealCiec(db, row.connection, row.ciec, sealed)
  row.ciec = sealed
}
