/** Why a file does not replace the loaded list. */
export const REFUSALS = [
  'list.no_header',
  'list.undated',
  'list.empty',
  'list.older',
  'list.shrunk',
  'list.in_future',
  'list.other',
  'list.too_large',
] as const
export type RefusalCode = (typeof REFUSALS)[number]

/** The file is refused; the message says why. */
export class ListRefused extends Error {
  readonly code: RefusalCode

  constructor(code: RefusalCode, detail: string) {
    super(detail)
    this.code = code
  }
}

/** A date further ahead is a typing error, and would make every later list appear older. */
const FUTURE_DAYS = 366
const DAY = 86_400_000

interface Vintage {
  list_date: string
  row_count: number
}

/**
 * Throws ListRefused unless the list `found` can plausibly replace the loaded one. `others` of its rows say that they belong to another list;
 * a list that keeps a smaller share of the loaded rows than `least_share` is probably truncated.
 */
export function refuseImplausible(
  loaded: Vintage | null,
  { others = 0, ...found }: Vintage & { others?: number },
  now: Date,
  least_share = 0.9,
): void {
  if (found.row_count === 0) throw new ListRefused('list.empty', 'The list has no readable row with an RFC.')
  if (others > found.row_count / 2)
    throw new ListRefused('list.other', `The column SUPUESTO of ${others} of the ${found.row_count} rows names another list.`)
  const horizon = new Date(now.getTime() + FUTURE_DAYS * DAY).toISOString().slice(0, 10)
  if (found.list_date > horizon)
    throw new ListRefused('list.in_future', `The list is dated ${found.list_date}, which is more than a year ahead.`)
  if (loaded === null) return
  if (found.list_date < loaded.list_date)
    throw new ListRefused('list.older', `The list is dated ${found.list_date}; the loaded list is dated ${loaded.list_date}.`)
  if (found.row_count < loaded.row_count * least_share)
    throw new ListRefused(
      'list.shrunk',
      `The list has ${found.row_count} rows; the loaded list has ${loaded.row_count}. A list must keep at least ${Math.round(least_share * 100)} % of the rows.`,
    )
}
