import type { System } from '../context.ts'

/** A mail of the service, in plain text. */
export interface Mail {
  to: string
  subject: string
  text: string
}

/** Whether this deployment sends mail. */
export const sendsMail = ({ settings }: Pick<System, 'settings'>): boolean => settings.mail !== null

/** Sends a mail. Throws when the deployment sends none, and what the platform throws. */
export async function sendMail({ settings }: Pick<System, 'settings'>, { to, subject, text }: Mail): Promise<void> {
  if (!settings.mail) throw new Error('This deployment sends no mail.')
  await settings.mail.binding.send({ from: settings.mail.from, to, subject, text })
}
