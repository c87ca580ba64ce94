/** The answers of the authority's status service (ConsultaCFDI) about single CFDIs, in the words of the API. */
export const STATUS_ANSWERS = ['vigente', 'cancelado', 'no_encontrado', 'unknown'] as const
export const ES_CANCELABLE = ['cancelable_sin_aceptacion', 'cancelable_con_aceptacion', 'no_cancelable'] as const
export const ESTATUS_CANCELACION = [
  ...(['en_proceso', 'rechazada', 'cancelado_sin_aceptacion', 'cancelado_con_aceptacion', 'plazo_vencido'] as const),
] as const

/** The data in the QR code of a printed CFDI, which the status service asks for. */
export interface PrintedCfdi {
  /** Null when only its metadata is known. Then the expression has no signature. */
  version: string | null
  uuid: string
  emisor_rfc: string
  receptor_rfc: string
  /** Decimal text; null counts as zero. */
  total: string | null
  /** The last eight characters of Sello. */
  sello_ultimos_8: string | null
}

/** A CFDI whose status is asked for, from the side of the RFC that holds it. */
export interface AskedCfdi extends PrintedCfdi {
  rfc: string
  /** 0 issued, 1 received. */
  direction: 0 | 1
  /** Literal local time. */
  fecha: string
}

/**
 * ValidacionEFOS: whether the issuer, or a third party on whose account the document is, is on the authority's list of article 69-B. 1xx are
 * listed, 2xx not.
 */
export const VALIDACION_EFOS = ['100', '101', '102', '103', '104', '200', '201'] as const

export interface CfdiStatus {
  /**
   * `no_encontrado`: the authority does not know the document, or not yet. `unknown`: it did not understand the question, or its answer is
   * not understood.
   */
  estatus: (typeof STATUS_ANSWERS)[number]
  /** Null, here and below, when it is not said or not understood. */
  es_cancelable: (typeof ES_CANCELABLE)[number] | null
  estatus_cancelacion: (typeof ESTATUS_CANCELACION)[number] | null
  validacion_efos: (typeof VALIDACION_EFOS)[number] | null
}

/** The part of the port that needs no login: it takes all CFDIs but those of retenciones. */
export interface AuthorityStatus {
  /** Asks for the status of a CFDI at an instant. Throws Unavailable when the authority does not answer, which says nothing about the CFDI. */
  status(document: AskedCfdi, now: Date): Promise<CfdiStatus>
}

/** What a receiver answers to the request of an issuer to cancel a document. */
export const REPLIES = ['accept', 'reject'] as const
export type Reply = (typeof REPLIES)[number]

/**
 * Answers requests for cancellation for a receiver. The authority takes such answers from certified providers (PAC) only, so that a
 * deployment has this where it has one.
 */
export interface CancellationReplies {
  /** Sends the answer. A repetition of the same answer does no harm. Throws Unavailable when nobody knows whether it arrived. */
  reply(rfc: string, uuid: string, reply: Reply): Promise<void>
}
