import { MEMBERS, PROCESSES } from './spanish.ts'

/** Every action that the service records. */
export const ACTIONS: Record<string, string> = {
  'alert.read': 'Alerta leída',
  'billing.checkout_paid': 'Compra pagada',
  'billing.checkout_unmatched': 'Pago sin compra que le corresponda',
  'billing.plan_changed': 'Plan cambiado',
  'blacklist.created': 'Lista propia creada',
  'blacklist.deleted': 'Lista propia borrada',
  'blacklist.replaced': 'Lista propia reemplazada',
  'cancellation_request.answered': 'Solicitud de cancelación respondida',
  'cfdi.status_checked': 'Estado de un CFDI consultado',
  'credential.created': 'Credencial creada',
  'connect_link.created': 'Enlace para conectar creado',
  'connect_link.revoked': 'Enlace para conectar anulado',
  'consent.expired': 'Consentimiento vencido; acceso borrado',
  'consent.withdrawn': 'Consentimiento retirado; acceso borrado',
  'credential.revoked': 'Credencial revocada',
  'credential.rolled': 'Secreto de una credencial cambiado',
  'diot_settings.updated': 'Ajustes de la DIOT cambiados',
  'diot_supplier.deleted': 'Ajustes de un proveedor para la DIOT quitados',
  'diot_supplier.updated': 'Ajustes de un proveedor para la DIOT cambiados',
  'export.created': 'Exportación pedida',
  'export.deleted': 'Exportación borrada',
  'extractor.created': 'Extractor creado',
  'extractor.deleted': 'Extractor borrado',
  'extractor.run': 'Extractor corrido a mano',
  'extractor.updated': 'Extractor cambiado',
  'fiscal_entity.ciec_invalid': 'El SAT dejó de aceptar la CIEC',
  'fiscal_entity.ciec_refused': 'El SAT rechazó una CIEC enviada; no se guardó',
  'fiscal_entity.ciec_withdrawn': 'CIEC quitada',
  'fiscal_entity.connected': 'RFC conectado',
  'fiscal_entity.efirma_invalid': 'El SAT dejó de aceptar la e.firma',
  'fiscal_entity.efirma_refused': 'El SAT rechazó una e.firma enviada; no se guardó',
  'fiscal_entity.efirma_withdrawn': 'e.firma quitada',
  'fiscal_entity.extraction': 'Descarga pedida de un RFC',
  'fiscal_entity.resumed': 'RFC reanudado',
  'fiscal_entity.suspended': 'RFC pausado',
  'fiscal_entity.unlinked': 'RFC desvinculado',
  'fiscal_entity.updated': 'Datos o acceso de un RFC cambiados',
  'import.created': 'CFDI importados',
  'import.deleted': 'Importación borrada',
  'invitation.created': 'Persona invitada',
  'invitation.withdrawn': 'Invitación retirada',
  'invoice.issued': 'Factura emitida',
  'invoice.paid': 'Factura pagada',
  'mail_preferences.updated': 'Correos elegidos',
  'member.joined': 'Persona incorporada',
  'member.removed': 'Persona quitada',
  'member.updated': 'Persona cambiada',
  'notification.opened': 'Notificación del buzón abierta',
  'notification.opening_requested': 'Apertura de notificación pedida',
  'notification.opening_withdrawn': 'Apertura de notificación retirada',
  'organization.created': 'Organización creada',
  'organization.reactivated': 'Organización reactivada',
  'organization.suspended': 'Organización suspendida',
  'organization.confirmation_requested': 'Correo de confirmación pedido',
  'organization.email_confirmed': 'Correo confirmado',
  'organization.updated': 'Organización cambiada',
  'report.refresh_requested': 'Reporte actualizado a petición',
  'repse.refresh_requested': 'Consulta REPSE pedida',
  'run.cancelled': 'Descarga cancelada',
  'storage_connector.backfill_requested': 'Copia de lo anterior pedida',
  'storage_connector.created': 'Almacenamiento conectado',
  'storage_connector.deleted': 'Almacenamiento quitado',
  'storage_connector.tested': 'Almacenamiento probado',
  'storage_connector.updated': 'Almacenamiento cambiado',
  'webhook.created': 'Webhook creado',
  'webhook.deleted': 'Webhook borrado',
  'webhook.delivery_hastened': 'Entrega adelantada',
  'webhook.redelivered': 'Entrega repetida',
  'webhook.secret_committed': 'Secreto nuevo de webhook confirmado',
  'webhook.secret_rotated': 'Secreto nuevo de webhook creado',
  'webhook.tested': 'Webhook probado',
  'webhook.updated': 'Webhook cambiado',
}

/** What tests make happen in the sandbox. */
export const TESTED: Record<string, string> = {
  blacklist_published: 'lista publicada',
  cfdi_cancelled: 'CFDI cancelado en el SAT',
  ciec_expired: 'CIEC vencida',
  efirma_expired: 'e.firma vencida',
  invoice: 'factura del servicio',
  invoice_paid: 'factura del servicio pagada',
  notification_sent: 'notificación del buzón enviada',
  organization: 'plan y lugares de la organización',
  repse_published: 'registro REPSE publicado',
  sync_job_failed: 'descarga fallida',
}
const testedInSpanish = (action: string): string | null => {
  const [, tested] = /^test_helper\.(.+)$/.exec(action) ?? []
  return tested === undefined ? null : `Prueba: ${TESTED[tested] ?? tested}`
}

/** `extractor.created` as “Extractor created”. */
const inEnglish = (action: string): string => {
  const text = action
    .replace(/^test_helper\./, 'test: ')
    .replace(/^fiscal_entity\./, 'RFC ')
    .replace(/[._]/g, ' ')
    .replace(/\bciec\b/g, 'CIEC')
    .replace(/\befirma\b/g, 'e.firma')
    .replace(/\bcfdi\b/g, 'CFDI')
    .replace(/\brepse\b/g, 'REPSE')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Members whose names say little to who does not know the API. */
const IN_ENGLISH: Record<string, string> = {
  data_source_keys: 'data sources',
  efirma: 'e.firma',
  ciec: 'CIEC',
  event_keys: 'events',
  fiscal_entity_id: 'RFC',
  fiscal_entity_ids: 'RFCs',
  is_enabled: 'active',
  rfc: 'RFC',
  rfc_allowance: 'seats',
  schedule_kind: 'schedule',
  schedule_spec: 'schedule',
  scope_months: 'scope',
  trigger_kind: 'when it runs',
  url: 'URL',
}

/** Whether a change of an RFC is that of what it logs in with, and of nothing else. */
const isLogin = (action: string, members: readonly string[]): boolean =>
  action === 'fiscal_entity.updated' && members.length > 0 && members.every((one) => one === 'ciec' || one === 'efirma')

const es = {
  title: 'Auditoría',
  lead: 'Quién cambió qué y cuándo. Nada de esto se puede editar ni borrar.',
  action: (action: string) => ACTIONS[action] ?? testedInSpanish(action) ?? action,
  names: { actor: 'Quién', action: 'Qué', since: 'Desde', until: 'Hasta', resource_id: 'Sobre' } as Record<string, string>,
  any: 'Cualquiera',
  processes: 'Procesos del servicio',
  credentials: 'Credenciales',
  when: 'Cuándo',
  who: 'Quién',
  what: 'Qué',
  on: 'Sobre',
  system: (process: string) => `El servicio (${PROCESSES[process] ?? process})`,
  titled: (action: string, members: readonly string[]) =>
    isLogin(action, members) ? 'Acceso de un RFC actualizado' : (ACTIONS[action] ?? null),
  changed: (members: readonly string[]) => `Cambió: ${[...new Set(members.map((one) => MEMBERS[one] ?? one))].join(', ')}`,
  only: (what: string) => `Mostrar solo lo de ${what}`,
  view: 'Abrir',
  viewOf: (what: string) => `Abrir ${what}`,
  none: 'Nada con esos filtros',
  noneLead: 'Quite un filtro o cambie las fechas.',
  membersRead: 'La auditoría es de administradores y propietarios',
  membersReadLead: 'Pida a uno de ellos que la consulte.',
  prove: 'Cómo estaba un CFDI',
  show: 'Qué quiere ver',
  shows: { stood: 'Cómo estaba al cierre de un día', learned: 'Cuándo lo supo este servicio' },
  showsLead: {
    stood: 'Según lo que se sabe hoy: una cancelación cuenta desde su fecha, aunque este servicio la supiera después.',
    learned: 'La historia del CFDI dice cuándo pasó cada cosa y cuándo lo supo este servicio.',
  },
  rfc: 'RFC',
  day: 'Día',
  uuid: 'UUID del CFDI',
  uuidOptional: 'UUID del CFDI (opcional)',
  uuidHint: 'Vacío: todos los CFDI hasta ese día.',
  open: 'Ver',
}
const en: typeof es = {
  title: 'Audit',
  lead: 'Who changed what, and when. None of it can be edited or deleted.',
  action: inEnglish,
  names: { actor: 'Who', action: 'What', since: 'From', until: 'To', resource_id: 'On what' },
  any: 'Any',
  processes: 'Processes of the service',
  credentials: 'Credentials',
  when: 'When',
  who: 'Who',
  what: 'What',
  on: 'On what',
  system: (process) => `The service (${process})`,
  titled: (action, members) => (isLogin(action, members) ? 'Login of an RFC updated' : null),
  changed: (members) => `Changed: ${[...new Set(members.map((one) => IN_ENGLISH[one] ?? one.replace(/[_-]/g, ' ')))].join(', ')}`,
  only: (what) => `Show only what concerns ${what}`,
  view: 'Open',
  viewOf: (what) => `Open ${what}`,
  none: 'Nothing with these filters',
  noneLead: 'Remove a filter or change the dates.',
  membersRead: 'The audit is for administrators and owners',
  membersReadLead: 'Ask one of them to look.',
  prove: 'How a CFDI stood',
  show: 'What to see',
  shows: { stood: 'How it stood at the end of a day', learned: 'When this service learned it' },
  showsLead: {
    stood: 'As far as is known today: a cancellation counts from its date on, also when this service learned it later.',
    learned: 'The history of the CFDI tells when each thing happened, and when this service learned it.',
  },
  rfc: 'RFC',
  day: 'Day',
  uuid: 'UUID of the CFDI',
  uuidOptional: 'UUID of the CFDI (optional)',
  uuidHint: 'Empty: every CFDI up to that day.',
  open: 'Show',
}
export const words = { es, en }
