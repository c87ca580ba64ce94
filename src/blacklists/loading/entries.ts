import { isRfc, normalRfc } from '../../taxpayers/rfc.ts'
import { SITUACIONES, type Situacion } from '../catalog.ts'
import { type Event, publishedOn } from '../listing-status.ts'
import { datesIn } from './dates.ts'
import { type ListRow, type Publication, situacionOf } from './list-69b.ts'

/** What is kept of an RFC on a list. */
export interface Entry {
  rfc: string
  name: string
  situacion: Situacion | null
  /** Its steps in order, the last one current. */
  history: Event[]
  /** Whether the date of some step cannot be read. */
  has_undated: boolean
}

/** An RFC that the authority took out of sight, by law or by court order. */
const SUPPRESSED = /^X{12,13}$/

/** The order in which the steps of one procedure follow, and which of two counts that were published on the same day. */
const rankOf = (situacion: Situacion): number => SITUACIONES.indexOf(situacion)

interface Placed {
  event: Event
  /** Its latest publication: which of two steps is the later one. */
  published: string
  /** The row says that this is where it stands, whatever the dates of its other steps. */
  isDecided: boolean
  rank: number
  name: string
}

const after = (a: Placed, b: Placed): number =>
  a.published < b.published ? -1 : a.published > b.published ? 1 : Number(a.isDecided) - Number(b.isDecided) || a.rank - b.rank

/** The number of an oficio, however its hyphens and its date are written. */
const numberOf = (oficio: string | null): string => (oficio ?? '').replace(/\bde fecha\b.*$/is, '').replace(/[^\dA-Za-z]+/g, '')

/** Publications in one cell: `a // b` of oficios beside `25/05/2022 - 26/04/2021` of dates. */
function publicationsIn({ oficio, date }: Publication): { oficio: string | null; date: string | null }[] {
  const oficios = oficio.split('//').map((one) => one.replace(/\s+/g, ' ').trim())
  const dates = date.trim() === '' ? [] : datesIn(date)
  const count = Math.max(dates.length, oficio.trim() === '' && date.trim() === '' ? 0 : 1)
  return Array.from({ length: count }, (_, n) => ({
    oficio: (oficios.length === count ? oficios[n] : oficio.replace(/\s+/g, ' ').trim()) || null,
    date: dates[n] ?? null,
  }))
}

/** The steps of one kind in a row: publications on the page and in the Diario Oficial, of the same oficio where their numbers differ. */
function stepsIn(situacion: Situacion, cells: ListRow['steps'][Situacion]): Event[] {
  const sat = publicationsIn(cells.sat)
  const dof = publicationsIn(cells.dof)
  const step = (a: (typeof sat)[number] | undefined, b: (typeof dof)[number] | undefined): Event => ({
    situacion,
    sat_at: a?.date ?? null,
    dof_at: b?.date ?? null,
    oficio: a?.oficio ?? b?.oficio ?? null,
  })
  if (sat.length === dof.length) return sat.map((one, n) => step(one, dof[n]))
  const left = [...dof]
  const paired = sat.map((one) => {
    const at = left.findIndex(({ oficio }) => numberOf(oficio) === numberOf(one.oficio))
    return step(one, at === -1 ? undefined : left.splice(at, 1)[0])
  })
  return [...paired, ...left.map((one) => step(undefined, one))]
}

const latest = ({ sat_at, dof_at }: Event): string => ((sat_at ?? '') > (dof_at ?? '') ? sat_at : dof_at) ?? ''

/** The steps of a row, the one that it stands at marked; empty when it says nothing. */
function placed(row: ListRow): Placed[] {
  const name = row.nombre.replace(/\s+/g, ' ').trim()
  const steps = SITUACIONES.flatMap((situacion) => stepsIn(situacion, row.steps[situacion]))
  const stands = situacionOf(row.situacion)
  if (stands !== null && !steps.some(({ situacion }) => situacion === stands))
    steps.push({ situacion: stands, sat_at: null, dof_at: null, oficio: null })
  const all = steps
    .map((event) => ({ event, published: latest(event), isDecided: false, rank: rankOf(event.situacion!), name }))
    .sort(after)
  const last = all.at(-1)
  const current = all.findLast(({ event }) => event.situacion === stands)
  return current === undefined || current === last
    ? all
    : all.map((one) => (one === current ? { ...one, published: last!.published, isDecided: true } : one))
}

/**
 * What to keep of each RFC of a list, and how many rows said something. An RFC in several rows has one history: the latest publication
 * counts (sat.md 5). Suppressed RFCs are rows, but nobody's.
 */
export function entriesOf(rows: Iterable<ListRow>): { entries: Entry[]; row_count: number; suppressed: number; illegible: number } {
  const found = new Map<string, Placed[]>()
  let [suppressed, illegible, row_count] = [0, 0, 0]
  for (const row of rows) {
    const rfc = normalRfc(row.rfc)
    const steps = placed(row)
    if (SUPPRESSED.test(rfc)) suppressed++
    else if (!isRfc(rfc) || steps.length === 0) {
      illegible++
      continue
    } else found.set(rfc, [...(found.get(rfc) ?? []), ...steps])
    row_count++
  }
  return { entries: [...found].map(([rfc, steps]) => entryOf(rfc, steps)), row_count, suppressed, illegible }
}

const textOf = ({ situacion, sat_at, dof_at, oficio }: Event): string => JSON.stringify([situacion, sat_at, dof_at, oficio])

function entryOf(rfc: string, steps: readonly Placed[]): Entry {
  // Rows repeat the steps that they share: the last place that a step has is its own.
  const sorted = [...steps].sort(after)
  const own = new Map(sorted.map((one) => [textOf(one.event), one]))
  const unique = sorted.filter((one) => own.get(textOf(one.event)) === one)
  const { event, name } = unique.at(-1)!
  const history = unique.map((one) => one.event)
  return { rfc, name, situacion: event.situacion, history, has_undated: history.some((one) => publishedOn(one) === null) }
}
