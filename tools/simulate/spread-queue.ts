/** Beyond the longest delay of a message, in minutes. */
const RING = 1_441

/**
 * The messages of the queue of scheduled downloads, one for each RFC, by the minute from which on they may be handled and by ledger. Those
 * whose minute has come wait for a consumer.
 */
export class SpreadQueue {
  readonly #ledgers: number
  readonly #scheduled: Int32Array
  readonly #waiting: Int32Array
  /** Messages that had come, and those that had been handled, by the end of each minute. */
  #come: number[] = []
  #oldest = 0
  #first = 0
  sent = 0
  handled = 0
  /** Those of which the minute has come. */
  waiting = 0
  /** Minutes for which the oldest message that waits has waited for a consumer, and the most so far. */
  wait = 0
  longestWait = 0

  constructor(ledgers: number) {
    this.#ledgers = ledgers
    this.#scheduled = new Int32Array(RING * ledgers)
    this.#waiting = new Int32Array(ledgers)
  }

  /** Sends a message that may be handled from a minute on, less than a day after the current one. */
  send(minute: number, ledger: number): void {
    this.#scheduled[(minute % RING) * this.#ledgers + ledger]! += 1
    this.sent++
  }

  /** Begins a minute. */
  begin(minute: number): void {
    this.#come[minute] = this.handled + this.waiting
    if (this.sent === this.#come[minute]) return
    const from = (minute % RING) * this.#ledgers
    for (let ledger = 0; ledger < this.#ledgers; ledger++) {
      const come = this.#scheduled[from + ledger]!
      this.#waiting[ledger]! += come
      this.waiting += come
      this.#scheduled[from + ledger] = 0
    }
    this.#come[minute] = this.handled + this.waiting
  }

  /** Has at most so many messages handled in a minute, as evenly over the ledgers as they wait. Reports how many of each ledger. */
  handle(minute: number, most: number, report: (ledger: number, count: number) => void): void {
    let left = Math.min(most, this.waiting)
    const share = this.waiting === 0 ? 0 : left / this.waiting
    for (let n = 0; n < this.#ledgers && left > 0; n++) {
      const ledger = (this.#first + n) % this.#ledgers
      const count = Math.min(left, Math.ceil(this.#waiting[ledger]! * share))
      if (count === 0) continue
      this.#waiting[ledger]! -= count
      this.waiting -= count
      this.handled += count
      left -= count
      report(ledger, count)
    }
    this.#first = (this.#first + 1) % this.#ledgers
    // Up to here every message that had come by that minute is handled.
    while (this.#oldest < minute && this.#come[this.#oldest]! <= this.handled) this.#oldest++
    this.wait = this.waiting > 0 ? minute - this.#oldest : 0
    this.longestWait = Math.max(this.longestWait, this.wait)
  }

  /** The messages of a ledger that wait. */
  waitingOf = (ledger: number): number => this.#waiting[ledger]!
}
