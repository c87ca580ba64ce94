import { expect, it } from 'vitest'
import { reachOf, ticksOf } from '../../console/charts/scale.ts'

it.each([
  [0, 0, [0]],
  [1, 0, [0, 0.25, 0.5, 0.75, 1]],
  [1_208_960.7, -81_348.54, [-500_000, 0, 500_000, 1_000_000, 1_500_000]],
])('an axis to %d from %d has the values %j', (most, least, ticks) => expect(ticksOf(most, least)).toEqual(ticks))

it('an axis of whole things has no parts of them, and reaches as far as they do', () => {
  for (let most = 1; most <= 2_000; most++) {
    const ticks = ticksOf(most, 0, true)
    expect([most, ticks.every(Number.isInteger), ticks.at(-1)! >= most, ticks.length <= 6]).toEqual([most, true, true, true])
  }
})

it.each([
  [[], 0],
  [[0, 0], 0],
  [[500], 500],
  [[500, 0, 0], 500],
  [[-3, -1], 0],
  [[100, 10, 1], 100],
  [[101, 10, 1], 20],
  [[1_000, 1_000, 1], 1_000],
])('an axis over %j reaches %d: no single size flattens all others', (sizes, reach) => expect(reachOf(sizes)).toBe(reach))
