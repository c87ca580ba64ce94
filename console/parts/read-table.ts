/** Rows of text cells. */
export type Rows = string[][]

const ZIP = 0x504b0304
const ENTRY = 0x02014b50
const END = 0x06054b50
const MOST_BYTES = 10_000_000

async function inflated(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'))
  return new Response(stream).text()
}

/** The texts of some files of a ZIP, by their names. */
async function filesOf(bytes: Uint8Array<ArrayBuffer>, isWanted: (name: string) => boolean): Promise<Map<string, string>> {
  const view = new DataView(bytes.buffer)
  let end = bytes.length - 22
  while (end > 0 && view.getUint32(end, true) !== END) end -= 1
  const files = new Map<string, string>()
  for (let at = view.getUint32(end + 16, true); at + 46 <= bytes.length && view.getUint32(at, true) === ENTRY; ) {
    const [method, size, nameSize, extra, comment] = [10, 20, 28, 30, 32].map((offset) =>
      offset === 20 ? view.getUint32(at + offset, true) : view.getUint16(at + offset, true),
    ) as [number, number, number, number, number]
    const local = view.getUint32(at + 42, true)
    const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameSize))
    if (isWanted(name)) {
      const from = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true)
      const content = bytes.slice(from, from + size)
      files.set(name, method === 0 ? new TextDecoder().decode(content) : await inflated(content))
    }
    at += 46 + nameSize + extra + comment
  }
  return files
}

const NAMED: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }
const plain = (xml: string): string =>
  xml.replace(/&(?:#x([\da-f]+)|#(\d+)|(\w+));/gi, (all, hex: string, digits: string, name: string) =>
    hex || digits ? String.fromCodePoint(parseInt(hex ?? digits, hex ? 16 : 10)) : (NAMED[name] ?? all),
  )
const textsIn = (xml: string): string => plain([...xml.matchAll(/<t(?: [^>]*)?>([^<]*)<\/t>/g)].map(([, text]) => text).join(''))

/** `AB12` is in the column 27. */
const columnOf = (reference: string): number =>
  [...reference.replace(/\d+$/, '')].reduce((column, letter) => column * 26 + letter.charCodeAt(0) - 64, 0) - 1

/** The rows of the first sheet of a workbook. */
async function sheetOf(bytes: Uint8Array<ArrayBuffer>): Promise<Rows> {
  const files = await filesOf(bytes, (name) => name === 'xl/sharedStrings.xml' || /^xl\/worksheets\/sheet\d+\.xml$/.test(name))
  const shared = [...(files.get('xl/sharedStrings.xml') ?? '').matchAll(/<si>(.*?)<\/si>/gs)].map(([, xml]) => textsIn(xml!))
  const [first] = [...files.keys()].filter((name) => name.includes('sheet')).sort()
  const sheet = files.get('xl/worksheets/sheet1.xml') ?? files.get(first ?? '')
  if (sheet === undefined) throw new Error('A workbook has a sheet.')
  return [...sheet.matchAll(/<row\b[^>]*>(.*?)<\/row>/gs)].map(([, xml]) => {
    const cells: string[] = []
    for (const [, attributes = '', content = ''] of xml!.matchAll(/<c\b([^>]*?)(?:\/>|>(.*?)<\/c>)/gs)) {
      const at = columnOf(/\br="([A-Z]+)\d+"/.exec(attributes)?.[1] ?? '')
      const value = plain(/<v>([^<]*)<\/v>/.exec(content)?.[1] ?? '')
      const type = /\bt="(\w+)"/.exec(attributes)?.[1]
      cells[at < 0 ? cells.length : at] =
        type === 's' ? (shared.at(parseInt(value, 10)) ?? '') : type === 'inlineStr' ? textsIn(content) : value
    }
    return Array.from(cells, (cell) => cell ?? '')
  })
}

/** The rows of a text: cells between commas, semicolons or tabs, whichever the first line has most of. */
export function rowsOfText(text: string): Rows {
  const [head = ''] = text.split(/\r?\n/, 1)
  const [separator] = [',', ';', '\t'].sort((one, other) => head.split(other).length - head.split(one).length)
  const rows: Rows = [[]]
  const cell = new RegExp(`("(?:[^"]|"")*"|[^${separator}\\r\\n]*)(${separator}|\\r?\\n|$)`, 'gy')
  for (const [all, value = '', after] of text.matchAll(cell)) {
    if (all === '' && rows.at(-1)!.length === 0) break
    rows.at(-1)!.push(value.startsWith('"') ? value.slice(1, -1).replaceAll('""', '"') : value)
    if (after === '') break
    if (after !== separator) rows.push([])
  }
  return rows.filter((row) => row.some((one) => one !== ''))
}

/** The rows of a workbook (XLSX) or of a text (CSV), which old spreadsheets write in Windows-1252. Null for any other file. */
export async function readTable(file: Blob): Promise<Rows | null> {
  if (file.size > MOST_BYTES) return null
  const bytes = new Uint8Array(await file.arrayBuffer())
  try {
    if (bytes.length > 4 && new DataView(bytes.buffer).getUint32(0) === ZIP)
      return (await sheetOf(bytes)).filter((row) => row.some((one) => one !== ''))
  } catch {
    return null
  }
  if (bytes.includes(0)) return null
  try {
    return rowsOfText(new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes))
  } catch {
    return rowsOfText(new TextDecoder('windows-1252').decode(bytes))
  }
}
