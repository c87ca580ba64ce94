import type { Family, Source } from './truth/truth.ts'

export type Operation =
  | 'Autentica'
  | 'SolicitaDescargaEmitidos'
  | 'SolicitaDescargaRecibidos'
  | 'SolicitaDescargaFolio'
  | 'VerificaSolicitudDescarga'
  | 'Descargar'
  | 'Consulta'

/** What the stand-in says in the place of the truth. What is asked is not done, unless `isDone`: then only its answer is lost. */
export interface FalseAnswer {
  /** CodEstatus, with its usual message unless there is one. */
  code?: string
  message?: string
  /** EstadoSolicitud and CodigoEstadoSolicitud of a verification. */
  state?: string
  stateCode?: string
  /** A SOAP fault of this code, with HTTP 500. */
  fault?: string
  /** A page instead of SOAP. */
  page?: true
  /** The right answer, with this status of HTTP. Only with `isDone`. */
  status?: number
  /** The right answer comes four characters at a time, each so many milliseconds after the one before. Only with `isDone`. */
  dripMs?: number
  /** The answer ends in the middle: as if that were all of it, or because the connection breaks. */
  truncated?: 'answer' | 'connection'
  /** The connection is closed without an answer. */
  closed?: true
  /** The answer, a right one unless something above is said, comes so many milliseconds later. */
  slowMs?: number
  isDone?: boolean
}

/** When something else than the truth is said: at the requests that have all of this. */
export interface Step {
  operation?: Operation | readonly Operation[]
  family?: Family
  source?: Source
  kind?: 'CFDI' | 'Metadata'
  rfc?: string
  /** So many of them pass first. */
  after?: number
  /** Then this happens so many times; once unless it is said. */
  times?: number
  answer: FalseAnswer
}

/** What is known of a request when it comes. */
export interface Asked {
  operation: Operation
  family: Family
  rfc: string
  source?: Source | undefined
  /** Of the request, also when its state is asked for. */
  kind?: 'CFDI' | 'Metadata' | undefined
}

/** Says which step answers a request, and counts. Steps that are added later begin to count then. */
export class Script {
  readonly steps: Step[]
  readonly #met = new Map<Step, number>()

  constructor(steps: readonly Step[]) {
    this.steps = [...steps]
  }

  answerTo(asked: Asked): FalseAnswer | null {
    for (const step of this.steps) {
      if (!fits(step, asked)) continue
      const met = this.#met.get(step) ?? 0
      this.#met.set(step, met + 1)
      const after = step.after ?? 0
      if (met >= after && met < after + (step.times ?? 1)) return step.answer
    }
    return null
  }
}

const fits = ({ operation, ...step }: Step, asked: Asked): boolean =>
  (operation === undefined || [operation].flat().includes(asked.operation)) &&
  (['family', 'source', 'kind', 'rfc'] as const).every((name) => step[name] === undefined || step[name] === asked[name])

/** The authority's words for its codes. */
export const MESSAGES: Readonly<Record<string, string>> = {
  300: 'Usuario No Válido',
  301: 'XML Mal Formado',
  302: 'Sello Mal Formado',
  303: 'Sello no corresponde con RfcSolicitante',
  304: 'Certificado Revocado o Caduco',
  305: 'Certificado Inválido',
  404: 'Error no Controlado',
  5000: 'Solicitud Aceptada',
  5001: 'Tercero no autorizado',
  5002: 'Se han agotado las solicitudes de por vida',
  5003: 'Tope máximo de elementos de la consulta',
  5004: 'No se encontró la información',
  5005: 'Ya se tiene una solicitud registrada',
  5006: 'Error interno en el proceso',
  5007: 'No existe el paquete solicitado',
  5008: 'Máximo de descargas permitidas',
  5011: 'Límite de descargas por folio por día',
  5012: 'No se permite la descarga de documentos cancelados',
}
