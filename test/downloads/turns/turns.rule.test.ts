import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Turns } from '../../../src/downloads/turns/turns.ts'

/** An organization and how many turns each of its RFCs needs. */
type Demand = Readonly<Record<string, readonly number[]>>

/**
 * A queue in the order of its messages and one consumer, which does what in-turn.ts does: it works on whose turn it is, and goes on until the
 * turn comes to the message's own RFC, or after `patience` RFCs sends the message again. An RFC with more to do is announced anew. Returns the
 * organizations in the order of their turns.
 */
function play(demand: Demand, patience: number): string[] {
  const turns = new Turns()
  const [left, owner, messages, order] = [new Map<string, number>(), new Map<string, string>(), [] as string[], [] as string[]]
  const announce = (rfc: string) => {
    turns.enter({ rfc, organizations: [owner.get(rfc)!], due_at: 0 })
    messages.push(rfc)
  }
  for (const [organization, needs] of Object.entries(demand))
    for (const [n, need] of needs.entries()) {
      const rfc = `${organization}${n}`
      left.set(rfc, need)
      owner.set(rfc, organization)
      announce(rfc)
    }
  while (messages.length > 0) {
    const own = messages.shift()!
    for (let n = 1; ; n++) {
      const rfc = turns.next(own, 0)
      const more = left.get(rfc)!
      if (more > 0) {
        order.push(owner.get(rfc)!)
        left.set(rfc, more - 1)
        if (more > 1) announce(rfc)
      }
      if (rfc === own) break
      if (n >= patience) {
        messages.push(own)
        break
      }
    }
  }
  return order
}

const needs = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 12 })
const patience = fc.integer({ min: 1, max: 3 })
const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0)
/** How many turns had passed when an organization had all of its own. */
const doneAt = (order: readonly string[], organization: string) => order.lastIndexOf(organization) + 1

describe('turns of downloads', () => {
  it('one that waits beside one that floods waits for at most twice its turns alone', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 50, maxLength: 200 }), needs, patience, (flood, waits, n) => {
        const alone = doneAt(play({ waits }, n), 'waits')
        expect(alone).toBe(sum(waits))
        expect(doneAt(play({ flood, waits }, n), 'waits')).toBeLessThanOrEqual(2 * alone)
      }),
    )
  })

  it('of any number of organizations, none waits for more than its share, and everything is done', () => {
    fc.assert(
      fc.property(fc.array(needs, { minLength: 1, maxLength: 6 }), patience, (all, n) => {
        const demand = Object.fromEntries(all.map((one, index) => [`o${index}.`, one]))
        const order = play(demand, n)
        expect(order).toHaveLength(sum(all.flat()))
        for (const [organization, one] of Object.entries(demand))
          expect(doneAt(order, organization)).toBeLessThanOrEqual(all.length * sum(one))
      }),
    )
  })

  it('an RFC is not due before its time, comes at the latest after all others, and once for all that wait for it', () => {
    const turns = new Turns()
    turns.enter({ rfc: 'later', organizations: ['a'], due_at: 10 })
    turns.enter({ rfc: 'shared', organizations: ['a', 'b'], due_at: 0 })
    turns.enter({ rfc: 'c1', organizations: ['c'], due_at: 0 })
    turns.enter({ rfc: 'c2', organizations: ['c'], due_at: 0 })
    expect(turns.next('unknown', 5)).toBe('unknown')
    expect(turns.next('c2', 5)).toBe('shared')
    expect(turns.next('c2', 5)).toBe('c2')
    expect(turns.next('c1', 5)).toBe('c1')
    expect(turns.next('shared', 5)).toBe('shared')
    turns.enter({ rfc: 'c3', organizations: ['c'], due_at: 0 })
    expect(turns.next('c3', 10)).toBe('later')
    expect(turns.next('c3', 10)).toBe('c3')
  })
})
