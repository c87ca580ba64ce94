import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { contentOf, contentText, lineText } from '../../src/cfdi/chunks/content.ts'
import { statedBy } from '../../src/cfdi/detail/stated.ts'
import { pdfOf } from '../../src/cfdi/print/pdf.ts'
import { readCfdi } from '../../src/cfdi/xml/parse.ts'
import { readTree } from '../../src/cfdi/xml/tree.ts'
import { CfdiRejected } from '../../src/cfdi/xml/xml.ts'
import { VALID } from '../cfdi/print/support/printed.ts'
import { codesOf, solid, textOf } from '../cfdi/print/support/read-pdf.ts'
import { attributesOf, lacking } from '../cfdi/support/stated.ts'

const directory = process.env['SAMPLES_DIR']
const files = directory
  ? readdirSync(join(directory, 'cfdi'), { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.xml'))
  : []

/** What the detail says of a document; null when the service keeps no such document. */
function detailOf(bytes: Uint8Array) {
  try {
    const document = readCfdi(bytes)
    const stored = JSON.parse(contentText(document, document.conceptos.map(lineText)))
    return statedBy(contentOf(stored), readTree(bytes))
  } catch (error) {
    if (error instanceof CfdiRejected) return null
    throw error
  }
}

/** A file in the encoding that it declares. */
const textOfFile = (bytes: Uint8Array): string => {
  const [, declared = 'utf-8'] = /^[^>]*\sencoding=["']([\w-]+)/.exec(new TextDecoder('latin1').decode(bytes.subarray(0, 200))) ?? []
  return new TextDecoder(declared).decode(bytes).replace(/^\uFEFF+/, '')
}

/** What another reader reads in other words: it knows no repairs. */
const isRepaired = (repairs: readonly string[]): boolean => repairs.includes('control_characters') || repairs.includes('encoding_fallback')

/** Whether another parser reads the file too. */
function isWellFormed(xml: string): boolean {
  try {
    return attributesOf(xml).length > 0
  } catch {
    return false
  }
}

describe.skipIf(directory === undefined)('a detail states every attribute and text of a sample', { timeout: 60_000 }, () => {
  let compared = 0

  it.each(files)('%s', (path) => {
    const bytes = readFileSync(join(directory!, 'cfdi', path))
    const detail = detailOf(bytes)
    const xml = textOfFile(bytes)
    if (detail === null || isRepaired(detail.repairs) || !isWellFormed(xml)) return
    compared++
    expect(lacking(xml, detail)).toEqual([])
  })

  it('in most files', () => {
    expect(compared).toBeGreaterThan(files.length / 2)
  })
})

describe.skipIf(directory === undefined)('a PDF has every attribute and text of a sample, and its QR code', { timeout: 120_000 }, () => {
  it.each(files)('%s', async (path) => {
    const bytes = readFileSync(join(directory!, 'cfdi', path))
    const detail = detailOf(bytes)
    const xml = textOfFile(bytes)
    if (detail === null || isRepaired(detail.repairs) || !isWellFormed(xml)) return
    const pdf = pdfOf(bytes, VALID, 'es')
    const text = solid(await textOf(pdf))
    expect(attributesOf(xml).filter(([, value]) => !text.includes(solid(value)))).toEqual([])
    for (const code of codesOf(pdf)) expect(code).toMatch(/id=|IdCCP=/i)
  })
})
