import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { chunksOf, formChunks, partOf, withoutDocuments } from '../../src/cfdi/chunks/chunks.ts'
import { contentOf, contentText, lineText } from '../../src/cfdi/chunks/content.ts'
import { EMPTY_ROW } from '../../src/cfdi/columns.ts'
import { detailOf, LINE_HEADER, newConcepto, newDocument } from '../../src/cfdi/xml/document.ts'
import { unpacked } from '../../src/platform/db/packed.ts'

const text = fc.oneof(fc.constant(null), fc.string({ maxLength: 5 }))
const taxes = fc.array(
  fc.record({ impuesto: fc.constantFrom('001', '002'), tipo_factor: text, tasa_o_cuota: text, base: text, importe: text }),
  { maxLength: 2 },
)
const line = fc.record({
  header: fc.tuple(...LINE_HEADER.map(() => text)),
  impuestos: fc.record({ traslados: taxes, retenciones: taxes }),
  a_cuenta_terceros_rfc: text,
  cuenta_predial: fc.array(fc.string(), { maxLength: 2 }),
  pedimentos: fc.array(fc.string(), { maxLength: 2 }),
})

it('the content of a document is read as it was written', () => {
  fc.assert(
    fc.property(fc.array(line, { maxLength: 4 }), text, fc.boolean(), (lines, no_certificado, has_addenda) => {
      const conceptos = lines.map(({ header, ...more }) => ({
        ...newConcepto(),
        ...Object.fromEntries(LINE_HEADER.map((name, n) => [name, header[n]])),
        ...more,
      }))
      const document = { ...newDocument('cfdi', '4.0'), no_certificado, has_addenda, complementos: ['Pagos:2.0'] }
      const written = JSON.parse(contentText(document, conceptos.map(lineText)))
      expect(contentOf(written)).toEqual(detailOf({ ...document, conceptos }))
    }),
  )
})

it('a document without content has null and empty members: what is not known is not said to be none', () => {
  expect(contentOf(undefined)).toEqual({ ...detailOf(newDocument('cfdi', '')), impuestos: null, has_addenda: null })
})

const KIB = 1_024
/** Contents from some characters, also of several bytes, to three chunks. */
const sizes = fc.oneof(fc.integer({ min: 1, max: 900 }), fc.constantFrom(100 * KIB, 256 * KIB - 4, 256 * KIB - 3, 600 * KIB))
const documents = fc
  .array(fc.tuple(fc.constantFrom(0 as const, 1 as const), fc.nat(20), sizes, fc.boolean()), { maxLength: 130 })
  .map((all) =>
    all.map(([direction, issued_at, size, isGone], n) => ({
      row: { ...(EMPTY_ROW as object), uuid: `${n}`, direction, issued_at } as never as Parameters<typeof formChunks>[0][number]['row'],
      content: n % 7 === 6 ? null : JSON.stringify(`${n}`.padEnd(size, size % 2 ? 'a' : 'é')),
      isGone,
    })),
  )

describe('chunks of documents', () => {
  it('give every content back, none is longer than 256 KiB, and what is taken out is in none of them', () => {
    fc.assert(
      fc.property(documents, (all) => {
        const chunks = formChunks(all, 3)
        expect(chunks.map(({ chunk }) => chunk)).toEqual(chunks.map((_, n) => 30_000 + n))
        for (const { data } of chunks) expect(unpacked(data).length).toBeLessThanOrEqual(256 * KIB)
        const placed = all
          .filter(({ content }) => content !== null)
          .map((it) => ({ ...it, checkpoint: it.row as never as { chunk: number; chunk_at: number; chunk_parts: number } }))
        const read = (from: readonly { chunk: number; data: string | null }[], { checkpoint }: (typeof placed)[number]) =>
          partOf(
            chunksOf([checkpoint]).map((n) => from.find(({ chunk }) => chunk === n)!.data!),
            checkpoint.chunk_at,
          )
        for (const it of placed) {
          expect(read(chunks, it)).toBe(JSON.parse(it.content!))
          expect(it.checkpoint.chunk_parts > 1).toBe(Buffer.byteLength(it.content!) + 2 > 256 * KIB)
        }
        for (const some of Object.values(Object.groupBy(placed, ({ checkpoint }) => checkpoint.chunk)))
          expect(some!.length).toBeLessThanOrEqual(100)
        const gone = placed.filter(({ isGone }) => isGone)
        const touched = new Set(chunksOf(gone.map(({ checkpoint }) => checkpoint)))
        const after = withoutDocuments(
          chunks.filter(({ chunk }) => touched.has(chunk)),
          gone.map(({ checkpoint }) => checkpoint),
        )
        const left = [...chunks.filter(({ chunk }) => !touched.has(chunk)), ...after]
        for (const it of placed.filter(({ isGone }) => !isGone)) expect(read(left, it)).toBe(JSON.parse(it.content!))
        for (const { chunk, data } of after) {
          const stay = placed.filter(({ checkpoint, isGone }) => !isGone && checkpoint.chunk === chunk)
          if (data === null) expect(stay).toEqual([])
          else expect((JSON.parse(unpacked(data).toString()) as unknown[]).filter((part) => part !== 0)).toHaveLength(stay.length)
        }
      }),
      { numRuns: 15 },
    )
  })
})
