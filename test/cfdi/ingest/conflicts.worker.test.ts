import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { type IngestTarget, ingestMetadata } from '../../../src/cfdi/ingest/ingest.ts'
import { readXml } from '../../../src/cfdi/xml/xml-store.ts'
import { randomOf } from '../../support/random.ts'
import { zipOf } from '../../support/zip.ts'
import { all, monthsOf, newBook, reported, rowsOf } from '../support/book.ts'
import { type Plain, plainOf, xmlOf } from '../support/documents.ts'
import { ingestZip } from '../support/ingest-zip.ts'
import { expectedMonths } from '../support/oracle.ts'

/** One UUID with two contents: the first is kept, and the other is rejected as `cfdi.conflict` (issue 13, part 9). */

const random = randomOf(31)
const encoded = (text: string) => new TextEncoder().encode(text)
const newInvoice = () => plainOf(random, '2025-01', { total: '116.00', subtotal: '100.00', iva: '16.00', lines: 1 })
/** The same UUID with ten times the amount. */
const forged = (document: Plain): Plain => ({ ...document, total: '1160.00', subtotal: '1000.00', iva: '160.00' })
const file = (name: string, document: Plain, more = '') => ({ name, bytes: encoded(xmlOf(document) + more) })

const resultsOf = async (target: IngestTarget, ...files: { name: string; bytes: Uint8Array }[]) =>
  (await all(ingestZip(target, zipOf(files)))).flatMap(({ entries }) => entries.map(({ code, status }) => code ?? status))

async function expectKept(target: IngestTarget, document: Plain): Promise<void> {
  const rows = await rowsOf(target)
  expect([...rows.keys()]).toEqual([document.uuid])
  expect(new TextDecoder().decode(await readXml(env.FILES, rows.get(document.uuid)!))).toBe(xmlOf(document))
  // No amount of the other content is in a total.
  expect(await monthsOf(target)).toEqual(expectedMonths([{ document, hasXml: true, isCancelled: false }]))
}

describe.each(['authority', 'import'] as const)('one UUID with two contents (%s)', (provenance) => {
  it.each([
    ['with the UUID in their names', (document: Plain, n: number) => `${n}/${document.uuid}.xml`],
    ['with names of their own', (_: Plain, n: number) => `${n}.xml`],
  ])('in a ZIP: the first is kept and the other is rejected, %s', async (_, nameOf) => {
    for (const [first, second] of [
      [newInvoice(), forged],
      [forged(newInvoice()), (document: Plain) => ({ ...document, total: '116.00' })],
    ] as const) {
      const target = newBook(provenance)
      const files = [file(nameOf(first, 0), first), file(nameOf(first, 1), second(first)), file(nameOf(first, 2), first)]
      expect(await resultsOf(target, ...files)).toEqual(['created', 'cfdi.conflict', 'unchanged'])
      await expectKept(target, first)
    }
  })

  it('in two packages: what is stored is kept, whatever the names and the order say', async () => {
    for (const isNamed of [true, false]) {
      const target = newBook(provenance)
      const first = newInvoice()
      const nameOf = (n: number) => (isNamed ? `${n}/${first.uuid}.xml` : `${n}.xml`)
      expect(await resultsOf(target, file(nameOf(0), first))).toEqual(['created'])
      const again = [file(nameOf(0), forged(first)), file(nameOf(1), first), file(nameOf(2), first, '\n')]
      expect(await resultsOf(target, ...again)).toEqual(['cfdi.conflict', 'unchanged', 'cfdi.conflict'])
      expect(await resultsOf(target, ...again)).toEqual(['cfdi.conflict', 'unchanged', 'cfdi.conflict'])
      await expectKept(target, first)
    }
  })

  it('when only metadata was known: the first XML completes it, and the other is rejected', async () => {
    const target = newBook(provenance)
    const first = newInvoice()
    await all(ingestMetadata(target, () => [[reported(first, false)]]))
    expect(await resultsOf(target, file('a.xml', first), file('b.xml', forged(first)))).toEqual(['updated', 'cfdi.conflict'])
    await expectKept(target, first)
  })

  it('in two packages at once: one of them is kept, and the other is told', async () => {
    const target = newBook(provenance)
    const first = newInvoice()
    const results = await Promise.all([first, forged(first)].map((document) => resultsOf(target, file('a.xml', document))))
    expect(results.flat().sort()).toEqual(['cfdi.conflict', 'created'])
    expect((await rowsOf(target)).size).toBe(1)
  })
})
