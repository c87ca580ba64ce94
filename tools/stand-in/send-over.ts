import { request } from 'node:http'
import { Readable } from 'node:stream'

/** Sends requests to a server on loopback, with the host of their URL in the header Host, which the `fetch` of Node does not send. */
export const sendOver =
  (server: string) =>
  (url: string, { headers, body, signal }: RequestInit): Promise<Response> => {
    const { host, pathname, search } = new URL(url)
    return new Promise((done, failed) => {
      const sent = request(
        `${server}${pathname}${search}`,
        { method: 'POST', headers: { ...(headers as Record<string, string>), Host: host }, signal: signal as AbortSignal },
        (answer) => {
          const parts = Readable.toWeb(answer) as unknown as ReadableStream<Uint8Array>
          done(new Response(parts, { status: answer.statusCode!, headers: { 'content-type': answer.headers['content-type'] ?? '' } }))
        },
      )
      sent.on('error', (error) => failed(signal?.aborted ? signal.reason : error))
      sent.end(body as string)
    })
  }
