import { text } from '../xml/document.ts'
import type { XmlElement } from '../xml/tree.ts'

/** The members of payroll lines, by the names of their attributes. What an element inside a line says stands with the line. */
export const PERCEPCION = [
  ...(['tipo_percepcion', 'clave', 'concepto', 'importe_gravado', 'importe_exento'] as const),
  ...(['valor_mercado', 'precio_al_otorgarse'] as const),
]
export const HORAS_EXTRA = ['dias', 'tipo_horas', 'horas_extra', 'importe_pagado'] as const
export const DEDUCCION = ['tipo_deduccion', 'clave', 'concepto', 'importe', 'importe_gravado', 'importe_exento'] as const
export const OTRO_PAGO = [
  ...(['tipo_otro_pago', 'clave', 'concepto', 'importe', 'subsidio_causado'] as const),
  ...(['saldo_a_favor', 'anio', 'remanente_sal_fav'] as const),
]
export const INCAPACIDAD = ['dias_incapacidad', 'tipo_incapacidad', 'importe_monetario', 'descuento'] as const
const INGRESO = ['ingreso_acumulable', 'ingreso_no_acumulable'] as const
export const SEPARACION = ['total_pagado', 'num_anios_servicio', 'ultimo_sueldo_mens_ord', ...INGRESO] as const
export const JUBILACION = ['total_una_exhibicion', 'total_parcialidad', 'monto_diario', ...INGRESO] as const

type Line<Names extends readonly string[]> = Record<Names[number], string | null>

const attributeOf = (name: string): string => name.replace(/(?:^|_)(.)/g, (_, first: string) => first.toUpperCase()).replace('Anio', 'Año')

/** The members of an element and of those inside it. CURP of version 1.1 is Curp in 1.2. */
export function membersOf<const Names extends readonly string[]>(node: XmlElement, names: Names): Line<Names> {
  const { CURP: Curp, ...attributes } = Object.assign({}, ...node.children.map((child) => child.attributes), node.attributes)
  if (Curp !== undefined) attributes.Curp ??= Curp
  return Object.fromEntries(names.map((name) => [name, text(attributes, attributeOf(name))])) as Line<Names>
}

/** The elements at a path below one. */
const at = (node: XmlElement | undefined, ...[name, ...rest]: string[]): XmlElement[] => {
  const found = node?.children.filter((child) => child.name === name) ?? []
  return rest.length === 0 ? found : found.flatMap((child) => at(child, ...rest))
}

const NAMESPACE = /^http:\/\/www\.sat\.gob\.mx\/nomina(?:12)?$/

/** The payroll complements of a document, in the order of its `nominas`. */
export const nominasOf = (complements: readonly XmlElement[]): XmlElement[] =>
  complements.filter(({ name, namespace }) => name === 'Nomina' && NAMESPACE.test(namespace ?? ''))

/** The lines of a payroll complement of version 1.1 or 1.2. */
export function payrollOf(nomina: XmlElement | undefined) {
  const lines = <const Names extends readonly string[]>(names: Names, ...path: string[]): Line<Names>[] =>
    at(nomina, ...path).map((node) => membersOf(node, names))
  return {
    percepciones: at(nomina, 'Percepciones', 'Percepcion').map((node) => ({
      ...membersOf(node, PERCEPCION),
      horas_extra: at(node, 'HorasExtra').map((hours) => membersOf(hours, HORAS_EXTRA)),
    })),
    deducciones: lines(DEDUCCION, 'Deducciones', 'Deduccion'),
    otros_pagos: lines(OTRO_PAGO, 'OtrosPagos', 'OtroPago'),
    incapacidades: lines(INCAPACIDAD, 'Incapacidades', 'Incapacidad'),
    horas_extra: lines(HORAS_EXTRA, 'HorasExtras', 'HorasExtra'),
    separacion_indemnizacion: lines(SEPARACION, 'Percepciones', 'SeparacionIndemnizacion')[0] ?? null,
    jubilacion_pension_retiro: lines(JUBILACION, 'Percepciones', 'JubilacionPensionRetiro')[0] ?? null,
  }
}
