import { language } from '../language.ts'
import { Refused } from './client.ts'

/** By their code, in Spanish: the API itself speaks English. A code that is not here is told in the API's own words. */
const SPANISH: Record<string, string> = {
  internal: 'Algo falló de nuestro lado.',
  'billing.connection_paused': 'Una conexión en pausa no se puede desvincular: reanúdela primero.',
  'billing.overdue': 'Hay una factura sin pagar después de su plazo. Páguela para continuar.',
  'billing.seats': 'No hay asientos libres en su plan.',
  'billing.trial_ended': 'La prueba terminó. Elija un plan para conectar RFC.',
  'billing.trial_rfcs': 'La prueba cubre un solo RFC. Elija un plan para conectar más.',
  'credential.invalid': 'Esa credencial no existe, venció o fue revocada.',
  'credential.role': 'Su rol no permite hacer esto. Pídalo a un administrador.',
  'credential.plan_limit': 'Su plan no permite más credenciales.',
  'session.link': 'El enlace ya se usó o venció. Entre con una credencial.',
  'request.rate_limit': 'Son demasiadas solicitudes por minuto. Espere un momento.',
  'request.too_large': 'Lo que envía es demasiado grande.',
  'request.invalid': 'Revise los datos marcados.',
  'service.unusable_settings': 'El servicio no está configurado por completo. Avise a quien lo opera.',
  'authority.sat_unavailable': 'El SAT no responde. Intente más tarde.',
  'authority.account_locked': 'El SAT bloqueó la cuenta de este RFC por un tiempo. Intente cuando se desbloquee.',
  'ciec.rejected': 'El SAT rechazó la CIEC. Revísela: tras varios intentos bloquea la cuenta.',
  'efirma.certificate_unreadable': 'No es un certificado (.cer) del SAT.',
  'efirma.expired': 'El certificado venció.',
  'efirma.is_csd': 'Es un sello digital (CSD). Elija el certificado de la e.firma.',
  'efirma.key_mismatch': 'La llave no es la de este certificado.',
  'efirma.key_unreadable': 'No es una llave privada (.key) del SAT.',
  'efirma.key_unsupported': 'La llave está cifrada de una forma que no se admite.',
  'efirma.not_yet_valid': 'El certificado aún no es válido.',
  'efirma.other_rfc': 'El certificado es de otro RFC.',
  'efirma.without_rfc': 'El certificado no nombra un RFC.',
  'efirma.wrong_password': 'La contraseña no abre la llave.',
  'email.disposable': 'Use un correo permanente: los de un solo uso no se aceptan.',
  'fiscal_entity.already_linked': 'Este RFC ya está conectado.',
  'fiscal_entity.ciec_attempts': 'Se enviaron demasiados accesos equivocados para este RFC. Espere antes de intentar otra vez.',
  'fiscal_entity.not_active': 'La conexión no está activa.',
  'fiscal_entity.not_found': 'Su organización no tiene este RFC.',
  'idempotency.in_flight': 'La misma solicitud se está procesando. Espere un momento.',
}

/** One sentence on why something failed, in the language that is spoken. */
export function sentenceOf(error: Error): string {
  const spanish = language() === 'es'
  if (!(error instanceof Refused)) return spanish ? 'La página falló. Vuelva a cargarla.' : 'The page failed. Load it again.'
  if (error.status === 0) return spanish ? 'No hay conexión con el servicio.' : 'The service cannot be reached.'
  return (spanish && SPANISH[error.problem?.code ?? '']) || error.message || `HTTP ${error.status}`
}

/** Of what is sent, in Spanish: what the API says of a member most often. */
const SPANISH_FAULTS: Record<string, string> = { 'Is required.': 'Falta.', 'Must not be empty.': 'Falta.' }

/** What is wrong with a member of what was sent: its first fault, for the field that shows it. */
export function faultOf(error: Error | null, path: string): string | undefined {
  if (!(error instanceof Refused)) return undefined
  const { code = '', errors = [] } = error.problem ?? {}
  const message = errors.find((one) => one.path === path || one.path.startsWith(`${path}.`))?.message
  if (message === undefined || language() !== 'es') return message
  return (code === 'request.invalid' ? SPANISH_FAULTS[message] : SPANISH[code]) ?? message
}

export const requestIdOf = (error: Error): string | null => (error instanceof Refused ? (error.problem?.request_id ?? null) : null)

/** Where what the request needs can be bought (402). */
export const checkoutOf = (error: Error): string | null => (error instanceof Refused ? (error.problem?.checkout_url ?? null) : null)
