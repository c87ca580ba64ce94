import { free } from '../../platform/bytes/bytes.ts'
import type { MetadataRow } from './metadata.ts'

/** The status that metadata gives a document. */
export type ReportedStatus = Pick<MetadataRow, 'cancelled' | 'cancelled_at' | 'cancellation_reason' | 'folio_sustitucion'>

/** Finds the status that metadata gives a document. A Map of rows does so too. */
export interface StatusLookup {
  get(uuid: string): ReportedStatus | undefined
}

/** The status of a valid document. */
const VALID: ReportedStatus = { cancelled: false, cancelled_at: null, cancellation_reason: null, folio_sustitucion: null }
const WORDS = 4
const FIRST_SLOTS = 1_024
/** What a slot says: nothing, a valid document, a valid document whose XML was delivered, or from here on the place of a cancellation. */
const [EMPTY, LISTED, DELIVERED, CANCELLED] = [0, 1, 2, 3]

/**
 * The statuses of a month's documents by UUID, in 20 bytes for a valid one and 29 more for a cancelled one: a busy taxpayer has hundreds of
 * thousands a month, whose rows would not fit into the memory. An open hash table in typed arrays; its seed is random, so that no file can
 * be made to fill one place.
 */
export class ReportedStatuses implements StatusLookup {
  #keys = new Uint32Array(FIRST_SLOTS * WORDS)
  #values = new Uint32Array(FIRST_SLOTS)
  #used = 0
  #delivered = 0
  readonly #seed = crypto.getRandomValues(new Uint32Array(WORDS)).map((word) => word | 1)
  readonly #cancellations = new Cancellations()

  /** Adds a row. A later row with the same UUID counts, but a cancellation is never undone. */
  add(row: ReportedStatus & Pick<MetadataRow, 'uuid'>): void {
    if (this.#used * 4 >= this.#values.length * 3) this.#grow()
    const key = wordsOf(row.uuid)
    const slot = this.#slotOf(key)
    const value = this.#values[slot]!
    if (value === EMPTY) {
      this.#keys.set(key, slot * WORDS)
      this.#used++
    }
    if (value >= CANCELLED! && !row.cancelled) return
    if (value === DELIVERED) this.#delivered--
    this.#values[slot] = row.cancelled ? CANCELLED! + this.#cancellations.add(row) : LISTED!
  }

  /** The place of a document among `places`, as long as no other one is added; null when no metadata lists it. */
  placeOf(uuid: string): number | null {
    const slot = this.#slotOf(wordsOf(uuid))
    return this.#values[slot] === EMPTY ? null : slot
  }

  get places(): number {
    return this.#values.length
  }

  get(uuid: string): ReportedStatus | undefined {
    const value = this.#values[this.#slotOf(wordsOf(uuid))]!
    if (value === EMPTY) return undefined
    return value < CANCELLED! ? VALID : this.#cancellations.at(value - CANCELLED!)
  }

  /** Notes that the XML of a document was delivered. Then nothing of a valid document is left to be told by its row. */
  deliver(uuid: string): void {
    const slot = this.#slotOf(wordsOf(uuid))
    if (this.#values[slot] !== LISTED) return
    this.#values[slot] = DELIVERED!
    this.#delivered++
  }

  isLeft(uuid: string): boolean {
    return this.#values[this.#slotOf(wordsOf(uuid))] !== DELIVERED
  }

  /** How many documents are left. */
  get left(): number {
    return this.#used - this.#delivered
  }

  /** The slot of a key, or the empty one where it belongs. */
  #slotOf(key: ArrayLike<number>): number {
    let hash = 0
    for (let word = 0; word < WORDS; word++) {
      hash = Math.imul(hash ^ key[word]!, this.#seed[word]!)
      hash ^= hash >>> 15
    }
    const mask = this.#values.length - 1
    let slot = hash & mask
    while (this.#values[slot] !== EMPTY && !this.#isAt(slot, key)) slot = (slot + 1) & mask
    return slot
  }

  #isAt(slot: number, key: ArrayLike<number>): boolean {
    for (let word = 0; word < WORDS; word++) if (this.#keys[slot * WORDS + word] !== key[word]) return false
    return true
  }

  #grow(): void {
    const [keys, values] = [this.#keys, this.#values]
    this.#keys = new Uint32Array(keys.length * 2)
    this.#values = new Uint32Array(values.length * 2)
    values.forEach((value, i) => {
      if (value === EMPTY) return
      const key = keys.subarray(i * WORDS, (i + 1) * WORDS)
      const slot = this.#slotOf(key)
      this.#keys.set(key, slot * WORDS)
      this.#values[slot] = value
    })
    free(keys)
    free(values)
  }
}

/** When and why documents were cancelled, by place. */
class Cancellations {
  #at = new Float64Array(64)
  #reasons = new Uint8Array(64)
  #substitutes = new Uint32Array(64 * WORDS)
  #used = 0

  add({ cancelled_at, cancellation_reason, folio_sustitucion }: ReportedStatus): number {
    if (this.#used === this.#at.length) this.#grow()
    const place = this.#used++
    this.#at[place] = cancelled_at === null ? Number.NaN : Date.parse(`${cancelled_at}Z`)
    this.#reasons[place] = Number(cancellation_reason ?? 0)
    if (folio_sustitucion !== null) this.#substitutes.set(wordsOf(folio_sustitucion), place * WORDS)
    return place
  }

  at(place: number): ReportedStatus {
    const [at, reason] = [this.#at[place]!, this.#reasons[place]!]
    const substitute = this.#substitutes.subarray(place * WORDS, (place + 1) * WORDS)
    return {
      cancelled: true,
      cancelled_at: Number.isNaN(at) ? null : new Date(at).toISOString().slice(0, 19),
      cancellation_reason: reason === 0 ? null : `0${reason}`,
      folio_sustitucion: substitute.some((word) => word !== 0) ? uuidOf(substitute) : null,
    }
  }

  #grow(): void {
    const grown = <Kind extends Float64Array | Uint8Array | Uint32Array>(larger: Kind, smaller: Kind): Kind => {
      larger.set(smaller as never)
      return larger
    }
    this.#at = grown(new Float64Array(this.#at.length * 2), this.#at)
    this.#reasons = grown(new Uint8Array(this.#reasons.length * 2), this.#reasons)
    this.#substitutes = grown(new Uint32Array(this.#substitutes.length * 2), this.#substitutes)
  }
}

const wordsOf = (uuid: string): number[] => {
  const hex = uuid.replaceAll('-', '')
  return [0, 8, 16, 24].map((at) => Number.parseInt(hex.slice(at, at + 8), 16) >>> 0)
}

const uuidOf = (words: ArrayLike<number>): string => {
  const hex = Array.from(words, (word) => word.toString(16).padStart(8, '0'))
    .join('')
    .toUpperCase()
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
