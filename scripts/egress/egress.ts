import { connect } from 'cloudflare:sockets'
import { WorkerEntrypoint } from 'cloudflare:workers'
import { SINK_FAULTS, STATUS_HEADER } from '../../src/webhooks/deliveries/answer-status.ts'
import { bodyOf, type Head, isBodiless, readHead } from './answer.ts'
import { Incoming } from './incoming.ts'
import { type Sink, sinkOf } from './sink.ts'

const PIECE = 16_384
/** Headers of a connection, not of a message. */
const HOP = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade']

type Variable = 'WEBHOOK_SINK' | 'STORAGE_SINK' | 'SAT_STAND_IN'

/**
 * The local implementation of a way out. It sends every request over HTTP/1.1 to the receiver on loopback that a variable names, with the
 * URL's own host in the header Host. It uses a socket because fetch would overwrite Host. Like the public fetch, it returns redirects as
 * answers and throws when there is no answer.
 */
abstract class ToSink extends WorkerEntrypoint<Record<Variable, string>> {
  /** The variable for a host, and how long a request may take. */
  abstract wayTo(hostname: string): readonly [variable: Variable, longestMs: number]

  override async fetch(request: Request): Promise<Response> {
    const { host, hostname } = new URL(request.url)
    const [variable, longestMs] = this.wayTo(hostname)
    const sink = sinkOf(variable, this.env[variable])
    try {
      if (!sink) throw new Error(`no ${variable} is set, so the request goes nowhere. Try ${variable}=http://127.0.0.1:9000 npm start`)
      return await answerOf(sink, await messageOf(request), longestMs)
    } catch (error) {
      const fault = variable !== 'WEBHOOK_SINK' ? '' : sink ? (error instanceof Unreachable ? SINK_FAULTS.closed : '') : SINK_FAULTS.unset
      const reason = error instanceof Error ? error.message : String(error)
      console.error(JSON.stringify({ level: 'error', message: `Not delivered to ${host}: ${reason}` }))
      throw new Error(`No answer: ${reason}${fault && `. ${fault}`}`)
    }
  }
}

/** The hosts of the tax authority. Its packages take long. */
const AUTHORITY = /\.sat\.gob\.mx$/

/** Behind the binding EGRESS: requests to the tax authority, and deliveries of webhooks. */
export class Egress extends ToSink {
  wayTo = (hostname: string) => (AUTHORITY.test(hostname) ? (['SAT_STAND_IN', 900_000] as const) : (['WEBHOOK_SINK', 10_000] as const))
}

/** Behind the binding STORAGE_EGRESS: requests of storage connectors. */
export class StorageEgress extends ToSink {
  wayTo = () => ['STORAGE_SINK', 20_000] as const
}

/** Nothing listens where a variable says. */
class Unreachable extends Error {}

/** The bytes of the request. */
async function messageOf(request: Request): Promise<Uint8Array> {
  const { host, pathname, search } = new URL(request.url)
  const body = new Uint8Array(await request.arrayBuffer())
  const given = [...request.headers].filter(([name]) => !['host', 'content-length', ...HOP].includes(name))
  const headers = [['host', host], ...given, ['content-length', body.length], ['connection', 'close']]
  const lines = [`${request.method} ${pathname}${search} HTTP/1.1`, ...headers.map(([name, value]) => `${name}: ${value}`), '', '']
  const head = new TextEncoder().encode(lines.join('\r\n'))
  const message = new Uint8Array(head.length + body.length)
  message.set(head)
  message.set(body, head.length)
  return message
}

async function answerOf(sink: Sink, message: Uint8Array, longestMs: number): Promise<Response> {
  const socket = connect(sink)
  // Each failure is reported where it is awaited.
  for (const later of [socket.opened, socket.closed]) later.catch(() => null)
  const { promise: tooLate, reject: expire } = Promise.withResolvers<never>()
  tooLate.catch(() => null)
  const timer = setTimeout(() => expire(new Error(`it took longer than ${longestMs} ms`)), longestMs)
  const close = () => {
    clearTimeout(timer)
    socket.close().catch(() => null)
  }
  try {
    const at = `${sink.hostname}:${sink.port}`
    const unreachable = () => Promise.reject(new Unreachable(`nothing accepts connections at ${at}`))
    await Promise.race([socket.opened.catch(unreachable), tooLate])
    const writer = socket.writable.getWriter()
    // A receiver may answer and close before it has read everything.
    writer.write(message).catch(() => null)
    const reader = socket.readable.getReader()
    const incoming = new Incoming(async () => (await Promise.race([reader.read(), tooLate])).value ?? null)
    const head = await readHead(incoming)
    return responseOf(head, streamOf(bodyOf(head, incoming, PIECE), close))
  } catch (error) {
    close()
    throw error
  }
}

/** A stream that pulls from the receiver only as it is read. */
function streamOf(pieces: AsyncGenerator<Uint8Array>, close: () => void): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { value, done } = await pieces.next()
          if (!done) return controller.enqueue(value)
          controller.close()
        } catch (error) {
          controller.error(error)
        }
        close()
      },
      cancel: close,
    },
    { highWaterMark: 0 },
  )
}

function responseOf({ status, headers }: Head, body: ReadableStream<Uint8Array>): Response {
  for (const name of [...HOP, STATUS_HEADER]) headers.delete(name)
  const kept = isBodiless(status) ? null : body
  if (!kept) void body.cancel()
  // The reader decompresses the body.
  const init: ResponseInit = { status, headers, encodeBody: 'manual' }
  if (status >= 200 && status < 600) return new Response(kept, init)
  headers.set(STATUS_HEADER, String(status))
  return new Response(kept, { ...init, status: 400 })
}

export default {}
