import type { PresentedCredential } from '../../tenant/tenant.ts'

const MAX_HEADER = 1_000

/** Reads an Authorization header, Basic or Bearer; undefined when it is absent or malformed. */
export function readAuthorization(header: string | undefined): PresentedCredential | undefined {
  if (!header || header.length > MAX_HEADER) return undefined
  const [, scheme = '', value = ''] = header.match(/^(\w+) +([\w~+/=.:-]+)$/) ?? []
  if (scheme.toLowerCase() === 'bearer') return { api_key: null, api_secret: value }
  if (scheme.toLowerCase() !== 'basic') return undefined
  try {
    const [api_key = '', api_secret = '', ...rest] = atob(value).split(':')
    return api_key && api_secret && rest.length === 0 ? { api_key, api_secret } : undefined
  } catch {
    return undefined
  }
}
