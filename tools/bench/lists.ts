import { listOf, manyRows } from '../../test/lists/support/list-csv.ts'
import { measure } from './measures.ts'
import { type Rig, withRig } from './rig.ts'
import type { Recording } from './workers/storage.ts'

const ROWS = 15_000

const statementsOf = ({ calls }: Recording) => calls.flatMap(({ statements }) => statements)

/** Loads the file, which must end as said. */
async function load(rig: Rig, file: Uint8Array, outcome: string) {
  const { result, recording } = await rig.recorded(() => rig.ask('/list', new Uint8Array(file)))
  if (result !== outcome) throw new Error(`The list was ${result}, not ${outcome}.`)
  return statementsOf(recording)
}

export const lists = measure({
  figures: {
    'lists.load_statements': { atMost: 40, meaning: `Statements that a 69-B list of ${ROWS.toLocaleString('en')} rows is loaded in` },
    'lists.reload_rows_written': { atMost: 0, meaning: 'Rows that D1 writes when it is loaded again unchanged' },
  },
  take: () =>
    withRig(async (rig) => {
      const file = listOf(manyRows(ROWS))
      const first = await load(rig, file, 'loaded')
      const again = await load(rig, file, 'unchanged')
      return {
        'lists.load_statements': first.length,
        'lists.reload_rows_written': again.reduce((sum, { rows_written }) => sum + rows_written, 0),
      }
    }),
})
