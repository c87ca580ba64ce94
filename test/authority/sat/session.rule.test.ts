import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { openPrivateKey, readPrivateKey } from '../../../src/authority/efirma/der.ts'
import { type Efirma, readCertificate } from '../../../src/authority/efirma/efirma.ts'
import { Unanswered } from '../../../src/authority/sat/answers.ts'
import type { Send } from '../../../src/authority/sat/exchange.ts'
import type { Solicitud } from '../../../src/authority/sat/session.ts'
import { CertificateRefused, type RateLimiter, type SatSession, satSession } from '../../../src/authority/sat/session.ts'
import { makeEfirma } from '../../../tools/stand-in/certificates.ts'
import type { FalseAnswer, Operation, Step } from '../../../tools/stand-in/script.ts'
import { sendOver } from '../../../tools/stand-in/send-over.ts'
import { type StandIn, startStandIn } from '../../../tools/stand-in/stand-in.ts'
import { generate } from '../../../tools/stand-in/truth/generate.ts'
import { openFiles } from '../support/open-files.ts'
import { unzip } from '../support/unzip.ts'

const RFC = 'EKU9003173C9'
const MONTH = '2026-03'
const METADATA: Solicitud = {
  TipoSolicitud: 'Metadata',
  FechaInicial: `${MONTH}-01T00:00:00`,
  FechaFinal: `${MONTH}-31T23:59:59`,
  EstadoComprobante: 'Todos',
}

const opened = (more?: Parameters<typeof makeEfirma>[1], rfc = RFC): Promise<Efirma> => openFiles(makeEfirma(rfc, more), rfc, new Date())

let standIn: StandIn
const rateLimiter: RateLimiter = { turn: async () => {} }

const send: Send = (url, init) => sendOver(standIn.url)(url, init)

/** A session in an isolate that has no tokens yet, because its certificate is new. */
const fresh = async (): Promise<SatSession> => satSession(send, await opened(), rateLimiter)

const step = (operation: Operation, answer: FalseAnswer, more: Partial<Step> = {}): Step => ({ operation, answer, ...more })
const happens = (...steps: Step[]): void => void standIn.authority.script.steps.push(...steps)
const asked = (): (string | null)[] => standIn.log.entries.map(({ operation }) => operation)

/** What a session makes of an answer that says something else than the truth. */
async function caught(answer: FalseAnswer, operation: Operation = 'SolicitaDescargaEmitidos'): Promise<unknown> {
  happens(step(operation, answer))
  const session = await fresh()
  return session.request('cfdi', 'sat_cfdi_issued', METADATA).catch((error: unknown) => error)
}

let minute = 0
/** A period that was never asked for. */
const another = (): Solicitud => ({ ...METADATA, FechaInicial: `2026-02-01T00:${String(++minute).padStart(2, '0')}:00` })

beforeAll(async () => {
  standIn = await startStandIn({ truth: generate({ rfc: RFC, from: MONTH, months: 1 }) })
})
afterAll(() => standIn.close())
beforeEach(() => {
  standIn.log.entries.length = 0
  standIn.authority.script.steps.length = 0
})

describe('a session', () => {
  it('asks for documents, verifies and downloads, of both families and both directions, and gets what the authority has', async () => {
    const session = await fresh()
    for (const family of ['cfdi', 'retenciones'] as const)
      for (const source of ['sat_cfdi_issued', 'sat_cfdi_received'] as const) {
        const wanted = standIn.truth.between(RFC, source, METADATA.FechaInicial, METADATA.FechaFinal, '2026-05', family)
        const requested = await session.request(family, source, METADATA)
        expect(requested).toMatchObject({ meaning: 'accepted', code: '5000', request: expect.stringMatching(/^[0-9a-f-]{36}$/) })
        const verified = await session.verification(family, requested.request!)
        expect(verified).toMatchObject({ meaning: 'finished', announced: wanted.length, packages: [expect.stringMatching(/_01$/)] })
        const parts: Uint8Array[] = []
        const answer = await session.packageInto(family, verified.packages[0]!, async (bytes) => void parts.push(bytes.slice()))
        expect(answer).toMatchObject({ meaning: 'accepted', code: '5000' })
        const [text] = unzip(new Uint8Array(Buffer.concat(parts))).values()
        const listed = [...text!.matchAll(/^[0-9A-F-]{36}(?=~)/gm)].map(([uuid]) => uuid)
        expect(listed.sort()).toEqual(wanted.map(({ uuid }) => uuid).sort())
        expect(wanted.length).toBeGreaterThan(0)
      }
    expect(standIn.log.of('Autentica').map(({ family, answer }) => [family, answer])).toEqual([
      ['cfdi', 'token'],
      ['retenciones', 'token'],
    ])
    expect(standIn.log.entries.filter(({ rfc }) => rfc !== RFC)).toEqual([])
  })

  it('gives the bytes of a package part by part, in their order', async () => {
    const rich = await startStandIn({ truth: generate({ rfc: RFC, from: MONTH, months: 1, padding: 400_000, counts: { issued: 12 } }) })
    try {
      const session = satSession(sendOver(rich.url), await opened(), rateLimiter)
      const { request } = await session.request('cfdi', 'sat_cfdi_issued', { ...METADATA, TipoSolicitud: 'CFDI' })
      const { packages, announced } = await session.verification('cfdi', request!)
      const parts: Uint8Array[] = []
      await session.packageInto('cfdi', packages[0]!, async (bytes) => void parts.push(bytes.slice()))
      const names = [...unzip(new Uint8Array(Buffer.concat(parts))).keys()]
      const issued = rich.truth.documents.filter(({ emisor, family }) => emisor.rfc === RFC && family === 'cfdi')
      expect(names.sort()).toEqual(issued.map(({ uuid }) => `${uuid.toLowerCase()}.xml`).sort())
      expect([announced, parts.length > 20, parts.every(({ length }) => length < 70_000)]).toEqual([issued.length, true, true])
    } finally {
      await rich.close()
    }
  })

  it('waits for a turn before every request, a login too, and says when each is answered', async () => {
    const order: string[] = []
    const session = satSession(
      (url, init) => {
        order.push('sent')
        return send(url, init)
      },
      await opened(),
      { turn: async () => void order.push('turn'), answered: () => void order.push('answered') },
    )
    await session.request('cfdi', 'sat_cfdi_issued', another())
    happens(step('VerificaSolicitudDescarga', { code: '300' }))
    await session.verification('cfdi', crypto.randomUUID())
    expect(asked()).toEqual([
      'Autentica',
      'SolicitaDescargaEmitidos',
      'VerificaSolicitudDescarga',
      'Autentica',
      'VerificaSolicitudDescarga',
    ])
    happens(step('VerificaSolicitudDescarga', { closed: true }))
    await expect(session.verification('cfdi', crypto.randomUUID())).rejects.toMatchObject({ kind: 'unreachable' })
    expect(order).toEqual(Array.from({ length: 6 }, () => ['turn', 'sent', 'answered']).flat())
  })
})

describe('a token', () => {
  it('is kept for the next session of the same certificate, and for no other one', async () => {
    const first = await opened()
    await satSession(send, first, rateLimiter).login('cfdi')
    await satSession(send, first, rateLimiter).request('cfdi', 'sat_cfdi_issued', another())
    expect(asked()).toEqual(['Autentica', 'SolicitaDescargaEmitidos'])
    await satSession(send, await opened(), rateLimiter).request('cfdi', 'sat_cfdi_issued', another())
    expect(asked().slice(2)).toEqual(['Autentica', 'SolicitaDescargaEmitidos'])
  })

  it('is renewed a minute before it ends', async () => {
    const session = await fresh()
    await session.login('cfdi')
    const now = Date.now()
    const clock = vi.spyOn(Date, 'now')
    try {
      for (const [minutes, logins] of [
        [3.9, 1],
        [4.1, 2],
      ] as const) {
        clock.mockReturnValue(now + minutes * 60_000)
        await session.verification('cfdi', crypto.randomUUID())
        expect(standIn.log.of('Autentica').length).toBe(logins)
      }
    } finally {
      clock.mockRestore()
    }
  })

  it('that the authority refuses is renewed once, and what can be repeated is asked again', async () => {
    const session = await fresh()
    await session.login('cfdi')
    standIn.authority.expireTokens()
    expect((await session.verification('cfdi', crypto.randomUUID())).meaning).toBe('request_gone')
    const verification = ['VerificaSolicitudDescarga', 'Autentica', 'VerificaSolicitudDescarga']
    expect(asked()).toEqual(['Autentica', ...verification])
    happens(step('VerificaSolicitudDescarga', { code: '300' }, { times: 2 }))
    expect(await session.verification('cfdi', crypto.randomUUID())).toMatchObject({ meaning: 'token_refused', code: '300' })
    expect(asked().slice(4)).toEqual(verification)
    await session.login('cfdi')
  })

  it('that the authority refuses ends a request for documents, which is sent once: its period may count as used', async () => {
    const session = await fresh()
    await session.login('cfdi')
    standIn.authority.expireTokens()
    const refused = await session.request('cfdi', 'sat_cfdi_issued', another())
    expect(refused).toMatchObject({ meaning: 'token_refused', code: '300', request: null })
    expect(asked()).toEqual(['Autentica', 'SolicitaDescargaEmitidos'])
    expect((await session.request('cfdi', 'sat_cfdi_issued', another())).meaning).toBe('accepted')
    expect(asked().slice(2)).toEqual(['Autentica', 'SolicitaDescargaEmitidos'])
  })

  it('that ends while a package is asked for costs no byte of it', async () => {
    const session = await fresh()
    const { request } = await session.request('cfdi', 'sat_cfdi_issued', another())
    const { packages } = await session.verification('cfdi', request!)
    standIn.authority.expireTokens()
    const parts: Uint8Array[] = []
    const answer = await session.packageInto('cfdi', packages[0]!, async (bytes) => void parts.push(bytes.slice()))
    expect([answer.meaning, unzip(new Uint8Array(Buffer.concat(parts))).size]).toEqual(['accepted', 2])
  })

  it('is asked for by login() in any case', async () => {
    const session = await fresh()
    await session.login('retenciones')
    await session.login('retenciones')
    expect(asked()).toEqual(['Autentica', 'Autentica'])
  })
})

describe('a certificate that the authority refuses', () => {
  it.each(['304', '305'])('is an error of its own in every operation, with code %s', async (code) => {
    const session = await fresh()
    const packageId = `${crypto.randomUUID()}_01`
    for (const [operation, ask] of [
      ['SolicitaDescargaEmitidos', () => session.request('cfdi', 'sat_cfdi_issued', another())],
      ['SolicitaDescargaRecibidos', () => session.request('cfdi', 'sat_cfdi_received', another())],
      ['VerificaSolicitudDescarga', () => session.verification('cfdi', crypto.randomUUID())],
      ['Descargar', () => session.packageInto('cfdi', packageId, async () => expect.unreachable())],
    ] as const) {
      happens(step(operation, { code }))
      const error = await ask().catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(CertificateRefused)
      expect(error).toMatchObject({ code })
    }
  })

  it('is one at a login too: revoked, expired, or a CSD', async () => {
    const revoked = await opened({ number: '30001000000500009999' })
    standIn.authority.revoke('30001000000500009999')
    const expired = await opened()
    const csd = await opened()
    for (const [one, more] of [
      [revoked, {}],
      // The service itself would open neither.
      [{ ...expired, ...files({ to: new Date('2026-01-01T00:00:00Z') }) }, {}],
      [{ ...csd, ...files({ isCsd: true }) }, {}],
    ] as const)
      await expect(satSession(send, { ...one, ...more }, rateLimiter).login('cfdi')).rejects.toMatchObject({ code: 'InvalidSecurity' })
    expect(standIn.log.entries.map(({ answer }) => answer)).toEqual(['InvalidSecurity', 'InvalidSecurity', 'InvalidSecurity'])
    await expect(satSession(send, revoked, rateLimiter).login('cfdi')).rejects.toBeInstanceOf(CertificateRefused)
  })
})

/** An e.firma that would not be opened. */
function files(more: Parameters<typeof makeEfirma>[1]): Efirma {
  const { certificate, private_key, password } = makeEfirma(RFC, more)
  const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'base64'))
  return { rfc: RFC, certificate: readCertificate(bytes(certificate)), pkcs8: openPrivateKey(readPrivateKey(bytes(private_key)), password) }
}

describe('a request without an answer', () => {
  it.each<[FalseAnswer, object]>([
    [{ page: true }, { kind: 'html', status: 503 }],
    [{ fault: 'ActionNotSupported' }, { kind: 'fault', fault: 'ActionNotSupported', status: 500 }],
    // Only a login says by this fault that the certificate is refused.
    [{ fault: 'InvalidSecurity' }, { kind: 'fault', fault: 'InvalidSecurity', status: 500 }],
    [
      { truncated: 'answer', isDone: true },
      { kind: 'truncated', status: 200 },
    ],
    [{ truncated: 'connection', isDone: true }, { kind: 'truncated' }],
    [{ closed: true }, { kind: 'unreachable', status: null }],
  ])('says why: %o', async (answer, expected) => {
    const error = await caught(answer)
    expect(error).toBeInstanceOf(Unanswered)
    expect(error).toMatchObject(expected)
  })

  it.each<[FalseAnswer, object]>([
    [{ page: true }, { kind: 'html' }],
    [{ fault: 'ActionNotSupported' }, { kind: 'fault', fault: 'ActionNotSupported' }],
    [{ closed: true }, { kind: 'unreachable' }],
  ])('says why at a login: %o', async (answer, expected) => expect(await caught(answer, 'Autentica')).toMatchObject(expected))

  it('is given up after a time for each operation, and the connection with it', async () => {
    const session = await fresh()
    await session.login('cfdi')
    const limits: number[] = []
    const timeout = AbortSignal.timeout.bind(AbortSignal)
    const spy = vi.spyOn(AbortSignal, 'timeout').mockImplementation((milliseconds) => {
      limits.push(milliseconds)
      return timeout(50)
    })
    try {
      happens({ answer: { slowMs: 5_000 }, times: Number.POSITIVE_INFINITY })
      const started = Date.now()
      for (const ask of [
        () => session.login('retenciones'),
        () => session.request('cfdi', 'sat_cfdi_issued', another()),
        () => session.verification('cfdi', crypto.randomUUID()),
        () => session.packageInto('cfdi', 'X_01', async () => expect.unreachable()),
      ])
        await expect(ask()).rejects.toMatchObject({ kind: 'timed_out', status: null })
      expect(Date.now() - started).toBeLessThan(3_000)
      expect(limits).toEqual([20_000, 60_000, 60_000, 600_000])
    } finally {
      spy.mockRestore()
    }
  })

  it('leaves a package unfinished when its answer breaks off, although bytes have come', async () => {
    const session = await fresh()
    const { request } = await session.request('cfdi', 'sat_cfdi_issued', { ...another(), TipoSolicitud: 'CFDI' })
    const { packages } = await session.verification('cfdi', request!)
    for (const truncated of ['answer', 'connection'] as const) {
      happens(step('Descargar', { truncated, isDone: true }))
      let bytes = 0
      const write = async (part: Uint8Array) => {
        bytes += part.length
      }
      await expect(session.packageInto('cfdi', packages[0]!, write)).rejects.toMatchObject({ kind: 'truncated' })
      expect([truncated, bytes > 0]).toEqual([truncated, true])
    }
    // Both were downloads all the same.
    expect(await session.packageInto('cfdi', packages[0]!, async () => expect.unreachable())).toMatchObject({ meaning: 'package_used_up' })
  })

  it('passes on what the writer of a package throws', async () => {
    const session = await fresh()
    const { request } = await session.request('cfdi', 'sat_cfdi_issued', another())
    const { packages } = await session.verification('cfdi', request!)
    const full = new Error('The bucket is full.')
    await expect(session.packageInto('cfdi', packages[0]!, () => Promise.reject(full))).rejects.toBe(full)
  })
})

it('the stand-in got nothing but requests that were signed well', () => {
  expect(standIn.log.violations.filter((violation) => !/ ms after |^Asked again/.test(violation))).toEqual([])
})
