import type { Customer } from '../../../scripts/customer.ts'
import { literalOf, type Source, type Truth } from '../../../tools/stand-in/truth/truth.ts'
import { all } from './books.ts'

interface Shown {
  uuid: string
  has_xml: boolean
  estatus: string
}

interface Month {
  source: Source
  month: string
  status: string
  visible_from: string
  announced_count: number
  held_count: number
  with_xml_count: number
  metadata_only_count: number
}

const SOURCES = ['sat_cfdi_issued', 'sat_cfdi_received'] as const
const BEHIND_MS = 60_000

/** What a customer is shown of a taxpayer, beside what the stand-in of the authority has. */
export class AuthorityTruth {
  readonly truth: Truth
  readonly rfc: string
  readonly #customer: Customer
  readonly #fiscal_entity_id: string
  /** When the taxpayer was connected: what was stamped later need not be held. */
  readonly #asked: Date

  constructor(truth: Truth, rfc: string, customer: Customer, fiscal_entity_id: string, asked: Date) {
    this.truth = truth
    this.rfc = rfc
    this.#customer = customer
    this.#fiscal_entity_id = fiscal_entity_id
    this.#asked = asked
  }

  #coverage = (): Promise<Month[]> =>
    all<Month>(this.#customer, `/v1/fiscal-entities/${this.#fiscal_entity_id}/coverage?from=${this.months[0]}&limit=100`)

  #shown = (): Promise<Shown[]> => all<Shown>(this.#customer, `/v1/cfdi?fiscal_entity_id=${this.#fiscal_entity_id}&limit=100`)

  get months(): string[] {
    return [...new Set(this.truth.documents.map(({ fecha }) => fecha.slice(0, 7)))].sort()
  }

  /** What coverage says now that is not so, in sentences; and how many months it calls complete. */
  async lies(): Promise<{ lies: string[]; complete: number }> {
    const coverage = await this.#coverage()
    const shown = new Map((await this.#shown()).map((one) => [one.uuid, one]))
    const lies = coverage.flatMap((one) => {
      const { source, month, status, announced_count, held_count, with_xml_count, metadata_only_count } = one
      const what = `${source} ${month} is ${status}`
      const { least, most } = this.#of(one)
      const counts =
        announced_count <= most.announced &&
        with_xml_count + metadata_only_count === announced_count &&
        held_count >= with_xml_count &&
        held_count <= announced_count
      const wrong = counts ? [] : [`${what} with ${JSON.stringify(one)}, of ${most.announced}.`]
      if (status !== 'complete') return wrong
      if (held_count < announced_count) wrong.push(`${what} and holds ${held_count} of ${announced_count}.`)
      const missing = [...least.announced].filter((uuid) => !shown.has(uuid))
      const bare = [...least.obtainable].filter((uuid) => shown.get(uuid)?.has_xml === false)
      return [...wrong, ...missing.map((uuid) => `${what} without ${uuid}.`), ...bare.map((uuid) => `${what} without the XML of ${uuid}.`)]
    })
    return { lies, complete: coverage.filter(({ status }) => status === 'complete').length }
  }

  /** What the window shows of a month for certain, and at most. */
  #of({ source, month, visible_from }: Month) {
    const of = (at: Date) => {
      const isShown = (uuid: string) => this.truth.get(uuid).fecha.slice(0, 10) >= visible_from
      const [announced, obtainable] = [this.truth.announced, this.truth.obtainable].map(
        (sets) => new Set([...sets.call(this.truth, this.rfc, source, month, at)].filter(isShown)),
      ) as [Set<string>, Set<string>]
      return { announced, obtainable }
    }
    return { least: of(new Date(this.#asked.getTime() - BEHIND_MS)), most: { announced: of(new Date()).announced.size } }
  }

  /** In what the service differs from the authority, document by document and month by month, when everything has been downloaded. */
  async differences(): Promise<string[]> {
    const [asked, now] = [literalOf(new Date(this.#asked.getTime() - BEHIND_MS)), literalOf(new Date())]
    const coverage = await this.#coverage()
    const rows = await this.#shown()
    const shown = new Map(rows.map((one) => [one.uuid, one]))
    const differences = rows.length === shown.size ? [] : [`Of ${rows.length} documents ${shown.size} are different.`]
    const expected = new Set<string>()
    for (const source of SOURCES)
      for (const month of this.months) {
        const one = coverage.find((covered) => covered.source === source && covered.month === month)
        if (one?.status !== 'complete') differences.push(`${source} ${month} is ${one?.status}.`)
        const { least, most } = this.#of(one ?? ({ source, month, visible_from: '' } as Month))
        if (one && least.announced.size === most.announced && one.announced_count !== most.announced)
          differences.push(`${source} ${month} announces ${one.announced_count} of ${most.announced}.`)
        for (const uuid of this.truth.announced(this.rfc, source, month)) expected.add(uuid)
        for (const uuid of least.announced) {
          const document = this.truth.get(uuid)
          const stored = shown.get(uuid)
          if (!stored) differences.push(`${source} ${month} ${uuid} is missing.`)
          // What changed meanwhile may be held as it was, or as it is.
          else if (document.cancelled === null || document.cancelled <= asked || document.cancelled > now) {
            const isCancelled = document.cancelled !== null && document.cancelled <= now
            if (stored.has_xml !== least.obtainable.has(uuid)) differences.push(`${source} ${month} ${uuid} has XML: ${stored.has_xml}.`)
            if (stored.estatus !== (isCancelled ? 'cancelado' : 'vigente'))
              differences.push(`${source} ${month} ${uuid} is ${stored.estatus}.`)
          }
        }
      }
    return [...differences, ...[...shown.keys()].filter((uuid) => !expected.has(uuid)).map((uuid) => `${uuid} is not the authority's.`)]
  }
}
