import { inflateRawSync } from 'node:zlib'
import { SaxesParser } from 'saxes'

/** An entry of an archive, read through its central directory. */
export interface Entry {
  name: string
  bytes: Uint8Array
  method: number
  modified: Date
}

const crcTable = Array.from(
  { length: 256 },
  (_, n) => Array.from({ length: 8 }).reduce<number>((c) => (c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1), n) >>> 0,
)
const crcOf = (bytes: Uint8Array): number =>
  (bytes.reduce((crc, byte) => (crcTable[(crc ^ byte) & 255]! ^ (crc >>> 8)) >>> 0, 0xffffffff) ^ 0xffffffff) >>> 0

/** Reads a ZIP as the specification says, with ZIP64 where a field is full: nothing of the service's own reader or writer. */
export function entriesOf(zip: Uint8Array): Entry[] {
  const view = new DataView(zip.buffer, zip.byteOffset, zip.length)
  const u16 = (at: number) => view.getUint16(at, true)
  const u32 = (at: number) => view.getUint32(at, true)
  const u64 = (at: number) => Number(view.getBigUint64(at, true))
  const end = zip.length - 22
  if (u32(end) !== 0x06054b50) throw new Error('There is no end of the central directory.')
  let [count, size, at] = [u16(end + 10), u32(end + 12), u32(end + 16)]
  if (count === 0xffff || size === 0xffffffff || at === 0xffffffff) {
    if (u32(end - 20) !== 0x07064b50) throw new Error('There is no locator of ZIP64.')
    const end64 = u64(end - 20 + 8)
    if (u32(end64) !== 0x06064b50) throw new Error('There is no end of ZIP64.')
    ;[count, size, at] = [u64(end64 + 32), u64(end64 + 40), u64(end64 + 48)]
  }
  const last = at + size
  const entries: Entry[] = []
  for (; at < last; ) {
    if (u32(at) !== 0x02014b50) throw new Error('This is no entry of the central directory.')
    const [flags, method, time, date] = [u16(at + 8), u16(at + 10), u16(at + 12), u16(at + 14)]
    const [crc, packed, length, n, extra, comment] = [u32(at + 16), u32(at + 20), u32(at + 24), u16(at + 28), u16(at + 30), u16(at + 32)]
    const name = new TextDecoder().decode(zip.subarray(at + 46, at + 46 + n))
    let offset = u32(at + 42)
    if (offset === 0xffffffff) {
      if (u16(at + 46 + n) !== 1) throw new Error('There is no extra field of ZIP64.')
      offset = u64(at + 46 + n + 4)
    }
    if (u32(offset) !== 0x04034b50) throw new Error('There is no local header.')
    if (new TextDecoder().decode(zip.subarray(offset + 30, offset + 30 + u16(offset + 26))) !== name) throw new Error('Another name.')
    const from = offset + 30 + u16(offset + 26) + u16(offset + 28)
    const data = zip.subarray(from, from + packed)
    const bytes = method === 8 ? new Uint8Array(inflateRawSync(data)) : data
    if (bytes.length !== length || crcOf(bytes) !== crc) throw new Error(`${name} has another size or CRC.`)
    if (flags & 8 && (u32(from + packed) !== 0x08074b50 || u32(from + packed + 4) !== crc || u32(from + packed + 8) !== packed))
      throw new Error(`${name} has another descriptor.`)
    const modified = new Date(
      Date.UTC(1980 + (date >> 9), ((date >> 5) & 15) - 1, date & 31, time >> 11, (time >> 5) & 63, (time & 31) * 2),
    )
    entries.push({ name, bytes, method, modified })
    at += 46 + n + extra + comment
  }
  if (entries.length !== count) throw new Error(`The directory names ${entries.length} of ${count} entries.`)
  return entries
}

type Cell = string | number | boolean | Date | null

interface Element {
  name: string
  attributes: Record<string, string>
  children: Element[]
  text: string
}

/** Parses XML strictly; what is malformed throws. */
function xmlOf(bytes: Uint8Array): Element {
  const root: Element = { name: '', attributes: {}, children: [], text: '' }
  const open = [root]
  const parser = new SaxesParser()
  parser.on('error', (error) => {
    throw error
  })
  parser.on('opentag', ({ name, attributes }) => {
    const element = { name, attributes: attributes as Record<string, string>, children: [], text: '' }
    open.at(-1)!.children.push(element)
    open.push(element)
  })
  parser.on('text', (text) => {
    for (const one of open) one.text += one === root ? '' : text
  })
  parser.on('closetag', () => void open.pop())
  parser.write(new TextDecoder().decode(bytes)).close()
  return root
}

const named = (element: Element, name: string): Element[] =>
  element.children.flatMap((child) => [...(child.name === name ? [child] : []), ...named(child, name)])

const columnOf = (cursor: string): number =>
  [...cursor.replace(/\d/g, '')].reduce((sum, letter) => 26 * sum + letter.charCodeAt(0) - 64, 0) - 1

/** The sheets of a workbook in their order: their names, and their rows as a spreadsheet shows them. */
export function sheetsOf(xlsx: Uint8Array): { name: string; rows: Cell[][] }[] {
  const parts = new Map(entriesOf(xlsx).map(({ name, bytes }) => [name, bytes]))
  const types = xmlOf(parts.get('[Content_Types].xml')!)
  const known = named(types, 'Override').map(({ attributes }) => attributes['PartName'])
  const targets = new Map(
    named(xmlOf(parts.get('xl/_rels/workbook.xml.rels')!), 'Relationship').map(({ attributes }) => [
      attributes['Id'],
      `xl/${attributes['Target']}`,
    ]),
  )
  const styles = named(named(xmlOf(parts.get('xl/styles.xml')!), 'cellXfs')[0]!, 'xf')
  const isTime = (style = '0') => ['164', '165'].includes(styles[Number(style)]!.attributes['numFmtId'] ?? '')
  return named(xmlOf(parts.get('xl/workbook.xml')!), 'sheet').map(({ attributes: { name, ...sheet } }) => {
    const file = targets.get(sheet['r:id'])!
    if (!known.includes(`/${file}`)) throw new Error(`${file} has no content type.`)
    const rows = named(xmlOf(parts.get(file)!), 'row').map((row, n) => {
      if (Number(row.attributes['r']) !== n + 1) throw new Error('A row has another number.')
      const cells: Cell[] = []
      for (const { text, attributes } of row.children) {
        const type = attributes['t']
        cells[columnOf(attributes['r']!)] =
          type === 'inlineStr'
            ? text.replace(/_x([0-9A-Fa-f]{4})_/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
            : type === 'b'
              ? text === '1'
              : isTime(attributes['s'])
                ? new Date(Math.round((Number(text) - 25_569) * 86_400) * 1_000)
                : Number(text)
      }
      return cells
    })
    return { name: name!, rows }
  })
}

/** Reads CSV (RFC 4180), character by character. */
export function csvRows(text: string): string[][] {
  const rows: string[][] = []
  let [row, cell, isQuoted] = [[] as string[], '', false]
  for (let n = 0; n < text.length; n++) {
    const character = text[n]!
    if (isQuoted && character === '"' && text[n + 1] === '"') cell += text[++n]
    else if (character === '"') isQuoted = !isQuoted
    else if (!isQuoted && character === ',') {
      row.push(cell)
      cell = ''
    } else if (!isQuoted && character === '\r' && text[n + 1] === '\n') {
      n++
      rows.push([...row, cell])
      ;[row, cell] = [[], '']
    } else cell += character
  }
  if (isQuoted || cell !== '' || row.length > 0) throw new Error('The last line has no end.')
  return rows
}
