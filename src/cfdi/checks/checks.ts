/**
 * The authority's last answer to one organization about a document: when, in milliseconds since 1970, the status, whether it can be
 * cancelled, how a cancellation goes, since when an answer that leaves a recheck has been the same, and ValidacionEFOS. The texts are those
 * of the port.
 */
export type StatusCheck = readonly [
  at: number,
  estatus: string,
  es_cancelable: string | null,
  estatus_cancelacion: string | null,
  since: number,
  validacion_efos?: string | null,
]

/**
 * The column `status_checks`: the checks of organizations by their fiscal entity. Each is shown its own check alone, so that none learns
 * what another asks.
 */
type StatusChecks = Readonly<Record<string, StatusCheck>>

export const parseChecks = (text: string | null): StatusChecks => (text === null ? {} : (JSON.parse(text) as StatusChecks))

/** The check of one organization; undefined when it has not asked. */
export const checkOf = (text: string | null, fiscal_entity_id: string): StatusCheck | undefined => parseChecks(text)[fiscal_entity_id]

/** Whether the authority has called the document cancelled, to anybody. */
export const isCalledCancelled = (text: string | null): boolean =>
  Object.values(parseChecks(text)).some(([, estatus]) => estatus === 'cancelado')

/** SQL for a part of the check of one organization of the row `own`. */
export const checkSql = (fiscal_entity_id: string, part: 'at' | 'estatus' | 'estatus_cancelacion'): string =>
  `(own.status_checks -> '${fiscal_entity_id}' ->> ${{ at: 0, estatus: 1, estatus_cancelacion: 3 }[part]})`

const DAY_MS = 86_400_000
/**
 * How long the authority is asked daily about a recheck: it knows a document at the latest a few days after it was stamped, and decides
 * about a cancellation within three business days, unless somebody appeals.
 */
const RECHECKED_MS: Readonly<Record<'en_proceso' | 'no_encontrado', number>> = { en_proceso: 30 * DAY_MS, no_encontrado: 7 * DAY_MS }

const recheckOf = ([, estatus, , estatus_cancelacion]: StatusCheck): keyof typeof RECHECKED_MS | null => {
  if (estatus === 'vigente' && estatus_cancelacion === 'en_proceso') return 'en_proceso'
  return estatus === 'no_encontrado' ? 'no_encontrado' : null
}

/** Whether a check leaves a recheck about which the authority is to be asked again. */
export function needsRecheck(check: StatusCheck, now: number): boolean {
  const recheck = recheckOf(check)
  return recheck !== null && now < check[4] + RECHECKED_MS[recheck]
}

interface Answer {
  estatus: string
  es_cancelable: string | null
  estatus_cancelacion: string | null
  validacion_efos: string | null
}

/** The check with an answer. A repeated recheck keeps its `since`. */
export function checkWith(answer: Answer, now: number, before?: StatusCheck): StatusCheck {
  const { estatus, es_cancelable, estatus_cancelacion, validacion_efos } = answer
  const since = (at: number): StatusCheck => [now, estatus, es_cancelable, estatus_cancelacion, at, validacion_efos]
  const check = since(now)
  const isSame = before !== undefined && recheckOf(before) !== null && recheckOf(before) === recheckOf(check)
  return isSame ? since(before[4]) : check
}
