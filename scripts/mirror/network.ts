import { request } from 'node:http'
import type { Network } from '../../src/copies/drivers/drives.ts'
import type { SinkAddress } from '../../src/platform/egress/sink.ts'

/** The way to providers: the public network, or a server on loopback that gets every request, with the URL's own host in the header Host. */
export const networkOf = (sink: SinkAddress | null): Network => ({
  publicHosts: [],
  fetch: (url, init) => (sink === null ? fetch(url, { ...init, redirect: 'manual' }) : fetchFrom(sink, url, init)),
})

function fetchFrom(
  { hostname, port }: SinkAddress,
  url: string,
  { method = 'GET', headers, body, signal }: RequestInit,
): Promise<Response> {
  const { host, pathname, search } = new URL(url)
  const options = {
    ...{ host: hostname.replace(/^\[|\]$/g, ''), port, method, path: pathname + search },
    headers: { ...Object.fromEntries(new Headers(headers)), host },
    ...(signal && { signal }),
  }
  return new Promise((done, failed) => {
    const sent = request(options, (answer) => {
      const { statusCode: status = 0, headers: given } = answer
      const arrive = async (): Promise<Response> => {
        const bytes = Buffer.concat(await Array.fromAsync(answer as AsyncIterable<Buffer>))
        const named = Object.entries(given).map(([name, value]): [string, string] => [name, String(value)])
        return new Response(status === 204 || status === 304 ? null : bytes, { status, headers: named })
      }
      arrive().then(done, failed)
    })
    sent.on('error', failed).end(body)
  })
}
