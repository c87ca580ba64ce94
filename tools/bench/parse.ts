import { createRequire } from 'node:module'
import { parseCfdi } from '../../src/cfdi/xml/parse.ts'
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
