import { env } from 'cloudflare:workers'
import { expect } from 'vitest'
import { type Chunk, partOf } from '../../../src/cfdi/chunks/chunks.ts'
import { contentOf } from '../../../src/cfdi/chunks/content.ts'
import { readTouched, type Touched } from '../../../src/cfdi/commits.ts'
import type { IngestTarget, SliceOutcome } from '../../../src/cfdi/ingest/ingest.ts'
import type { ListedRow } from '../../../src/cfdi/package/package.ts'
import { type Plain, RFC } from './documents.ts'
import { numbered } from './ledger.ts'

let books = 0

/** A book of its own; a private one has a negative number. */
export function newBook(provenance: IngestTarget['provenance'] = 'authority'): IngestTarget {
  const number = ++books
  const entity = provenance === 'authority' ? number : -number
  return { ledger: env.LEDGER_0, files: env.FILES, entity, rfc: RFC, now: new Date(), provenance }
}

/** Lets a generator do all that it does. */
export async function all(outcomes: AsyncIterable<SliceOutcome>): Promise<SliceOutcome[]> {
  const list: SliceOutcome[] = []
  for await (const outcome of outcomes) list.push(outcome)
  return list
}

/** A document as the authority's metadata lists it. */
export const reported = (document: Plain, cancelled: boolean): ListedRow => ({
  file: 'lista.txt',
  line: 2,
  uuid: document.uuid,
  emisor_rfc: document.emisor,
  emisor_nombre: 'EMPRESA DE PRUEBA',
  receptor_rfc: document.receptor,
  receptor_nombre: 'CLIENTE DE PRUEBA',
  pac_rfc: 'SPR190613I52',
  fecha: document.fecha,
  certified_at: document.fecha,
  total: document.total,
  kind: 'cfdi',
  tipo_comprobante: document.tipo,
  cancelled,
  cancelled_at: cancelled ? '2025-06-01T10:00:00' : null,
  cancellation_reason: cancelled ? '02' : null,
  folio_sustitucion: null,
})

export interface StoredCfdi {
  uuid: string
  estatus: string
  cancelled: number
  cancelled_at: string | null
  direction: number
  issued_at: number
  utc_offset: number
  tipo_comprobante: string | null
  metodo_pago: string | null
  counterparty_rfc: string
  payment_status: string | null
  paid: number
  credited: number
  last_payment_at: string | null
  fully_paid_at: string | null
  total_mxn: number | null
  iva_trasladado: number | null
  related: string | null
  products: string | null
  total: string | null
  beyond_limits: string | null
  chunk: number | null
  chunk_at: number
  chunk_parts: number
  updated_at: number
  xml_object: string
  xml_offset: number
  xml_length: number
  xml_method: number
}

/** The rows of a book by UUID, with micros as numbers. */
export async function rowsOf({ entity }: IngestTarget): Promise<Map<string, StoredCfdi>> {
  const { results } = await env.LEDGER_0.prepare('select * from cfdi where entity = ?').bind(entity).all<StoredCfdi>()
  return new Map(results.map((row) => [row.uuid, numbered(row)]))
}

/** The totals of a book by month and direction, empty months left out. */
export async function monthsOf({ entity }: IngestTarget): Promise<Record<string, Record<string, unknown>>> {
  const { results } = await env.LEDGER_0.prepare('select * from cfdi_months where entity = ?')
    .bind(entity)
    .all<{ month: string; direction: number; sums: string; cells: string }>()
  for (const { sums, cells } of results) expect(JSON.parse(sums)).toEqual(addedUp(JSON.parse(cells)))
  return Object.fromEntries(
    results.filter(({ cells }) => cells !== '{}').map(({ month, direction, cells }) => [`${month}|${direction}`, JSON.parse(cells)]),
  )
}

/** The sums over lines of a book by month and direction, empty ones left out. */
export async function productsOf({ entity }: IngestTarget): Promise<Record<string, Record<string, unknown>>> {
  const { results } = await env.LEDGER_0.prepare(`select * from cfdi_months where entity = ? and products <> '{}'`)
    .bind(entity)
    .all<{ month: string; direction: number; products: string }>()
  return Object.fromEntries(results.map(({ month, direction, products }) => [`${month}|${direction}`, JSON.parse(products)]))
}

/** What the chunks of a book say of each document that has one. */
export async function contentsOf(target: IngestTarget): Promise<Map<string, ReturnType<typeof contentOf>>> {
  const chunks = new Map((await chunksIn(target)).map(({ chunk, data }) => [chunk, data]))
  const rows = [...(await rowsOf(target)).values()].filter(({ chunk }) => chunk !== null)
  return new Map(
    rows.map(({ uuid, chunk, chunk_at, chunk_parts }) => {
      const parts = Array.from({ length: chunk_parts }, (_, n) => chunks.get(chunk! + n)!)
      return [uuid, contentOf(partOf(parts, chunk_at))]
    }),
  )
}

/** The chunks of a book, packed. */
export const chunksIn = async ({ entity }: IngestTarget): Promise<Chunk[]> =>
  (await env.LEDGER_0.prepare('select chunk, hex(data) as data from cfdi_chunks where entity = ? order by chunk').bind(entity).all<Chunk>())
    .results

/** What the commits of a book touched, in their order. */
export const commitsOf = async ({ entity }: IngestTarget): Promise<Touched[]> =>
  (
    await env.LEDGER_0.prepare('select hex(touched) as touched from cfdi_commits where entity = ? order by sequence')
      .bind(entity)
      .all<{ touched: string }>()
  ).results.map(({ touched }) => readTouched(touched))

type Cell = (number | string)[]

/** The cells of a month without their days, added up one by one. */
function addedUp(cells: Record<string, Cell>): Record<string, Cell> {
  const sums: Record<string, Cell> = {}
  for (const [key, cell] of Object.entries(cells)) {
    const before = sums[key.slice('dd|'.length)] ?? cell.map((one) => (typeof one === 'string' ? '0' : 0))
    sums[key.slice('dd|'.length)] = cell.map((one, n) =>
      typeof one === 'string' ? String(BigInt(one) + BigInt(before[n]!)) : one + Number(before[n]),
    )
  }
  return sums
}

/** What a book keeps of its suppliers, by month and RFC. */
export async function suppliersOf({ entity }: IngestTarget): Promise<Record<string, unknown>> {
  const { results } = await env.LEDGER_0.prepare('select month, totals from cfdi_suppliers where entity = ?')
    .bind(entity)
    .all<{ month: string; totals: string }>()
  return Object.fromEntries(
    results.flatMap(({ month, totals }) =>
      Object.entries(JSON.parse(totals) as Record<string, unknown>).map(([rfc, one]): [string, unknown] => [`${month}|${rfc}`, one]),
    ),
  )
}
