import { describe, expect, it } from 'vitest'
import { type Measure, measure } from './measures.ts'
import { takeAll } from './take.ts'

const of = (key: string, take: () => Promise<number>): Measure =>
  measure({ figures: { [key]: { digits: 1, meaning: key } }, take: async () => ({ [key]: await take() }) })

const quiet = { running: () => 0, notify: () => {} }
const valuesOf = async (measures: Record<string, Measure>, more = {}) => {
  const { taken, failed } = await takeAll([measures], { ...quiet, ...more })
  return [taken.map(({ key, value }) => [key, value]), failed.map(({ name, error }) => `${name}: ${(error as Error).message}`)]
}

describe('Measures', () => {
  it('are all taken when one fails, and tell which', async () => {
    const failing = async () => {
      throw new Error('No.')
    }
    expect(await valuesOf({ first: of('a', async () => 1.26), second: of('b', failing), third: of('c', async () => 3) })).toEqual([
      [
        ['a', 1.3],
        ['b', null],
        ['c', 3],
      ],
      ['second: No.'],
    ])
  })

  it('fail without a number', async () => {
    const [, failed] = await valuesOf({ first: of('a', async () => Number.NaN), second: of('b', async () => undefined as never) })
    expect(failed).toEqual(['first: a is NaN.', 'second: b is undefined.'])
  })

  it('leave no service running, which another one could use', async () => {
    const [, failed] = await valuesOf({ first: of('a', async () => 1) }, { running: () => 1 })
    expect(failed).toEqual(['services: 1 are left running.'])
  })

  it('of two lanes are taken beside each other', async () => {
    const notified: string[] = []
    const { promise, resolve } = Promise.withResolvers<number>()
    const waiting = of('a', () => promise)
    const ending = of('b', async () => {
      resolve(1)
      return 2
    })
    const { taken } = await takeAll([{ waiting }, { ending }], { ...quiet, notify: (line) => void notified.push(line.split(':')[0]!) })
    expect(notified.sort()).toEqual(['ending', 'waiting'])
    expect(taken.map(({ value }) => value).sort()).toEqual([1, 2])
  })
})
