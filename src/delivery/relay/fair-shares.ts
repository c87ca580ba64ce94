import type { PagePart } from '../../platform/outbox/pending.ts'

/** The events of one entity after an identifier, and the organizations whose shares they use. */
interface Line {
  organizations: readonly string[]
  after: string
}

/**
 * Divides pages of outbox events: organizations take turns, and so do the RFCs of each, so that an organization with many events or many
 * RFCs delays no other.
 */
export class FairShares {
  readonly #lines = new Map<number, Line>()
  /** The entities of each organization; the first one has the next turn. */
  readonly #entities = new Map<string, number[]>()
  #first: number

  /** `first` selects, of any number of organizations, the one that begins. */
  constructor(first: number) {
    this.#first = first
  }

  get isEmpty(): boolean {
    return this.#lines.size === 0
  }

  /** Adds an entity with organizations that may hear of its events. Without any, nobody's shares are used. */
  add(entity: number, organizations: readonly string[]): void {
    if (this.#lines.has(entity)) return
    const takers = organizations.length > 0 ? organizations : ['']
    this.#lines.set(entity, { organizations: takers, after: '' })
    for (const organization of takers) {
      const entities = this.#entities.get(organization)
      if (entities) entities.push(entity)
      else this.#entities.set(organization, [entity])
    }
  }

  /** Divides a page of so many events. */
  next(events: number): PagePart[] {
    const organizations = [...this.#entities.values()]
    const counts = new Map<number, number>()
    for (let n = 0; n < events && organizations.length > 0; n++) {
      const entities = organizations[(this.#first + n) % organizations.length]!
      const entity = entities.shift()!
      entities.push(entity)
      counts.set(entity, (counts.get(entity) ?? 0) + 1)
    }
    // With fewer organizations than places in the page, each has had turns, and the next page begins with another.
    this.#first = (this.#first + (organizations.length > events ? events : 1)) % Math.max(organizations.length, 1)
    return [...counts].map(([entity, count]) => ({ entity, count, after: this.#lines.get(entity)!.after }))
  }

  /**
   * Keeps how far a part has been read. The first unfinished event, given by its index, is read again next time; without one, an entity
   * whose events were fewer than asked for leaves.
   */
  read({ entity, count }: PagePart, outbox_event_ids: readonly string[], unfinished: number): void {
    const line = this.#lines.get(entity)
    if (!line) return
    if (unfinished === -1 && outbox_event_ids.length < count) this.#remove(entity, line)
    const read = unfinished === -1 ? outbox_event_ids : outbox_event_ids.slice(0, unfinished)
    line.after = read.at(-1) ?? line.after
  }

  #remove(entity: number, { organizations }: Line): void {
    this.#lines.delete(entity)
    for (const organization of organizations) {
      const left = this.#entities.get(organization)!.filter((one) => one !== entity)
      if (left.length > 0) this.#entities.set(organization, left)
      else this.#entities.delete(organization)
    }
  }
}
