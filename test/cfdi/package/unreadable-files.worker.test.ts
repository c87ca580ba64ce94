import { expect, it } from 'vitest'
import { metadataIn, Rejections } from '../../../src/cfdi/package/rejections.ts'
import { bytesInMemory } from '../../../src/platform/bytes/bytes.ts'
import { zipOf } from '../../support/zip.ts'

const utf8 = new TextEncoder()
const EMPTY = { name: 'vacia.txt', bytes: '' }
const OTHER = { name: 'other.txt', bytes: 'No es metadata.' }
const THIRDS = { name: 'x_tercero.txt', bytes: 'Uuid~RfcACuentaTerceros~NombreACuentaTerceros\r\n' }
const LIST = { name: 'x_01.txt', bytes: 'Uuid~RfcEmisor~RfcReceptor~FechaEmision~Monto~Estatus\r\n' }

/** What breaks without it: a month is called partial for ever because of an empty file beside its metadata, or complete without any. */
it.each([
  [[EMPTY, OTHER, THIRDS, LIST], []],
  [
    [EMPTY, OTHER, THIRDS],
    ['vacia.txt', 'other.txt'],
  ],
  [[THIRDS], ['package.zip']],
  [[{ name: 'a.xml', bytes: '<a/>' }], ['package.zip']],
  [[], ['package.zip']],
])('a file that is no metadata is rejected only where there is none beside it', async (files, names) => {
  const rejected = new Rejections()
  const file = bytesInMemory(zipOf(files.map(({ name, bytes }) => ({ name, bytes: utf8.encode(bytes) }))))
  expect((await metadataIn(file, rejected)).length).toBe(names.length === 0 ? 1 : 0)
  expect(rejected.first.map(({ name, code }) => [name, code])).toEqual(names.map((name) => [name, 'metadata.no_rows']))
})

/** What breaks without it: a second list that is a page of the authority is passed over, and its month is called complete. */
it('every other file with content is rejected where nobody says how many documents there are', async () => {
  const rejected = new Rejections()
  const file = bytesInMemory(zipOf([EMPTY, OTHER, THIRDS, LIST].map(({ name, bytes }) => ({ name, bytes: utf8.encode(bytes) }))))
  expect((await metadataIn(file, rejected, true)).map(({ name }) => name)).toEqual(['x_01.txt'])
  expect(rejected.first).toEqual([{ name: 'other.txt', line: null, code: 'metadata.no_rows', uuid: null }])
})
