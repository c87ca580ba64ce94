import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { filesIn, rowsOfResults } from '../../../src/cfdi/imports/results.ts'
import { filesWithResult, findImport, insertFileResults } from '../../../src/cfdi/imports/store.ts'
import type { EntryResult } from '../../../src/cfdi/ingest/ingest.ts'
import { commit } from '../../../src/platform/db/commit.ts'
import { unpacked } from '../../../src/platform/db/packed.ts'
import { runs } from '../../support/fuzz.ts'

const LIMIT = 40
let imports = 0

const status = fc.constantFrom<EntryResult['status']>('created', 'updated', 'unchanged', 'rejected')
const commits = fc
  .uniqueArray(fc.tuple(fc.integer({ min: -1, max: 300 }), status, fc.nat(6)), { maxLength: 120, selector: ([n]) => n })
  .map((all) => Map.groupBy(all, ([, , commit]) => commit))

const resultOf = (n: number, status: EntryResult['status'], more: Partial<EntryResult> = {}): EntryResult => ({
  ...{ n, name: `${n}.xml`, status, uuid: n % 2 ? `UUID-${n}` : null, code: null, detail: null },
  ...more,
})

it('the results of an import, in whatever rows they lie, are its first ones in the order of the upload, and counts of all', async () => {
  await fc.assert(
    fc.asyncProperty(commits, async (drawn) => {
      const import_id = `imp_${++imports}`
      const slices = [...drawn.values()].map((some) => some.map(([n, status]) => resultOf(n, status)))
      for (const slice of slices) await commit(env.LEDGER_0, insertFileResults(import_id, slice))
      const all = slices.flat().sort((a, b) => a.n - b.n)
      const { results, counts } = await findImport(env.LEDGER_0, 'org', 'fe', import_id, LIMIT)
      expect(filesIn(results, LIMIT)).toEqual(all.slice(0, LIMIT).map(({ n: _, ...file }) => ({ ...file, rejected_rows: [] })))
      for (const status of ['created', 'updated', 'unchanged', 'rejected'] as const)
        expect(counts[status]).toBe(all.filter((one) => one.status === status).length)
      expect([...(await filesWithResult(env.LEDGER_0, import_id))].sort((a, b) => a - b)).toEqual(all.map(({ n }) => n))
    }),
    { numRuns: runs(20, 500) },
  )
})

it('1,000 results are one row, which has at most 256 KiB, and the first 1,000 files are read out of few rows', async () => {
  const slices = [0, 1, 2, 3].map((k) => Array.from({ length: 1_000 }, (_, n) => resultOf(1_000 * k + n, 'created')))
  for (const slice of slices) {
    expect(rowsOfResults(slice)).toHaveLength(1)
    await commit(env.LEDGER_0, insertFileResults('imp_large', slice))
  }
  expect((await findImport(env.LEDGER_0, 'org', 'fe', 'imp_large', 1_000)).results).toHaveLength(1)
  const rejected_rows = Array.from({ length: 100 }, (_, line) => ({ name: 'lista.txt', line, code: 'metadata.no_uuid', uuid: null }))
  const rows = rowsOfResults(Array.from({ length: 1_000 }, (_, n) => resultOf(n, 'rejected', { rejected_rows })))
  expect(rows.length).toBeGreaterThan(5)
  for (const { data } of rows) expect(unpacked(data).length).toBeLessThanOrEqual(256 * 1024)
  expect(filesIn(rows, 2)[1]!.rejected_rows).toEqual(rejected_rows.map(({ line, code }) => ({ line, code })))
})
