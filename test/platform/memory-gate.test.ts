import { describe, expect, it, vi } from 'vitest'
import { MemoryGate } from '../../src/platform/memory-gate.ts'

/** Work that lasts until it is told to end. */
function work() {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { run: () => promise, end: resolve }
}

const turn = () => scheduler.wait(40)

describe('a memory gate', () => {
  it('holds what fits together, and something too large alone', async () => {
    const gate = new MemoryGate(10, 60_000)
    const held: string[] = []
    const begin = (name: string, weight: number) => {
      const { run, end } = work()
      const done = gate.hold(weight, () => {
        held.push(name)
        return run()
      })
      return { end, done }
    }
    const [small, other] = [begin('small', 4), begin('other', 6)]
    await turn()
    const large = begin('large', 50)
    await turn()
    expect(held).toEqual(['small', 'other'])
    small.end()
    await turn()
    expect(held).toEqual(['small', 'other'])
    other.end()
    await turn()
    expect(held).toEqual(['small', 'other', 'large'])
    large.end()
    await Promise.all([small.done, other.done, large.done])
  })

  it('is free again after work that failed, and after work whose end never came', async () => {
    const gate = new MemoryGate(1, 60_000)
    await expect(gate.hold(1, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    void gate.hold(1, () => new Promise(() => {}))
    await turn()
    const next = vi.fn(async () => 'done')
    const waiting = gate.hold(1, next)
    await turn()
    expect(next).not.toHaveBeenCalled()
    const now = Date.now()
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now + 60_001)
    expect(await waiting).toBe('done')
    clock.mockRestore()
  })
})
