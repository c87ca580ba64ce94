import { type Found, readLeg } from '../../cfdi/mirrored/mirrored.ts'
import { inflated, readPacked, type XmlPlace } from '../../cfdi/xml/xml-store.ts'
import { type MirroredDocument, mirroredDocuments } from '../../documents/documents.ts'
import type { System } from '../../platform/context.ts'
import type { ScopedLedger } from '../../visibility/scoped-ledger.ts'
import type { MirroredKind } from '../contract.ts'
import { documentPathOf, pathOf } from '../template.ts'
import type { Item } from './copy.ts'
import type { Position, Round } from './round.ts'
import { copiedAmong, type MirrorRow } from './store.ts'

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
  legs: Round['legs']
  end: Position
}

/** The kind of a document that is not a CFDI, by its source; undefined for one that is not mirrored. */
const kindOf = ({ source }: MirroredDocument): MirroredKind | undefined =>
  source === 'sat_csf'
    ? 'csf'
    : source === 'sat_opinion_32d'
      ? 'opinion_32d'
      : source.startsWith('sat_declaracion')
        ? 'declaracion'
        : undefined

/** Collects the next documents of a round, as far as one commit copies them and the budget allows. */
export async function nextBatch(
  system: System,
  d1: D1Database,
  ledger: ScopedLedger,
  mirror: MirrorRow,
  { legs: before, at }: Round,
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
      const after = typeof end.place === 'string' ? end.place : null
      const page = await mirroredDocuments(ledger, after, DOCUMENTS)
      const copied = await copiedAmong(
        d1,
        mirror.connector,
        page.map(({ document_id }) => document_id),
      )
      end = page.length === DOCUMENTS ? { leg: n, place: page.at(-1)!.document_id } : { leg: n + 1, place: null }
      for (const document of page) {
        const kind = kindOf(document)
        const isMeant = kind !== undefined && selection.kinds.includes(kind) && document.got_at > mirror.documents_since
        if (!isMeant || copied.has(document.document_id)) continue
        const behind = { leg: n, place: document.document_id }
        items.push(documentItem(system, ledger.rfc, kind, document, behind))
        bytes += document.size
        if (!isFull()) continue
        end = behind
        break
      }
    } else {
      const page = await readLeg(ledger, leg, end.place as Exclude<Position['place'], string>)
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

function xmlItem(rfc: string, template: string, { row }: Found, behind: Position, packed: () => Promise<Uint8Array>): Item {
  const path = pathOf(template, { ...row, rfc, direction: row.direction === 0 ? 'issued' : 'received' })
  const read = async () => inflated(await packed(), row.xml_method!)
  return { path, content_type: 'application/xml', rfc, id: { uuid: row.uuid }, behind, read }
}

const documentItem = ({ env }: System, rfc: string, kind: MirroredKind, document: MirroredDocument, behind: Position): Item => {
  const { document_id, document_date: date, content_type, object } = document
  const read = async () => {
    const found = await env.FILES.get(object)
    if (found === null) throw new Error(`There is no object ${object}.`)
    return new Uint8Array(await found.arrayBuffer())
  }
  return { path: documentPathOf({ rfc, kind, date, document_id, content_type }), content_type, rfc, id: { document_id }, behind, read }
}
