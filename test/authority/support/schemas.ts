import { readdirSync, readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'
import { validateXML } from 'xmllint-wasm'

const FOLDER = 'test/authority/sandbox/schemas'

/** The schemas of the authority in one folder: their imports name files of the same folder. */
const preload = readdirSync(FOLDER)
  .filter((name) => name.includes('.xsd'))
  .map((name) => {
    const bytes = readFileSync(`${FOLDER}/${name}`)
    const text = (name.endsWith('.br') ? brotliDecompressSync(bytes) : bytes).toString('utf8')
    return { fileName: name.replace('.br', ''), contents: text.replace(/schemaLocation="[^"]*\/([^"/]+)"/g, 'schemaLocation="$1"') }
  })

const imports = preload
  .filter(({ fileName }) => !/^(?:cat|td)/.test(fileName))
  .map(({ fileName, contents }) => {
    const [, namespace] = /targetNamespace="([^"]+)"/.exec(contents)!
    return `<xs:import namespace="${namespace}" schemaLocation="${fileName}"/>`
  })
const schema = { fileName: 'all.xsd', contents: `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">${imports.join('')}</xs:schema>` }

/** In pages of 64 KiB. The catalogs take most of it. */
const MEMORY = { initialMemoryPages: 1_024, maxMemoryPages: 16_384 }
const AT_ONCE = 500

/** Returns what the authority's schemas object to in documents, each with its name. */
export async function schemaErrors(documents: { name: string; xml: string }[]): Promise<string[]> {
  const errors: string[] = []
  for (let from = 0; from < documents.length; from += AT_ONCE) {
    const xml = documents.slice(from, from + AT_ONCE).map(({ name, xml: contents }) => ({ fileName: `${name}.xml`, contents }))
    const read = await validateXML({ xml, schema, preload, ...MEMORY })
    if (!read.valid && read.errors.length === 0) throw new Error(`The validator failed: ${read.rawOutput.slice(0, 500)}`)
    errors.push(...read.errors.map(({ rawMessage }) => rawMessage))
  }
  return errors
}
