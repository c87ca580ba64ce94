import type { JobGroup } from '../../downloads/states/states.ts'
import type { ConnectionState, PausedBy } from '../../platform/tenant/tenant.ts'

export const SYNC_STATES = ['idle', 'running', 'waiting', 'blocked'] as const
export type SyncStateName = (typeof SYNC_STATES)[number]

/** The known facts about the downloads of one connection. Times are milliseconds. */
export interface KnownOfSync {
  connection: ConnectionState
  paused_by: PausedBy | null
  /** Whether the connection has a login with which runs may download now, and the next verification of its logins. */
  isVerified: boolean
  verified_at: number | null
  /** Whether it has a CIEC alone, with which nobody can log in here. */
  lacksFetcher: boolean
  /** Whether it became active a moment ago and no run has covered it yet. */
  isBeginning: boolean
  groups: readonly JobGroup[]
  /** When the next scheduled run begins, and the next one that repeats all failed downloads; null without one. */
  next_run_at: number | null
  retried_at: number | null
}

/** Why a connection is in its state, for the sentence about it. */
export type Cause =
  | 'draft'
  | 'invalid'
  | 'paused'
  | 'payment'
  | 'trial'
  | 'no_fetcher'
  | 'verifying'
  | 'beginning'
  | 'running'
  | 'failing'
  | 'authority'
  | 'login'
  | 'failed'
  | 'given_up'
  | 'done'
  | 'nothing'

/** The state of a connection's downloads. */
interface Judged {
  state: SyncStateName
  cause: Cause
  error_class: string | null
  attempts: number
  next_attempt_at: number | null
  /** How many jobs the sentence is about. */
  n: number
}

const sum = (groups: readonly JobGroup[]): number => groups.reduce((total, { n }) => total + n, 0)
const most = (groups: readonly JobGroup[]): number => Math.max(0, ...groups.map(({ attempts }) => attempts))
/** The error class of the most jobs. */
const errorOf = (groups: readonly JobGroup[]): string | null =>
  groups.filter(({ error_class }) => error_class !== null).toSorted((a, b) => b.n - a.n)[0]?.error_class ?? null
const firstOf = (groups: readonly JobGroup[]): number | null => {
  const instants = groups.flatMap(({ next_at }) => next_at ?? [])
  return instants.length === 0 ? null : Math.min(...instants)
}

const NOTHING = { error_class: null, attempts: 0, next_attempt_at: null, n: 0 } as const

function inactive({ connection, paused_by }: KnownOfSync): Cause | null {
  if (connection === 'draft') return 'draft'
  if (connection === 'invalid_ciec') return 'invalid'
  if (connection === 'paused') return paused_by === 'payment' || paused_by === 'trial' ? paused_by : 'paused'
  return null
}

/** Judges the downloads of one connection. Causes that a person must end come first, then running, waiting and failed ones. */
export function judge(known: KnownOfSync): Judged {
  const of = (status: JobGroup['status']) => known.groups.filter((group) => group.status === status)
  const cause = inactive(known)
  if (known.lacksFetcher && (cause === 'draft' || cause === null))
    return { ...NOTHING, state: 'blocked', cause: 'no_fetcher', n: sum(of('waiting')) }
  // A login that is stored, and about which the authority is still to be asked, may make it active.
  if (cause === 'draft' && known.verified_at !== null)
    return { ...NOTHING, state: 'waiting', cause: 'verifying', next_attempt_at: known.verified_at }
  if (cause !== null)
    return { ...NOTHING, state: 'blocked', cause, error_class: cause === 'invalid' ? 'invalid_credentials' : null, n: sum(of('waiting')) }
  const [going, waiting, failed] = [[...of('running'), ...of('queued')], of('waiting'), of('failed')]
  if (going.length > 0)
    return {
      state: 'running',
      cause: 'running',
      error_class: errorOf(going),
      attempts: most(going),
      next_attempt_at: null,
      n: sum(going) + sum(waiting),
    }
  if (!known.isVerified) return { ...NOTHING, state: 'waiting', cause: 'verifying', next_attempt_at: known.verified_at, n: sum(waiting) }
  if (waiting.length > 0) {
    const error_class = errorOf(waiting)
    return {
      state: 'waiting',
      cause: error_class === null ? 'authority' : error_class === 'invalid_credentials' ? 'login' : 'failing',
      ...{ error_class, attempts: most(waiting), next_attempt_at: firstOf(waiting), n: sum(waiting) },
    }
  }
  if (known.isBeginning) return { ...NOTHING, state: 'running', cause: 'beginning' }
  if (failed.length > 0) {
    const { retried_at } = known
    return {
      ...(retried_at === null ? ({ state: 'blocked', cause: 'given_up' } as const) : ({ state: 'waiting', cause: 'failed' } as const)),
      ...{ error_class: errorOf(failed), attempts: most(failed), next_attempt_at: retried_at, n: sum(failed) },
    }
  }
  return { ...NOTHING, state: 'idle', cause: known.groups.length > 0 ? 'done' : 'nothing', n: sum(of('succeeded')) }
}

type Words = readonly [en: string, es: string]
const WHY: Readonly<Record<string, Words>> = {
  invalid_credentials: ['the tax authority refuses the CIEC or e.firma', 'el SAT rechaza la CIEC o la e.firma'],
  login_failed: ['the tax authority did not let the service log in', 'el SAT no permitió iniciar sesión'],
  sat_unavailable: ['the tax authority was not available', 'el SAT no estuvo disponible'],
  rate_limited: ['the tax authority takes no more requests for now', 'el SAT no acepta más solicitudes por ahora'],
  request_exhausted: ['the tax authority does not accept the request again', 'el SAT no acepta otra vez la solicitud'],
  range_too_large: [
    'the request matches more documents than the tax authority delivers',
    'la solicitud abarca más documentos de los que el SAT entrega',
  ],
  internal_error: ['the service failed, and its operator is told', 'el servicio falló y su operador ya recibió el aviso'],
}

const [OTHER_EN, OTHER_ES] = ['the download failed', 'la descarga falló']

/** The facts for the sentences besides the state. Times are milliseconds. */
export interface Around {
  now: number
  /** Whether the organization withdrew the login, or its e.firma expired. */
  invalid_reason: string | null
  next_run_at: number | null
  downloaded_to: number | null
  timezone: string
  total: number
  /** The months of CFDI sources whose last download was not whole. */
  partial_months: number
  /** Whether anybody can log in with a CIEC here. */
  takesCiec: boolean
}

const utc = (at: number): string => `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`

const formatters = new Map<string, Intl.DateTimeFormat>()
/** In Spanish. The zone is said once: the second time of a message leaves it out. */
function local(at: number, timeZone: string, zone = true): string {
  const two = '2-digit'
  const format =
    formatters.get(timeZone) ??
    new Intl.DateTimeFormat('en-GB', { timeZone, day: two, month: two, year: 'numeric', hour: two, minute: two, hourCycle: 'h23' })
  formatters.set(timeZone, format)
  return `el ${format.format(at).replace(', ', ' a las ')}${zone ? ` (${timeZone})` : ''}`
}

const downloads = (n: number): string => (n === 1 ? '1 download' : `${n} downloads`)
const descargas = (n: number): string => (n === 1 ? '1 descarga' : `${n} descargas`)

const REASONS: Readonly<Record<string, Words>> = {
  withdrawn: ['The stored CIEC or e.firma was withdrawn.', 'La CIEC o la e.firma guardada fue retirada.'],
  efirma_expired: ['The e.firma has expired.', 'La e.firma venció.'],
  efirma_refused: ['The tax authority refuses the e.firma.', 'El SAT rechaza la e.firma.'],
}

/** The state, its reason, when downloads continue, and what to do: in English and in Spanish. */
export function inWords(judged: Judged, around: Around): Words {
  const { cause, n, attempts, error_class, next_attempt_at: next } = judged
  const { now, next_run_at, downloaded_to, timezone, total, partial_months: partial, takesCiec } = around
  const [why, porque] = WHY[error_class ?? ''] ?? [OTHER_EN, OTHER_ES]
  const [at, cuando] = next === null || next <= now ? ['soon', 'en breve'] : [`at ${utc(next)}`, local(next, timezone)]
  const [run, corrida] =
    next_run_at === null
      ? [
          'No extractor is scheduled: start one with POST /v1/extractors/{extractor_id}/run.',
          'Ningún extractor está programado: ejecute uno cuando lo necesite.',
        ]
      : [
          `The next run begins at ${utc(next_run_at)}.`,
          `La siguiente descarga comienza ${local(next_run_at, timezone, cause !== 'done' || downloaded_to === null)}.`,
        ]
  const [login, ni, o] = takesCiec ? ['CIEC or e.firma', 'CIEC ni e.firma', 'CIEC o e.firma'] : ['e.firma', 'e.firma', 'e.firma']
  const [give, envie] = [
    `Send a valid ${login} with PATCH /v1/fiscal-entities/{fiscal_entity_id}.`,
    `Envíe una ${o} válida para reanudar las descargas.`,
  ]
  const [reason, razon] = REASONS[around.invalid_reason ?? ''] ?? ['The tax authority refuses the CIEC.', 'El SAT rechaza la CIEC.']
  const [until, hasta] = downloaded_to === null ? ['', ''] : [` up to ${utc(downloaded_to)}`, `, hasta ${local(downloaded_to, timezone)}`]
  const [months, meses] =
    partial === 1 ? ['1 month is', 'Falta parte de 1 mes'] : [`${partial} months are`, `Falta parte de ${partial} meses`]
  const words: Record<Cause, Words> = {
    draft: [
      `The connection is a draft without an accepted ${login}, so nothing is downloaded. ${give}`,
      `La conexión es un borrador sin ${ni} aceptada, por lo que no se descarga nada. ${envie}`,
    ],
    invalid: [
      `${reason} Nothing is downloaded until there is another one. ${give}`,
      `${razon} No se descarga nada hasta tener otra. ${envie}`,
    ],
    paused: [
      'The connection is paused, so nothing is downloaded. Resume it with PATCH /v1/billing/rfcs/{fiscal_entity_id} and {"active": true}.',
      'La conexión está en pausa y no se descarga nada. Reactívela cuando quiera continuar.',
    ],
    payment: [
      'The connection is paused because an invoice is unpaid, so nothing is downloaded. GET /v1/billing/invoices shows what to pay.',
      'La conexión está en pausa por una factura sin pagar y no se descarga nada. Pague la factura para continuar.',
    ],
    trial: [
      'The connection is paused because the trial has ended, so nothing is downloaded. GET /v1/billing/plans has a link where you can buy a plan.',
      'La conexión está en pausa porque terminó el periodo de prueba y no se descarga nada. Contrate un plan para continuar.',
    ],
    no_fetcher: [
      `The CIEC is stored, and nothing is downloaded with it: this deployment has no fetcher, which alone can log in with a CIEC at the portal of the tax authority. ${give}`,
      `La CIEC está guardada, pero no se descarga nada con ella: este servicio no tiene el programa que inicia sesión en el portal del SAT con una CIEC. ${envie}`,
    ],
    verifying: [
      `The tax authority has not verified the stored CIEC or e.firma yet. The service asks the authority ${at}. There is nothing to do.`,
      `La CIEC o la e.firma guardada espera ser verificada por el SAT; el servicio lo hará ${cuando}. No hay nada que hacer.`,
    ],
    beginning: [
      'The first run of this connection begins in a moment. There is nothing to do.',
      'La primera descarga comienza en un momento. No hay nada que hacer.',
    ],
    running: [
      `${total - n} of ${downloads(total)} have ended, and the service continues automatically.${error_class === null ? '' : ` The last attempt of some failed because ${why}.`}`,
      `Terminaron ${total - n} de ${descargas(total)} y el servicio continúa solo.${error_class === null ? '' : ` El último intento de algunas falló porque ${porque}.`}`,
    ],
    failing: [
      `${downloads(n)} ${n === 1 ? 'is' : 'are'} waiting because attempt ${attempts} failed: ${why}. The service tries again ${at}; there is nothing to do.`,
      `${descargas(n)} en espera: el intento ${attempts} falló porque ${porque}. El servicio lo intenta de nuevo ${cuando}; no hay nada que hacer.`,
    ],
    authority: [
      `The tax authority is preparing ${downloads(n)}. The service asks again ${at}; there is nothing to do.`,
      `El SAT está preparando ${descargas(n)}. El servicio pregunta de nuevo ${cuando}; no hay nada que hacer.`,
    ],
    login: [
      `${downloads(n)} ${n === 1 ? 'is' : 'are'} waiting for a login with the stored CIEC or e.firma. The service tries again ${next === null ? 'within an hour' : at}; there is nothing to do.`,
      `${descargas(n)} en espera de iniciar sesión con la CIEC o e.firma guardada. El servicio lo intenta de nuevo ${next === null ? 'en menos de una hora' : cuando}; no hay nada que hacer.`,
    ],
    failed: [
      `${downloads(n)} failed after ${attempts} attempts because ${why}. The next run asks for them again ${at}; POST /v1/fiscal-entities/{fiscal_entity_id}/extractions does so at once.`,
      `${descargas(n)} fallaron tras ${attempts} intentos porque ${porque}. La siguiente descarga las pide de nuevo ${cuando}; también puede pedirlas ahora.`,
    ],
    given_up: [
      `${downloads(n)} failed after ${attempts} attempts because ${why}, and no scheduled run reaches all of them. Ask for them with POST /v1/fiscal-entities/{fiscal_entity_id}/extractions.`,
      `${descargas(n)} fallaron tras ${attempts} intentos porque ${porque} y ninguna descarga programada las alcanza. Pídalas de nuevo.`,
    ],
    done:
      partial === 0
        ? [`Everything that was asked for is downloaded${until}. ${run}`, `Está descargado todo lo solicitado${hasta}. ${corrida}`]
        : [
            `All downloads have ended${until}, and ${months} partial: not everything of them is held. GET /v1/fiscal-entities/{fiscal_entity_id}/coverage lists them, and the next run that covers them asks for the rest. ${run}`,
            `Terminaron todas las descargas${hasta}. ${meses}: la siguiente descarga que los abarque pide el resto. ${corrida}`,
          ],
    nothing: [`Nothing has been asked for yet. ${run}`, `Todavía no se ha solicitado nada. ${corrida}`],
  }
  return words[cause]
}
