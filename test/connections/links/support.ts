import { exports } from 'cloudflare:workers'
import { sign } from 'node:crypto'
import { signedMessage } from '../../../src/connections/consents/text.ts'
import { deliver } from '../../downloads/support/downloads.ts'
import type { Organization } from '../../support/tenants.ts'
import { efirmaOf, sharedKey } from '../../taxpayers/support/efirmas.ts'

export const PURPOSES = [
  { key: 'credit_evaluation', necessary: true },
  { key: 'portfolio_monitoring', necessary: false },
]

export interface Shown {
  status: number
  headers: Headers
  text: string
}

/** Opens a page, or sends its form. */
export async function visit(url: string, form?: Record<string, string | Blob | string[]>): Promise<Shown> {
  const body = form && new FormData()
  for (const [name, value] of Object.entries(form ?? {}))
    for (const one of Array.isArray(value) ? value : [value]) body!.append(name, one as string)
  const response = await exports.default.fetch(
    new Request(url, { ...(body && { method: 'POST', body }), headers: { 'user-agent': 'Prueba', 'cf-connecting-ip': '203.0.113.9' } }),
  )
  return { status: response.status, headers: response.headers, text: await response.text() }
}

const valueIn = (text: string, pattern: RegExp): string => pattern.exec(text)?.[1] ?? ''

/** What the page shows that its form sends back. */
export const shownIn = ({ text }: Shown) => ({
  consent_id: valueIn(text, /data-consent="([^"]*)"/),
  text_sha256: valueIn(text, /name="text_sha256" value="([^"]*)"/),
})

/** Makes a link, and a way to use it as the taxpayer. */
export async function linkOf(of: Organization, draft: object = {}) {
  const { status, body } = await of.ask('POST', '/v1/connect-links', { purposes: PURPOSES, ...draft })
  if (status !== 201) throw new Error(`The link answered ${status}: ${JSON.stringify(body)}`)
  const { connect_link_id: id, url } = body as { connect_link_id: string; url: string }
  const agreed = async () => ({ accepts: 'yes', name: 'Ada Pérez', kind: 'taxpayer', text_sha256: shownIn(await visit(url)).text_sha256 })
  return {
    id,
    url,
    open: () => visit(url),
    view: async () => (await of.ask('GET', `/v1/connect-links/${id}`)).body,
    giveCiec: async (ciec: string, more: Record<string, string | string[]> = {}) =>
      visit(url, { ...(await agreed()), login: 'ciec', ciec, ...more }),
    giveEfirma: async (rfc: string, more: Record<string, string | string[]> = {}, files = efirmaOf(rfc)) => {
      const shown = shownIn(await visit(url))
      const granted = ['credit_evaluation', ...[more['purposes'] ?? []].flat()]
      const message = signedMessage(shown.consent_id, shown.text_sha256, granted)
      const file = (text: string) => new Blob([Uint8Array.fromBase64(text)])
      return visit(url, {
        ...{ ...(await agreed()), login: 'efirma', password: files.password },
        ...{ certificate: file(files.certificate), private_key: file(files.private_key) },
        signature: sign('sha256', new TextEncoder().encode(message), sharedKey()).toString('base64'),
        ...more,
      })
    },
  }
}

export const codeIn = ({ text }: Shown): string => valueIn(text, /<code>([^<]*)<\/code>/)

/** The events of an organization of these kinds, once they are relayed. */
export async function told(of: Organization, kinds: RegExp): Promise<Record<string, unknown>[]> {
  await deliver([{ outbox: 'control' }], 'webhooks')
  const { body } = await of.ask('GET', '/v1/events?limit=100')
  return (body.data as { event: string }[]).filter(({ event }) => kinds.test(event))
}
