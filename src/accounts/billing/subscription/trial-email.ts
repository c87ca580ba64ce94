const GMAIL = ['gmail.com', 'googlemail.com']

/**
 * The normal form of an e-mail address, under which it gets one trial: addresses that reach the same mailbox are one. Case, surrounding
 * space and what follows a plus sign do not count, and neither do the dots of a Gmail address.
 */
export function trialEmailOf(email: string): string {
  const [local = '', domain = ''] = email.trim().toLowerCase().split('@')
  const mailbox = local.replace(/(?<=.)\+.*$/, '')
  return GMAIL.includes(domain) ? `${mailbox.replaceAll('.', '')}@gmail.com` : `${mailbox}@${domain}`
}
