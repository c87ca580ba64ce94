import type { Context } from 'hono'
import { getCookie } from 'hono/cookie'
import type { App } from '../../context.ts'
import { openCredential, presentedIn, type SealedCredential } from '../../crypto/sealed-credential.ts'
import { networkOf } from '../../network.ts'
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

const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])$/

/** The session's cookie. On loopback there is no TLS, without which a browser takes neither `Secure` nor the prefix. */
export function sessionCookie(c: Context<App>): { name: string; secure: boolean } {
  const secure = !LOOPBACK.test(new URL(c.req.url).hostname)
  return { name: secure ? '__Host-fds_session' : 'fds_session', secure }
}

/** What proxies add to a request. */
const FORWARDED = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip']
const OWN_NETWORKS = ['', '127.0.0.1', '::1'].map(networkOf)

/** Whether a request comes from the service's own machine. A proxy or tunnel before it can name that host too, for anybody. */
export const isOfOwnMachine = (c: Context<App>): boolean =>
  !sessionCookie(c).secure && OWN_NETWORKS.includes(c.var.system.network) && FORWARDED.every((name) => c.req.header(name) === undefined)

/** Whether a page of this very origin sent the request. Browsers say so themselves, and no page can say it in their place. */
export const isOfOwnPage = (c: Context<App>): boolean => c.req.header('sec-fetch-site') === 'same-origin'

/** The session that a request of our own page comes with; null when there is none, or none that can be opened. */
export async function sessionOf(c: Context<App>): Promise<SealedCredential | null> {
  const cookie = isOfOwnPage(c) ? getCookie(c, sessionCookie(c).name) : undefined
  const { settings, now } = c.var.system
  return cookie === undefined ? null : openCredential(settings.sessionKeys, 'console-session', cookie, now)
}

/**
 * The credential that a request presents: in its Authorization header if it has one, right or wrong; otherwise in the console's session,
 * if one of our own pages sent it.
 */
export async function presentedBy(c: Context<App>): Promise<PresentedCredential | undefined> {
  const header = c.req.header('authorization')
  if (header !== undefined) return readAuthorization(header)
  const session = await sessionOf(c)
  return session ? presentedIn(session) : undefined
}
