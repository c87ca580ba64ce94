import type { TaxStatus } from '../../authority/port/fields-contract.ts'
import { dateIn, type PdfLine, plain, textOf, Unreadable } from './page-lines.ts'

const DATE = /\d{2}\/\d{2}\/\d{4}/
/** The lines of a row are closer to each other than rows are, by this factor. */
const ROW_GAP = 1.25
/** A wider gap, in points, is the end of a page. */
const PAGE_GAP = 60
/** Text this far left of its heading, in points, still belongs to the column. */
const OVERHANG = 12

/**
 * Returns the rows of a table under its headings, each as the texts of its columns. Cells may take several lines. The headings name the
 * columns from left to right; they are searched in the section and may take several lines too.
 */
export function rowsOf(section: readonly PdfLine[], headings: readonly string[]): string[][] {
  const isHeading = (line: PdfLine): boolean => line.cells.some(({ text }) => plain(text) === plain(headings[0]!))
  const head = section.findIndex(isHeading)
  if (head < 0) return []
  const edges = headings.map((heading, n) => {
    const same = headings.slice(0, n).filter((one) => one === heading).length
    const cells = section.slice(head, head + 3).flatMap(({ cells: some }) => some)
    return cells.filter(({ text }) => plain(text).startsWith(plain(heading)))[same]?.x
  })
  if (edges.some((edge) => edge === undefined)) return []
  const isHeader = ({ cells }: PdfLine): boolean => cells.every(({ text }) => headings.some((one) => plain(one).startsWith(plain(text))))
  const body = section.slice(head).filter((line) => !isHeader(line))
  const columnOf = (x: number): number =>
    Math.max(
      0,
      edges.findLastIndex((edge) => edge! - OVERHANG <= x),
    )
  return groupsOf(body).map((lines) =>
    headings.map((_, n) =>
      lines
        .flatMap(({ cells }) => cells.filter(({ x }) => columnOf(x) === n).map(({ text }) => text))
        .join(' ')
        .replace(/\s+/g, ' ')
        .trim(),
    ),
  )
}

/** Divides the lines of a table into its rows: by the gaps between them, otherwise by the dates that each row has. */
function groupsOf(lines: readonly PdfLine[]): PdfLine[][] {
  const gaps = lines.slice(1).map((line, n) => line.y - lines[n]!.y)
  const least = Math.min(...gaps)
  const isWide = (gap: number): boolean => gap > least * ROW_GAP
  const isDivided = gaps.some((gap) => isWide(gap) && gap < PAGE_GAP)
  const hasDate = (line: PdfLine): boolean => DATE.test(textOf(line))
  const isFirstDated = lines[0] !== undefined && hasDate(lines[0])
  const begins = (group: PdfLine[], line: PdfLine, gap: number): boolean => {
    if (hasDate(line) && group.some(hasDate)) return true
    if (gap >= PAGE_GAP) return group.some(hasDate)
    return isDivided ? isWide(gap) : isFirstDated ? hasDate(line) : hasDate(group.at(-1)!)
  }
  const groups: PdfLine[][] = []
  for (const [n, line] of lines.entries()) {
    const group = groups.at(-1)
    if (group === undefined || begins(group, line, gaps[n - 1]!)) groups.push([line])
    else group.push(line)
  }
  return groups
}

/** Labels closer to the left edge than this belong to the left column, in points. */
const COLUMN_WIDTH = 120

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&').replace(/ /g, '\\s+')

/**
 * Returns the value behind each label of a section; null where there is none. A line may have a label in the left and one in the right
 * column, and a value may continue in its column in the next lines.
 */
function valuesOf<L extends string>(lines: readonly PdfLine[], labels: readonly L[]): Record<L, string | null> {
  const label = new RegExp(
    `(?:^|\\s)(${[...labels]
      .sort((a, b) => b.length - a.length)
      .map(escaped)
      .join('|')})\\s*:`,
    'giu',
  )
  const left = Math.min(...lines.flatMap(({ cells }) => cells.map(({ x }) => x)))
  const beginsLabel = (text: string): boolean => new RegExp(`^(?:${label.source})`, 'iu').test(text)
  const starts = lines.flatMap(({ cells }) => cells.filter(({ x, text }) => x > left + COLUMN_WIDTH && beginsLabel(text)).map(({ x }) => x))
  const boundary = starts.length === 0 ? Infinity : Math.min(...starts) - 1
  const columns = [
    lines.flatMap(({ cells }) => cells.filter(({ x }) => x < boundary)),
    lines.flatMap(({ cells }) => cells.filter(({ x }) => x >= boundary)),
  ].map((cells) => cells.map(({ text }) => text).join(' '))
  const values = Object.fromEntries(labels.map((name) => [name, null])) as Record<L, string | null>
  for (const column of columns) {
    const found = [...column.matchAll(label)]
    for (const [n, one] of found.entries()) {
      const value = column
        .slice(one.index + one[0].length, found[n + 1]?.index ?? column.length)
        .replace(/\s+/g, ' ')
        .trim()
      const name = labels.find((it) => new RegExp(`^${escaped(it)}$`, 'iu').test(one[1]!))!
      if (value !== '') values[name] ??= value
    }
  }
  return values
}

/** The catalog c_RegimenFiscal, as certificates name its entries. */
const REGIMES: Record<string, string> = {
  '601': 'general de ley personas morales',
  '603': 'personas morales con fines no lucrativos',
  '605': 'sueldos y salarios e ingresos asimilados a salarios',
  '606': 'arrendamiento',
  '607': 'enajenación o adquisición de bienes',
  '608': 'demás ingresos',
  '610': 'residentes en el extranjero sin establecimiento permanente en méxico',
  '611': 'ingresos por dividendos (socios y accionistas)',
  '612': 'personas físicas con actividades empresariales y profesionales',
  '614': 'ingresos por intereses',
  '615': 'ingresos por obtención de premios',
  '616': 'sin obligaciones fiscales',
  '620': 'sociedades cooperativas de producción que optan por diferir sus ingresos',
  '621': 'incorporación fiscal',
  '622': 'actividades agrícolas, ganaderas, silvícolas y pesqueras',
  '623': 'opcional para grupos de sociedades',
  '624': 'coordinados',
  '625': 'actividades empresariales con ingresos a través de plataformas tecnológicas',
  '626': 'simplificado de confianza',
}

/** Both the catalog and certificates begin some names with “Régimen”, “de las” and the like. */
const core = (name: string): string =>
  plain(name).replace(/^(el |la )?(regimen )?(de |del )?(las |los |la )?(personas fisicas con (?=actividades empresariales con))?/, '')

const CODES = new Map(Object.entries(REGIMES).map(([code, name]) => [core(name), code]))

/** Returns the code of a regime by its name; null when the catalog has no such name. */
export const regimeCode = (name: string): string | null => CODES.get(core(name)) ?? null

const SECTIONS = [
  'Datos de Identificación del Contribuyente',
  'Datos del domicilio registrado',
  'Actividades Económicas',
  'Regímenes',
  'Obligaciones',
  'Sus datos personales son incorporados',
] as const

const WHO = [
  ...['RFC', 'CURP', 'Nombre (s)', 'Primer Apellido', 'Segundo Apellido', 'Denominación/Razón Social', 'Régimen Capital'],
  ...['Nombre Comercial', 'Fecha inicio de operaciones', 'Estatus en el padrón', 'Fecha de último cambio de estado'],
] as const

const WHERE = [
  ...['Código Postal', 'Tipo de Vialidad', 'Nombre de Vialidad', 'Número Exterior', 'Número Interior', 'Nombre de la Colonia'],
  ...['Nombre de la Localidad', 'Nombre del Municipio o Demarcación Territorial', 'Nombre de la Entidad Federativa', 'Entre Calle'],
  ...['Y Calle', 'Correo Electrónico', 'Tel. Fijo Lada', 'Tel. Móvil Lada', 'Número', 'Estado del domicilio'],
  'Estado del contribuyente en el domicilio',
] as const

const orNull = (text: string | undefined): string | null => text || null

/** Reads a tax status certificate (constancia de situación fiscal). Throws Unreadable. */
export function readTaxStatus(all: readonly PdfLine[]): TaxStatus {
  const lines = all.filter((line) => !/^p[aá]gina \[?\d+\]? de \[?\d+\]?$/i.test(textOf(line)))
  const whole = lines.map(textOf).join('\n')
  if (!plain(whole).includes('constancia de situacion fiscal')) throw new Unreadable('The PDF is not a tax status certificate.')
  const section = sectionsOf(lines)
  const who = valuesOf(section('Datos de Identificación del Contribuyente'), WHO)
  const where = valuesOf(section('Datos del domicilio registrado'), WHERE)
  const name =
    who['Denominación/Razón Social'] ??
    [who['Nombre (s)'], who['Primer Apellido'], who['Segundo Apellido']].filter((part) => part !== null).join(' ')
  if (!who.RFC || name === '') throw new Unreadable('The tax status certificate names no RFC or no taxpayer.')
  const span = (from: string | undefined, to: string | undefined) => ({ from: dateIn(from ?? null), to: dateIn(to ?? null) })
  return {
    rfc: who.RFC.toUpperCase().replace(/\s/g, ''),
    name,
    capital_regime: who['Régimen Capital'],
    commercial_name: who['Nombre Comercial'],
    curp: who.CURP,
    id_cif: /idCIF:?\s*(\d+)/i.exec(whole)?.[1] ?? null,
    status: who['Estatus en el padrón'],
    status_changed_on: dateIn(who['Fecha de último cambio de estado']),
    operations_started_on: dateIn(who['Fecha inicio de operaciones']),
    issued_on: dateIn(/Lugar y Fecha de Emisi[oó]n\s*([\s\S]{0,200})/i.exec(whole)?.[1] ?? null),
    address: {
      postal_code: where['Código Postal'],
      street_type: where['Tipo de Vialidad'],
      street: where['Nombre de Vialidad'],
      exterior_number: where['Número Exterior'],
      interior_number: where['Número Interior'],
      neighborhood: where['Nombre de la Colonia'],
      locality: where['Nombre de la Localidad'],
      municipality: where['Nombre del Municipio o Demarcación Territorial'],
      state: where['Nombre de la Entidad Federativa'],
      between_street: where['Entre Calle'],
      and_street: where['Y Calle'],
    },
    economic_activities: rowsOf(section('Actividades Económicas'), [
      ...['Orden', 'Actividad Económica', 'Porcentaje', 'Fecha Inicio', 'Fecha Fin'],
    ]).map(([, description, percentage, from, to]) => ({ description: description!, percentage: orNull(percentage), ...span(from, to) })),
    regimes: rowsOf(section('Regímenes'), ['Régimen', 'Fecha Inicio', 'Fecha Fin']).map(([regime, from, to]) => ({
      code: regimeCode(regime!),
      name: regime!,
      ...span(from, to),
    })),
    obligations: rowsOf(section('Obligaciones'), [
      ...['Descripción de la Obligación', 'Descripción Vencimiento', 'Fecha Inicio', 'Fecha Fin'],
    ]).map(([description, due_rule, from, to]) => ({ description: description!, due_rule: orNull(due_rule), ...span(from, to) })),
  }
}

/** Returns a function that answers the lines below a heading, up to the next one. */
function sectionsOf(lines: readonly PdfLine[]): (name: (typeof SECTIONS)[number]) => PdfLine[] {
  const starts = SECTIONS.map((name) => ({ name, at: lines.findIndex((line) => isHeading(line, name)) })).filter(({ at }) => at >= 0)
  return (name) => {
    const start = starts.find((one) => one.name === name)
    if (!start) return []
    const next = Math.min(...starts.filter(({ at }) => at > start.at).map(({ at }) => at), lines.length)
    return lines.slice(start.at + 1, next)
  }
}

const isHeading = (line: PdfLine, name: string): boolean => {
  const text = plain(textOf(line))
  const heading = plain(name)
  return name.startsWith('Sus datos') ? text.startsWith(heading) : text === heading || text === `${heading}:`
}
