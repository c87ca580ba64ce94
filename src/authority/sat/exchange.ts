import { envelopeOf, Unanswered } from './answers.ts'

/** The documents of a download: CFDIs, or retenciones, which have hosts and tokens of their own. */
export type Family = 'cfdi' | 'retenciones'

/** A request to a web service of the authority, which is sent by POST. */
export interface SatRequest {
  url: string
  headers: Readonly<Record<string, string>>
  body: string
}

/** The namespace of the login, and that of the other operations of the bulk download. */
export const LOGIN_NAMESPACE = 'http://DescargaMasivaTerceros.gob.mx'
export const DOWNLOAD_NAMESPACE = 'http://DescargaMasivaTerceros.sat.gob.mx'

const HOSTS: Record<Family, string> = { cfdi: 'cfdidescargamasiva', retenciones: 'retendescargamasiva' }

/** The part of the host's name for requests, the path, and the SOAP action of each operation. */
const OPERATIONS = {
  Autentica: ['solicitud', 'Autenticacion/Autenticacion', `${LOGIN_NAMESPACE}/IAutenticacion`],
  SolicitaDescargaEmitidos: ['solicitud', 'SolicitaDescargaService', `${DOWNLOAD_NAMESPACE}/ISolicitaDescargaService`],
  SolicitaDescargaRecibidos: ['solicitud', 'SolicitaDescargaService', `${DOWNLOAD_NAMESPACE}/ISolicitaDescargaService`],
  SolicitaDescargaFolio: ['solicitud', 'SolicitaDescargaService', `${DOWNLOAD_NAMESPACE}/ISolicitaDescargaService`],
  VerificaSolicitudDescarga: ['solicitud', 'VerificaSolicitudDescargaService', `${DOWNLOAD_NAMESPACE}/IVerificaSolicitudDescargaService`],
  Descargar: ['', 'DescargaMasivaService', `${DOWNLOAD_NAMESPACE}/IDescargaMasivaTercerosService`],
} as const
export type Operation = keyof typeof OPERATIONS

/** The request of an operation. Every operation but the login needs a token, which is sent exactly as the login gave it. */
export function requestOf(family: Family, operation: Operation, body: string, token?: string): SatRequest {
  const [part, path, contract] = OPERATIONS[operation]
  return soapRequest(
    `https://${HOSTS[family]}${part}.clouda.sat.gob.mx/${path}.svc`,
    `${contract}/${operation}`,
    body,
    token === undefined ? {} : { Authorization: `WRAP access_token="${token}"` },
  )
}

export const soapRequest = (url: string, action: string, body: string, headers: Readonly<Record<string, string>> = {}): SatRequest => ({
  url,
  headers: { 'Content-Type': 'text/xml;charset="utf-8"', Accept: 'text/xml', SOAPAction: action, ...headers },
  body,
})

/** Sends a request: `fetch`, or its substitute. */
export type Send = (url: string, init: RequestInit) => Promise<Response>

/**
 * How slow an answer may be: the total wait in milliseconds, and how many of its bytes extend that by a second. Otherwise an answer that
 * drips, or stops, would keep its worker busy for the whole time that a large package may take.
 */
export interface SlowResponseLimit {
  waited: number
  bytesPerSecond: number
}
/** At the most 1.5 GB, and 600 seconds, everything that comes faster than 64 KB a second is waited for. */
const SLOW_RESPONSE_LIMIT: SlowResponseLimit = { waited: 60_000, bytesPerSecond: 65_536 }
/** The authority may prepare a whole package before the first byte of the answer. */
export const PACKAGE_SLOW_LIMIT: SlowResponseLimit = { ...SLOW_RESPONSE_LIMIT, waited: 120_000 }

/**
 * Sends a request and gives the body of the answer to `read`, all within so many milliseconds, and waits for its parts only as long as
 * their size allows. Redirects are not followed, because requests contain tokens. In an answer with an HTTP error only a fault or a page is
 * read: anything else is no answer. Throws Unanswered, and whatever else `read` throws.
 */
export async function exchange<T>(
  send: Send,
  { url, headers, body }: SatRequest,
  milliseconds: number,
  read: (body: AsyncIterable<Uint8Array>) => Promise<T>,
  slowLimit = SLOW_RESPONSE_LIMIT,
): Promise<T> {
  const waiting = new Waiting(slowLimit)
  const signal = AbortSignal.any([AbortSignal.timeout(milliseconds), waiting.signal])
  let status: number | null = null
  try {
    const sent = send(url, { method: 'POST', headers, body, redirect: 'manual', signal })
    const response = await waiting.until(sent).catch((error: unknown) => {
      throw interrupted(error, 'unreachable', 'The tax authority cannot be reached.')
    })
    status = response.status
    const chunks = chunksOf(response.body, waiting)
    return await (response.ok ? read(chunks) : refuse(chunks, status))
  } catch (error) {
    if (error instanceof Unanswered) error.status = status
    throw error
  } finally {
    waiting.end()
  }
}

/** Throws Unanswered for an answer with an error of HTTP. */
async function refuse(body: AsyncIterable<Uint8Array>, status: number): Promise<never> {
  try {
    envelopeOf(await textOf(body))
  } catch (error) {
    if (!(error instanceof Unanswered) || ['fault', 'html', 'timed_out'].includes(error.kind)) throw error
  }
  throw new Unanswered('http_error', `The tax authority answered with the HTTP status ${status}.`)
}

/** Counts the wait for an answer, and aborts it when it is longer than its size allows. Work on its parts does not count. */
class Waiting {
  readonly #abort = new AbortController()
  readonly #slowLimit: SlowResponseLimit
  #waited = 0
  #since: number | null = null
  #size = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(slowLimit: SlowResponseLimit) {
    this.#slowLimit = slowLimit
    this.#look()
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  async until<T>(promise: Promise<T>): Promise<T> {
    this.#since = performance.now()
    try {
      return await promise
    } finally {
      this.#waited += performance.now() - this.#since
      this.#since = null
    }
  }

  add(bytes: number): void {
    this.#size += bytes
  }

  end(): void {
    clearTimeout(this.#timer)
  }

  /** Looks again when the limit can be over. */
  #look(): void {
    const { waited, bytesPerSecond } = this.#slowLimit
    const now = this.#since === null ? 0 : performance.now() - this.#since
    const left = waited + (this.#size / bytesPerSecond) * 1_000 - this.#waited - now
    if (left <= 0) this.#abort.abort(new DOMException('The answer comes too slowly.', 'TimeoutError'))
    else this.#timer = setTimeout(() => this.#look(), Math.ceil(left))
  }
}

/** The bytes of an answer in memory, and the least that a read waits for, unless the answer ends: each read leaves some garbage. */
const CHUNK = 65_536
const LEAST = 32_768

interface Reader {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>
  cancel(): Promise<void>
}

/** Reads a body into one buffer repeatedly: a chunk is good until the next one is read. A body that is no byte stream comes as it is. */
function readerOf(body: ReadableStream<Uint8Array>): Reader {
  let reader: ReadableStreamBYOBReader
  try {
    reader = body.getReader({ mode: 'byob' })
  } catch {
    return body.getReader()
  }
  let buffer = new ArrayBuffer(CHUNK)
  return {
    async read() {
      const part = new Uint8Array(buffer)
      // Only the runtime of Workers has the first.
      const { done, value } = await (reader.readAtLeast ? reader.readAtLeast(LEAST, part) : reader.read(part))
      if (value) buffer = value.buffer as ArrayBuffer
      return { done, value }
    },
    cancel: () => reader.cancel(),
  }
}

async function* chunksOf(body: ReadableStream<Uint8Array> | null, waiting: Waiting): AsyncGenerator<Uint8Array> {
  if (body === null) return
  const reader = readerOf(body)
  try {
    for (;;) {
      const { done, value } = await waiting.until(reader.read()).catch((error: unknown) => {
        throw interrupted(error, 'truncated', 'The answer of the tax authority ends too early.')
      })
      if (done || value === undefined) return
      waiting.add(value.length)
      yield value
    }
  } finally {
    // The rest is not wanted. After the end this does nothing.
    await reader.cancel().catch(() => {})
  }
}

const interrupted = (error: unknown, otherwise: 'unreachable' | 'truncated', message: string): Unanswered =>
  error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError')
    ? new Unanswered('timed_out', 'The tax authority did not answer in time.')
    : new Unanswered(otherwise, message)

/** In bytes. All answers without a package are far smaller. */
const MAX_TEXT = 1_000_000

/** Reads an answer as text. Throws Unanswered for one that is too long. */
export async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > MAX_TEXT) throw new Unanswered('malformed', 'The answer of the tax authority is too long.')
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}
