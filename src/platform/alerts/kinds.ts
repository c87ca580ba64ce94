export const ALERT_KINDS = [
  'webhook.undelivered',
  'repse.expiring',
  'repse.expired',
  'connection.ciec_guessed',
  'connection.login_refused',
  'storage.failed',
  'certificate.expiring',
  'efirma.expiring',
  'mailbox.notification_received',
  'connection.invalid',
  'connection.failing',
  'organization.suspended',
  'counterparty.listed',
  'cfdi.cancelled_after_payment',
  'cancellation.requested',
] as const
export const SEVERITIES = ['warning', 'critical'] as const

/** The kinds whose causes can end, alone or by somebody's action: such an alert is then resolved. */
export const RESOLVABLE = ['connection.invalid', 'connection.failing', 'organization.suspended', 'cancellation.requested'] as const

/** The key of the alert that a connection has no valid login. */
export const keyOfInvalid = (fiscal_entity_id: string): string => `connection.invalid:${fiscal_entity_id}`

/** The members of an alert that is about no RFC. */
export const NO_RFC = { fiscal_entity_id: null, rfc: null } as const

/** How much of an alert events have reported: nothing; everything; all but its resolution; neither its raising nor its resolution. */
export const NOTIFIED = { nothing: 0, everything: 1, raised: 2, nothing_of_both: 3 } as const
