import type { DataSourceKey } from './catalog.ts'

/** What the tax authority needs to know to let us in. The CIEC is in clear here, and only here. */
export interface Login {
  rfc: string
  ciec: string
}

/** A calendar month `YYYY-MM` of literal emission dates (`Fecha`). */
export type Month = string

export interface DownloadRequest {
  login: Login
  direction: 'issued' | 'received'
  month: Month
  /** Nothing that was emitted after this instant is delivered. */
  until: Date
}

/**
 * A package as the authority packs it: the bytes of a ZIP. `xml` holds `<UUID>.xml` entries, `metadata` a TXT of
 * `~`-separated columns with the status of every document of the period. A period comes as any number of each.
 * Received documents that are cancelled come in the metadata only.
 */
export interface Package {
  kind: 'xml' | 'metadata'
  bytes: Uint8Array
}

/** A document that is not a CFDI: a tax status certificate, a compliance opinion, a return… */
export interface DocumentFile {
  name: string
  content_type: string
  bytes: Uint8Array
  /** The day that it is about or was issued on, `YYYY-MM-DD`. */
  document_date: string
  /** Last day of the period that it covers, for returns; else null. */
  period_end: string | null
  title: string
  /** What a machine may want of it, flat. */
  attributes: Record<string, string>
}

/**
 * The tax authority as the service sees it: one port, with the sandbox and the live protocols behind it. A login that is refused
 * throws `LoginRejected`; anything that may work later throws `Unavailable` (failures.ts).
 */
export interface TaxAuthority {
  /** The sources that this adapter can deliver. */
  readonly sources: readonly DataSourceKey[]
  /** Whether the authority accepts this login. */
  verify(login: Login): Promise<boolean>
  /** Metadata packages first, XML packages after. One login for the whole iteration. */
  download(request: DownloadRequest): AsyncIterable<Package>
  /** The files that a document source holds now; the same bytes for the same content. */
  documents(login: Login, source: DataSourceKey, now: Date): Promise<DocumentFile[]>
}

/** The authority refused the RFC and CIEC pair. */
export class LoginRejected extends Error {
  constructor() {
    super('The tax authority rejected the CIEC.')
  }
}
