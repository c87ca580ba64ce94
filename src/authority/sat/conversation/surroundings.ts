import type { Efirma } from '../../efirma/efirma.ts'
import type { Asleep } from './rules/agenda.ts'
import type { AuthorityRequest, DayCounts, WantedMonth } from './rules/requests.ts'

/** A month that somebody waits for, with those who do. */
export interface AwaitedMonth extends WantedMonth, Asleep {
  organizations: readonly string[]
  /** How far ahead of the real clock it was asked for, in milliseconds: only a trial sets the clock ahead. */
  ahead: number
}

/** What a conversation needs of those for whom it is held: the domains that download depend on the authority, not it on them. */
export interface Surroundings {
  /** The months that somebody waits for. */
  months(): Promise<AwaitedMonth[]>
  /** A verified e.firma of one of these organizations; null when there is none. */
  efirmaOf(organizations: readonly string[]): Promise<Efirma | null>
  /** Has the jobs of these months run. */
  wake(months: readonly AwaitedMonth[]): Promise<void>
  /** Whether documents are held that a metadata request asks for. */
  holdsAny(request: AuthorityRequest): Promise<boolean>
  /**
   * Reads a package of metadata: what of the request's months is missing, and with the last one how many documents of its
   * period all packages list, and how much in them nobody can read or date. Throws PackageUnreadable.
   */
  readMetadata(request: AuthorityRequest, k: number): Promise<{ rows: number; unread: number; days: DayCounts }>
  /**
   * Reads the packages of an XML request: the entries of each whose names none of the metadata requests announces, and what these announce that
   * is neither there nor held. Throws PackageUnreadable.
   */
  readXml(request: AuthorityRequest, metadata: readonly AuthorityRequest[]): Promise<{ unannounced: number[][]; left: DayCounts }>
}

/** A package of the authority is no ZIP, or is damaged. */
export class PackageUnreadable extends Error {
  constructor(code: string) {
    super(`A package of the tax authority cannot be read: ${code}.`)
  }
}
