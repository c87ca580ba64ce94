import { Unavailable } from '../../platform/failures.ts'
import { addMonths } from '../../platform/time/months.ts'
import type { Login } from '../port/authority.ts'
import { AUTHORITY_ZONE, addBusinessDays } from '../port/business-days.ts'
import {
  EFFECTIVE_KINDS,
  isPending,
  type MailboxNotification,
  type NotificationKind,
  type TaxMailbox,
  WouldNotify,
} from '../port/mailbox.ts'
import { pdfOf } from './documents/pdf.ts'
import { localTime, withOffset } from './world/places.ts'
import { digitsOf, isDue, random } from './world/seed.ts'
import { circleOf } from './world/taxpayers.ts'

/** Months whose notifications the mailbox shows, this one included. */
const MONTHS = 6

interface Text {
  title: string
  authority: string
  document_kind: string | null
}

const AUDITS = 'Administración Desconcentrada de Auditoría Fiscal'
const COLLECTION = 'Administración Desconcentrada de Recaudación'
const SERVICES = 'Administración Desconcentrada de Servicios al Contribuyente'

const TEXTS: Record<NotificationKind, readonly Text[]> = {
  notificacion: [
    { title: 'Resolución de devolución de saldo a favor', authority: AUDITS, document_kind: 'resolucion' },
    { title: 'Multa por infracciones a las disposiciones fiscales', authority: COLLECTION, document_kind: 'resolucion' },
  ],
  requerimiento: [
    { title: 'Requerimiento de obligaciones omitidas', authority: COLLECTION, document_kind: 'requerimiento' },
    { title: 'Requerimiento de información y documentación', authority: AUDITS, document_kind: 'requerimiento' },
  ],
  mensaje_interes: [{ title: 'Calendario de la declaración anual', authority: SERVICES, document_kind: null }],
  comunicado: [{ title: 'Diferencias entre lo facturado y lo declarado', authority: AUDITS, document_kind: 'carta' }],
  aviso: [{ title: 'Vencimiento del certificado de e.firma', authority: SERVICES, document_kind: 'aviso' }],
}

const INFORMING: readonly NotificationKind[] = ['mensaje_interes', 'comunicado', 'aviso']

/**
 * Returns the invented notifications of an RFC up to an instant: each month a notification or a requirement, every second month also
 * something that only informs. The taxpayer opens two of three within the period, and lets one expire.
 */
export function notificationsOf(rfc: string, now: Date): MailboxNotification[] {
  const month = localTime(now).slice(0, 7)
  return Array.from({ length: MONTHS }, (_, back) => addMonths(month, -back))
    .flatMap((one) => ofMonth(rfc, one))
    .filter(({ sent_at }) => sent_at <= now)
    .map((one) => (one.opened_at !== null && one.opened_at > now ? { ...one, opened_at: null } : one))
}

function ofMonth(rfc: string, month: string): MailboxNotification[] {
  const number = Number(month.slice(0, 4)) * 12 + Number(month.slice(5, 7))
  const effective = draw(rfc, month, EFFECTIVE_KINDS[number % EFFECTIVE_KINDS.length]!, !isDue(`${rfc}|mailbox`, month, 3))
  return number % 2 === 0 ? [effective] : [effective, draw(rfc, month, INFORMING[((number - 1) / 2) % INFORMING.length]!, false)]
}

function draw(rfc: string, month: string, kind: NotificationKind, isOpened: boolean): MailboxNotification {
  const draws = random(`${rfc}|mailbox|${month}|${kind}`)
  const clock = () => `T${String(draws.int(9, 17)).padStart(2, '0')}:${draws.int(10, 59)}:${draws.int(10, 59)}`
  const day = `${month}-${String(draws.int(2, 27)).padStart(2, '0')}`
  const at = (local: string) => new Date(withOffset(local, AUTHORITY_ZONE))
  const sent_at = at(day + clock())
  const opened_at = isOpened ? at(addBusinessDays(day, draws.int(1, 2)) + clock()) : null
  const notification = digitsOf(`${rfc}|mailbox|${month}|${kind}|folio`, 14)
  return { notification, kind, ...draws.pick(TEXTS[kind]), document_number: `500-${notification.slice(0, 8)}`, sent_at, opened_at }
}

/** Returns the PDF of a notification's document. */
const letterOf = (rfc: string, { title, authority, document_number, sent_at }: MailboxNotification): Uint8Array =>
  pdfOf(title, [
    'Servicio de Administración Tributaria',
    authority,
    `Oficio: ${document_number ?? 'sin número'}`,
    `Fecha: ${localTime(sent_at)}`,
    `RFC: ${rfc}`,
    `Contribuyente: ${circleOf(rfc).self.nombre}`,
    `Asunto: ${title}`,
  ])

/** The events in mailboxes. */
export interface MailboxOverrides {
  /** Returns the notifications that a test helper sent to the RFC, and when notifications were opened. */
  mailbox(rfc: string): Promise<{ sent: readonly MailboxNotification[]; opened: ReadonlyMap<string, Date> }>
  /** Records that a notification is opened, and returns when it first was. */
  open(rfc: string, notification: string, at: Date): Promise<Date>
}

/** The mailboxes of the sandbox's taxpayers. `enter` logs in. */
export function sandboxMailbox(enter: (login: Login) => Promise<{ empty: boolean }>, overrides: MailboxOverrides): TaxMailbox {
  const list = async (login: Login, now: Date): Promise<MailboxNotification[]> => {
    const { empty } = await enter(login)
    const { sent, opened } = await overrides.mailbox(login.rfc)
    const shown = [...(empty ? [] : notificationsOf(login.rfc, now)), ...sent.filter(({ sent_at }) => sent_at <= now)]
    return shown.map((one) => ({ ...one, opened_at: opened.get(one.notification) ?? one.opened_at }))
  }
  const find = async (login: Login, notification: string, now: Date): Promise<MailboxNotification> => {
    const found = (await list(login, now)).find((one) => one.notification === notification)
    if (!found) throw new Unavailable('sat_unavailable', 'The mailbox does not show the notification.')
    return found
  }
  return {
    list,
    async open(login, notification, now) {
      const { opened_at } = await find(login, notification, now)
      return opened_at ?? overrides.open(login.rfc, notification, now)
    },
    async document(login, notification, now) {
      const found = await find(login, notification, now)
      if (isPending(found, now)) throw new WouldNotify()
      if (found.document_kind === null) return null
      return { name: `${found.kind}-${notification}.pdf`, content_type: 'application/pdf', bytes: letterOf(login.rfc, found) }
    },
  }
}
