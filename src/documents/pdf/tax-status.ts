import type { TaxStatus } from '../../authority/port/fields-contract.ts'
import { valuesOf } from './labels.ts'
import { type PdfLine, textOf } from './page-lines.ts'
import { regimeCode } from './regimes.ts'
import { dateIn, plain } from './spanish.ts'
import { rowsOf } from './tables.ts'
import { Unreadable } from './unreadable.ts'

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
