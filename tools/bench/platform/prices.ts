import type { Objects } from '../workers/metered.ts'
import type { Used } from '../workers/storage.ts'

/** List prices in USD: of a million, and of a GB kept for a month. */
export const PRICES = {
  'D1 rows written': 1,
  'D1 rows read': 0.001,
  'Durable Object rows written': 1,
  'Durable Object rows read': 0.001,
  'Durable Object requests': 0.15,
  'Queue operations, three a message': 0.4,
  'R2 operations of class A': 4.5,
  'R2 operations of class B': 0.36,
  'D1 GB kept for a month': 0.75,
} as const

type Billed = Exclude<keyof typeof PRICES, 'D1 GB kept for a month'>

/** Nothing at all. */
export const nothing = (): Spent =>
  spentOf({ statements: {}, calls: 0, class_a: 0, class_b: 0 }, { requests: 0, rows_read: 0, rows_written: 0 }, 0)

/** What something used of each thing that the platform bills, and the rows of each kind of statement. */
export interface Spent {
  billed: Record<Billed, number>
  statements: Used['statements']
}

export function spentOf({ statements, class_a, class_b }: Used, objects: Objects, operations: number): Spent {
  return {
    billed: {
      'D1 rows written': sumOf(statements, 'rows_written'),
      'D1 rows read': sumOf(statements, 'rows_read'),
      'Durable Object rows written': objects.rows_written,
      'Durable Object rows read': objects.rows_read,
      'Durable Object requests': objects.requests,
      'Queue operations, three a message': operations,
      'R2 operations of class A': class_a,
      'R2 operations of class B': class_b,
    },
    statements,
  }
}

export const rowsWritten = ({ billed }: Spent): number => billed['D1 rows written'] + billed['Durable Object rows written']
export const rowsRead = ({ billed }: Spent): number => billed['D1 rows read'] + billed['Durable Object rows read']
export const usdOf = ({ billed }: Spent): number =>
  Object.entries(billed).reduce((sum, [what, times]) => sum + (times * PRICES[what as Billed]) / 1e6, 0)

const added = <Key extends string>(a: Record<Key, number>, b: Record<Key, number>, times: number): Record<Key, number> =>
  Object.fromEntries(Object.entries<number>(a).map(([key, value]) => [key, value + times * b[key as Key]])) as Record<Key, number>

/** Two things together; with -1, the first without the second. */
export function plus(a: Spent, b: Spent, times = 1): Spent {
  const none = { times: 0, rows_read: 0, rows_written: 0 }
  const kinds = [...new Set([...Object.keys(a.statements), ...Object.keys(b.statements)])]
  return {
    billed: added(a.billed, b.billed, times),
    statements: Object.fromEntries(kinds.map((kind) => [kind, added(a.statements[kind] ?? none, b.statements[kind] ?? none, times)])),
  }
}

const sumOf = (statements: Used['statements'], what: 'rows_written' | 'rows_read'): number =>
  Object.values(statements).reduce((sum, ran) => sum + ran[what], 0)

/** For looking closer: what was billed, and the statements that wrote or read most. */
export function notify(what: string, { billed, statements }: Spent): void {
  if (!process.env['BENCH_VERBOSE']) return
  console.error(`  ${what}`)
  for (const [name, times] of Object.entries(billed).filter(([, times]) => times !== 0))
    console.error(`    ${String(times).padStart(8)}  ${name}`)
  console.error('     written     read    times')
  const kinds = Object.entries(statements).sort(([, a], [, b]) => b.rows_written - a.rows_written || b.rows_read - a.rows_read)
  for (const [kind, { times, rows_read, rows_written }] of kinds.filter(
    ([, { times, rows_read, rows_written }]) => times !== 0 || rows_read !== 0 || rows_written !== 0,
  ))
    console.error(`    ${String(rows_written).padStart(8)} ${String(rows_read).padStart(8)} ${String(times).padStart(8)}  ${kind}`)
}
