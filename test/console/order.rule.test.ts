import { describe, expect, it } from 'vitest'
import { inOrder } from '../../console/parts/order.ts'

const sorted = (values: readonly (string | number | null)[], isDown = false) =>
  inOrder(values, [{ name: 'x', by: (one: string | number | null) => one }], { name: 'x', isDown })

describe('the rows of a table', () => {
  it('are in the order of amounts, which are texts, and not of their digits', () => {
    expect(sorted(['900.00', '1000.00', '-5.10', '-50.00'])).toEqual(['-50.00', '-5.10', '900.00', '1000.00'])
    expect(sorted(['0.0900', '0.1', '1.0'], true)).toEqual(['1.0', '0.1', '0.0900'])
  })

  it('are in the order of texts by the alphabet, and of days by time', () => {
    expect(sorted(['Óscar', 'Zoe', 'ana'])).toEqual(['ana', 'Óscar', 'Zoe'])
    expect(sorted(['2026-11-02', '2026-09-30'])).toEqual(['2026-09-30', '2026-11-02'])
  })

  it('that have no value come last, in either direction', () => {
    expect(sorted([null, 2, 1])).toEqual([1, 2, null])
    expect(sorted([null, 2, 1], true)).toEqual([2, 1, null])
  })

  it('stay as they are while no heading was pressed', () => {
    const rows = [2, 1]
    expect(inOrder(rows, [{ name: 'x', by: (one) => one }], null)).toBe(rows)
  })
})
