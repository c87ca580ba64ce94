import type { Situacion } from '../catalog.ts'
import { recordsOf } from './csv.ts'
import { datesIn } from './dates.ts'
import { ListRefused } from './refusal.ts'

/** A publication of a step, as the list writes it: several oficios and dates may stand in one cell. */
export interface Publication {
  oficio: string
  date: string
}

/** A row of the list, its cells as they are written. */
export interface ListRow {
  no: string
  rfc: string
  nombre: string
  situacion: string
  steps: Record<Situacion, { sat: Publication; dof: Publication }>
}

export interface List69b {
  /** The day up to which the list says that it is. */
  list_date: string
  /** To be gone through once. */
  rows: Iterable<ListRow>
}

/** Lower case, without accents, one space between words. */
const plain = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase().replace(/\s+/g, ' ').trim()

const STEPS: readonly (readonly [Situacion, RegExp])[] = [
  ['presunto', /presun/],
  ['desvirtuado', /desvirtu/],
  ['definitivo', /definitiv/],
  ['sentencia_favorable', /sentencia/],
]

/** The situation that a cell names; null when it is none that is known. */
export const situacionOf = (text: string): Situacion | null => STEPS.find(([, word]) => word.test(plain(text)))?.[0] ?? null

/** Legends before the header, at most. */
const PREAMBLE = 50

const isHeader = (cells: readonly string[]): boolean => cells.includes('rfc') && cells.some((cell) => cell.startsWith('situacion'))

/** How a record becomes a row. Columns are found by what they are headed with, wherever they stand. */
function readerOf(header: readonly string[]): (record: readonly string[]) => ListRow {
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
  if (missing.length > 0) throw new ListRefused('list.no_header', `The header lacks these columns: ${missing.join(', ')}.`)
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

/** UTF-8 when it is that, else windows-1252, which takes any byte. */
function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes)
  } catch {
    return new TextDecoder('windows-1252').decode(bytes)
  }
}

/** The date that a legend says the list is brought up to: `Información actualizada al 31 de julio de 2026`. */
const updatedTo = (legends: readonly string[]): string | null =>
  legends.map((legend) => /actualizad[ao]\s+al?(.*)/is.exec(legend)?.[1] ?? '').flatMap(datesIn)[0] ?? null

/**
 * The authority's list of article 69-B, read as it is written: its rows one by one, for there are many. Throws ListRefused when it is
 * not one. Source: sat.md 5.
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
    const rows = rowsOf(records, readerOf(cells))
    const list_date = updatedTo(legends)
    if (list_date === null) throw new ListRefused('list.undated', 'No legend before the header says up to which day the list is.')
    return { list_date, rows }
  }
  throw new ListRefused('list.no_header', 'No line has the columns RFC and Situación: this is not the list.')
}

function* rowsOf(records: Iterable<string[]>, rowOf: ReturnType<typeof readerOf>): Generator<ListRow> {
  for (const record of records) if (record.some((cell) => cell.trim() !== '')) yield rowOf(record)
}
