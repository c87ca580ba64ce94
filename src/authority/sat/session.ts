import type { Efirma } from '../efirma/efirma.ts'
import { type Requested, readRequested, readToken, readVerified, type SatAnswer, type Verified } from './answers.ts'
import { exchange, PACKAGE_PATIENCE, type Patience, type Send, textOf } from './exchange.ts'
import {
  issuedRequest,
  type LoggedIn,
  loginRequest,
  packageRequest,
  receivedRequest,
  type Solicitud,
  verificationRequest,
} from './messages.ts'
import type { Family, SatRequest } from './operations.ts'
import { readPackage } from './package-answer.ts'
import { type Signer, signerOf } from './signature.ts'
import { Unanswered } from './unanswered.ts'

/** What keeps the requests of an RFC apart. */
export interface Pace {
  /** Waits until the next request is permitted, and has reserved that instant when it returns. */
  turn(): Promise<void>
  /** Is told when the request that had its turn is answered, or never will be: it may have reached the authority until then. */
  answered?(): void
}

/**
 * What an e.firma asks of the bulk download. It logs in where it needs to, and every request, a login too, waits for its turn. Its methods
 * throw CertificateRefused, and Unanswered, after which it is not known whether the authority did what it was asked.
 */
export interface SatSession {
  /** Logs in, also with a token that is still valid. */
  login(family: Family): Promise<void>
  /**
   * Asks for the documents that the RFC issued, or for those that it received. It is sent once, also when its token is refused: the authority
   * may count the period as used by then.
   */
  request(family: Family, source: 'sat_cfdi_issued' | 'sat_cfdi_received', query: Solicitud): Promise<Requested>
  /** Asks what has become of a request, by its IdSolicitud. */
  verification(family: Family, requestId: string): Promise<Verified>
  /**
   * Asks for a package, by its IdPaquete, and gives its bytes to `write`, part after part. They are the whole package only when this returns
   * with the meaning `accepted`; of every other answer `write` gets nothing.
   */
  packageInto(family: Family, packageId: string, write: (bytes: Uint8Array) => Promise<void>): Promise<SatAnswer>
}

/** The authority refuses a certificate: it is revoked, has expired, or is no e.firma. */
export class CertificateRefused extends Error {
  /** 304 or 305, or the fault InvalidSecurity, which a login has instead. */
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** The longest that an answer may take, to its last byte, and how slow it may be. */
type Limits = readonly [milliseconds: number, patience?: Patience]
/** A package may have several hundred megabytes. */
const LIMITS = {
  login: [20_000],
  request: [60_000],
  verification: [60_000],
  package: [600_000, PACKAGE_PATIENCE],
} as const satisfies Record<string, Limits>

/** Tokens are renewed so many milliseconds before they end, those of a short life after four fifths of it. */
const MARGIN_MS = 60_000

interface KeptToken {
  token: string
  until: number
}

/** The tokens of this isolate, by certificate and family. */
const tokens = new Map<string, KeptToken>()

const keyOf = ({ rfc, certificate }: Signer, family: Family): string => `${rfc} ${family} ${certificate}`

function keep(key: string, token: string, life: number, from: number): void {
  for (const [other, { until }] of tokens) if (until <= from) tokens.delete(other)
  tokens.set(key, { token, until: from + life - Math.min(MARGIN_MS, life / 5) })
}

function kept(key: string): string | null {
  const known = tokens.get(key)
  return known && Date.now() < known.until ? known.token : null
}

type Exchanged = <T>(request: SatRequest, limits: Limits, read: (body: AsyncIterable<Uint8Array>) => Promise<T>) => Promise<T>

/** Returns the session of an e.firma. Its tokens are kept in the isolate, also for the next session of the same certificate. */
export function satSession(send: Send, efirma: Efirma, pace: Pace): SatSession {
  let opening: Promise<Signer> | null = null
  const opened = (): Promise<Signer> => {
    opening ??= signerOf(efirma)
    return opening
  }

  const exchanged: Exchanged = (request, [milliseconds, patience], read) =>
    exchange(send, request, milliseconds, read, patience).finally(() => pace.answered?.())

  async function logIn(family: Family): Promise<string> {
    const signer = await opened()
    tokens.delete(keyOf(signer, family))
    await pace.turn()
    const from = Date.now()
    const request = await loginRequest(signer, family, new Date(from), crypto.randomUUID())
    try {
      const { token, life } = await exchanged(request, LIMITS.login, async (body) => readToken(await textOf(body)))
      keep(keyOf(signer, family), token, life, from)
      return token
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error
      if (error.fault === 'InvalidSecurity') throw new CertificateRefused(error.fault, error.message)
      error.isOfLogin = true
      throw error
    }
  }

  /** Sends a request with a token. One that the authority refuses is renewed once, and the request sent again, unless it may be sent only once. */
  async function ask<T extends SatAnswer>(
    family: Family,
    limits: Limits,
    sign: (caller: LoggedIn) => Promise<SatRequest>,
    read: (body: AsyncIterable<Uint8Array>) => Promise<T>,
    isOnce = false,
  ): Promise<T> {
    const signer = await opened()
    const key = keyOf(signer, family)
    const askWith = async (token: string): Promise<T> => {
      const request = await sign({ signer, family, token })
      await pace.turn()
      return exchanged(request, limits, read)
    }
    let answer = await askWith(kept(key) ?? (await logIn(family)))
    if (answer.meaning === 'token_refused' && !isOnce) answer = await askWith(await logIn(family))
    if (answer.meaning === 'token_refused' || answer.meaning === 'certificate_refused') tokens.delete(key)
    if (answer.meaning === 'certificate_refused') throw new CertificateRefused(answer.code, answer.message)
    return answer
  }

  return {
    login: async (family) => void (await logIn(family)),
    request: (family, source, query) =>
      ask(
        family,
        LIMITS.request,
        (caller) => (source === 'sat_cfdi_issued' ? issuedRequest : receivedRequest)(caller, query),
        async (body) => readRequested(await textOf(body)),
        true,
      ),
    verification: (family, requestId) =>
      ask(
        family,
        LIMITS.verification,
        (caller) => verificationRequest(caller, requestId),
        async (body) => readVerified(await textOf(body)),
      ),
    packageInto: (family, packageId, write) =>
      ask(
        family,
        LIMITS.package,
        (caller) => packageRequest(caller, packageId),
        (body) => readPackage(body, write),
      ),
  }
}
