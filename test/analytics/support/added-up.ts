import { expect } from 'vitest'
import { micros, money, sum } from '../oracle/amounts.ts'
import type { Ask } from './compare.ts'
import { figureOf, wholeOf } from './compare.ts'

type Row = Record<string, unknown>

/** A drilldown of an answer: its name, its path, and the object that has the figure. */
export interface Link {
  name: string
  url: string
  owner: Row
}

/** All drilldowns of an answer, those of what it leaves out too. */
export function linksIn(value: unknown): Link[] {
  if (Array.isArray(value)) return value.flatMap(linksIn)
  if (value === null || typeof value !== 'object') return []
  const owner = value as Row
  return Object.entries(owner).flatMap(([name, one]) =>
    name === 'drilldown' ? Object.entries(one as Record<string, string>).map(([name, url]) => ({ name, url, owner })) : linksIn(one),
  )
}

/** What a drilldown leads to when its figure is no sum and no number of documents, by the end of its path. */
const ELSEWHERE = /^\/v1\/(blacklists\/lookup|cfdi\/concentration|fiscal-entities\/[^?]+)\?|\/documents\//

/** The figure that a path of names means: a member, a row of a list by one of its texts, and in the end its amount. */
function figureAt(owner: unknown, path: readonly string[]): unknown {
  const [name, ...rest] = path
  if (name === undefined) {
    if (owner === null || typeof owner !== 'object') return owner
    const { amount, total, iva } = owner as Row
    return amount ?? total ?? iva
  }
  if (Array.isArray(owner))
    return figureAt(
      owner.find((one) => Object.values(one as Row).includes(name)),
      rest,
    )
  return owner !== null && typeof owner === 'object' ? figureAt((owner as Row)[name], rest) : undefined
}

/** Follows a drilldown to its end and adds up what it lists: amounts to the figure, or documents to the number. */
export async function expectAddedUp(ask: Ask, { name, url, owner }: Link): Promise<void> {
  const { path, query } = figureOf(url)
  if (ELSEWHERE.test(url)) return void (await ask(path, query))
  const { data } = await wholeOf(ask, path, { ...query, limit: '100' })
  const figure = figureAt(owner, name.split('.'))
  const what = `${name} of ${url}`
  // A share has the documents of its numerator, a number of parties theirs, outliers are lines of documents: the oracle compares these.
  if ('threshold' in owner || name === 'outlier_count') return
  if (Number.isInteger(figure)) return expect(data.length, what).toBe(figure)
  expect(String(figure), what).toMatch(/^-?\d+\.\d\d$/)
  expect(money(sum(data.map(({ amount }) => micros(String(amount))))), what).toBe(figure)
}
