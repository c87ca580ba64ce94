import type { System } from '../context.ts'
import { newId } from '../db/id.ts'
import { keepsMails } from '../settings.ts'
import { keepMail } from './kept.ts'

/** A mail of the service, in plain text. */
export interface Mail {
  /** The same for each attempt to send it: the mail has it in the header `X-Mail-Id`. One that is sent only once needs none. */
  mail_id?: string
  to: string
  subject: string
  text: string
  /** Where whoever gets it can end such mails with one request (RFC 8058); absent where there is nothing to end. */
  unsubscribe?: string
}

type Deployment = Pick<System, 'settings'>

/** Whether this deployment has sign-ups confirm their addresses by mail. */
export const sendsMail = ({ settings }: Deployment): boolean => settings.mail !== null

/** Whether a mail of this deployment can be read: somebody sends it, or it is kept on the own machine. */
export const deliversMail = ({ settings }: Deployment): boolean => settings.mail !== null || keepsMails(settings)

/** Sends a mail with the platform's binding, or keeps it. Throws when the deployment does neither, and what the platform throws. */
export async function sendMail({ db, settings, now }: Pick<System, 'db' | 'settings' | 'now'>, mail: Mail): Promise<void> {
  const { mail_id = newId('eml'), to, subject, text, unsubscribe } = mail
  if (keepsMails(settings)) return keepMail(db, { mail_id, to, subject, text }, now)
  if (!settings.mail?.binding) throw new Error('This deployment sends no mail.')
  const { binding, from } = settings.mail
  const list = { 'List-Unsubscribe': `<${unsubscribe}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }
  await binding.send({ from, to, subject, text, headers: { 'X-Mail-Id': mail_id, ...(unsubscribe !== undefined && list) } })
}
