import { env } from 'cloudflare:workers'
import { operationOf, type Route } from '../../../tools/openapi/route-table.ts'

/** One reply, as it is sent to the process that keeps examples (keep.ts). */
export interface Recording {
  operation: string
  status: number
  /** Of what was answered and is no JSON. */
  content_type: string | null
  body: unknown
  /** The JSON of the request, where there was one. */
  request: unknown
}

const { RECORDER } = env as { RECORDER?: Fetcher }

/** How much each reply says that was sent already, so that most are not sent. */
const notified = new Map<string, number>()

/** The name of what no route answers. */
const ELSEWHERE = 'elsewhere'

const MOST_TEXT = 100_000

/** Gives a reply to whoever keeps examples for the reference: nobody, unless RECORD is set. */
export async function record(
  route: Route | undefined,
  sent: BodyInit | undefined,
  { status, headers }: { status: number; headers: Headers },
  text: string,
): Promise<void> {
  if (
    !RECORDER ||
    (!route && status !== 404 && status !== 405) ||
    (status >= 500 && status !== 503) ||
    text === '' ||
    text.length > MOST_TEXT ||
    route?.path.startsWith('/fetcher/') ||
    headers.has('idempotency-replayed')
  )
    return
  const type = headers.get('content-type')?.split(';')[0] ?? ''
  if (!/^(application\/(json|xml)|text\/csv)$/.test(type)) return
  const operation = route ? operationOf(route).id : ELSEWHERE
  const body: unknown = type === 'application/json' ? JSON.parse(text) : text
  const key = `${operation} ${status} ${type} ${(body as { code?: string } | null)?.code ?? ''}`
  if ((notified.get(key) ?? -1) >= text.length) return
  notified.set(key, text.length)
  const request = status < 300 && typeof sent === 'string' ? parsed(sent) : null
  const recording: Recording = { operation, status, content_type: type === 'application/json' ? null : type, body, request }
  await RECORDER.fetch('http://recorder', { method: 'POST', body: JSON.stringify(recording) })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
