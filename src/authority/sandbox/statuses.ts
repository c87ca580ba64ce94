import type { AskedCfdi, CfdiStatus } from '../port/status.ts'
import { cancellationOf } from './cancelled.ts'
import type { CancellationOverride } from './documents/port.ts'
import { LISTED } from './lists/listed.ts'
import { stampedAt } from './world/invoices.ts'
import { documentsOf } from './world/month.ts'
import { later, localTime } from './world/places.ts'
import { random } from './world/seed.ts'

/** The receiver has three days to answer a request for cancellation: that long a generated cancellation is in process. */
const IN_PROCESS_SECONDS = 3 * 24 * 3600
const OUTCOMES = ['cancelado_sin_aceptacion', 'cancelado_con_aceptacion', 'plazo_vencido'] as const

const NOT_FOUND: CfdiStatus = { estatus: 'no_encontrado', es_cancelable: null, estatus_cancelacion: null, validacion_efos: null }

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
  const outcome = draws.pick(OUTCOMES)
  const isListed = LISTED.some((one) => one.rfc === emisor_rfc && one.situacion === 'definitivo')
  const validacion_efos = isListed ? '100' : '200'
  if (cancellation && cancellation.at <= center)
    return { estatus: 'cancelado', es_cancelable: 'no_cancelable', estatus_cancelacion: outcome, validacion_efos }
  const isInProcess = cancellation !== null && (override !== undefined || later(center, IN_PROCESS_SECONDS) >= cancellation.at)
  if (isInProcess)
    return { estatus: 'vigente', es_cancelable: 'cancelable_con_aceptacion', estatus_cancelacion: 'en_proceso', validacion_efos }
  return {
    estatus: 'vigente',
    es_cancelable: draws.chance(0.5) ? 'cancelable_con_aceptacion' : 'cancelable_sin_aceptacion',
    estatus_cancelacion: draws.chance(0.02) ? 'rechazada' : null,
    validacion_efos,
  }
}
