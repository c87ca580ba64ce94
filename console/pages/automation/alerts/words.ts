const es = {
  title: 'Alertas',
  lead: 'Lo que alguien debe saber o hacer. Lo urgente aparece en rojo.',
  unread: 'Sin leer',
  all: 'Todas',
  show: 'Mostrar',
  severity: { warning: 'Aviso', critical: 'Urgente' },
  read: 'Marcar como leída',
  wasRead: (when: string) => `Leída: ${when}`,
  open: 'Ver',
  none: 'Nada pendiente',
  noneLead: 'Aquí aparecen accesos rechazados, plazos del buzón, certificados por vencer y entregas que fallan.',
}
const en: typeof es = {
  title: 'Alerts',
  lead: 'What somebody has to know or do. What is urgent is red.',
  unread: 'Unread',
  all: 'All',
  show: 'Show',
  severity: { warning: 'Warning', critical: 'Urgent' },
  read: 'Mark as read',
  wasRead: (when) => `Read: ${when}`,
  open: 'Open',
  none: 'Nothing is pending',
  noneLead: 'Refused logins, deadlines of the mailbox, certificates that expire and deliveries that fail appear here.',
}
export const words = { es, en }
