import { describe, expect, it } from 'vitest'
import { readTouched, writeTouched } from '../../src/cfdi/commits.ts'

const uuids = (count: number): string[] => Array.from({ length: count }, (_, n) => `00000000-0000-0000-0000-${String(n).padStart(12, '0')}`)

describe('what a commit names', () => {
  it('is what it touched, without what did not happen', () => {
    const touched = { stored: uuids(3), removed: [], cancelled: [], balances: [[uuids(1)[0]!, 7] as const] }
    expect(readTouched(writeTouched(touched)!)).toEqual({ stored: uuids(3), balances: [[uuids(1)[0], 7]] })
  })

  it('is nothing when there is too much, but for what was removed, which nobody finds out later', () => {
    expect(writeTouched({ stored: uuids(15_000), cancelled: uuids(5_001) })).toBeNull()
    expect(readTouched('')).toEqual({ isCut: true })
    const cut = writeTouched({ stored: uuids(20_000), removed: uuids(2) })
    expect(readTouched(cut!)).toEqual({ removed: uuids(2), isCut: true })
  })
})
