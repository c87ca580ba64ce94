import type * as z from 'zod'
import type { CfdiDetail, Concepto } from '../../../src/cfdi/detail/contract.ts'
import type { RateTable, Rules } from './rules.ts'
import type { Day, Direction, Month, Situacion } from './shapes.ts'

/** A document as GET /v1/cfdi/{uuid} answers it. */
export type Document = Omit<CfdiDetail, 'conceptos' | 'complement_trees' | 'xml' | 'xml_left_out'> & {
  conceptos: z.infer<typeof Concepto>[]
}

/** A taxpayer on a list, with the steps of its procedure; a list without steps has none. */
export interface ListEntry {
  source: string
  rfc: string
  name: string
  history: { situacion: Situacion | null; sat_at: Day | null; dof_at: Day | null; oficio: string | null }[]
}

/** What the REPSE registry last answered about a supplier. */
export interface Registration {
  is_registered: boolean
  vigencia_hasta: Day | null
  has_activities: boolean
}

/** A return as the documents list it. */
export interface Return {
  document_id: string
  version: number
  period_end: Day
  attributes: Record<string, string>
}

/** Everything that an organization can read of one RFC, and what is known besides. */
export interface World {
  rfc: string
  documents: readonly Document[]
  /** The day in America/Mexico_City, and the instant in milliseconds. */
  today: Day
  now: number
  /** The rules of a day. */
  rules: (day: Day) => Rules
  rates: RateTable
  lists: readonly ListEntry[]
  repse: ReadonlyMap<string, Registration>
  /** The other RFCs that the organization connected. */
  intercompany: readonly string[]
  returns: readonly Return[]
  /** Senses of the visible 32-D opinions, the latest last. */
  opinions: readonly { date: Day; sense: string }[]
  /** Whether everything is known, so that zeros are zeros. Otherwise nothing was downloaded beside the documents. */
  isComplete?: boolean
  /** The directions of which the window shows nothing. */
  hidden?: readonly Direction[]
}

export interface Range {
  from: Day
  to: Day
}

export const dayOf = (time: string): Day => time.slice(0, 10)
export const monthOf = (time: string): Month => time.slice(0, 7)
export const within = ({ from, to }: Range, day: Day): boolean => from <= day && day <= to

const EPOCH_DAY = 86_400_000
/** The rules that judge a document: those of its day. */
export const rulesOf = (world: World, document: Document): Rules => world.rules(dayOf(document.fecha))
/** Those of what the law counts by year. */
export const rulesOfYear = (world: World, document: Document): Rules => world.rules(`${document.fecha.slice(0, 4)}-12-31`)

export const daysBetween = (from: Day, to: Day): number => (Date.parse(to) - Date.parse(from)) / EPOCH_DAY
export const addDays = (day: Day, days: number): Day => new Date(Date.parse(day) + days * EPOCH_DAY).toISOString().slice(0, 10)
export function addMonths(month: Month, months: number): Month {
  const n = Number(month.slice(0, 4)) * 12 + Number(month.slice(5, 7)) - 1 + months
  return `${Math.floor(n / 12)}-${String((n % 12) + 1).padStart(2, '0')}`
}
export const lastDayOf = (month: Month): Day => addDays(`${addMonths(month, 1)}-01`, -1)
export function monthsOf({ from, to }: Range): Month[] {
  const months: Month[] = []
  for (let month = monthOf(from); month <= monthOf(to); month = addMonths(month, 1)) months.push(month)
  return months
}

export const isCompany = (rfc: string): boolean => [...rfc].length === 12
export const GENERIC = ['XAXX010101000', 'XEXX010101000']
export const isGeneric = (rfc: string): boolean => GENERIC.includes(rfc)

export const directionsOf = (direction: Direction | undefined): Direction[] => (direction ? [direction] : ['issued', 'received'])

/** Newest document first: the name of a counterparty is the one that its newest document has. */
export const nameOf = (documents: readonly Document[], rfc: string): string | null =>
  [...documents]
    .filter((one) => one.counterparty.rfc === rfc && one.counterparty.nombre !== null)
    .sort((a, b) => byNewest(a, b))
    .at(0)?.counterparty.nombre ?? null

export const byNewest = (a: Document, b: Document): number =>
  Date.parse(b.issued_at) - Date.parse(a.issued_at) || (a.uuid < b.uuid ? 1 : a.uuid > b.uuid ? -1 : 0)

/** Comparison by keys, each ascending. */
export const compare = (a: readonly (string | number | bigint)[], b: readonly (string | number | bigint)[]): number => {
  for (const [n, one] of a.entries()) if (one !== b[n]!) return one < b[n]! ? -1 : 1
  return 0
}
