import { afterEach, describe, expect, it, vi } from 'vitest'
import { type Destination, DestinationError, type DestinationFault } from '../../../src/copies/drivers/port.ts'
import { objectOf, type StandIn, Wire } from '../support/wire.ts'
import { textOf } from './suite.ts'

const PATH = 'Ñ & ü/2026/one.xml'

const OPERATIONS: Record<string, (destination: Destination) => Promise<unknown>> = {
  'the first put': async (destination) => destination.put(PATH, await objectOf('new')),
  'a put that replaces': async (destination) => destination.put(PATH, await objectOf('new')),
  'a read': (destination) => destination.read(PATH),
  'a removal': (destination) => destination.remove(PATH),
}

interface Fault {
  answer: (request: Request) => Promise<Response>
  codes: DestinationFault[]
  retryAfter?: number
  /** Whether the requests after it fail too: an access token that is refused once is replaced. */
  lasts?: boolean
}

const answers = (status: number, headers: Record<string, string> = {}, body = '<html>An answer of something between.</html>') => {
  return async () => new Response(body, { status, headers: { 'content-type': 'text/html', ...headers } })
}

/** Half of an answer, and then the connection breaks. */
const cut = async (): Promise<Response> =>
  new Response(
    new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('{"id":"'))
        controller.error(new Error('The connection broke at https://internal.example/secret.'))
      },
    }),
    { status: 200 },
  )

const HANGS: Record<string, () => Promise<Response>> = {
  'no answer at all': () => new Promise<never>(() => {}),
  'half an answer': async () => new Response(new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array([123])) })),
}

const FAULTS: Record<string, Fault> = {
  '401': { answer: answers(401), codes: ['access_denied'], lasts: true },
  '403': { answer: answers(403), codes: ['access_denied'] },
  '429 with a Retry-After that is too long': {
    answer: answers(429, { 'retry-after': '99999999999999999999' }),
    codes: ['rate_limited'],
    retryAfter: 1e9,
  },
  '429 with Retry-After': { answer: answers(429, { 'retry-after': '7' }), codes: ['rate_limited'], retryAfter: 7 },
  '500': { answer: answers(500), codes: ['unavailable'] },
  '503 with Retry-After': { answer: answers(503, { 'retry-after': '30' }), codes: ['unavailable', 'rate_limited'], retryAfter: 30 },
  '507': { answer: answers(507), codes: ['storage_full'] },
  'an unknown host': { answer: answers(530), codes: ['connection_failed'] },
  'a redirect to elsewhere': { answer: answers(302, { location: 'https://elsewhere.example/' }), codes: ['refused'] },
  'an answer that is not the provider’s': { answer: answers(200), codes: ['refused'] },
  'no connection': { answer: () => Promise.reject(new TypeError('No route to 10.0.0.1.')), codes: ['connection_failed'] },
  'a connection that breaks half-way': { answer: cut, codes: ['connection_failed'] },
}

/** What every driver does when any one of its requests goes wrong, at any step. */
export function faultSuite(name: string, make: () => Promise<StandIn>): void {
  afterEach(() => vi.useRealTimers())

  /** A stand-in where an operation finds what it needs. */
  async function prepared(operation: string): Promise<{ standIn: StandIn; wire: Wire }> {
    const standIn = await make()
    const wire = new Wire(standIn)
    await wire.open().put('Ñ & ü/2026/other.xml', await objectOf('other'))
    if (operation !== 'the first put') await wire.open().put(PATH, await objectOf('old'))
    return { standIn, wire }
  }

  /** How many requests an operation makes when all goes well. */
  async function stepsOf(operation: string): Promise<number> {
    const { wire } = await prepared(operation)
    wire.requests.length = 0
    await OPERATIONS[operation]!(wire.open())
    return wire.requests.length
  }

  async function errorOf(running: Promise<unknown>): Promise<DestinationError> {
    const error = await running.then(
      () => null,
      (reason: unknown) => reason,
    )
    expect(error).toBeInstanceOf(DestinationError)
    return error as DestinationError
  }

  function expectNoSecret(error: DestinationError, { secrets }: StandIn): void {
    expect(error.message).toMatch(/^[A-Z][^<>]+\.$/)
    const shown = [error.message, error.stack, String(error.cause ?? ''), JSON.stringify(error)].join()
    expect(secrets.filter((secret) => shown.includes(secret))).toEqual([])
    expect(shown).not.toMatch(/internal\.example|10\.0\.0\.1|elsewhere\.example/)
  }

  /** The operation works when it is repeated, and leaves what it should leave once. */
  async function expectMended(operation: string, standIn: StandIn, wire: Wire): Promise<void> {
    wire.mend()
    const result = await OPERATIONS[operation]!(wire.open())
    const there = standIn.objects().filter(({ path }) => path === PATH)
    const [one] = there
    if (operation === 'a removal') return expect(there).toEqual([])
    expect([there.length, textOf(one!.bytes)]).toEqual([1, operation === 'a read' ? 'old' : 'new'])
    if (operation === 'a read') expect(textOf(result as Uint8Array)).toBe('old')
  }

  describe.each(Object.keys(OPERATIONS))(`at ${name}, when %s meets at any step`, (operation) => {
    it.each(Object.keys(FAULTS))('%s: it says so without a secret, and works when it is repeated', async (fault) => {
      const { answer, codes, retryAfter, lasts } = FAULTS[fault]!
      const steps = await stepsOf(operation)
      expect(steps).toBeGreaterThan(0)
      for (let step = 0; step < steps; step++) {
        const { standIn, wire } = await prepared(operation)
        wire.fail(step, answer, lasts)
        const error = await errorOf(OPERATIONS[operation]!(wire.open()))
        expect([step, codes.includes(error.code), error.code]).toEqual([step, true, error.code])
        expect(error.retry_after_seconds).toBe(retryAfter ?? null)
        expectNoSecret(error, standIn)
        expect(wire.requests.filter(({ url }) => url.includes('elsewhere.example'))).toEqual([])
        await expectMended(operation, standIn, wire)
      }
    })

    it.each(Object.keys(HANGS))('%s: it gives up after 15 seconds, and works when it is repeated', async (hang) => {
      const steps = await stepsOf(operation)
      for (let step = 0; step < steps; step++) {
        const { standIn, wire } = await prepared(operation)
        wire.fail(step, HANGS[hang]!)
        vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
        let error: DestinationError | null = null
        void errorOf(OPERATIONS[operation]!(wire.open())).then((reason) => {
          error = reason
        })
        let seconds = 0
        for (let turn = 0; turn < 2_000 && wire.requests.length <= step; turn++) await scheduler.wait(1)
        await scheduler.wait(5)
        for (; seconds < 20 && error === null; seconds++) {
          await vi.advanceTimersByTimeAsync(1_000)
          await scheduler.wait(1)
        }
        vi.useRealTimers()
        expect([(error as DestinationError | null)?.code, seconds, wire.aborted]).toEqual(['timeout', 15, 1])
        expectNoSecret(error!, standIn)
        await expectMended(operation, standIn, wire)
      }
    })

    it('an answer that repeats every secret: no error repeats one', async () => {
      const steps = await stepsOf(operation)
      for (let step = 0; step < steps; step++) {
        for (const status of [301, 400, 403, 500]) {
          const { standIn, wire } = await prepared(operation)
          const all = standIn.secrets
            .map((secret) => `<Code>${secret}</Code><Message>${secret}</Message><Region>${secret}</Region>`)
            .join('')
          const json = JSON.stringify({ error: standIn.secrets[0], error_description: standIn.secrets.join(' ') })
          wire.fail(step, answers(status, {}, step % 2 === 0 ? `<Error>${all}</Error>` : json))
          expectNoSecret(await errorOf(OPERATIONS[operation]!(wire.open())), standIn)
        }
      }
    })
  })
}
