import { isCancelled, type TruthDocument } from './truth/truth.ts'
import { PAC } from './truth/xml.ts'
import { type ZipFile, zip } from './zip.ts'

/** What is odd about packages, as the real ones sometimes are. */
export type Quirk =
  /** A document is twice in its package, and again in the next one. */
  | 'duplicated'
  /** Packages, and what is in them, come in the reverse order. */
  | 'reordered'
  /** Files are named `.xml.xml`, in lower case, in folders, or after nothing, and beside them lie files that are no CFDI. */
  | 'names'
  /** Metadata begins with a byte order mark and ends without an end of line. */
  | 'bom'
  /**
   * The columns of metadata are reversed, and those of third parties and one that nobody knows are there; of retenciones the one for the type of
   * a CFDI is not.
   */
  | 'columns'
  /** Beside the metadata lie a file without content and one that is something else. */
  | 'beside'

const COLUMNS =
  'Uuid~RfcEmisor~NombreEmisor~RfcReceptor~NombreReceptor~RfcPac~FechaEmision~FechaCertificacionSat~Monto~EfectoComprobante~Estatus~FechaCancelacion'

const rowOf = (document: TruthDocument, at: string): string => {
  const { uuid, emisor, receptor, fecha, stamped, total, type, cancelled } = document
  const times = [fecha, stamped].map((time) => time.replace('T', ' '))
  const status = isCancelled(document, at) ? ['0', cancelled!.replace('T', ' ')] : ['1', '']
  return [uuid, emisor.rfc, emisor.name, receptor.rfc, receptor.name, PAC, ...times, total, type, ...status].join('~')
}

/** What is odd about the packages of a request. */
interface Oddities {
  quirks: readonly Quirk[]
  garbled: ReadonlySet<string>
  misdated: ReadonlyMap<string, string>
}

function metadataFiles(id: string, documents: readonly TruthDocument[], at: string, { quirks, garbled, misdated }: Oddities): ZipFile[] {
  const dated = (document: TruthDocument) => ({ ...document, fecha: misdated.get(document.uuid) ?? document.fecha })
  const rows = documents.map((document) => (garbled.has(document.uuid) ? '?~?' : rowOf(dated(document), at)))
  const lines = [COLUMNS, ...rows]
  const left = documents.every(({ family }) => family === 'retenciones') ? COLUMNS.split('~').indexOf('EfectoComprobante') : -1
  const added = ['RfcACuentaTerceros', 'NombreACuentaTerceros', 'Nueva']
  const reversed = lines.map((line, n) =>
    [...line.split('~').filter((_, i) => i !== left), ...(n === 0 ? added : ['', '', '?'])].reverse().join('~'),
  )
  const text = (quirks.includes('columns') ? reversed : lines).join('\r\n')
  const beside = quirks.includes('beside') ? ['vacio.txt', 'other.txt'] : []
  const odd = quirks.includes('bom')
  const thirds = documents[0] ? `${documents[0].uuid.toLowerCase()}~${PAC}~TERCERO` : ''
  return [
    ...beside.map((name) => ({ name, bytes: Buffer.from(name === 'vacio.txt' ? '' : 'No es metadata.') })),
    { name: `${id}.txt`, bytes: Buffer.from(odd ? `\uFEFF${text}` : `${text}\r\n`) },
    { name: `${id}_tercero.txt`, bytes: Buffer.from(`Uuid~RfcACuentaTerceros~NombreACuentaTerceros\r\n${thirds}\r\n`) },
  ]
}

const NAMES: readonly ((uuid: string, n: number) => string)[] = [
  (uuid) => `${uuid}.xml`,
  (uuid) => `${uuid}.xml.xml`,
  (uuid) => `carpeta/otra/${uuid.toLowerCase()}.XML`,
  (_, n) => `factura ${n}.xml`,
]

function xmlFiles(documents: readonly TruthDocument[], quirks: readonly Quirk[]): ZipFile[] {
  const odd = quirks.includes('names')
  const files = documents.map((document, n) => ({
    name: odd ? NAMES[n % NAMES.length]!(document.uuid, n) : `${document.uuid.toLowerCase()}.xml`,
    bytes: Buffer.from(document.xml()),
  }))
  const [first] = documents
  const beside = odd && first ? [`__MACOSX/._${first.uuid}.xml`, `vacio/${first.uuid}.xml`, 'leeme.txt', '.DS_Store'] : []
  return [...files, ...beside.map((name) => ({ name, bytes: Buffer.from(name === 'leeme.txt' ? 'No es un CFDI.' : '') }))]
}

/** Cuts documents into the packages of a request, and returns those of each. */
export function cut(documents: readonly TruthDocument[], size: number, quirks: readonly Quirk[]): TruthDocument[][] {
  const parts: TruthDocument[][] = []
  for (let at = 0; at < documents.length; at += size) parts.push(documents.slice(at, at + size))
  if (quirks.includes('duplicated'))
    for (const [n, part] of [...parts.entries()].reverse()) part.push(part[0]!, ...(n > 0 ? [parts[n - 1]![0]!] : []))
  return quirks.includes('reordered') ? parts.map((part) => part.reverse()).reverse() : parts
}

/** The ZIP of a package, with the status that documents had at an instant. */
export const packed = (
  id: string,
  kind: 'CFDI' | 'Metadata',
  documents: readonly TruthDocument[],
  at: string,
  oddities: Oddities,
): Buffer => zip(kind === 'CFDI' ? xmlFiles(documents, oddities.quirks) : metadataFiles(id, documents, at, oddities))
