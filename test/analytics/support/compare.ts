import { expect } from 'vitest'
import { micros } from '../oracle/amounts.ts'
import type { Entry } from '../oracle/shapes.ts'
import type { Range, World } from '../oracle/world.ts'
import { type Asked, surfacesOf } from './surfaces.ts'

type Answer = Record<string, unknown> & { data: Record<string, unknown>[]; has_more?: boolean; next_cursor?: string | null }

/** Asks the service for a path below /v1. The fiscal entity is the asker's business. */
export type Ask = (path: string, query: Record<string, string>) => Promise<Answer>

/** What is the same in every page. The list of CFDIs says on its first page how complete its months are, and where a short page ends. */
const common = (page: Answer): object => ({ ...page, data: [], has_more: true, next_cursor: '', data_status: null, scanned_through: null })

/** The first page of an answer with the rows of all. */
export async function wholeOf(ask: Ask, path: string, query: Record<string, string>): Promise<Answer> {
  const first = await ask(path, query)
  const rows = [...first.data]
  for (let page = first; page.has_more; ) {
    page = await ask(path, { ...query, cursor: page.next_cursor! })
    rows.push(...page.data)
    expect(common(page)).toEqual(common(first))
  }
  return { ...first, data: rows }
}

const KEYS = ['period', 'year', 'category', 'rfc', 'key', 'month', 'currency']
const sorted = (entries: readonly Entry[]): Entry[] =>
  entries
    .filter(({ amount }) => micros(amount) !== 0n)
    .map(({ uuid, amount, applies_to }) => ({ uuid, amount, applies_to }))
    .sort((a, b) => (`${a.uuid}|${a.applies_to}` < `${b.uuid}|${b.applies_to}` ? -1 : 1))

/** The figure of the oracle that a path of entries names, with the keys of its row. */
export function figureOf(url: string): { path: string; query: Record<string, string>; figure: string } {
  const { pathname, searchParams } = new URL(url, 'https://service')
  const keys = KEYS.filter((name) => searchParams.has(name)).map((name) => searchParams.get(name)!)
  return {
    path: pathname.replace(/^\/v1/, ''),
    query: Object.fromEntries([...searchParams].filter(([name]) => !/^fiscal_?entity_?id$/i.test(name))),
    figure: [searchParams.get('figure') ?? '', ...keys].join('|'),
  }
}

/** All drilldowns of an answer that lead to entries. */
const drilldownsOf = (value: unknown): string[] => {
  if (Array.isArray(value)) return value.flatMap(drilldownsOf)
  if (value === null || typeof value !== 'object') return []
  return Object.entries(value).flatMap(([name, one]) => {
    if (name === 'data_quality') return []
    return name === 'drilldown'
      ? Object.values(one as Record<string, string>).filter((url) => url.includes('/entries?'))
      : drilldownsOf(one)
  })
}

/** Compares the entries behind a figure. Entries of zero may be left out. */
export async function expectEntries(ask: Ask, url: string, entries: readonly Entry[]): Promise<void> {
  const { path, query } = figureOf(url)
  const found = await wholeOf(ask, path, { ...query, limit: '100' })
  compared.entries += found.data.length
  expect(sorted(found.data as unknown as Entry[]), url).toEqual(sorted(entries))
}

/** What the oracle computes nothing of: links, texts, what is known of months, and the frame of an answer. */
const NOT_COMPUTED = ['drilldown', 'label', 'data_status', 'is_partial', 'through_date', 'is_known']
const FRAME = ['fiscal_entity_id', 'from', 'to', 'currency', 'basis', 'windows', 'window_state', 'as_of', 'data_quality']
/** Rows that also tell what a document or a rule says. */
const AS_STORED = ['/cfdi/risk', '/analytics/risk']
const PAGING = ['data', 'has_more', 'next_cursor']

/** What is computed of an answer, and in how many figures. */
export const compared = { figures: 0, entries: 0 }

function computed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(computed)
  if (value === null || typeof value !== 'object') {
    compared.figures++
    return value
  }
  return Object.fromEntries(Object.entries(value).flatMap(([name, one]) => (NOT_COMPUTED.includes(name) ? [] : [[name, computed(one)]])))
}

/** Asks for one surface, and compares its figures, and the entries of every `every`th drilldown, with the oracle's. */
export async function expectSurface(ask: Ask, { path, query, head, rows, tally }: Asked, every = 1): Promise<Answer> {
  const answer = await wholeOf(ask, path, query)
  const what = `${path} ${JSON.stringify(query)}`
  if (AS_STORED.includes(path)) expect(answer.data, what).toMatchObject(rows)
  else expect(computed(answer.data), what).toEqual(computed(rows))
  expect(answer, what).toMatchObject(head)
  const own = Object.keys(answer).filter((name) => ![...FRAME, ...PAGING, ...NOT_COMPUTED, ...Object.keys(head)].includes(name))
  if (Object.keys(head).length > 0) expect(own, what).toEqual([])
  for (const url of drilldownsOf(answer).filter((_, n) => n % every === 0)) {
    await expectEntries(ask, url, tally.entries(figureOf(url).figure))
  }
  return answer
}

/** Compares every surface of a range with the oracle. */
export async function expectSurfaces(ask: Ask, world: World, range: Range, every = 1): Promise<void> {
  for (const asked of surfacesOf(world, range)) await expectSurface(ask, asked, every)
}
