/** What an Authorization header presents. */
export interface Presented {
  /** Null when the secret alone was presented, as a Bearer token. */
  api_key: string | null
  api_secret: string
}

const MAX_HEADER = 1_000

/** Reads an Authorization header; undefined when it is absent or malformed. */
export function readAuthorization(header: string | undefined): Presented | undefined {
  if (!header || header.length > MAX_HEADER) return undefined
  const [, scheme = '', value = ''] = header.match(/^(\w+) +([\w~+/=.-]+)$/) ?? []
  if (scheme.toLowerCase() === 'bearer') return { api_key: null, api_secret: value }
  if (scheme.toLowerCase() !== 'basic') return undefined
  try {
    const [api_key = '', api_secret = '', ...rest] = atob(value).split(':')
    return api_key && api_secret && rest.length === 0 ? { api_key, api_secret } : undefined
  } catch {
    return undefined
  }
}
