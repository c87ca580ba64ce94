import type { PageItem } from '../search/store.ts'
import { type ChangeReason, REASONS } from './contract.ts'

/** A change as it was found. Without an item, the document is removed. */
export interface ToldChange {
  uuid: string
  reasons: ChangeReason[]
  item: PageItem | null
}

/** The changes of an answer, each document once. */
export class ChangePage {
  readonly #limit: number
  readonly #changes = new Map<string, { reasons: Set<ChangeReason>; item: PageItem | null }>()

  /** The greatest of the commits that first stored what was put. */
  lastStored = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Puts a document as it was read last. False when there is no room for it. */
  put(uuid: string, reason: ChangeReason, item: PageItem | null, stored_by: number): boolean {
    const known = this.#changes.get(uuid)
    if (known === undefined && this.#changes.size === this.#limit) return false
    if (item?.context.partition.origin === 'authority') this.lastStored = Math.max(this.lastStored, stored_by)
    this.#changes.set(uuid, { reasons: new Set(known?.reasons).add(reason), item })
    return true
  }

  get left(): number {
    return this.#limit - this.#changes.size
  }

  changes(): ToldChange[] {
    return [...this.#changes].map(([uuid, { reasons, item }]) => ({
      uuid,
      item,
      reasons: REASONS.filter((one) => (item === null ? one === 'removed' : one !== 'removed' && reasons.has(one))),
    }))
  }
}
