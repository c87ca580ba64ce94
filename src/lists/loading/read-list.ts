import { detached } from '../../platform/bytes/bytes.ts'
import { recordsOf, textsOf } from '../../platform/csv.ts'
import { isRfc, normalRfc } from '../../taxpayers/rfc.ts'
import { type ListingStep, type PublicSource, publishedOn, SITUACIONES, type Situacion } from '../catalog.ts'

/** How the authority writes a list, from a day on. Column names are compared in lower case, without accents. */
interface ListFormat {
  /** The first day on which a file that the service receives is read so, `YYYY-MM-DD`. */
  valid_from: string
  /** The most lines before the header. */
  preamble: number
  /** Where the list states the day up to which it is current: before the header, or nowhere; then the day of the file counts. */
  dated: 'preamble' | 'file'
  rfc: RegExp
  name: RegExp
  /** The situations that have columns: oficio and publication, on the authority's page and in the Diario Oficial. Empty on a plain list. */
  steps: readonly Situacion[]
  /** The column with the current situation, of a list with steps. */
  situacion?: RegExp
  /** The column with the day of the first publication, of a plain list. */
  published?: RegExp
  /** The column that names the list in each row, and the name there: several plain lists have the same header. */
  named?: { column: RegExp; as: RegExp }
  /** A file with a smaller share of the loaded rows is probably truncated. */
  least_share: number
  /** Who read such files, and when. */
  reference: string
}

const COMMON = { valid_from: '2014-01-01', rfc: /^rfc$/, least_share: 0.9 } as const
const PROCEDURE = { ...COMMON, preamble: 50, dated: 'preamble', name: /^nombre/, situacion: /^situacion/ } as const
const PLAIN = {
  ...COMMON,
  preamble: 10,
  dated: 'file',
  name: /^(nombre|razon social)/,
  steps: [],
  published: /^fechas? de (primera )?publicacion/,
} as const
const READ = 'headers of the files of Datos abiertos, as several public loaders read them in 2026'

const formatsPlain = (as: RegExp, reference = READ): ListFormat => ({ ...PLAIN, named: { column: /^supuesto/, as }, reference })

/** The formats of each list, newest first. A format that changes is a new row. */
export const LIST_FORMATS: Record<PublicSource, readonly [ListFormat, ...ListFormat[]]> = {
  sat_69b: [
    {
      ...PROCEDURE,
      steps: ['presunto', 'desvirtuado', 'definitivo', 'sentencia_favorable'],
      reference: 'the file of Datos abiertos, Listado completo 69-B',
    },
  ],
  // It has a handful of rows, so that one row is a large share of it.
  sat_69b_bis: [{ ...PROCEDURE, steps: ['definitivo', 'sentencia_favorable'], least_share: 0.5, reference: READ }],
  sat_69_firmes: [formatsPlain(/firme/)],
  sat_69_exigibles: [formatsPlain(/exigible/)],
  sat_69_no_localizados: [formatsPlain(/no localizad/)],
  sat_69_sentencias: [formatsPlain(/sentencia/)],
  sat_69_cancelados: [formatsPlain(/cancelad/)],
  sat_69_condonados: [formatsPlain(/condona|reduccion/, 'from memory: the authority no longer publishes a file of this name')],
  sat_csd_sin_efectos: [{ ...PLAIN, named: { column: /^supuesto de cancelacion/, as: /fraccion|\S/ }, reference: READ }],
}

/** Returns the format of a list's file that was received on a day. */
export function formatOf(source: PublicSource, day: string): ListFormat {
  const formats = LIST_FORMATS[source]
  return formats.find(({ valid_from }) => valid_from <= day) ?? formats[0]
}

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

/** Dates as the authority's lists spell them. */

const MONTHS = 'enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre'.split(' ')

/** `2022-05-25`; `25/05/2022`, `25-05-22`, `25.5.2022`; `25 de mayo de 2022`. */
const DATE =
  /(?<!\d)(?:(?<iso>\d{4})-(\d{1,2})-(\d{1,2})|(\d{1,2})[/.-](\d{1,2})[/.-](\d{4}|\d{2})|(\d{1,2})[°º]?\s+de\s+([a-zé]+)\s+del?\s+(\d{4}))(?!\d)/giu

/** A spreadsheet's serial number of a date: days since 1899-12-30. */
const SERIAL = /^\s*(\d{5})\s*$/
const READ_LIST_DAY = 86_400_000
const SERIAL_ZERO = Date.UTC(1899, 11, 30)

/** Years outside this range are typing errors. */
const YEARS = [2000, 2099] as const

function dateOf(year: number, month: number, day: number): string | null {
  const date = new Date(Date.UTC(year, month - 1, day))
  const isReal = date.getUTCMonth() === month - 1 && date.getUTCDate() === day
  return isReal && year >= YEARS[0] && year <= YEARS[1] ? date.toISOString().slice(0, 10) : null
}

/** Returns the dates in a text, in order, as `YYYY-MM-DD`; null for one that is spelled like a date but does not exist. */
export function datesIn(text: string): (string | null)[] {
  const serial = SERIAL.exec(text)?.[1]
  if (serial !== undefined) {
    const date = new Date(SERIAL_ZERO + Number(serial) * READ_LIST_DAY)
    return [dateOf(date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate())]
  }
  return [...text.matchAll(DATE)].map(([, iso, isoMonth, isoDay, day, month, year, longDay, longMonth, longYear]) => {
    if (iso !== undefined) return dateOf(Number(iso), Number(isoMonth), Number(isoDay))
    if (year !== undefined) return dateOf(Number(year.length === 2 ? `20${year}` : year), Number(month), Number(day))
    const named = longMonth!.toLowerCase().replace('setiembre', 'septiembre')
    return dateOf(Number(longYear), MONTHS.indexOf(named) + 1, Number(longDay))
  })
}

/** The cells of a step's publication, unchanged. Each may contain several oficios or dates. */
interface Publication {
  oficio: string
  date: string
}

/** A row of the list with its cells unchanged. */
export interface ListRow {
  no: string
  rfc: string
  nombre: string
  /** Empty on a plain list, like the steps. */
  situacion: string
  steps: Partial<Record<Situacion, { sat: Publication; dof: Publication }>>
  /** The first publication on a plain list. */
  published: string
  /** Whether the row says that it belongs to another list. */
  isOfOther: boolean
}

export interface ListContent {
  /** The day up to which the list states that it is current, `YYYY-MM-DD`. */
  list_date: string
  /** Can be iterated once. */
  rows: Iterable<ListRow>
}

/** The text in lower case, without accents, with single spaces. */
const plain = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase().replace(/\s+/g, ' ').trim()

const STEPS: readonly (readonly [Situacion, RegExp])[] = [
  ['presunto', /presun/],
  ['desvirtuado', /desvirtu/],
  ['definitivo', /definitiv/],
  ['sentencia_favorable', /sentencia/],
]

/** Returns the situation that a cell names; null when it names no known one. */
export const situacionOf = (text: string): Situacion | null => STEPS.find(([, word]) => word.test(plain(text)))?.[0] ?? null

/** Returns the function that turns a record into a row. Columns are found by their headings, in any order. Throws ListRefused. */
function rowReader(header: readonly string[], format: ListFormat): (record: readonly string[]) => ListRow {
  const missing: string[] = []
  const find = (name: string, fits: RegExp | ((cell: string) => boolean) | undefined): number => {
    if (fits === undefined) return -1
    const at = header.findIndex((cell) => (fits instanceof RegExp ? fits.test(cell) : fits(cell)))
    if (at === -1) missing.push(name)
    return at
  }
  const rfc = find('RFC', format.rfc)
  const nombre = find('Nombre', format.name)
  const situacion = find('Situación', format.situacion)
  const published = find('Fecha de publicación', format.published)
  const named = find('Supuesto', format.named?.column)
  const no = header.findIndex((cell) => /^no\.?$/.test(cell))
  const publication = (step: RegExp, publisher: string) => {
    const fits = (kind: RegExp) => (cell: string) => kind.test(cell) && step.test(cell) && new RegExp(`\\b${publisher}\\b`).test(cell)
    const name = `${publisher.toUpperCase()} (${step.source})`
    return { oficio: find(`oficio ${name}`, fits(/oficio/)), date: find(`publicación ${name}`, fits(/^publicacion/)) }
  }
  const steps = STEPS.filter(([key]) => format.steps.includes(key)).map(
    ([key, word]) => [key, { sat: publication(word, 'sat'), dof: publication(word, 'dof') }] as const,
  )
  if (missing.length > 0) throw new ListRefused('list.no_header', `The header lacks the columns ${missing.join(', ')}.`)
  const cell = (record: readonly string[], at: number): string => record[at] ?? ''
  const read = (record: readonly string[], { oficio, date }: { oficio: number; date: number }): Publication => ({
    oficio: cell(record, oficio),
    date: cell(record, date),
  })
  return (record) => ({
    no: cell(record, no),
    rfc: cell(record, rfc),
    nombre: cell(record, nombre),
    situacion: cell(record, situacion),
    steps: Object.fromEntries(steps.map(([key, { sat, dof }]) => [key, { sat: read(record, sat), dof: read(record, dof) }])),
    published: cell(record, published),
    isOfOther: format.named !== undefined && cell(record, named).trim() !== '' && !format.named.as.test(plain(cell(record, named))),
  })
}

/** The date in a line such as `Información actualizada al 31 de julio de 2026`, or null. */
const listDateIn = (legends: readonly string[]): string | null =>
  legends.map((legend) => /actualizad[ao]\s+al?(.*)/is.exec(legend)?.[1] ?? '').flatMap(datesIn)[0] ?? null

/**
 * Reads a list as its format says. `day` is that of the file, for a list that does not state its own. The rows are read lazily, because there
 * are many. Throws ListRefused when the file is not this list.
 */
export function readList(bytes: Uint8Array, format: ListFormat, day: string): ListContent {
  const records = recordsOf(textsOf(bytes))
  const isHeader = (cells: readonly string[]): boolean => {
    const others = [format.situacion, format.published].filter((one) => one !== undefined)
    return [format.rfc, ...others].every((one) => cells.some((cell) => one.test(cell)))
  }
  const legends: string[] = []
  for (let next = records.next(); !next.done && legends.length < format.preamble; next = records.next()) {
    const cells = next.value.map(plain)
    if (!isHeader(cells)) {
      legends.push(next.value.join(' '))
      continue
    }
    const rows = rowsOf(records, rowReader(cells, format))
    const list_date = format.dated === 'file' ? day : listDateIn(legends)
    if (list_date === null)
      throw new ListRefused('list.undated', 'No line before the header states the date up to which the list is current.')
    return { list_date, rows }
  }
  const columns = format.situacion ? 'RFC and Situación' : 'RFC and Fecha de publicación'
  throw new ListRefused('list.no_header', `No line has the columns ${columns}. The file is not this list.`)
}

/** Records of a list, empty ones too. The longest list has some hundred thousands. */
const MOST_RECORDS = 1_000_000

function* rowsOf(records: Iterable<string[]>, rowOf: ReturnType<typeof rowReader>): Generator<ListRow> {
  let count = 0
  for (const record of records) {
    if (++count > MOST_RECORDS) throw new ListRefused('list.too_large', 'The file has more than 1,000,000 lines.')
    if (record.some((cell) => cell.trim() !== '')) yield rowOf(record)
  }
}

/** An RFC's entry on a list. */
export interface ListEntry {
  rfc: string
  name: string
  situacion: Situacion | null
  /** The steps in order, the current one last. */
  history: ListingStep[]
  /** Whether the date of at least one step cannot be read. */
  has_undated: boolean
}

/** An RFC that the authority has suppressed, by law or by court order. */
const SUPPRESSED = /^X{12,13}$/

/** The order of the steps in a procedure. It decides between steps that were published on the same day. */
const rankOf = (situacion: Situacion): number => SITUACIONES.indexOf(situacion)

/** A step with what decides its place in the history. */
interface LocatedStep {
  step: ListingStep
  /** The day of its latest publication; the later of two steps is the one that was published later. */
  published: string
  /** The row states that this is the current step, although another step was published later. */
  isStatedCurrent: boolean
  rank: number
  name: string
}

const after = (a: LocatedStep, b: LocatedStep): number =>
  a.published < b.published ? -1 : a.published > b.published ? 1 : Number(a.isStatedCurrent) - Number(b.isStatedCurrent) || a.rank - b.rank

/** Returns the number of an oficio without its punctuation and date. */
const numberOf = (oficio: string | null): string => (oficio ?? '').replace(/\bde fecha\b.*$/is, '').replace(/[^\dA-Za-z]+/g, '')

/** Returns the publications of a pair of cells, such as the oficios `a // b` and the dates `25/05/2022 - 26/04/2021`. */
function publicationsIn({ oficio, date }: Publication): { oficio: string | null; date: string | null }[] {
  const oficios = oficio.split('//').map((one) => one.replace(/\s+/g, ' ').trim())
  const dates = date.trim() === '' ? [] : datesIn(date)
  const count = Math.max(dates.length, oficio.trim() === '' && date.trim() === '' ? 0 : 1)
  return Array.from({ length: count }, (_, n) => ({
    oficio: (oficios.length === count ? oficios[n] : oficio.replace(/\s+/g, ' ').trim()) || null,
    date: dates[n] ?? null,
  }))
}

/**
 * Returns the steps of one situation in a row. Publications on the page and in the Diario Oficial are paired in order, or by their oficio
 * when there are more of one kind than of the other.
 */
function stepsIn(situacion: Situacion, cells: ListRow['steps'][Situacion]): ListingStep[] {
  if (cells === undefined) return []
  const sat = publicationsIn(cells.sat)
  const dof = publicationsIn(cells.dof)
  const stepOf = (a: (typeof sat)[number] | undefined, b: (typeof dof)[number] | undefined): ListingStep => ({
    situacion,
    sat_at: a?.date ?? null,
    dof_at: b?.date ?? null,
    oficio: a?.oficio ?? b?.oficio ?? null,
  })
  if (sat.length === dof.length) return sat.map((one, n) => stepOf(one, dof[n]))
  const left = [...dof]
  const paired = sat.map((one) => {
    const at = left.findIndex(({ oficio }) => numberOf(oficio) === numberOf(one.oficio))
    return stepOf(one, at === -1 ? undefined : left.splice(at, 1)[0])
  })
  return [...paired, ...left.map((one) => stepOf(undefined, one))]
}

const latest = ({ sat_at, dof_at }: ListingStep): string => ((sat_at ?? '') > (dof_at ?? '') ? sat_at : dof_at) ?? ''

/** Returns the steps of a row with the current one marked; an empty array when the row states none. */
function located(row: ListRow): LocatedStep[] {
  const name = row.nombre.replace(/\s+/g, ' ').trim()
  const steps = SITUACIONES.flatMap((situacion) => stepsIn(situacion, row.steps[situacion]))
  const stated = situacionOf(row.situacion)
  if (stated !== null && !steps.some(({ situacion }) => situacion === stated))
    steps.push({ situacion: stated, sat_at: null, dof_at: null, oficio: null })
  const all = steps
    .map((step) => ({ step, published: latest(step), isStatedCurrent: false, rank: rankOf(step.situacion!), name }))
    .sort(after)
  const last = all.at(-1)
  const current = all.findLast(({ step }) => step.situacion === stated)
  return current === undefined || current === last
    ? all
    : all.map((one) => (one === current ? { ...one, published: last!.published, isStatedCurrent: true } : one))
}

/** A list's entries and row counts. */
export interface ListEntries {
  /** One for each RFC, in the order of the RFCs. Made when they are iterated, because a list may have hundreds of thousands. */
  entries: Iterable<ListEntry>
  /** The number of RFCs. */
  rfcs: number
  /** The number of readable rows. */
  row_count: number
  suppressed: number
  illegible: number
  /** The number of readable rows that say that they belong to another list. */
  others: number
}

/**
 * Returns one entry per RFC of a list. The rows of an RFC share one history, whose latest publication is current. Rows with a
 * suppressed RFC are counted but have no entry.
 */
export function entriesOf(rows: Iterable<ListRow>): ListEntries {
  const found = new Map<string, LocatedStep[]>()
  const counts = countRows(rows, (rfc, row) => {
    const steps = located(row)
    if (steps.length > 0 && !SUPPRESSED.test(rfc)) found.set(rfc, [...(found.get(rfc) ?? []), ...steps])
    return SUPPRESSED.test(rfc) || steps.length > 0
  })
  const entries = function* (): Generator<ListEntry> {
    for (const rfc of [...found.keys()].sort()) yield entryOf(rfc, found.get(rfc)!)
  }
  return { entries: entries(), rfcs: found.size, ...counts }
}

/** The same for a list without situations. An entry has the day of the RFC's first publication, and the name in that row. */
export function plainEntriesOf(rows: Iterable<ListRow>): ListEntries {
  // One text for each row takes a fifth of the memory of an object: its RFC, the day, the name. In order, the first text of an RFC counts.
  const found: string[] = []
  const counts = countRows(rows, (rfc, { published, nombre }) => {
    const text = `${rfc} ${datesIn(published)[0] ?? LATER}${nombre.replace(/\s+/g, ' ').trim()}`
    if (!SUPPRESSED.test(rfc)) found.push(detached(text))
    return true
  })
  found.sort()
  const rfcOf = (text: string): string => text.slice(0, text.indexOf(' '))
  const isFirst = (text: string, n: number): boolean => n === 0 || rfcOf(text) !== rfcOf(found[n - 1]!)
  const entries = function* (): Generator<ListEntry> {
    for (const [n, text] of found.entries()) if (isFirst(text, n)) yield plainEntry(rfcOf(text), text.slice(text.indexOf(' ') + 1))
  }
  return { entries: entries(), rfcs: found.filter(isFirst).length, ...counts }
}

function plainEntry(rfc: string, text: string): ListEntry {
  const day = text.slice(0, LATER.length)
  const sat_at = day === LATER ? null : day
  const name = text.slice(LATER.length)
  return { rfc, name, situacion: null, history: [{ situacion: null, sat_at, dof_at: null, oficio: null }], has_undated: sat_at === null }
}

/** Stands for a date that cannot be read. */
const LATER = '9999-99-99'

/** Counts rows. `take` keeps a row with an RFC, and returns whether it is readable. */
function countRows(rows: Iterable<ListRow>, take: (rfc: string, row: ListRow) => boolean) {
  const counts = { row_count: 0, suppressed: 0, illegible: 0, others: 0 }
  for (const row of rows) {
    const rfc = normalRfc(row.rfc)
    const isSuppressed = SUPPRESSED.test(rfc)
    if ((isSuppressed || isRfc(rfc)) && take(rfc, row)) {
      counts.row_count++
      counts.suppressed += isSuppressed ? 1 : 0
      counts.others += row.isOfOther ? 1 : 0
    } else counts.illegible++
  }
  return counts
}

const textOf = ({ situacion, sat_at, dof_at, oficio }: ListingStep): string => JSON.stringify([situacion, sat_at, dof_at, oficio])

function entryOf(rfc: string, steps: readonly LocatedStep[]): ListEntry {
  // Rows of one RFC repeat the steps that they share. The last occurrence of a step determines its place.
  const sorted = [...steps].sort(after)
  const own = new Map(sorted.map((one) => [textOf(one.step), one]))
  const unique = sorted.filter((one) => own.get(textOf(one.step)) === one)
  const { step, name } = unique.at(-1)!
  const history = unique.map((one) => one.step)
  return { rfc, name, situacion: step.situacion, history, has_undated: history.some((one) => publishedOn(one) === null) }
}
