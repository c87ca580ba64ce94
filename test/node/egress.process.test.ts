import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestHarness, type TestHarness } from 'wrangler'
import { placeOf } from '../../scripts/service.ts'
import { ROOT } from '../../scripts/wrangler.ts'
import { sinkOf } from '../../src/platform/egress/sink.ts'
import { Receiver, type Script } from './support/receiver.ts'
import { freePort, until } from './support/runner.ts'
import type { Call, Outcome } from './workers/caller.ts'

const HOST = 'hooks.customer.example:8443'
const harnesses: TestHarness[] = []
const receiver = new Receiver()
let egress: TestHarness
let expired: Promise<Outcome>

/** The way out of a local service, in a Worker that calls. */
async function egressTo(sink: string, standIn = ''): Promise<TestHarness> {
  const services = [{ binding: 'EGRESS', service: 'caller', entrypoint: 'Egress' }]
  const vars = { ENVIRONMENT: 'test', PUBLIC_HOSTS: '', WEBHOOK_SINK: sink, SAT_STAND_IN: standIn }
  const config = { name: 'caller', main: 'test/node/workers/caller.ts', compatibility_date: '2026-10-01', services, vars }
  process.env['CLOUDFLARE_CF_FETCH_ENABLED'] = 'false'
  const harness = createTestHarness({ root: ROOT, workers: [{ config }] })
  harnesses.push(harness)
  await harness.listen()
  return harness
}

async function deliver(path: string, more: Partial<Call> = {}, through = egress): Promise<Outcome> {
  const call: Call = { url: `https://${HOST}${path}`, headers: {}, body: '', abortAfter: 5_000, ...more }
  const response = await through.fetch('/', { method: 'POST', body: JSON.stringify(call) })
  return (await response.json()) as Outcome
}

const textOf = ({ body }: Outcome): string => Buffer.from(body ?? '', 'base64').toString()
const says =
  (...parts: (string | Buffer)[]): Script =>
  (socket) => {
    for (const part of parts) socket.write(part)
  }
const saysAndEnds =
  (...parts: (string | Buffer)[]): Script =>
  (socket) =>
    socket.end(Buffer.concat(parts.map((part) => Buffer.from(part))))

let paths = 0
/** To a path of its own, whose script this is; then the connection is closed. */
async function notify(script: Script, more: Partial<Call> = {}): Promise<Outcome & { path: string }> {
  const path = `/${++paths}`
  receiver.on(path, script)
  const outcome = await deliver(path, more)
  await isClosed(path)
  return { ...outcome, path }
}

const isClosed = (path: string) =>
  until(`the connection of ${path} is closed`, 20_000, () => receiver.at(path).every(({ socket }) => socket.destroyed), 20)

beforeAll(async () => {
  egress = await egressTo(`http://127.0.0.1:${await receiver.listen()}`)
  expired = deliver('/never', { abortAfter: 20_000 })
})
afterAll(async () => {
  for (const harness of harnesses) await harness.close()
  receiver.close()
})

describe('what the receiver gets', () => {
  it('is the request: its path and query, the host of its URL, its headers, its bytes', async () => {
    receiver.on('/in/b%C3%B3x', says('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'))
    const body = Buffer.from(Array.from({ length: 70_000 }, (_, n) => n % 256))
    const headers = { 'Content-Type': 'application/json', 'Service-Signature': 'v1,00ff', 'User-Agent': 'fiscal/1' }
    const outcome = await deliver('/in/b%C3%B3x?a=1&b=%20&a=2', { headers, body: body.toString('base64') })
    expect(outcome.status).toBe(200)
    const [got, ...others] = receiver.at('/in/b%C3%B3x')
    expect(others).toEqual([])
    const [first, ...lines] = got!.head.split('\r\n')
    expect(first).toBe('POST /in/b%C3%B3x?a=1&b=%20&a=2 HTTP/1.1')
    expect(lines.sort()).toEqual([
      'connection: close',
      'content-length: 70000',
      'content-type: application/json',
      `host: ${HOST}`,
      'service-signature: v1,00ff',
      'user-agent: fiscal/1',
    ])
    expect(got!.body.equals(body)).toBe(true)
  })
})

describe('what the receiver answers', () => {
  it.each([200, 202, 302, 307, 404, 408, 429, 500, 503, 599])('is the answer, %i too', async (status) => {
    const { path, ...outcome } = await notify(
      says(
        `HTTP/1.1 ${status} What It Is\r\nLocation: http://${HOST}/elsewhere\r\nSet-Cookie: a\r\nSet-Cookie: b\r\ncontent-length: 2\r\n\r\nok`,
      ),
    )
    const headers = [
      ['content-length', '2'],
      ['location', `http://${HOST}/elsewhere`],
      ['set-cookie', 'a'],
      ['set-cookie', 'b'],
    ]
    expect(outcome).toEqual({ status, said: status, headers, body: btoa('ok') })
    expect(receiver.at(path)).toHaveLength(1)
    expect(receiver.at('/elsewhere')).toEqual([])
  })

  it.each([
    [103, saysAndEnds('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n')],
    [199, saysAndEnds('HTTP/1.1 199 Odd\r\n\r\n')],
    [101, says('HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\n\r\n')],
    [600, says('HTTP/1.1 600 Odd\r\ncontent-length: 0\r\n\r\n')],
    [999, saysAndEnds('HTTP/1.0 999\r\n\r\n')],
  ])('is notified where no Response can have its status: %i', async (status, script) => {
    expect(await notify(script)).toMatchObject({ status: 400, said: status, body: '' })
  })

  it('is not what it says of itself', async () => {
    expect(await notify(says('HTTP/1.1 500 No\r\negress-status: 103\r\ncontent-length: 0\r\n\r\n'))).toMatchObject({
      status: 500,
      said: 500,
    })
    expect(await notify(says('HTTP/1.1 400 No\r\negress-status: 103\r\ncontent-length: 0\r\n\r\n'))).toMatchObject({
      status: 400,
      said: 400,
    })
  })

  it('is what follows interim answers', async () => {
    const interim = 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'
    expect(await notify(says(interim, 'HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n'))).toMatchObject({
      status: 201,
      headers: [['content-length', '0']],
    })
  })

  it('has no body with 204 and 304', async () => {
    for (const status of [204, 304]) {
      const outcome = await notify(says(`HTTP/1.1 ${status} None\r\ncontent-length: 5\r\n\r\nhello`))
      expect(outcome).toMatchObject({ status, body: '' })
    }
  })

  it.each([
    ['of a length', says('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello and more')],
    ['of a length said twice', says('HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello')],
    ['in chunks', says('HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n2;x="y"\r\nhe\r\n03\r\nllo\r\n0\r\ntrailer: t\r\n\r\n')],
    ['until the end', saysAndEnds('HTTP/1.0 200 OK\r\n\r\nhello')],
    ['with bare line feeds', says('HTTP/1.1 200\ncontent-length:5\n\nhello')],
    [
      'byte by byte',
      (socket: Parameters<Script>[0]) =>
        void dribble(socket, 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n'),
    ],
    ['compressed', saysAndEnds('HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n', gzipSync('hello'))],
  ] as [string, Script][])('has a body %s', async (_, script) => {
    const outcome = await notify(script)
    expect([outcome.status, textOf(outcome), outcome.broken]).toEqual([200, 'hello', undefined])
  })

  it('has a head of up to 64 KiB', async () => {
    const head = (bytes: number) => `HTTP/1.1 200 OK\r\ncontent-length: 0\r\nx: ${'x'.repeat(bytes)}\r\n\r\n`
    expect((await notify(says(head(65_000)))).status).toBe(200)
    expect((await notify(says(head(66_000)))).error).toMatch(/too long/)
  })

  it('is fetched as it is read: 100 MB of which 1 KiB is wanted', async () => {
    let sent = 0
    const { status, body, broken } = await notify(
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100000000\r\n\r\n')
        const piece = Buffer.alloc(65_536, 'x')
        const more = () => {
          while (sent < 100_000_000 && !socket.destroyed) {
            sent += piece.length
            if (!socket.write(piece)) return void socket.once('drain', more)
          }
        }
        more()
      },
      { take: 1_024 },
    )
    expect([status, broken]).toEqual([200, undefined])
    expect(Buffer.from(body!, 'base64').length).toBeGreaterThanOrEqual(1_024)
    // What is not the buffers of the system.
    expect(sent).toBeLessThan(20_000_000)
  })
})

async function dribble(socket: Parameters<Script>[0], text: string): Promise<void> {
  socket.setNoDelay(true)
  for (const byte of text) await new Promise((done) => socket.write(byte, done))
}

describe('there is no answer', () => {
  it.each([
    ['the connection is closed at once', saysAndEnds(), /closed without an answer/],
    ['it is reset', (socket: Parameters<Script>[0]) => void socket.resetAndDestroy(), /No answer: /],
    ['it is closed within the head', saysAndEnds('HTTP/1.1 200 OK\r\nx: y\r\n'), /closed within its head/],
    ['it is closed within the first line', saysAndEnds('HTTP/1.1 200 O'), /closed without an answer/],
    ['it is no HTTP', says('220 mail.example ESMTP\r\n'), /not HTTP/],
    ['it is of another version', says('HTTP/2 200\r\n\r\n'), /not HTTP/],
    ['its status is none', says('HTTP/1.1 099 No\r\n\r\n'), /not HTTP/],
    ['a header is none', says('HTTP/1.1 200 OK\r\nno header\r\n\r\n'), /not a header/],
    ['a header is folded', says('HTTP/1.1 200 OK\r\na: b\r\n c\r\n\r\n'), /not a header/],
    ['its lengths differ', says('HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx'), /Content-Length/],
  ] as [string, Script, RegExp][])('when %s', async (_, script, said) => {
    const { error, status } = await notify(script)
    expect(status).toBeUndefined()
    expect(error).toMatch(said)
  })

  it('when nobody listens', async () => {
    const nowhere = await egressTo(`http://127.0.0.1:${await freePort()}`)
    expect((await deliver('/', {}, nowhere)).error).toMatch(/nothing accepts connections at 127\.0\.0\.1:\d+/)
  })

  it('when no SAT_STAND_IN is set, and it is for the tax authority: never is the authority itself asked', async () => {
    const url = 'https://cfdidescargamasiva.clouda.sat.gob.mx/DescargaMasivaService.svc'
    const { error } = await deliver('', { url })
    expect(error).toMatch(/no SAT_STAND_IN is set.* Try SAT_STAND_IN=http:/)
    expect(receiver.received.some(({ head }) => head.includes('sat.gob.mx'))).toBe(false)
  })

  it('when no WEBHOOK_SINK is set, and the log says so without the path', async () => {
    const nowhere = await egressTo('')
    expect((await deliver('/token-of-theirs', {}, nowhere)).error).toMatch(/no WEBHOOK_SINK/)
    const [line, ...others] = nowhere.getLogs().map(({ message }) => JSON.parse(message) as unknown)
    expect(others).toEqual([])
    expect(line).toEqual({
      level: 'error',
      request_id: 'egress',
      message: expect.stringContaining(`Not delivered to ${HOST}: no WEBHOOK_SINK`),
    })
    expect(JSON.stringify(line)).not.toContain('token-of-theirs')
  })
})

describe('a body breaks off', () => {
  it.each([
    ['before its length', saysAndEnds('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello'), /4 bytes before/],
    ['within a chunk', saysAndEnds('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\nhello'), /4 bytes before/],
    ['after a chunk', saysAndEnds('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n'), /no size/],
    ['where a chunk has no size', says('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nhello\r\n'), /no size/],
    [
      'where a chunk is longer than it says',
      says('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhello\r\n0\r\n\r\n'),
      /too long/,
    ],
  ] as [string, Script, RegExp][])('%s', async (_, script, said) => {
    const { status, broken } = await notify(script)
    expect(status).toBe(200)
    expect(broken).toMatch(said)
  })
})

describe('the stand-in of the tax authority', () => {
  const standIn = new Receiver()
  let both: TestHarness
  beforeAll(async () => {
    both = await egressTo('', `http://127.0.0.1:${await standIn.listen()}`)
  })
  afterAll(() => standIn.close())

  it('gets every request to a host of the authority, with that host, its path and query, and nothing else', async () => {
    const ok = says('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
    const path = '/ConsultaCFDIService.svc'
    standIn.on(path, ok)
    const hosts = ['cfdidescargamasivasolicitud.clouda', 'retendescargamasiva.clouda', 'consultaqr.facturaelectronica'].map(
      (host) => `${host}.sat.gob.mx`,
    )
    for (const host of hosts) {
      const headers = { SOAPAction: 'http://tempuri.org/IConsultaCFDIService/Consulta', Authorization: 'WRAP access_token="a%26b"' }
      const outcome = await deliver('', { url: `https://${host}${path}?singleWsdl`, headers, body: btoa('<x/>') }, both)
      expect([outcome.status, textOf(outcome)]).toEqual([200, 'ok'])
      const { head, body } = standIn.received.at(-1)!
      expect(head.split('\r\n')[0]).toBe(`POST ${path}?singleWsdl HTTP/1.1`)
      expect(head.toLowerCase()).toContain(`\r\nhost: ${host}\r\n`)
      expect(head).toContain('WRAP access_token="a%26b"')
      expect(body.toString()).toBe('<x/>')
    }
    for (const url of ['https://sat.gob.mx.example.com/', 'https://notsat.gob.mx/', 'https://hooks.customer.example/sat.gob.mx'])
      expect((await deliver('', { url }, both)).error).toMatch(/no WEBHOOK_SINK/)
    expect(standIn.received.length).toBe(hosts.length)
  })

  it('may take longer than a receiver of webhooks', async () => {
    standIn.on('/slow', (socket) => {
      setTimeout(() => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nlate'), 10_500)
    })
    const outcome = await deliver('', { url: 'https://cfdidescargamasiva.clouda.sat.gob.mx/slow', abortAfter: 20_000 }, both)
    expect([outcome.status, textOf(outcome)]).toEqual([200, 'late'])
  })
})

describe('the connection ends', () => {
  it('when the caller waits no longer for the head, or for the body', async () => {
    const head = await notify(() => null, { abortAfter: 300 })
    expect(head.error).toMatch(/Timeout/)
    const body = await notify(says('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello'), { abortAfter: 3_000 })
    expect([body.status, /Timeout/.test(body.broken ?? '')]).toEqual([200, true])
  })

  it('after 10 s in any case', async () => {
    const { error } = await expired
    expect(error).toMatch(/longer than 10000 ms/)
    await isClosed('/never')
  })
})

describe.each(['WEBHOOK_SINK', 'STORAGE_SINK', 'SAT_STAND_IN'] as const)('%s', (name) => {
  it.each([
    ['http://127.0.0.1:9000', '127.0.0.1', 9000],
    ['http://localhost:9000/', 'localhost', 9000],
    ['http://[::1]:9000', '[::1]', 9000],
    ['http://127.0.0.1', '127.0.0.1', 80],
  ])('may be %s', (text, hostname, port) => expect(sinkOf(name, text)).toEqual({ hostname, port }))

  it('may be nothing', () => expect([sinkOf(name, ''), placeOf({}).sinks[name]]).toEqual([null, '']))

  it.each([
    'https://127.0.0.1:9000',
    'http://10.0.0.1:9000',
    'http://0.0.0.0:9000',
    'http://127.0.0.1.example.com:9000',
    'http://localhost.example.com',
    'http://user@127.0.0.1:9000',
    'http://127.0.0.1:9000/path',
    'http://127.0.0.1:9000/?q',
    'http://[::2]:9000',
    '127.0.0.1:9000',
    'localhost',
  ])('may not be %s', (sink) => {
    expect(() => placeOf({ [name]: sink })).toThrow(
      `${name} must be http://127.0.0.1:{port} (or localhost, or [::1]) without a path, not “${sink}”.`,
    )
  })
})
