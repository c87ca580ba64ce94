import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { readRequested } from '../../../src/authority/sat/answers.ts'
import { exchange, type SlowResponseLimit, textOf } from '../../../src/authority/sat/exchange.ts'
import { readPackage } from '../../../src/authority/sat/session.ts'
import { faultAnswer, PAGE, packageAnswer, requestAnswer } from '../support/sat-answers.ts'

const ACCEPTED = requestAnswer({ IdSolicitud: 'd49af78d-1c80-4221-a48d-345ace91626b', CodEstatus: '5000' })

let server: Server | undefined
afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

/** Sends a request to a server on loopback that answers in a certain way. */
async function ask(answer: RequestListener, milliseconds = 5_000) {
  server = createServer(answer)
  await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/Service.svc`
  return exchange(fetch, { url, headers: { SOAPAction: 'x' }, body: '<a/>' }, milliseconds, async (body) =>
    readRequested(await textOf(body)),
  )
}

it('a request is posted with its headers, and its answer is read', async () => {
  let seen: unknown
  const answer = await ask(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    seen = [request.method, request.url, request.headers['soapaction'], Buffer.concat(parts).toString()]
    response.end(ACCEPTED)
  })
  expect(seen).toEqual(['POST', '/Service.svc', 'x', '<a/>'])
  expect(answer.meaning).toBe('accepted')
})

it('a fault comes with status 500, a page with any, and both are told with it', async () => {
  const fault = ask((_, response) => response.writeHead(500).end(faultAnswer('InvalidSecurity', 'No.')))
  await expect(fault).rejects.toMatchObject({ kind: 'fault', fault: 'InvalidSecurity', status: 500 })
  await expect(ask((_, response) => response.writeHead(200).end(PAGE))).rejects.toMatchObject({ kind: 'html', status: 200 })
  await expect(ask((_, response) => response.writeHead(503).end(PAGE))).rejects.toMatchObject({ kind: 'html', status: 503 })
})

it.each([
  ['nothing', 503, ''],
  ['a text', 502, 'Bad gateway'],
  ['a whole answer that is no fault', 500, ACCEPTED],
  ['half of an answer', 404, ACCEPTED.slice(0, 100)],
])('%s with an error of HTTP is no answer, and its status is told', async (_, status, body) => {
  const asked = ask((__, response) => response.writeHead(status).end(body))
  await expect(asked).rejects.toMatchObject({ kind: 'http_error', status, code: `http_${status}` })
})

it('a redirect is not followed', async () => {
  let requests = 0
  const asked = ask((_, response) => {
    requests++
    response.writeHead(302, { Location: '/login' }).end()
  })
  await expect(asked).rejects.toMatchObject({ kind: 'http_error', status: 302 })
  expect(requests).toBe(1)
})

it('a connection that breaks off leaves a truncated answer', async () => {
  const asked = ask((_, response) => {
    response.writeHead(200, { 'Content-Length': '10000' })
    response.write(ACCEPTED.slice(0, 100), () => response.destroy())
  })
  await expect(asked).rejects.toMatchObject({ kind: 'truncated', status: 200 })
})

it('an answer that does not come, or stops coming, is out of time', async () => {
  await expect(ask(() => {}, 50)).rejects.toMatchObject({ kind: 'timed_out', status: null })
  // Long enough for the headers on a busy machine.
  const stops = ask((_, response) => response.writeHead(200).write(ACCEPTED.slice(0, 100)), 1_000)
  await expect(stops).rejects.toMatchObject({ kind: 'timed_out', status: 200 })
})

describe('an answer that drips', () => {
  /** Asks for a package that comes as four bytes every five milliseconds, eighty times, and then stops. */
  async function drip(slowLimit: SlowResponseLimit) {
    let written = 0
    const send = async (_: string, { signal }: RequestInit) =>
      new Response(
        new ReadableStream<Uint8Array>({
          start: (controller) => signal!.addEventListener('abort', () => controller.error(signal!.reason)),
          async pull(controller) {
            await new Promise((done) => setTimeout(done, 5))
            if (signal!.aborted) return
            if (written++ < 80) controller.enqueue(new TextEncoder().encode('UEsD'))
            else controller.close()
          },
        }),
      )
    const request = { url: 'https://example.com/', headers: {}, body: '' }
    const read = async (body: AsyncIterable<Uint8Array>) => (await textOf(body)).length
    return { size: exchange(send, request, 5_000, read, slowLimit), written: () => written }
  }

  it('is out of time as soon as it took longer than its size is worth, long before the time of all answers is over', async () => {
    const { size, written } = await drip({ waited: 50, bytesPerSecond: 10_000 })
    await expect(size).rejects.toMatchObject({ kind: 'timed_out', status: 200 })
    expect(written()).toBeLessThan(60)
  })

  it('is waited for while it comes at the least rate', async () => {
    expect(await (await drip({ waited: 300, bytesPerSecond: 4 })).size).toBe(320)
  })

  it('does not lose the time in which its parts are worked on', async () => {
    const send = async () => new Response(new Blob([new Uint8Array(200_000)]).stream())
    const request = { url: 'https://example.com/', headers: {}, body: '' }
    const slowly = async (body: AsyncIterable<Uint8Array>) => {
      let size = 0
      for await (const { length } of body) {
        size += length
        await new Promise((done) => setTimeout(done, 130))
      }
      return size
    }
    expect(await exchange(send, request, 5_000, slowly, { waited: 300, bytesPerSecond: 1e9 })).toBe(200_000)
  })
})

it('a server that cannot be reached is told apart', async () => {
  const refused = exchange(fetch, { url: 'http://127.0.0.1:1/', headers: {}, body: '' }, 1_000, textOf)
  await expect(refused).rejects.toMatchObject({ kind: 'unreachable', status: null })
})

it('an answer without a package is read up to a megabyte', async () => {
  await expect(ask((_, response) => response.end('x'.repeat(1_000_001)))).rejects.toMatchObject({ kind: 'malformed' })
})

it('a body is cancelled when nobody reads on', async () => {
  let isCancelled = false
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new TextEncoder().encode(packageAnswer('UEsDBA=='.repeat(10_000)))),
    cancel: () => {
      isCancelled = true
    },
  })
  const request = { url: 'https://example.com/', headers: {}, body: '' }
  const asked = exchange(
    async () => new Response(body),
    request,
    1_000,
    (parts) => readPackage(parts, async () => {}),
  )
  await expect(asked).rejects.toMatchObject({ kind: 'malformed' })
  expect(isCancelled).toBe(true)
})
