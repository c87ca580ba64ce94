import type { MailboxNotification } from '../../port/mailbox.ts'
import { pdfOf } from '../documents/pdf.ts'
import { localTime } from '../world/places.ts'
import { circleOf } from '../world/taxpayers.ts'

/** Returns the PDF of a notification's document. */
export const letterOf = (rfc: string, { title, authority, document_number, sent_at }: MailboxNotification): Uint8Array =>
  pdfOf(title, [
    'Servicio de Administración Tributaria',
    authority,
    `Oficio: ${document_number ?? 'sin número'}`,
    `Fecha: ${localTime(sent_at)}`,
    `RFC: ${rfc}`,
    `Contribuyente: ${circleOf(rfc).self.nombre}`,
    `Asunto: ${title}`,
  ])
