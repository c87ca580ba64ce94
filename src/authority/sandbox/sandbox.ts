import { type DownloadRequest, type Login, LoginRejected, type Package, type TaxAuthority } from '../port/authority.ts'
import { DATA_SOURCE_KEYS } from '../port/catalog.ts'
import { filesOf } from './documents/documents.ts'
import { metadataText, type Reported } from './package/metadata.ts'
import { zipOf } from './package/zip.ts'
import { failureOf, scenarioOf } from './scenarios.ts'
import type { Cancellation } from './world/comprobante.ts'
import { documentsOf } from './world/month.ts'
import { localTime } from './world/places.ts'
import { uuidOf } from './world/seed.ts'
import { cfdiXml } from './xml/cfdi-xml.ts'

/** What test helpers told the sandbox, which it otherwise has no memory of. */
export interface SandboxState {
  /** Whether this CIEC of this RFC is refused from now on. */
  isRefused(rfc: string, ciec: string): Promise<boolean>
  /** Documents of this RFC that are to be reported as cancelled, by UUID in upper case. */
  cancellations(rfc: string): Promise<Map<string, ToldCancellation>>
}

export interface ToldCancellation {
  cancelled_at: Date
  cancellation_reason: string | null
}

/** Entries of one package. */
const PACKAGE_SIZE = 1000

/**
 * A tax authority that makes up its taxpayers: the same documents for the same RFC and month, always, from January 2018 to `until`.
 * A document that it cancels by itself turns from valid to cancelled when `until` passes the day.
 */
export function sandboxAuthority(state: SandboxState): TaxAuthority {
  const verify = async ({ rfc, ciec }: Login): Promise<boolean> => scenarioOf(ciec).accepted && !(await state.isRefused(rfc, ciec))

  const enter = async (login: Login) => {
    if (!(await verify(login))) throw new LoginRejected()
    const scenario = scenarioOf(login.ciec)
    if (scenario.fails && !scenario.fails.after_metadata) throw failureOf(scenario.fails)
    return scenario
  }

  return {
    sources: DATA_SOURCE_KEYS,
    verify,
    async *download(request) {
      const { rfc } = request.login
      const scenario = await enter(request.login)
      const reported = scenario.empty ? [] : reportedIn(request, await state.cancellations(rfc))
      const period = `${rfc}|${request.direction}|${request.month}`
      yield* metadataPackages(period, reported)
      if (scenario.fails) throw failureOf(scenario.fails)
      yield* xmlPackages(request.direction === 'issued' ? reported : reported.filter(({ cancellation }) => !cancellation))
    },
    async documents(login, source, now) {
      const { empty } = await enter(login)
      return empty ? [] : filesOf(login.rfc, source, now)
    },
  }
}

function reportedIn({ login, direction, month, until }: DownloadRequest, told: Map<string, ToldCancellation>): Reported[] {
  const center = localTime(until)
  return documentsOf(login.rfc, direction, month)
    .filter(({ fecha, lugar }) => fecha <= localTime(until, lugar.zone))
    .map((document) => {
      const own = document.cancellation && document.cancellation.at <= center ? document.cancellation : null
      const telling = toldOf(told.get(document.uuid))
      // What was cancelled once is not cancelled again later.
      return { document, cancellation: own && telling ? (own.at <= telling.at ? own : telling) : (own ?? telling) }
    })
}

const toldOf = (telling: ToldCancellation | undefined): Cancellation | null =>
  telling ? { at: localTime(telling.cancelled_at), motivo: telling.cancellation_reason, folio_sustitucion: null } : null

function* metadataPackages(period: string, reported: readonly Reported[]): Generator<Package> {
  for (const [i, part] of parts(reported).entries()) {
    const name = `${uuidOf(`${period}|metadata|${i}`).toLowerCase()}_01.txt`
    yield { kind: 'metadata', bytes: zipOf([{ name, bytes: new TextEncoder().encode(metadataText(part)) }]) }
  }
}

function* xmlPackages(reported: readonly Reported[]): Generator<Package> {
  for (const part of parts(reported)) {
    const entries = part.map(({ document }) => ({ name: fileName(document.uuid), bytes: new TextEncoder().encode(cfdiXml(document)) }))
    yield { kind: 'xml', bytes: zipOf(entries) }
  }
}

/** Real packages have either case. */
const fileName = (uuid: string): string => `${uuid < '4' ? uuid.toLowerCase() : uuid}.xml`

const parts = <T>(list: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(list.length / PACKAGE_SIZE) }, (_, i) => list.slice(i * PACKAGE_SIZE, (i + 1) * PACKAGE_SIZE))
