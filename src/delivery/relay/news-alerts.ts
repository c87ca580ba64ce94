import type { BlacklistChangedBody } from '../../lists/listed/listed.ts'
import { type AlertDraft, MOST_OF_GROUP } from '../../platform/alerts/alerts.ts'
import { decimal, micros } from '../../platform/money.ts'
import { localDayOf } from '../../platform/time/calendar.ts'
import type { EventPayload } from '../catalog/payload-contract.ts'

/** The connection that an alert is about. */
interface Alerted {
  organization_id: string
  fiscal_entity_id: string
  rfc: string
}

type Listed = Extract<EventPayload, { event: 'blacklist.changed' }>
type Requested = Extract<EventPayload, { event: 'cancellation.requested' }>
type Cancelled = Extract<EventPayload, { event: 'cfdi.cancelled_after_payment' }>

const MEXICO = 'America/Mexico_City'

/** The key of an alert among those of an RFC and day, of which the sixth and all later ones are one alert. */
function grouped(
  kind: string,
  { fiscal_entity_id }: Alerted,
  at: number,
  key: string,
  of: (day: string) => readonly [en: string, es: string],
) {
  const day = localDayOf(new Date(at), MEXICO)
  const group = `${kind}:${fiscal_entity_id}:${day}`
  const [message, message_es] = of(day)
  return { dedupe_key: `${group}:${key}`, overflow: { dedupe_key: group, resource_id: fiscal_entity_id, message, message_es } }
}

/** The alert of a counterparty that a list newly names, or finds definitively listed; null for any other change. */
export function alertOfListed(
  one: Alerted,
  { changed_at }: BlacklistChangedBody,
  content: Omit<Listed, 'event_id' | 'ordering'>,
): AlertDraft | null {
  const { counterparty_rfc, counterparty_name, source, list_label, change, situacion, severity, purchases_mxn, sales_mxn } = content
  const isGrave = severity === 'critical' || severity === 'high'
  if (change === 'removed' || (!isGrave && severity !== 'medium') || (change !== 'listed' && severity !== 'critical')) return null
  const who = counterparty_name === '' ? counterparty_rfc : `${counterparty_rfc} (${counterparty_name})`
  const as = situacion === null ? list_label : `${list_label}, ${situacion}`
  return {
    ...one,
    kind: 'counterparty.listed',
    severity: isGrave ? 'critical' : 'warning',
    resource_id: one.fiscal_entity_id,
    amount: decimal(micros(purchases_mxn ?? '0')! + micros(sales_mxn ?? '0')!),
    currency: 'MXN',
    message: `A list names ${who}: ${as}. ${one.rfc} bought from it for ${purchases_mxn} MXN and sold to it for ${sales_mxn} MXN, as far as you can read.`,
    message_es: `Una lista nombra a ${who}: ${as}. ${one.rfc} le compró ${purchases_mxn} MXN y le vendió ${sales_mxn} MXN, en lo que usted puede ver.`,
    ...grouped('counterparty.listed', one, changed_at, `${source}:${counterparty_rfc}`, (day) => [
      `On ${day} lists named more than ${MOST_OF_GROUP} counterparties of ${one.rfc}. This alert covers all of them after the first ${MOST_OF_GROUP}: GET /v1/portfolio/listed has them.`,
      `El ${day} las listas nombraron a más de ${MOST_OF_GROUP} contrapartes de ${one.rfc}. Este aviso es por todas las que siguen a las primeras ${MOST_OF_GROUP}.`,
    ]),
  }
}

/** The alert of a CFDI that was cancelled after it was paid or counted as income. */
export function alertOfCancelled(one: Alerted, detected_at: number, content: Omit<Cancelled, 'event_id' | 'ordering'>): AlertDraft {
  const { cfdi_uuid, direction, payment_status, total, currency, emisor_rfc, receptor_rfc, issued_at } = content
  const isPaid = payment_status !== 'unpaid'
  const [from, de] =
    direction === 'issued'
      ? [`issued to ${receptor_rfc}`, `emitido a ${receptor_rfc}`]
      : [`received from ${emisor_rfc}`, `recibido de ${emisor_rfc}`]
  const day = issued_at.slice(0, 10)
  return {
    ...one,
    kind: 'cfdi.cancelled_after_payment',
    severity: 'critical',
    resource_id: cfdi_uuid,
    ...{ amount: total, currency },
    message: `The CFDI ${cfdi_uuid} of ${one.rfc}, ${from} on ${day} for ${total} ${currency}, was cancelled after it was ${isPaid ? 'paid' : 'counted as income'}.`,
    message_es: `El CFDI ${cfdi_uuid} de ${one.rfc}, ${de} el ${day} por ${total} ${currency}, se canceló después de ${isPaid ? 'pagarse' : 'contarse como ingreso'}.`,
    ...grouped('cfdi.cancelled_after_payment', one, detected_at, cfdi_uuid, (of) => [
      `On ${of} more than ${MOST_OF_GROUP} CFDIs of ${one.rfc} were found cancelled after they were paid or counted. This alert covers all of them after the first ${MOST_OF_GROUP}: GET /v1/events has them.`,
      `El ${of} se encontraron más de ${MOST_OF_GROUP} CFDI de ${one.rfc} cancelados después de pagarse o contarse. Este aviso es por todos los que siguen a los primeros ${MOST_OF_GROUP}.`,
    ]),
  }
}

/** The alert of a request to cancel a received CFDI. It is resolved when the request has ended. */
export function alertOfRequest(
  one: Alerted,
  { clear_at, detected_at }: { clear_at: number | null; detected_at: number },
  content: Omit<Requested, 'event_id' | 'ordering'>,
): AlertDraft {
  const { cfdi_uuid, severity, payment_status, total, currency, emisor_rfc, issued_at, deadline, latest_deadline } = content
  const day = issued_at.slice(0, 10)
  const [paid, pagado] =
    payment_status === 'paid'
      ? [', which is paid', ', que está pagado']
      : payment_status === 'partially_paid'
        ? [', which is partly paid or credited', ', que está pagado o acreditado en parte']
        : ['', '']
  // The authority does not say when a request was made: it may be old when it is seen for the first time.
  const [when, cuando] =
    clear_at === null
      ? [
          `It is in process since an unknown day, because the service had not asked about this CFDI before: the time to answer may end on any day up to ${latest_deadline}. Answer now: silence`,
          `No se sabe desde qué día está en proceso, porque el servicio no había preguntado antes por este CFDI: el plazo puede vencer cualquier día, a más tardar el ${latest_deadline}. Responda ya: el silencio`,
        ]
      : [`Answer by ${deadline}: silence`, `Responda a más tardar el ${deadline}: el silencio`]
  return {
    ...one,
    kind: 'cancellation.requested',
    severity,
    resource_id: cfdi_uuid,
    ...{ amount: total, currency },
    message: `${emisor_rfc} asks to cancel the CFDI ${cfdi_uuid} of ${day} for ${total} ${currency}${paid}. ${when} accepts the request. GET /v1/cancellation-requests/${cfdi_uuid} says more.`,
    message_es: `${emisor_rfc} pide cancelar el CFDI ${cfdi_uuid} del ${day} por ${total} ${currency}${pagado}. ${cuando} acepta la solicitud.`,
    ...grouped('cancellation.requested', one, detected_at, `${cfdi_uuid}:${detected_at}`, (of) => [
      `On ${of} issuers asked to cancel more than ${MOST_OF_GROUP} CFDIs of ${one.rfc}. This alert covers all of them after the first ${MOST_OF_GROUP}: GET /v1/cancellation-requests has them.`,
      `El ${of} se pidió cancelar más de ${MOST_OF_GROUP} CFDI de ${one.rfc}. Este aviso es por todos los que siguen a los primeros ${MOST_OF_GROUP}.`,
    ]),
  }
}
