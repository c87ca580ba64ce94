/** Why a file is not taken in the place of the list that is held. */
export const REFUSALS = [
  'list.no_header',
  'list.undated',
  'list.empty',
  'list.older',
  'list.shrunk',
  'list.in_future',
  'list.too_large',
] as const
export type RefusalCode = (typeof REFUSALS)[number]

export class ListRefused extends Error {
  readonly code: RefusalCode

  constructor(code: RefusalCode, detail: string) {
    super(detail)
    this.code = code
  }
}

/** A list loses taxpayers, but not many at once: below this share of the held rows it is more likely cut off. */
const LEAST_SHARE = 0.9
/** A date further away is a typing mistake, and would keep every later list out. */
const FUTURE_DAYS = 366
const DAY = 86_400_000

interface Vintage {
  list_date: string
  row_count: number
}

/** Throws ListRefused unless what was found may take the place of what is held. */
export function refuseUnlikely(held: Vintage | null, found: Vintage, now: Date): void {
  if (found.row_count === 0) throw new ListRefused('list.empty', 'The list has no row that says who is in which situation.')
  const horizon = new Date(now.getTime() + FUTURE_DAYS * DAY).toISOString().slice(0, 10)
  if (found.list_date > horizon) throw new ListRefused('list.in_future', `The list says that it is of ${found.list_date}.`)
  if (held === null) return
  if (found.list_date < held.list_date)
    throw new ListRefused('list.older', `The list is of ${found.list_date}, the one that is held of ${held.list_date}.`)
  if (found.row_count < held.row_count * LEAST_SHARE)
    throw new ListRefused('list.shrunk', `The list has ${found.row_count} rows, the one that is held ${held.row_count}.`)
}
