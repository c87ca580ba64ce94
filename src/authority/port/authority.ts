import type { Bytes } from '../../platform/bytes/bytes.ts'
import type { Unavailable } from '../../platform/failures.ts'
import type { DocumentFields } from './fields-contract.ts'
import type { Login, LoginKind } from './login.ts'
import type { ListedMailbox, TaxMailbox } from './mailbox.ts'

/** The keys of the data sources, in the order of the catalog. */
export const DATA_SOURCE_KEYS = [
  'sat_cfdi_issued',
  'sat_cfdi_received',
  'sat_csf',
  'sat_opinion_32d',
  'sat_obligations',
  'sat_declaracion_anual',
  'sat_declaracion_mensual',
  'sat_miinformacion',
  'sat_certificates',
  'sat_rug',
] as const

export type DataSourceKey = (typeof DATA_SOURCE_KEYS)[number]

export type { Login } from './login.ts'

/** A calendar month `YYYY-MM` of literal issue dates (`Fecha`). */
export type Month = string

export interface DownloadRequest {
  /** The taxpayer's partition: its ledger and its number there. */
  shard: number
  entity: number
  login: Login
  direction: 'issued' | 'received'
  month: Month
  /** Documents that were issued after this instant are not delivered. */
  until: Date
  /** When the download was asked for. */
  asked_at: Date
  /** Whether an earlier download brought everything that the month had. */
  is_complete: boolean
  /** Whether somebody may wait for it, because its run is of no cadence. */
  is_interactive: boolean
}

/**
 * A package of the authority: a ZIP, which is read by ranges. An `xml` package contains `<UUID>.xml` entries; a `metadata` package contains a
 * TXT file of `~`-separated columns with the status of each document. A month consists of any number of both. Cancelled received documents
 * are in the metadata only. The bytes of an `xml` package are valid until the next package is asked for.
 */
export interface Package {
  kind: 'xml' | 'metadata'
  bytes: Bytes
  /** Present when it has documents of other months too. */
  shared?: SharedPackage
  /** Requests it again, because it cannot be read; absent where it would be the same one. */
  discard?(): Promise<void>
}

/**
 * The part of a package of several months for one month: the rows of metadata with its `Fecha`, the XML entries that these rows list, and
 * unannounced entries whose content is of the month.
 */
export interface SharedPackage {
  /** The locations of the XML entries whose names no metadata lists; `all` while there is no metadata. */
  unannounced: readonly number[] | 'all'
  /** Whether the month answers for lines of metadata that nobody can date, and for those of months that were not asked for. */
  is_last: boolean
  /** Whether the metadata lists fewer documents than the authority announced. Otherwise a package or file without rows is no loss. */
  is_short: boolean
  /** Whether a `Fecha`, or only its month, was asked for: it is of the period, or of one of the months. */
  isAsked(time: string): boolean
  /** The family of all its documents; its metadata need not say it. */
  family: 'cfdi' | 'retenciones'
}

/** The authority is not done. It is asked again at an instant, unless the job is woken earlier. */
interface Waiting {
  state: 'waiting'
  ask_again_at: Date
}

/** Packages of a month, with the documents that were issued up to then. */
interface Delivered {
  until: Date
  packages: AsyncIterable<Package>
}

/** One session of the conversation with the authority about a month. */
export type Step =
  /** `is_whole`: the authority delivers, or has delivered, all announced documents of the month, and no part of it is too old. */
  | ({ state: 'ready'; is_whole: boolean } & Delivered)
  /** `part`: the available part of the month, when the rest takes long, and its number of lists of documents. */
  | (Waiting & { part?: Delivered & { lists: number } })

/** The kinds of documents. An `acuse` is the authority's receipt for a return (`declaracion`). */
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
  size: number
  /** In lower hexadecimal. */
  sha256: string
  /** Its content, which is not in memory before. */
  read(): Promise<Uint8Array>
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
  /** Its fields, when the authority delivers them as data. Null when it has none, or they are to be read from its PDF. */
  fields: DocumentFields | null
}

export interface DocumentsRequest extends Pick<DownloadRequest, 'shard' | 'entity' | 'login' | 'asked_at'> {
  source: DataSourceKey
  now: Date
}

/** One look at the documents of a source; sat_miinformacion includes the tax mailbox. */
export type DocumentsStep = { state: 'ready'; files: readonly DocumentFile[]; mailbox: ListedMailbox } | Waiting

/** The part of the port that requests need, which fetch nothing. */
export interface AuthorityLogins {
  /** The sources that this adapter delivers. */
  readonly sources: readonly DataSourceKey[]
  /** The kinds of logins that it can be asked about. Others are stored unverified. */
  readonly kinds: readonly LoginKind[]
  /** The only kind of login with which document sources are downloaded; null where any will do. */
  readonly documentKind: LoginKind | null
  /** Whether it opens notifications, and fetches the document of one, while somebody waits. Otherwise documents come with runs only. */
  readonly answersMailbox: boolean
  /** Returns whether the authority accepts the login. Throws Unavailable when it does not say so. */
  verify(login: Login): Promise<boolean>
}

/**
 * The port to the tax authority. The sandbox implements it. Its methods throw `LoginRejected` when the login is refused, and `Unavailable`
 * (failures.ts) for anything that may work later. An account that the authority has locked is unavailable, never refused.
 */
export interface TaxAuthority extends AuthorityLogins {
  /**
   * Continues the download of a month: the metadata packages, then the XML packages, when the authority has them ready. It waits for
   * nothing. It throws AuthorityFailed when the authority will not deliver them, and so do the packages after those that were delivered.
   */
  step(request: DownloadRequest): Promise<Step>
  /**
   * Returns the files of a document source, when the authority has them ready. Nothing is waited for. Files with the same content have the same
   * bytes. It throws AuthorityFailed when the authority will not deliver them.
   */
  documents(request: DocumentsRequest): Promise<DocumentsStep>
  /** The tax mailbox, which belongs to the source sat_miinformacion. */
  readonly mailbox: TaxMailbox
}

/** The authority will not deliver what it was asked for. Another attempt of the same download does not help. */
export class AuthorityFailed extends Error {
  /** Why, as `error_class` of the API. */
  readonly error_class: Unavailable['error_class'] | 'internal_error'

  constructor(error_class: AuthorityFailed['error_class'], message: string) {
    super(message)
    this.error_class = error_class
  }
}

/** The authority refused the login. */
export class LoginRejected extends Error {
  constructor() {
    super('The tax authority rejected the login.')
  }
}
