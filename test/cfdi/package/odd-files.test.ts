import { expect, it } from 'vitest'
import { metadataIn } from '../../../src/cfdi/package/month-metadata.ts'
import { Rejections } from '../../../src/cfdi/package/rejections.ts'
import { bytesInMemory } from '../../../src/platform/bytes/bytes.ts'
import { zipOf } from '../../support/zip.ts'

const utf8 = new TextEncoder()
const EMPTY = { name: 'vacia.txt', bytes: '' }
const OTHER = { name: 'other.txt', bytes: 'No es metadata.' }
const THIRDS = { name: 'x_tercero.txt', bytes: 'Uuid~RfcACuentaTerceros~NombreACuentaTerceros\r\n' }
const LIST = { name: 'x_01.txt', bytes: 'Uuid~RfcEmisor~RfcReceptor\r\n' }

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
