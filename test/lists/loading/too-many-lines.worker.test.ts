import { expect, it } from 'vitest'
import { formatOf, plainEntriesOf, readList } from '../../../src/lists/loading/read-list.ts'

it('a list of more than 1,000,000 lines is refused, empty ones included', () => {
  const day = '2026-07-31'
  const read = (count: number) => {
    const bytes = new TextEncoder().encode(`RFC,RAZON SOCIAL,SUPUESTO,FECHAS DE PRIMERA PUBLICACION${'\n'.repeat(count)}`)
    return plainEntriesOf(readList(bytes, formatOf('sat_69_firmes', day), day).rows)
  }
  expect(read(1_000_001).row_count).toBe(0)
  expect(() => read(1_000_002)).toThrow(expect.objectContaining({ code: 'list.too_large' }))
})
