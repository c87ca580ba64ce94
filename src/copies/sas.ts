/**
 * Returns why a shared access signature of Azure cannot be copied with, as the message of a 422; null if nothing that it says speaks against
 * it. One that refers to a stored access policy says little.
 */
export function sasFault(token: string, now: number): string | null {
  const said = new URLSearchParams(token)
  const permissions = said.get('sp')
  if (permissions !== null && !permissions.includes('w')) return 'Must allow to write: its permissions (sp) have no w.'
  return Date.parse(said.get('se') ?? '') <= now ? 'Must not be expired: the time until which it is valid (se) is over.' : null
}
