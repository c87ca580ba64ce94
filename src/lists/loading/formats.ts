import type { PublicSource, Situacion } from '../catalog.ts'

/** How the authority writes a list, from a day on. Column names are compared in lower case, without accents. */
export interface ListFormat {
  /** The first day on which a file that the service receives is read so, `YYYY-MM-DD`. */
  valid_from: string
  /** The most lines before the header. */
  preamble: number
  /** Where the day up to which the list is current stands: before the header, or nowhere; then it is the day of the file. */
  dated: 'preamble' | 'file'
  rfc: RegExp
  name: RegExp
  /** The situations that have columns: oficio and publication, on the authority's page and in the Diario Oficial. Empty on a plain list. */
  steps: readonly Situacion[]
  /** The column with the current situation, of a list with steps. */
  situacion?: RegExp
  /** The column with the day of the first publication, of a plain list. */
  published?: RegExp
  /** The column that names the list in each row, and what it says there: several plain lists have the same header. */
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

const plain = (as: RegExp, reference = READ): ListFormat => ({ ...PLAIN, named: { column: /^supuesto/, as }, reference })

/** The formats of each list, newest first. A format that changes is a new row. */
export const LIST_FORMATS: Record<PublicSource, readonly [ListFormat, ...ListFormat[]]> = {
  sat_69b: [{ ...PROCEDURE, steps: ['presunto', 'desvirtuado', 'definitivo', 'sentencia_favorable'], reference: 'sat.md 5' }],
  // It has a handful of rows, so that one row is a large share of it.
  sat_69b_bis: [{ ...PROCEDURE, steps: ['definitivo', 'sentencia_favorable'], least_share: 0.5, reference: READ }],
  sat_69_firmes: [plain(/firme/)],
  sat_69_exigibles: [plain(/exigible/)],
  sat_69_no_localizados: [plain(/no localizad/)],
  sat_69_sentencias: [plain(/sentencia/)],
  sat_69_cancelados: [plain(/cancelad/)],
  sat_69_condonados: [plain(/condona|reduccion/, 'from memory: the authority no longer publishes a file of this name')],
  sat_csd_sin_efectos: [{ ...PLAIN, named: { column: /^supuesto de cancelacion/, as: /fraccion|\S/ }, reference: READ }],
}

/** Returns the format of a list's file that was received on a day. */
export function formatOf(source: PublicSource, day: string): ListFormat {
  const formats = LIST_FORMATS[source]
  return formats.find(({ valid_from }) => valid_from <= day) ?? formats[0]
}
