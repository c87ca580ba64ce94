import { describe, expect, it, vi } from 'vitest'
import { MemoryLimiter } from '../../src/platform/memory-limiter.ts'

/** Work that lasts until it is told to end. */
function work() {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { run: () => promise, end: resolve }
}

const turn = () => scheduler.wait(40)

describe('a memory limiter', () => {
  it('holds what fits together, and something too large alone', async () => {
    const limiter = new MemoryLimiter(10, 60_000)
    const stored: string[] = []
    const begin = (name: string, weight: number) => {
      const { run, end } = work()
      const done = limiter.hold(weight, () => {
        stored.push(name)
        return run()
      })
      return { end, done }
    }
    const [small, other] = [begin('small', 4), begin('other', 6)]
    await turn()
    const large = begin('large', 50)
    await turn()
    expect(stored).toEqual(['small', 'other'])
    small.end()
    await turn()
    expect(stored).toEqual(['small', 'other'])
    other.end()
    await turn()
    expect(stored).toEqual(['small', 'other', 'large'])
    large.end()
    await Promise.all([small.done, other.done, large.done])
  })

  it('serves in turn, so that small work does not pass by a large one that waits', async () => {
    const limiter = new MemoryLimiter(10, 60_000)
    const order: string[] = []
    const first = work()
    const begun = limiter.hold(6, first.run)
    await turn()
    const others = (['large', 'small'] as const).map((name) => limiter.hold(name === 'large' ? 8 : 2, async () => void order.push(name)))
    await turn()
    expect(order).toEqual([])
    first.end()
    await Promise.all([begun, ...others])
    expect(order).toEqual(['large', 'small'])
  })

  it('is free again after work that failed, and after work whose end never came', async () => {
    const limiter = new MemoryLimiter(1, 60_000)
    await expect(limiter.hold(1, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    void limiter.hold(1, () => new Promise(() => {}))
    await turn()
    const next = vi.fn(async () => 'done')
    const waiting = limiter.hold(1, next)
    await turn()
    expect(next).not.toHaveBeenCalled()
    const now = Date.now()
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now + 60_001)
    expect(await waiting).toBe('done')
    clock.mockRestore()
  })
})
