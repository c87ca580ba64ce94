import { createRequire } from 'node:module'
import { inflateSync } from 'node:zlib'
import { pdfOf } from '../../src/cfdi/print/pdf.ts'
import { parseCfdi } from '../../src/cfdi/xml/parse.ts'
import { VALID } from '../../test/cfdi/print/support/printed.ts'
import { measure, median } from './measures.ts'
import { sized } from './sizes.ts'
import { documentsOfAllVersions } from './versions.ts'

const WARM_UP = sized(10, 1)
const PAIRS = sized(31, 1)

// Their types bring those of a browser's DOM, which contradict a Worker's: hence no import.
const require = createRequire(import.meta.url)
const { JsonConverter } = require('@nodecfdi/cfdi-to-json') as { JsonConverter: { convertToRecord(xml: string): object } }
const { install } = require('@nodecfdi/cfdiutils-common') as { install(...dom: object[]): void }
const { DOMImplementation, DOMParser, XMLSerializer } = require('@xmldom/xmldom') as Record<string, new () => object>

install(new DOMParser!(), new XMLSerializer!(), new DOMImplementation!())

/** As its README has it, and an object like ours. Both begin with the bytes of a file. */
const theirs = (bytes: Uint8Array) => JsonConverter.convertToRecord(new TextDecoder().decode(bytes))

function timeOf(work: (bytes: Uint8Array) => unknown, documents: readonly Uint8Array[]): number {
  const began = performance.now()
  for (const bytes of documents) work(bytes)
  return performance.now() - began
}

export const parse = measure({
  figures: {
    'parse.ratio_vs_nodecfdi': {
      isRatioOfTimes: true,
      atLeast: 3,
      digits: 2,
      meaning:
        'Documents per second that are parsed, to those of @nodecfdi/cfdi-to-json with its DOM on the same files of 3.2, 3.3 and 4.0',
    },
  },
  async take() {
    const documents = documentsOfAllVersions()
    const ratios: number[] = []
    for (let round = 0; round < WARM_UP + PAIRS; round++) {
      const ours = timeOf(parseCfdi, documents)
      const ratio = timeOf(theirs, documents) / ours
      if (round >= WARM_UP) ratios.push(ratio)
    }
    return { 'parse.ratio_vs_nodecfdi': median(ratios) }
  },
})

/** The pages of a PDF, of which its packed tree of pages says how many there are. */
const pagesOf = (pdf: Uint8Array): number =>
  [
    ...Buffer.from(pdf)
      .toString('latin1')
      .matchAll(/\/Length (\d+)>>\nstream\n/g),
  ]
    .map(({ 0: head, 1: length, index }) =>
      inflateSync(pdf.subarray(index + head.length, index + head.length + Number(length))).toString('latin1'),
    )
    .flatMap((stream) => [...(/\/Type\/Pages\/Kids\[[^\]]*\]\/Count (\d+)/.exec(stream) ?? [])].slice(1).map(Number))[0] ?? 0

/** What the PDF of a document takes, beside what its parsing does. */
export const print = measure({
  figures: {
    'print.documents': { meaning: 'Documents of 3.2, 3.3 and 4.0 with up to a few lines of which PDFs are made' },
    'print.kb_most': { atMost: 120, digits: 1, meaning: 'Size of the largest of these PDFs in kB, its XML inside' },
    'print.kb_median': { atMost: 40, digits: 1, meaning: 'Size of the one in the middle' },
    'print.pages_most': { atMost: 2, meaning: 'Pages of the longest one' },
    'print.ratio_vs_parse': {
      isRatioOfTimes: true,
      atMost: 100,
      digits: 1,
      meaning: 'Time that a PDF takes, to that of parsing its document',
    },
  },
  async take() {
    const documents = documentsOfAllVersions().slice(-120)
    const pdfs = documents.map((bytes) => pdfOf(bytes, VALID, 'es'))
    const ratios = Array.from(
      { length: sized(5, 1) },
      () => timeOf((bytes) => pdfOf(bytes, VALID, 'es'), documents) / timeOf(parseCfdi, documents),
    )
    const sizes = pdfs.map(({ length }) => length / 1_000)
    return {
      'print.documents': documents.length,
      'print.kb_most': Math.max(...sizes),
      'print.kb_median': median(sizes),
      'print.pages_most': Math.max(...pdfs.map(pagesOf)),
      'print.ratio_vs_parse': median(ratios),
    }
  },
})
