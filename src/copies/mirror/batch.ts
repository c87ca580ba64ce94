import { type Found, findNamed, inflated, type Leg, readLeg, readPacked, type XmlPlace } from '../../cfdi/mirrored/mirrored.ts'
import type { System } from '../../platform/context.ts'
import type { ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { MirroredKind } from '../kinds.ts'
import { documentPathOf, pathOf } from '../template.ts'
import type { Item } from './copy.ts'
import { type KnownDocument, readDocuments } from './documents.ts'
import { readRefused } from './refused.ts'
import { type CopyRound, isLegOf, type RoundPosition } from './round.ts'
import type { MirrorRow } from './store.ts'

/** What one commit copies at most: documents, and bytes of them. */
const DOCUMENTS = 100
const BYTES = 8 * 1024 * 1024
/** Pages that one batch reads at most: there may be nothing to copy in many of them. */
const PAGES = 10
/** The most statements of a page, and of what follows the last one. */
const STATEMENTS = 20

/** What a connector copies, and to which paths. */
export interface Selection {
  /** None for a fiscal entity that is not in the scope. */
  kinds: readonly MirroredKind[]
  path_template: string
}

/** The next documents of a round, and where it continues behind them. The legs can be others that find the same. */
export interface Batch {
  items: Item[]
  /** UUIDs that were refused before, and are no longer to be copied. */
  gone: string[]
  legs: CopyRound['legs']
  end: RoundPosition
}

/** What a page of a leg found, and the place where the leg continues; null at its end. */
interface Page {
  found: { item: Item; size: number; xml?: XmlPlace }[]
  next: RoundPosition['place']
  instead?: Leg
}

/** Collects the next documents of a round, as far as one commit copies them and the budget allows. */
export async function nextBatch(
  system: System,
  d1: D1Database,
  ledger: ScopedLedger,
  mirror: MirrorRow,
  { legs: before, at }: CopyRound,
  { kinds, path_template }: Selection,
): Promise<Batch> {
  const legs = [...before]
  const items: Item[] = []
  const gone: string[] = []
  const xmls: XmlPlace[] = []
  // Those of a batch are read together, when the first one is to be copied.
  const packed = once(() => readPacked(system.env.FILES, xmls))
  const again = async (after: string | null) => {
    const { documents, next } = await readRefused(d1, mirror, after)
    const uuids = documents.filter((document) => !document.includes('_'))
    const rows = uuids.length === 0 ? [] : await findNamed(ledger, uuids)
    gone.push(...uuids.filter((uuid) => rows.every((row) => row.uuid !== uuid)))
    const found = rows.sort((a, b) => (a.uuid < b.uuid ? -1 : 1)).map((row) => ({ row, place: row.uuid }))
    return { found, next }
  }
  const pageOf = async (leg: CopyRound['legs'][number], { leg: n, place }: RoundPosition): Promise<Page> => {
    if ('documents' in leg) {
      const page = await readDocuments(d1, ledger, mirror, leg.documents, kinds, place as string | null)
      const itemOf = (one: KnownDocument) => documentItem(system, ledger.rfc, one, { leg: n, place: one.document_id })
      return { ...page, found: page.found.map((one) => ({ item: itemOf(one), size: one.size })) }
    }
    const page =
      'refused' in leg ? await again(place as string | null) : await readLeg(ledger, leg, place as Exclude<RoundPosition['place'], string>)
    const found = page.found.map((one) => {
      const xml = one.row as unknown as XmlPlace
      const read = async () => inflated((await packed()).get(xml)!, xml.xml_method)
      return { item: xmlItem(ledger.rfc, path_template, one, { leg: n, place: one.place }, read), size: one.row.xml_size ?? 0, xml }
    })
    return { ...page, found }
  }
  let [end, bytes] = [at, 0]
  const isFull = () => items.length >= DOCUMENTS || bytes >= BYTES
  for (let pages = 0; end.leg < legs.length && !isFull() && pages < PAGES && system.budget.allows(STATEMENTS); pages++) {
    const { leg: n } = end
    // The scope may have become narrower since the round began.
    const isMeant = isLegOf(legs[n]!, kinds)
    const { found, next, instead }: Page = isMeant ? await pageOf(legs[n]!, end) : { found: [], next: null }
    if (instead) legs[n] = instead
    end = next === null && !instead ? { leg: n + 1, place: null } : { leg: n, place: next }
    for (const { item, size, xml } of found) {
      items.push(item)
      if (xml) xmls.push(xml)
      bytes += size
      if (!isFull()) continue
      end = item.behind
      break
    }
  }
  return { items, gone, legs, end }
}

/** Does the work when it is first asked for. */
function once<T>(work: () => Promise<T>): () => Promise<T> {
  let done: Promise<T> | undefined
  return () => (done ??= work())
}

function xmlItem(rfc: string, template: string, { row }: Pick<Found, 'row'>, behind: RoundPosition, read: Item['read']): Item {
  const path = pathOf(template, { ...row, rfc, direction: row.direction === 0 ? 'issued' : 'received' })
  return { path, content_type: 'application/xml', rfc, id: { uuid: row.uuid }, behind, read }
}

function documentItem({ env }: System, rfc: string, document: KnownDocument, behind: RoundPosition): Item {
  const { kind, document_id, document_date: date, content_type, object } = document
  const read = async () => {
    const found = await env.FILES.get(object)
    if (found === null) throw new Error(`There is no object ${object}.`)
    return new Uint8Array(await found.arrayBuffer())
  }
  return { path: documentPathOf({ rfc, kind, date, document_id, content_type }), content_type, rfc, id: { document_id }, behind, read }
}
