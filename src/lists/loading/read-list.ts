import { recordsOf, textsOf } from '../../platform/csv.ts'
import type { Situacion } from '../catalog.ts'
import { datesIn } from './dates.ts'
import type { ListFormat } from './formats.ts'
import { ListRefused } from './refusal.ts'

/** The cells of a step's publication, unchanged. Each may contain several oficios or dates. */
export interface Publication {
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
  const publication = (step: RegExp, place: string) => {
    const fits = (kind: RegExp) => (cell: string) => kind.test(cell) && step.test(cell) && new RegExp(`\\b${place}\\b`).test(cell)
    const name = `${place.toUpperCase()} (${step.source})`
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

function* rowsOf(records: Iterable<string[]>, rowOf: ReturnType<typeof rowReader>): Generator<ListRow> {
  for (const record of records) if (record.some((cell) => cell.trim() !== '')) yield rowOf(record)
}
