import { BARE_TABLE, bareRows } from './bare/rows.ts'
import { measure, median } from './measures.ts'
import { at, ingested, MONTH, months } from './packages.ts'
import { type Rig, withRig } from './rig.ts'
import { sized } from './sizes.ts'
import type { Ran, Recording } from './workers/storage.ts'

const PAIRS = sized(15, 1)
const WARM_UP = sized(3, 1)
const COUNTED = 100
const TIMED = 200

const statementsOf = ({ calls }: Recording): Ran[] => calls.flatMap(({ statements }) => statements)
const writtenIn = (recording: Recording): number => statementsOf(recording).reduce((sum, { rows_written }) => sum + rows_written, 0)
/** Statements that put documents, their lines and what they pay into their tables. */
const isOfDocuments = ({ sql }: Ran): boolean => /^\s*insert into "?cfdi(_lines|_chunks|_payments)?"?\s*\(/.test(sql)

/** The package as a download of a month: the job is asked for, claimed, worked on in one slice, settled. */
async function download(rig: Rig, entity: number) {
  const claim = await rig.recorded(() => rig.ask(at('/claim', entity, MONTH)))
  if (claim.result === null) throw new Error('There was no job to be claimed.')
  const job = JSON.stringify(claim.result)
  const slice = await rig.recorded(() => rig.ask(at('/ingest', entity, 'documents'), job))
  const settle = await rig.recorded(() => rig.ask(at('/settle', entity, ''), job))
  return { ...slice, written: [claim, slice, settle].reduce((sum, { recording }) => sum + writtenIn(recording), 0) }
}

/** Rows of lines and of what payments and credit notes refer to. */
const detailsIn = (recording: Recording): number =>
  statementsOf(recording)
    .filter(({ sql }) => /^\s*insert into "?cfdi_(lines|payments)\b/.test(sql))
    .reduce((sum, { rows_written }) => sum + rows_written, 0)

async function counts(rig: Rig) {
  await ingested(rig, COUNTED)
  const first = await download(rig, COUNTED)
  const [slice] = first.result as { created: number }[]
  if (slice?.created !== 1_000) throw new Error(`A package of 1,000 gave ${JSON.stringify(first.result)}.`)
  const again = await download(rig, COUNTED)
  return {
    'ingest.rows_written_per_cfdi': (first.written - detailsIn(first.recording)) / 1_000,
    'ingest.statements_per_1000': statementsOf(first.recording).filter(isOfDocuments).length,
    'ingest.puts_per_slice': first.recording.puts,
    'ingest.d1_calls_per_slice': first.recording.calls.length,
    'reingest.rows_written': writtenIn(again.recording),
    'reingest.puts': again.recording.puts,
  }
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

/** Each round into entities of their own, the product's and the bare one's in turn. */
async function ratioToBare(rig: Rig): Promise<number> {
  for (const statement of BARE_TABLE) await rig.query('bare', statement)
  await rig.ask('/bare', JSON.stringify({ rows: bareRows((await months(rig)).documents) }))
  const ratios: number[] = []
  for (let round = 0; round < WARM_UP + PAIRS; round++) {
    const entity = TIMED + 2 * round
    await ingested(rig, entity)
    const ours = await timeOf(() => rig.ask(at('/ingest', entity, 'documents'), 'null'))
    const bare = await timeOf(() => rig.ask(at('/bare-ingest', entity + 1, 'documents')))
    if (round >= WARM_UP) ratios.push(ours / bare)
  }
  return median(ratios)
}

export const ingest = measure({
  figures: {
    'ingest.rows_written_per_cfdi': {
      atMost: 5,
      digits: 3,
      meaning: 'Rows that D1 writes for each of 1,000 documents of a month, with indexes, balances, totals and the job; payments aside',
    },
    'ingest.statements_per_1000': { atMost: 4, meaning: 'Statements that insert those documents, their lines and what they pay' },
    'ingest.puts_per_slice': { atMost: 1, meaning: 'R2 puts for them' },
    'ingest.d1_calls_per_slice': { atMost: 5, meaning: 'D1 calls for them' },
    'reingest.rows_written': { atMost: 0, meaning: 'Rows that D1 writes when the same package comes again; the life of its job aside' },
    'reingest.puts': { atMost: 0, meaning: 'R2 puts then' },
    'ingest.ratio_vs_bare': {
      isRatioOfTimes: true,
      atMost: 1.8,
      digits: 2,
      meaning:
        'Time of that package to the bare work: inflateRawSync, saxes without mapping, one bulk insert of the rows that `cfdi` had in November 2026',
    },
  },
  take: () =>
    withRig(async (rig) => {
      return { ...(await counts(rig)), 'ingest.ratio_vs_bare': await ratioToBare(rig) }
    }),
})
