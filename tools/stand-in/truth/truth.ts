/** What the stand-in of the authority has: documents with literal times of Mexico's centre, `YYYY-MM-DDTHH:mm:ss`, which compare as texts. */

export type Family = 'cfdi' | 'retenciones'
export type Source = 'sat_cfdi_issued' | 'sat_cfdi_received'

export interface Party {
  rfc: string
  name: string
}

export interface TruthDocument {
  /** In upper case. */
  uuid: string
  family: Family
  /** TipoDeComprobante; empty for retenciones. */
  type: 'I' | 'E' | 'P' | 'N' | 'T' | ''
  emisor: Party
  receptor: Party
  fecha: string
  /** When it was certified: from then on the authority has it. */
  stamped: string
  total: string
  /** When it was cancelled; null for a valid one. */
  cancelled: string | null
  xml: () => string
}

/** An instant as the authority writes it. */
export const literalOf = (at: Date): string => new Date(at.getTime() - 6 * 3_600_000).toISOString().slice(0, 19)

export const isCancelled = ({ cancelled }: TruthDocument, at: string): boolean => cancelled !== null && cancelled <= at

/** The documents of any number of RFCs. */
export class Truth {
  readonly #documents = new Map<string, TruthDocument>()

  constructor(documents: Iterable<TruthDocument> = []) {
    for (const document of documents) this.add(document)
  }

  get documents(): TruthDocument[] {
    return [...this.#documents.values()]
  }

  add(document: TruthDocument): void {
    this.#documents.set(document.uuid, document)
  }

  /** From here on the authority knows nothing of a document. */
  forget(uuid: string): void {
    this.#documents.delete(uuid)
  }

  get(uuid: string): TruthDocument {
    const found = this.#documents.get(uuid.toUpperCase())
    if (!found) throw new Error(`There is no document ${uuid}.`)
    return found
  }

  /** Cancels a document now, or at another instant. */
  cancel(uuid: string, at = new Date()): void {
    this.get(uuid).cancelled = literalOf(at)
  }

  /** The documents of an RFC whose Fecha is between two, both included, as the authority has them at an instant. */
  between(rfc: string, source: Source, from: string, to: string, at: string, family?: Family): TruthDocument[] {
    const side = source === 'sat_cfdi_issued' ? 'emisor' : 'receptor'
    return this.documents.filter(
      (one) =>
        one[side].rfc === rfc &&
        one.fecha >= from &&
        one.fecha <= to &&
        one.stamped <= at &&
        (family === undefined || one.family === family),
    )
  }

  /** The UUIDs that metadata of a month `YYYY-MM` announces at an instant. */
  announced(rfc: string, source: Source, month: string, at = new Date()): Set<string> {
    return new Set(this.#month(rfc, source, month, literalOf(at)).map(({ uuid }) => uuid))
  }

  /** Those of which the authority gives the XML: of received documents only the valid ones. */
  obtainable(rfc: string, source: Source, month: string, at = new Date()): Set<string> {
    const now = literalOf(at)
    const found = this.#month(rfc, source, month, now).filter((one) => source === 'sat_cfdi_issued' || !isCancelled(one, now))
    return new Set(found.map(({ uuid }) => uuid))
  }

  /** Those that are cancelled. */
  cancelled(rfc: string, source: Source, month: string, at = new Date()): Set<string> {
    const now = literalOf(at)
    const found = this.#month(rfc, source, month, now).filter((one) => isCancelled(one, now))
    return new Set(found.map(({ uuid }) => uuid))
  }

  #month = (rfc: string, source: Source, month: string, at: string): TruthDocument[] =>
    this.between(rfc, source, `${month}-01T00:00:00`, `${month}-31T23:59:59`, at)
}
