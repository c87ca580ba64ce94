import type { Situacion } from '../catalog.ts'
import { recordsOf } from './csv.ts'
import { datesIn } from './dates.ts'
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
  situacion: string
  steps: Record<Situacion, { sat: Publication; dof: Publication }>
}

export interface List69b {
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

/** The maximum number of lines before the header. */
const PREAMBLE = 50

const isHeader = (cells: readonly string[]): boolean => cells.includes('rfc') && cells.some((cell) => cell.startsWith('situacion'))

/** Returns the function that turns a record into a row. Columns are found by their headings, in any order. Throws ListRefused. */
function rowReader(header: readonly string[]): (record: readonly string[]) => ListRow {
  const missing: string[] = []
  const find = (name: string, fits: (cell: string) => boolean): number => {
    const at = header.findIndex(fits)
    if (at === -1) missing.push(name)
    return at
  }
  const rfc = find('RFC', (cell) => cell === 'rfc')
  const nombre = find('Nombre', (cell) => cell.startsWith('nombre'))
  const situacion = find('Situación', (cell) => cell.startsWith('situacion'))
  const no = header.indexOf('no')
  const publication = (step: RegExp, place: string) => {
    const fits = (kind: RegExp) => (cell: string) => kind.test(cell) && step.test(cell) && new RegExp(`\\b${place}\\b`).test(cell)
    const name = `${place.toUpperCase()} (${step.source})`
    return { oficio: find(`oficio ${name}`, fits(/oficio/)), date: find(`publicación ${name}`, fits(/^publicacion/)) }
  }
  const steps = STEPS.map(([key, word]) => [key, { sat: publication(word, 'sat'), dof: publication(word, 'dof') }] as const)
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
    steps: Object.fromEntries(
      steps.map(([key, { sat, dof }]) => [key, { sat: read(record, sat), dof: read(record, dof) }]),
    ) as ListRow['steps'],
  })
}

/** Decodes valid UTF-8, and anything else as windows-1252, which accepts every byte. */
function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes)
  } catch {
    return new TextDecoder('windows-1252').decode(bytes)
  }
}

/** The date in a line such as `Información actualizada al 31 de julio de 2026`, or null. */
const listDateIn = (legends: readonly string[]): string | null =>
  legends.map((legend) => /actualizad[ao]\s+al?(.*)/is.exec(legend)?.[1] ?? '').flatMap(datesIn)[0] ?? null

/**
 * Reads the authority's list of article 69-B. The rows are read lazily, because there are many. Throws ListRefused when the file is not
 * this list. Source: sat.md 5.
 */
export function readList69b(bytes: Uint8Array): List69b {
  const records = recordsOf(decode(bytes))
  const legends: string[] = []
  for (let next = records.next(); !next.done && legends.length < PREAMBLE; next = records.next()) {
    const cells = next.value.map(plain)
    if (!isHeader(cells)) {
      legends.push(next.value.join(' '))
      continue
    }
    const rows = rowsOf(records, rowReader(cells))
    const list_date = listDateIn(legends)
    if (list_date === null)
      throw new ListRefused('list.undated', 'No line before the header states the date up to which the list is current.')
    return { list_date, rows }
  }
  throw new ListRefused('list.no_header', 'No line has the columns RFC and Situación. The file is not the list of article 69-B.')
}

function* rowsOf(records: Iterable<string[]>, rowOf: ReturnType<typeof rowReader>): Generator<ListRow> {
  for (const record of records) if (record.some((cell) => cell.trim() !== '')) yield rowOf(record)
}
