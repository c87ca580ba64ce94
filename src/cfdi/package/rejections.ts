/** A file of a package, or a line of a metadata file, that was not kept. */
export interface Rejection {
  /** Safe to be shown. */
  name: string
  /** The line on which the row of metadata begins; null for a file. */
  line: number | null
  code: string
  /** Null when it is not known. */
  uuid: string | null
}

/** How many rejections are listed one by one. */
export const MOST_LISTED = 100

/** Rejections: how many there are, and the first of them. */
export class Rejections {
  count = 0
  readonly first: Rejection[] = []

  add(rejection: Rejection): void {
    this.count++
    if (this.first.length < MOST_LISTED) this.first.push(rejection)
  }
}
