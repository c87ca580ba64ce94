import { bytesInMemory } from '../../platform/bytes/bytes.ts'
import { clock } from '../../platform/time/clock.ts'
import { type DownloadRequest, type Login, LoginRejected, type Package, type Step, type TaxAuthority } from '../port/authority.ts'
import { filesOf } from './documents/documents.ts'
import { type CancellationOverride, fileOf } from './documents/port.ts'
import { sandboxMailbox } from './mailbox.ts'
import type { SandboxOverrides } from './overrides.ts'
import { metadataText, type Reported, ZipWriter } from './package/zip.ts'
import { failureOf, type Scenario, sandboxLogins, scenarioOf } from './scenarios.ts'
import { cancellationOf } from './statuses.ts'
import { stampedAt } from './world/invoices.ts'
import { documentsOf } from './world/month.ts'
import { localTime } from './world/places.ts'
import { isDue, uuidOf } from './world/seed.ts'
import { cfdiXml } from './xml/cfdi-xml.ts'

/** Entries in one package. */
const PACKAGE_SIZE = 1000
/** In bytes; a generated document has fewer. */
const USUAL_XML = 64 * 1024

/**
 * A tax authority that generates its taxpayers. An RFC and a month always have the same documents, from January 2018 on. Those that were
 * stamped after `until` are not there yet, and one whose generated cancellation lies after `until` is still valid.
 */
export function sandboxAuthority(overrides: SandboxOverrides): TaxAuthority {
  const logins = sandboxLogins(overrides)

  const enter = async (login: Login) => {
    if (!(await logins.verify(login))) throw new LoginRejected()
    const scenario = scenarioOf('ciec' in login ? login.ciec : '')
    if (scenario.fails && !scenario.fails.after_metadata) throw failureOf(scenario.fails)
    return scenario
  }

  const mailbox = sandboxMailbox(enter, overrides)

  async function* packagesOf(request: DownloadRequest, scenario: Scenario): AsyncGenerator<Package, void, undefined> {
    const { rfc } = request.login
    const reported = scenario.empty ? [] : reportedIn(request, await overrides.cancellations(rfc))
    const crowd = (list: readonly Reported[]) => copies(list, scenario.documents ?? list.length)
    const zip = new ZipWriter()
    const period = `${rfc}|${request.direction}|${request.month}`
    const cfdis = reported.filter(({ document }) => document.retencion === null)
    const others = scenario.documents === null ? reported.filter(({ document }) => document.retencion !== null) : []
    try {
      yield* metadataPackages(zip, period, crowd(cfdis))
      yield* metadataPackages(zip, `${period}|retenciones`, others)
      if (scenario.fails) throw failureOf(scenario.fails)
      const hasXml = ({ cancellation }: Reported) => request.direction === 'issued' || cancellation === null
      const inXml = cfdis.filter(hasXml)
      yield* xmlPackages(zip, crowd(inXml))
      // Now and then the authority packs a document twice.
      const again = scenario.documents === null && isDue(`${rfc}|${request.direction}|twice`, request.month, 6) ? inXml.slice(0, 2) : []
      yield* xmlPackages(zip, [...again, ...others.filter(hasXml)])
    } finally {
      zip.close()
    }
  }

  return {
    ...logins,
    async step(request): Promise<Step> {
      const scenario = await enter(request.login)
      const ready_at = request.asked_at.getTime() + 1_000 * scenario.takes_seconds
      if (scenario.takes_seconds > 0 && ready_at > clock.now()) return { state: 'waiting', ask_again_at: new Date(ready_at) }
      return { state: 'ready', until: request.until, is_whole: true, packages: packagesOf(request, scenario) }
    },
    async documents({ login, source, now }) {
      const { empty } = await enter(login)
      const files = empty ? [] : filesOf(login.rfc, source, now)
      return { state: 'ready', files: await Promise.all(files.map(fileOf)), mailbox }
    },
    mailbox,
  }
}

function reportedIn({ login, direction, month, until }: DownloadRequest, overrides: Map<string, CancellationOverride>): Reported[] {
  const center = localTime(until)
  return documentsOf(login.rfc, direction, month)
    .filter((document) => stampedAt(document) <= center)
    .map((document) => {
      const cancellation = cancellationOf(document.cancellation, overrides.get(document.uuid))
      return { document, cancellation: cancellation && cancellation.at <= center ? cancellation : null }
    })
}

/** As many documents as asked: the given ones, and then copies of them under other UUIDs. */
function* copies(list: readonly Reported[], count: number): Generator<Reported> {
  for (let i = 0; i < count && list.length > 0; i++) {
    const { document, cancellation } = list[i % list.length]!
    const copy = Math.floor(i / list.length)
    yield { document: copy === 0 ? document : { ...document, uuid: uuidOf(`${document.uuid}|copy|${copy}`) }, cancellation }
  }
}

function* metadataPackages(zip: ZipWriter, period: string, reported: Iterable<Reported>): Generator<Package> {
  let i = 0
  for (const part of parts(reported)) {
    const name = `${uuidOf(`${period}|metadata|${i++}`).toLowerCase()}_01.txt`
    const bytes = zip.zipOf([{ name, bytes: new TextEncoder().encode(metadataText(part)) }]).slice()
    yield { kind: 'metadata', bytes: bytesInMemory(bytes) }
  }
}

function* xmlPackages(zip: ZipWriter, reported: Iterable<Reported>): Generator<Package> {
  for (const part of parts(reported)) yield { kind: 'xml', bytes: bytesInMemory(zip.zipOf(xmlEntries(part))) }
}

/** The bytes of an entry are overwritten by those of the next. */
function* xmlEntries(part: readonly Reported[]): Generator<{ name: string; bytes: Uint8Array }> {
  let buffer = new Uint8Array(USUAL_XML)
  for (const { document } of part) {
    const xml = cfdiXml(document)
    if (buffer.length < 3 * xml.length) buffer = new Uint8Array(3 * xml.length)
    const { written } = new TextEncoder().encodeInto(xml, buffer)
    yield { name: fileName(document.uuid), bytes: buffer.subarray(0, written) }
  }
}

/** Real packages name their entries in either case. */
const fileName = (uuid: string): string => `${uuid < '4' ? uuid.toLowerCase() : uuid}.xml`

function* parts<T>(all: Iterable<T>): Generator<T[]> {
  let part: T[] = []
  for (const one of all) {
    part.push(one)
    if (part.length === PACKAGE_SIZE) {
      yield part
      part = []
    }
  }
  if (part.length > 0) yield part
}
