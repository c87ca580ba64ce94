import { randomUUID } from 'node:crypto'
import { cut, packed, type Quirk } from './packages.ts'
import { type Family, isCancelled, literalOf, type Source, type Truth, type TruthDocument } from './truth/truth.ts'

/** How the authority behaves when no script says otherwise. */
export interface Behaviour {
  /** So many verifications find a request still waiting. */
  checks: number
  /** So many documents are in a package. */
  packageSize: number
  quirks: readonly Quirk[]
  /** The UUIDs of documents that are counted, and are in no package of XML. */
  withheld: ReadonlySet<string>
  /** The UUIDs of documents that are counted, and that metadata does not list, or in a row that nobody can read or date. */
  unlisted: Pick<ReadonlySet<string>, 'has'>
  garbled: ReadonlySet<string>
  /** The Fecha that metadata gives documents, by UUID, in the place of their own. */
  misdated: ReadonlyMap<string, string>
  /** A request may match so many documents. */
  limits: { CFDI: number; Metadata: number }
  /** How long tokens, and packages, are good for, in milliseconds; tokens always say 300 seconds. */
  tokenLifeMs: number
  packageLifeMs: number
  /** A period counts as used once it was sent, whatever was answered, and is never accepted again. */
  strict: boolean
  now: () => Date
}

export interface DocumentRequest {
  id: string
  rfc: string
  family: Family
  kind: 'CFDI' | 'Metadata'
  documents: TruthDocument[]
  /** The literal instant at which it was made: what packages say is how things were then. */
  at: string
  made: number
  /** How often it was verified. */
  checked: number
  packages: { id: string; documents: TruthDocument[]; downloads: number }[]
}

type Parameters = Readonly<Record<string, string>>
/** A code, in the place of what was asked, with a message where the usual one says too little. */
export type Refusal = { code: string; message?: string }

/** How often the same request may be made, ever. */
const TIMES = 2
const DAYS_OF_SIX_YEARS = 2192
const PERIOD = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/
const MALFORMED = { code: '301' }

/** All requests for documents that there have been. */
export class Requests {
  readonly #truth: Truth
  readonly #behaviour: Behaviour
  readonly #requests = new Map<string, DocumentRequest>()
  /** The requests by their exact parameters. */
  readonly #equal = new Map<string, DocumentRequest[]>()

  constructor(truth: Truth, behaviour: Behaviour) {
    this.#truth = truth
    this.#behaviour = behaviour
  }

  get all(): DocumentRequest[] {
    return [...this.#requests.values()]
  }

  /** What makes a request the same as another one. */
  static periodOf = (family: Family, operation: string, parameters: Parameters): string =>
    `${family} ${operation} ${Object.entries(parameters)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, value]) => `${name}=${value}`)
      .join(' ')}`

  /** Takes a request for documents, or says why not. */
  take(family: Family, source: Source, rfc: string, parameters: Parameters, period: string): DocumentRequest | Refusal {
    const refusal = this.#refusal(source, rfc, parameters)
    if (refusal) return refusal
    const equal = this.#equal.get(period) ?? []
    if (equal.some((one) => !this.#isDone(one))) return { code: '5005' }
    if (equal.length >= TIMES) return { code: '5002' }
    const at = literalOf(this.#behaviour.now())
    const { FechaInicial, FechaFinal, TipoSolicitud, EstadoComprobante, TipoComprobante } = parameters as Record<string, string>
    const documents = this.#truth
      .between(rfc, source, FechaInicial!, FechaFinal!, at, family)
      .filter(
        (document) =>
          (!TipoComprobante || document.type === TipoComprobante) &&
          (EstadoComprobante === 'Vigente' ? !isCancelled(document, at) : EstadoComprobante !== 'Cancelado' || isCancelled(document, at)),
      )
    const made = this.#keep(family, rfc, TipoSolicitud as DocumentRequest['kind'], documents)
    this.#equal.set(period, [...equal, made])
    return made
  }

  /** Takes a request for one document, by its UUID. */
  takeFolio(family: Family, rfc: string, { Folio = '' }: Parameters): DocumentRequest | Refusal {
    const found = this.#truth.documents.find(({ uuid }) => uuid === Folio.toUpperCase())
    const at = literalOf(this.#behaviour.now())
    if (found && isCancelled(found, at) && found.receptor.rfc === rfc) return { code: '5012' }
    const own = found && found.stamped <= at && [found.emisor.rfc, found.receptor.rfc].includes(rfc) ? [found] : []
    return this.#keep(family, rfc, 'CFDI', own)
  }

  /** The request of an RFC with this id. */
  find(family: Family, rfc: string, id: string): DocumentRequest | undefined {
    const found = this.#requests.get(id.toLowerCase())
    return found?.rfc === rfc && found.family === family ? found : undefined
  }

  isExpired = ({ made }: DocumentRequest): boolean => this.#behaviour.now().getTime() - made > this.#behaviour.packageLifeMs

  isTooLarge = ({ documents, kind }: DocumentRequest): boolean => documents.length > this.#behaviour.limits[kind]

  /** The ZIP of a package. A package can be downloaded twice. */
  download(family: Family, rfc: string, id: string): Buffer | Refusal {
    const request = this.all.find((one) => one.rfc === rfc && one.family === family && one.packages.some((part) => part.id === id))
    if (!request || this.isExpired(request)) return { code: '5007' }
    const part = request.packages.find((one) => one.id === id)!
    if (part.downloads >= TIMES) return { code: '5008' }
    part.downloads++
    return packed(id, request.kind, part.documents, request.at, this.#behaviour)
  }

  #isDone = (request: DocumentRequest): boolean => request.checked > this.#behaviour.checks

  #keep(family: Family, rfc: string, kind: DocumentRequest['kind'], documents: TruthDocument[]): DocumentRequest {
    const { now, packageSize, quirks, withheld, unlisted } = this.#behaviour
    const id = randomUUID()
    const missing = kind === 'CFDI' ? withheld : unlisted
    const delivered = documents.filter(({ uuid }) => !missing.has(uuid))
    const parts = cut(delivered, packageSize, quirks).map((part, n) => ({
      id: `${id.toUpperCase()}_${String(n + 1).padStart(2, '0')}`,
      documents: part,
      downloads: 0,
    }))
    const at = now()
    const made = { id, rfc, family, kind, documents, at: literalOf(at), made: at.getTime(), checked: 0, packages: parts }
    this.#requests.set(id, made)
    return made
  }

  #refusal(source: Source, rfc: string, parameters: Parameters): Refusal | null {
    const { FechaInicial = '', FechaFinal = '', TipoSolicitud = '', EstadoComprobante = '' } = parameters
    const isReceived = source === 'sat_cfdi_received'
    if (![FechaInicial, FechaFinal].every((time) => PERIOD.test(time) && !Number.isNaN(Date.parse(`${time}Z`)))) return MALFORMED
    if (!['CFDI', 'Metadata'].includes(TipoSolicitud) || FechaInicial >= FechaFinal) return MALFORMED
    if (!['Todos', 'Vigente', 'Cancelado'].includes(EstadoComprobante)) return MALFORMED
    if (isReceived && parameters['RfcReceptor'] !== rfc) return { code: '301', message: 'El atributo RfcReceptor es obligatorio' }
    if (!isReceived && parameters['RfcEmisor'] !== rfc) return MALFORMED
    const earliest = `${literalOf(new Date(this.#behaviour.now().getTime() - DAYS_OF_SIX_YEARS * 86_400_000)).slice(0, 10)}T00:00:00`
    if (FechaInicial < earliest) return { code: '301', message: 'La solicitud no puede contener información mayor a 6 años de antigüedad' }
    if (isReceived && TipoSolicitud === 'CFDI' && EstadoComprobante !== 'Vigente')
      return { code: '301', message: 'No se permite la descarga de xml que se encuentren cancelados' }
    return null
  }
}
