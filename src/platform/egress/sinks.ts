import { connect } from 'cloudflare:sockets'
import { joined } from '../bytes/bytes.ts'
import { log } from '../log.ts'
import { AUTHORITY } from '../target.ts'
import { bodyOf, type Head, IncomingBytes, isBodiless, readHead } from './answer.ts'
import { SINK_FAULTS, STATUS_HEADER } from './answer-status.ts'
import { type SinkAddress, sinkOf } from './sink.ts'

const PIECE = 16_384
/** Headers of a connection, not of a message. */
const HOP = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade']

export type Purpose = 'webhooks' | 'storage'

/** The variable that names the sink for a host, and how long a request may take: the packages of the tax authority take long. */
const wayTo = (purpose: Purpose, hostname: string) => {
  if (purpose === 'storage') return ['STORAGE_SINK', 20_000] as const
  return AUTHORITY.test(hostname) ? (['SAT_STAND_IN', 900_000] as const) : (['WEBHOOK_SINK', 10_000] as const)
}

/**
 * Sends a request over HTTP/1.1 to the receiver on loopback that a variable names, with the URL's own host in the header Host. It uses a
 * socket because fetch would overwrite Host.
 */
export async function sendToSink(env: Env, purpose: Purpose, request: Request): Promise<Response> {
  const { host, hostname } = new URL(request.url)
  const [variable, longestMs] = wayTo(purpose, hostname)
  const sink = sinkOf(variable, env[variable] ?? '')
  try {
    if (!sink) throw new Error(`no ${variable} is set, so the request goes nowhere. Try ${variable}=http://127.0.0.1:9000 npm start`)
    return await answerOf(sink, await messageOf(request), longestMs)
  } catch (error) {
    const fault = variable !== 'WEBHOOK_SINK' ? '' : sink ? (error instanceof Unreachable ? SINK_FAULTS.closed : '') : SINK_FAULTS.unset
    const reason = error instanceof Error ? error.message : String(error)
    log.error({ requestId: 'egress' }, `Not delivered to ${host}: ${reason}`)
    throw new Error(`No answer: ${reason}${fault && `. ${fault}`}`)
  }
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
  return joined([new TextEncoder().encode(lines.join('\r\n')), body])
}

async function answerOf(sink: SinkAddress, message: Uint8Array, longestMs: number): Promise<Response> {
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
    const incoming = new IncomingBytes(async () => (await Promise.race([reader.read(), tooLate])).value ?? null)
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
