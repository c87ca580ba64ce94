export const FETCH_STATES = ['offered', 'leased', 'complete', 'failed'] as const

/** Why a fetcher could not bring something, beside a login that was refused. */
export const FETCH_ERRORS = ['account_locked', 'sat_unavailable', 'rate_limited', 'not_delivered'] as const
export type FetchError = (typeof FETCH_ERRORS)[number]

/** An object of the bucket that a fetcher uploaded, and what kind of file it says it is. */
export interface FetchedFile {
  key: string
  size: number
}

/** A fetch as it is stored. */
export interface FetchRow {
  fetch: number
  entity: number
  source: string
  month: string
  asked_at: number
  state: (typeof FETCH_STATES)[number]
  due_at: number | null
  token: string | null
  leased_at: number | null
  version: number | null
  login: string | null
  /** `{"metadata-0": FetchedFile}` as JSON. */
  files: string
  is_whole: number
  error_class: string | null
}

/** The uploads of a fetch by their names: `metadata-0`, `xml-12`. */
export const filesOf = ({ files }: Pick<FetchRow, 'files'>): Record<string, FetchedFile> => JSON.parse(files) as Record<string, FetchedFile>

/** The files of a kind in the order of their numbers. */
export const filesOfKind = (row: Pick<FetchRow, 'files'>, kind: string): FetchedFile[] =>
  Object.entries(filesOf(row))
    .map(([name, file]) => ({ name: name.split('-'), file }))
    .filter(({ name }) => name[0] === kind)
    .sort((one, other) => Number(one.name[1]) - Number(other.name[1]))
    .map(({ file }) => file)
