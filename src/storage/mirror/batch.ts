import { type Found, inflated, readLeg, readPacked, type XmlPlace } from '../../cfdi/mirrored/mirrored.ts'
import type { System } from '../../platform/context.ts'
import type { ScopedLedger } from '../../visibility/scoped-ledger.ts'
import type { MirroredKind } from '../contract.ts'
import { documentPathOf, pathOf } from '../template.ts'
import type { Item } from './copy.ts'
import { type KnownDocument, readDocuments } from './documents.ts'
import type { CopyRound, RoundPosition } from './round.ts'
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
  kinds: readonly MirroredKind[]
  path_template: string
}

/** The next documents of a round, and where it continues behind them. The legs can be others that find the same. */
export interface Batch {
  items: Item[]
  legs: CopyRound['legs']
  end: RoundPosition
}

/** Collects the next documents of a round, as far as one commit copies them and the budget allows. */
export async function nextBatch(
  system: System,
  d1: D1Database,
  ledger: ScopedLedger,
  mirror: MirrorRow,
  { legs: before, at }: CopyRound,
  selection: Selection,
): Promise<Batch> {
  const legs = [...before]
  const items: Item[] = []
  const places: XmlPlace[] = []
  const packed = once(() => readPacked(system.env.FILES, places))
  let [end, bytes] = [at, 0]
  const isFull = () => items.length >= DOCUMENTS || bytes >= BYTES
  for (let pages = 0; end.leg < legs.length && !isFull() && pages < PAGES && system.budget.allows(STATEMENTS); pages++) {
    const leg = legs[end.leg]!
    const { leg: n } = end
    if ('documents' in leg) {
      const page = await readDocuments(d1, ledger, mirror, selection.kinds, typeof end.place === 'string' ? end.place : null)
      end = page.next === null ? { leg: n + 1, place: null } : { leg: n, place: page.next }
      for (const document of page.found) {
        const behind = { leg: n, place: document.document_id }
        items.push(documentItem(system, ledger.rfc, document, behind))
        bytes += document.size
        if (!isFull()) continue
        end = behind
        break
      }
    } else {
      const page = await readLeg(ledger, leg, end.place as Exclude<RoundPosition['place'], string>)
      if (page.instead) {
        legs[n] = page.instead
        end = { leg: n, place: null }
        continue
      }
      end = page.next === null ? { leg: n + 1, place: null } : { leg: n, place: page.next }
      for (const found of page.found) {
        const behind = { leg: n, place: found.place }
        const place = found.row as unknown as XmlPlace
        places.push(place)
        items.push(xmlItem(ledger.rfc, selection.path_template, found, behind, async () => (await packed()).get(place)!))
        bytes += found.row.xml_size ?? 0
        if (!isFull()) continue
        end = behind
        break
      }
    }
  }
  return { items, legs, end }
}

/** Does the work when it is first asked for. */
function once<T>(work: () => Promise<T>): () => Promise<T> {
  let done: Promise<T> | undefined
  return () => (done ??= work())
}

function xmlItem(rfc: string, template: string, { row }: Found, behind: RoundPosition, packed: () => Promise<Uint8Array>): Item {
  const path = pathOf(template, { ...row, rfc, direction: row.direction === 0 ? 'issued' : 'received' })
  const read = async () => inflated(await packed(), row.xml_method!)
  return { path, content_type: 'application/xml', rfc, id: { uuid: row.uuid }, behind, read }
}

const documentItem = ({ env }: System, rfc: string, document: KnownDocument, behind: RoundPosition): Item => {
  const { kind, document_id, document_date: date, content_type, object } = document
  const read = async () => {
    const found = await env.FILES.get(object)
    if (found === null) throw new Error(`There is no object ${object}.`)
    return new Uint8Array(await found.arrayBuffer())
  }
  return { path: documentPathOf({ rfc, kind, date, document_id, content_type }), content_type, rfc, id: { document_id }, behind, read }
}
