import type { Login } from '../authority/port/authority.ts'
import type { System } from '../platform/context.ts'
import { isCurrent, openCiec, sealCiec } from './ciec.ts'
import { resealCiec, verifiedConnections } from './login-store.ts'
import type { ConnectionRow } from './taxpayers.ts'

/** A login, with the version of the RFC's CIECs at which it was read: the authority's answer counts while the version is the same. */
export interface VersionedLogin {
  login: Login
  version: number
}

/** The login of a download, and the organizations that have a verified CIEC for it. */
export interface DownloadLogin extends VersionedLogin {
  organizations: string[]
}

/** Decrypts a connection's CIEC. Null when none is stored, or when it cannot be opened. */
export const readCiec = async ({ settings }: System, row: ConnectionRow): Promise<string | null> =>
  row.ciec === null ? null : openCiec(settings.ciecKeys, row, row.ciec)

/**
 * Returns the login with which an RFC is downloaded for these organizations: the CIEC that was accepted last among the verified ones of
 * their active connections, of those that can be opened. Null when there is none; the CIEC of another organization is never used. A CIEC
 * that is sealed with an old key is sealed again with the current one (decisions.md 11).
 */
export async function loginOf(system: System, entity: number, organizations: readonly string[]): Promise<DownloadLogin | null> {
  const verified = await verifiedConnections(system.db, entity, organizations)
  for (const { row, version } of verified) {
    const ciec = await readCiec(system, row)
    if (ciec === null) continue
    await rewrap(system, row, ciec)
    return { login: { rfc: row.rfc, ciec }, version, organizations: verified.map((one) => one.row.organization_id) }
  }
  return null
}

async function rewrap({ db, settings }: System, row: ConnectionRow, ciec: string): Promise<void> {
  if (row.ciec === null || isCurrent(settings.ciecKeys, row.ciec)) return
  await resealCiec(db, row.connection, row.ciec, await sealCiec(settings.ciecKeys, row, ciec))
}
