/** A row of a 69-B list: dates as the authority types them, `SAT|DOF`, of each step. */
export interface Listed {
  rfc: string
  nombre?: string
  situacion: string
  presunto?: string
  desvirtuado?: string
  definitivo?: string
  sentencia?: string
}

const BLOCKS: readonly (readonly [Exclude<keyof Listed, 'rfc' | 'nombre' | 'situacion'>, string, string])[] = [
  ['presunto', 'presunción', 'presuntos'],
  ['desvirtuado', 'contribuyentes que desvirtuaron', 'desvirtuados'],
  ['definitivo', 'definitivos', 'definitivos'],
  ['sentencia', 'sentencia favorable', 'sentencia favorable'],
]

export const HEADER = [
  ...['No', 'RFC', 'Nombre del Contribuyente', 'Situación del contribuyente'],
  ...BLOCKS.flatMap(([, oficio, publication]) => [
    `Número y fecha de oficio global de ${oficio} SAT`,
    `Publicación página SAT ${publication}`,
    `Número y fecha de oficio global de ${oficio} DOF`,
    `Publicación DOF ${publication}`,
  ]),
]

const quoted = (cell: string): string => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)

export const csvOf = (records: readonly (readonly string[])[]): string =>
  records.map((record) => `${record.map(quoted).join(',')}\r\n`).join('')

const cellsOf = (row: Listed, n: number): string[] => [
  ...[String(n + 1), row.rfc, row.nombre ?? `EMPRESA ${row.rfc}, S.A. DE C.V.`, row.situacion],
  ...BLOCKS.flatMap(([key]) => {
    const [sat = '', dof = ''] = (row[key] ?? '').split('|')
    const oficio = row[key] === undefined ? '' : `500-05-${key}-${row.rfc.trim().toUpperCase()} de fecha 1 de enero de 2019`
    return [oficio, sat, oficio, dof]
  }),
]

/** A list as the authority writes it, of a day (`31 de julio de 2026`). */
export const listText = (rows: readonly Listed[], updated: string | null, header: readonly string[] = HEADER): string =>
  csvOf([
    [
      updated === null
        ? 'Información'
        : `Información actualizada al ${updated}; los listados son de "carácter público", y pueden ser consultados`,
    ],
    ['Listado completo de contribuyentes (Artículo 69-B del CFF)'],
    header,
    ...rows.map(cellsOf),
    HEADER.map(() => ''),
  ])

const BEYOND_LATIN: Record<string, number> = { '‘': 0x91, '’': 0x92, '“': 0x93, '”': 0x94, '–': 0x96 }

/** In windows-1252. */
export const bytesOf = (text: string): Uint8Array => Uint8Array.from(text, (char) => BEYOND_LATIN[char] ?? char.charCodeAt(0))

export const listOf = (rows: readonly Listed[], updated = '31 de julio de 2026'): Uint8Array => bytesOf(listText(rows, updated))

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
const letter = (n: number): string => LETTERS[n % 26]!

/** An RFC for each number. */
export const rfcOf = (n: number): string =>
  `L${letter(n)}${letter(Math.floor(n / 26))}${['050101', '060202', '070303', '080404'][Math.floor(n / 676) % 4]}${letter(Math.floor(n / 2704))}${letter(Math.floor(n / 70_304))}9`

/** So many rows, in all situations. */
export const manyRows = (count: number): Listed[] =>
  Array.from({ length: count }, (_, n) => ({
    rfc: rfcOf(n),
    situacion: 'Definitivo',
    presunto: '01/06/2018|25/06/2018',
    definitivo: '28/09/2018|23/10/2018',
    ...(n % 9 === 0 && { situacion: 'Sentencia Favorable', sentencia: '05/03/2019|16/04/2019' }),
    ...(n % 40 === 1 && { situacion: 'Desvirtuado', desvirtuado: '05/03/2019|16/04/2019', definitivo: '|' }),
    ...(n % 90 === 2 && { situacion: 'Presunto', definitivo: '|' }),
  }))
