import { expect, it, vi } from 'vitest'
import { ingestUpload } from '../../../src/cfdi/ingest/upload.ts'
import { openMetadata } from '../../../src/cfdi/package/package.ts'
import { metadataIn, rowsOf } from '../../../src/cfdi/package/rejections.ts'
import { type Bytes, bytesInMemory } from '../../../src/platform/bytes/bytes.ts'
import { zipOf } from '../../support/zip.ts'
import { newBook, rowsOf as storedRows } from '../support/book.ts'

const MIB = 1024 * 1024
const PART = 64 * 1024
const HEADER =
  'Uuid~RfcEmisor~NombreEmisor~RfcReceptor~NombreReceptor~RfcPac~FechaEmision~FechaCertificacionSat~Monto~EfectoComprobante~Estatus\r\n'
const utf8 = new TextEncoder()

/** A text and then an end of a line, so often. */
function lines(count: number, { first = HEADER, line = '\r\n' } = {}): Uint8Array {
  const [head, one] = [utf8.encode(first), utf8.encode(line)]
  const bytes = new Uint8Array(head.length + count * one.length)
  bytes.set(head)
  if (count > 0) bytes.set(one, head.length)
  for (let done = one.length; done < bytes.length - head.length; done *= 2)
    bytes.copyWithin(head.length + done, head.length, head.length + done)
  return bytes
}

/** Bytes that count how many of them were read. */
function counted(bytes: Uint8Array): Bytes & { read_bytes: () => number } {
  const file = bytesInMemory(bytes)
  let sum = 0
  return {
    ...file,
    read: async (offset, length) => {
      const part = await file.read(offset, length)
      sum += part.length
      return part
    },
    read_bytes: () => sum,
  }
}

const refused = expect.objectContaining({ code: 'metadata.too_many_lines' })

it('metadata of too many lines, be they empty, is refused as soon as they have been counted', async () => {
  const file = counted(lines(12_000_000))
  await expect(openMetadata(file)).rejects.toThrow(refused)
  // The header is a line, and 499,999 more with two bytes each fit.
  expect(file.read_bytes()).toBe(Math.ceil((HEADER.length + 500_000 * 2) / PART) * PART)
})

it('metadata may have 500,000 lines, and those inside of names count', async () => {
  expect((await openMetadata(bytesInMemory(lines(499_999)))).name).toBe('upload.txt')
  await expect(openMetadata(bytesInMemory(lines(500_000)))).rejects.toThrow(refused)
  await expect(openMetadata(bytesInMemory(lines(500_000, { line: '\n' })))).rejects.toThrow(refused)
})

it('the files of a package have 500,000 lines together', async () => {
  const zip = (...counts: number[]) => bytesInMemory(zipOf(counts.map((count, n) => ({ name: `${n}.txt`, bytes: lines(count - 1) }))))
  expect((await metadataIn(zip(250_000, 250_000))).length).toBe(2)
  await expect(metadataIn(zip(250_000, 250_001))).rejects.toThrow(refused)
  const target = newBook('import')
  const results = await ingestUpload(target, zip(250_000, 250_001, 1))
  expect(results.map(({ name, status, code }) => [name, status, code])).toEqual([
    ['0.txt', 'unchanged', null],
    ['1.txt', 'rejected', 'metadata.too_many_lines'],
    ['2.txt', 'rejected', 'metadata.too_many_lines'],
  ])
  expect((await storedRows(target)).size).toBe(0)
})

it('a file that is no metadata is refused by its header, without the rest', async () => {
  const other = HEADER.replace('RfcEmisor~', '')
  const file = counted(lines(20 * MIB, { first: other }))
  const opened = await openMetadata(file)
  expect(file.read_bytes()).toBe(PART)
  const rejected: string[] = []
  for await (const rows of rowsOf(opened, { add: ({ line, code }) => rejected.push(`${line} ${code}`) })) expect(rows).toEqual([])
  expect([rejected, file.read_bytes()]).toEqual([['1 metadata.missing_column'], PART])
  // A header that never ends is one of 64 KiB.
  const endless = counted(lines(20 * MIB, { first: HEADER.trim(), line: '~a' }))
  await openMetadata(endless)
  expect(endless.read_bytes()).toBe(PART)
})

it('others have their turn while metadata is read', async () => {
  let turns = 0
  let isDone = false
  const take = () => {
    turns++
    if (!isDone) setTimeout(take)
  }
  setTimeout(take)
  const opened = await openMetadata(bytesInMemory(lines(400_000)))
  for await (const rows of rowsOf(opened)) expect(rows).toEqual([])
  isDone = true
  // Parts of 64 KiB have 32,768 of these lines each.
  expect(turns).toBeGreaterThanOrEqual(Math.floor((400_000 * 2) / PART))
})

it('rows that no separator in a name explains cost little more than others, and rows behind them are read', async () => {
  const row = (more: string) =>
    `C0FFEE00-1111-4222-8333-444455556666~EKU9003173C9~A~URE180429TM6~B~~2025-02-03 10:00:00~~1.00~I~1${more}\r\n`
  const text = `${HEADER}${'x~x~x~x~x~x~x~x~x~x~x~x~x\r\n'.repeat(2_000)}${row('')}${`~${'~'.repeat(3_000_000)}\r\n`}${row('')}`
  const split = vi.spyOn(String.prototype, 'split')
  const found: number[] = []
  for await (const rows of rowsOf(await openMetadata(bytesInMemory(utf8.encode(text))))) found.push(...rows.map(({ line }) => line))
  const most = Math.max(...split.mock.results.map(({ value }) => (value as string[]).length))
  split.mockRestore()
  expect([found, most]).toEqual([[2_002, 2_004], 13])
})
