import type { DataSourceKey } from './catalog.ts'
import type { DocumentFields } from './fields-contract.ts'
import type { Login } from './login.ts'
import type { TaxMailbox } from './mailbox.ts'

export type { Login } from './login.ts'

/** A calendar month `YYYY-MM` of literal issue dates (`Fecha`). */
export type Month = string

export interface DownloadRequest {
  login: Login
  direction: 'issued' | 'received'
  month: Month
  /** Documents that were issued after this instant are not delivered. */
  until: Date
}

/**
 * A package of the authority: the bytes of a ZIP. An `xml` package contains `<UUID>.xml` entries; a `metadata` package contains a TXT file
 * of `~`-separated columns with the status of each document. A month consists of any number of both. Cancelled received documents are in
 * the metadata only. The bytes of an `xml` package are valid until the next package is asked for.
 */
export interface Package {
  kind: 'xml' | 'metadata'
  bytes: Uint8Array
}

/** What kinds of documents there are. An `acuse` is the authority's receipt for a return (`declaracion`). */
export const DOCUMENT_KINDS = ['csf', 'opinion_32d', 'obligations', 'declaracion', 'acuse', 'registration', 'certificates', 'rug'] as const
export type DocumentKind = (typeof DOCUMENT_KINDS)[number]

/** A document that is not a CFDI, such as a tax status certificate, a compliance opinion or a return. */
export interface DocumentFile {
  kind: DocumentKind
  /**
   * The documents of a data source with the same series are versions of each other: all tax status certificates, or the returns of one
   * period, the amended ones too.
   */
  series: string
  name: string
  content_type: string
  bytes: Uint8Array
  /** The day to which it refers or on which it was issued, `YYYY-MM-DD`. A list without a date of its own bears the first of the month. */
  document_date: string
  /** The last day of the period that a return covers; null for other documents. */
  period_end: string | null
  title: string
  /**
   * Its machine-readable content, without nesting. A return has `ejercicio`, `periodo` (`01` to `12`, or `del ejercicio`), and `impuesto`: the
   * taxes or forms that it declares, as the authority names them, with commas between them.
   */
  attributes: Record<string, string>
  /** What it says, when the authority delivers that as data. Null when it has no fields, or they are to be read from its PDF. */
  fields: DocumentFields | null
}

/** The part of the port that requests need, which fetch nothing. */
export interface AuthorityLogins {
  /** The sources that this adapter delivers. */
  readonly sources: readonly DataSourceKey[]
  /** Returns whether the authority accepts the login. Throws Unavailable when it does not say so. */
  verify(login: Login): Promise<boolean>
}

/**
 * The port to the tax authority. The sandbox implements it. Its methods throw `LoginRejected` when the login is refused, and `Unavailable`
 * (failures.ts) for anything that may work later. An account that the authority has locked is unavailable, never refused.
 */
export interface TaxAuthority extends AuthorityLogins {
  /** Yields the metadata packages of a month, then the XML packages. The whole iteration uses one login. */
  download(request: DownloadRequest): AsyncIterable<Package>
  /** Returns the files of a document source at an instant. Files with the same content have the same bytes. */
  documents(login: Login, source: DataSourceKey, now: Date): Promise<DocumentFile[]>
  /** The tax mailbox, which belongs to the source sat_miinformacion. */
  readonly mailbox: TaxMailbox
}

/** The authority refused the RFC and CIEC pair. */
export class LoginRejected extends Error {
  constructor() {
    super('The tax authority rejected the CIEC.')
  }
}
