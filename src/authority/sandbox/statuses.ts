import type { AskedCfdi, CfdiStatus } from '../port/status.ts'
import type { CancellationOverride } from './documents/port.ts'
import { LISTED } from './lists/listed.ts'
import type { SandboxCancellation } from './world/comprobante.ts'
import { stampedAt } from './world/invoices.ts'
import { documentsOf } from './world/month.ts'
import { later, localTime } from './world/places.ts'
import { random } from './world/seed.ts'

const DAY = 24 * 3600
/** The receiver has three days to answer a request for cancellation: that long a generated one is in process. */
const IN_PROCESS_SECONDS = 3 * DAY
const OUTCOMES = ['cancelado_sin_aceptacion', 'cancelado_con_aceptacion', 'plazo_vencido'] as const
const ARRANGED = {
  accepted: 'cancelado_con_aceptacion',
  expired: 'plazo_vencido',
  cancelled: 'cancelado_sin_aceptacion',
  rejected: 'rechazada',
} as const

const NOT_FOUND: CfdiStatus = { estatus: 'no_encontrado', es_cancelable: null, estatus_cancelacion: null, validacion_efos: null }

/**
 * The cancellation of a document, past or to come: the generated one or that of a test helper. A document is cancelled only once, and not when
 * the receiver refused the request before.
 */
export function cancellationOf(
  generated: SandboxCancellation | null,
  override: CancellationOverride | undefined,
): SandboxCancellation | null {
  if (override === undefined) return generated
  const own = { at: localTime(override.cancelled_at), motivo: override.cancellation_reason, folio_sustitucion: null }
  if (generated !== null && generated.at <= own.at) return generated
  return override.outcome === 'rejected' ? null : own
}

/** The sandbox's status of a CFDI: it knows the documents that it invents, and one that a test helper cancelled. */
export function statusOf(
  { rfc, direction, uuid, fecha, emisor_rfc }: AskedCfdi,
  override: CancellationOverride | undefined,
  now: Date,
): CfdiStatus {
  const center = localTime(now)
  const document = documentsOf(rfc, direction === 0 ? 'issued' : 'received', fecha.slice(0, 7)).find((one) => one.uuid === uuid)
  if (!override && (!document || stampedAt(document) > center)) return NOT_FOUND
  const cancellation = cancellationOf(document?.cancellation ?? null, override)
  const draws = random(`${uuid}|status`)
  const drawn = draws.pick(OUTCOMES)
  const outcome = override?.outcome ? ARRANGED[override.outcome] : drawn
  const isListed = LISTED.some((one) => one.rfc === emisor_rfc && one.situacion === 'definitivo')
  const validacion_efos = isListed ? '100' : '200'
  const asked = { estatus: 'vigente', es_cancelable: 'cancelable_con_aceptacion', validacion_efos } as const
  if (cancellation && cancellation.at <= center)
    return { estatus: 'cancelado', es_cancelable: 'no_cancelable', estatus_cancelacion: outcome, validacion_efos }
  if (override?.outcome === 'rejected')
    return { ...asked, estatus_cancelacion: localTime(override.cancelled_at) <= center ? 'rechazada' : 'en_proceso' }
  // Without acceptance a document is cancelled at once.
  const isInProcess =
    cancellation !== null &&
    (override !== undefined || (outcome !== 'cancelado_sin_aceptacion' && later(center, IN_PROCESS_SECONDS) >= cancellation.at))
  if (isInProcess) return { ...asked, estatus_cancelacion: 'en_proceso' }
  const needsAcceptance = draws.chance(0.5)
  const isRefused = draws.chance(0.02)
  if (!needsAcceptance || !isRefused)
    return {
      ...asked,
      es_cancelable: needsAcceptance ? 'cancelable_con_aceptacion' : 'cancelable_sin_aceptacion',
      estatus_cancelacion: null,
    }
  const requested = later(fecha, draws.int(1, 20) * DAY)
  const estatus_cancelacion = center < requested ? null : center < later(requested, IN_PROCESS_SECONDS) ? 'en_proceso' : 'rechazada'
  return { ...asked, estatus_cancelacion }
}
