import { HORAS_EXTRA, JUBILACION, membersOf, nominasOf, payrollOf, SEPARACION } from '../../../cfdi/detail/payroll.ts'
import { nulls } from '../../../cfdi/pick.ts'
import { versionOf } from '../../../cfdi/xml/document.ts'
import { readingTree, type XmlElement } from '../../../cfdi/xml/tree.ts'
import { free } from '../../../platform/bytes/bytes.ts'
import { stepByStep } from '../../../platform/work/pause.ts'
import type { ExportRow } from '../store.ts'

/** The kinds of rows that are read out of the XML. */
export type KindOfXml = 'nominas' | 'complementos'
export const isOfXml = (kind: ExportRow['kind']): kind is KindOfXml => kind === 'nominas' || kind === 'complementos'

const PAYSLIP = [
  ...(['fecha_pago', 'fecha_inicial_pago', 'fecha_final_pago', 'num_dias_pagados'] as const),
  ...(['num_empleado', 'curp', 'num_seguridad_social'] as const),
]

/** What a payroll line says, of whatever kind it is. */
const LINE = [
  ...(['tipo', 'clave', 'descripcion', 'importe', 'importe_gravado', 'importe_exento'] as const),
  ...HORAS_EXTRA.filter((name) => name !== 'tipo_horas'),
  ...(['dias_incapacidad', 'importe_monetario', 'descuento', 'subsidio_causado', 'saldo_a_favor', 'anio', 'remanente_sal_fav'] as const),
  ...(['valor_mercado', 'precio_al_otorgarse'] as const),
  ...new Set([...SEPARACION, ...JUBILACION]),
]
const EMPTY = nulls(LINE)

/** What many rows of a document repeat is cut after so many characters, so that one long text makes no long file. */
const MOST_REPEATED = 500
export const cut = <Value>(value: Value): Value => (typeof value === 'string' ? (value.slice(0, MOST_REPEATED) as Value) : value)

/** The columns of a payroll line, behind those of its document. */
export const PAYROLL = ['nomina', ...PAYSLIP, 'linea', 'numero', ...LINE]

type Said = Record<string, string | null>

/** The types of all kinds stand in one column. */
const columnOf = (name: string): string => (name.startsWith('tipo_') ? 'tipo' : name === 'concepto' ? 'descripcion' : name)

const lineOf = (linea: string, numero: number, said: Said): object => ({
  ...{ linea, numero, ...EMPTY },
  ...Object.fromEntries(Object.entries(said).map(([name, value]) => [columnOf(name), value])),
})

/** The lines of a payroll complement. The overtime of a percepcion follows it, under its number. */
function linesOf(nomina: XmlElement): object[] {
  const { percepciones, horas_extra, separacion_indemnizacion, jubilacion_pension_retiro, ...others } = payrollOf(nomina)
  const all = (linea: string, lines: readonly (Said | null)[]): object[] =>
    lines.flatMap((said, n) => (said ? [lineOf(linea, n + 1, said)] : []))
  return [
    ...percepciones.flatMap(({ horas_extra: hours, ...said }, n) => [
      lineOf('percepcion', n + 1, said),
      ...hours.map((one) => lineOf('hora_extra', n + 1, one)),
    ]),
    ...all('hora_extra', horas_extra),
    ...all('separacion_indemnizacion', [separacion_indemnizacion]),
    ...all('jubilacion_pension_retiro', [jubilacion_pension_retiro]),
    ...all('deduccion', others.deducciones),
    ...all('otro_pago', others.otros_pagos),
    ...all('incapacidad', others.incapacidades),
  ]
}

function* payrollRows(common: object, complements: readonly XmlElement[]): Generator<object> {
  for (const [n, nomina] of nominasOf(complements).entries()) {
    const said = Object.entries(membersOf(nomina, PAYSLIP)).map(([name, value]) => [name, value && cut(value)])
    for (const line of linesOf(nomina)) yield { ...common, nomina: n + 1, ...Object.fromEntries(said), ...line }
  }
}

/** A row for each attribute of an element and of those inside it, and for its text. */
function* attributesOf(common: object, node: XmlElement, path: string): Generator<object> {
  const nodo = cut(path)
  for (const [atributo, valor] of Object.entries(node.attributes)) yield { ...common, nodo, atributo, valor }
  if (node.text !== null) yield { ...common, nodo, atributo: null, valor: node.text }
  for (const [name, alike] of Map.groupBy(node.children, (child) => child.name))
    for (const [n, child] of alike.entries()) yield* attributesOf(common, child, `${nodo}/${name}${alike.length > 1 ? `[${n + 1}]` : ''}`)
}

function* complementRows(common: object, concepto: number | null, complements: readonly XmlElement[]): Generator<object> {
  for (const node of complements)
    yield* attributesOf({ ...common, concepto, complemento: cut(`${node.name}:${versionOf(node.attributes)}`) }, node, node.name)
}

/** The rows of a document, whose bytes are freed. `common` has the members that each repeats. */
export async function* rowsInXml(kind: KindOfXml, common: object, bytes: Uint8Array): AsyncGenerator<object> {
  const { complement_trees, lines } = await stepByStep(readingTree(bytes)).finally(() => free(bytes))
  if (kind === 'nominas') return yield* payrollRows(common, complement_trees)
  yield* complementRows(common, null, complement_trees)
  for (const [n, line] of lines) yield* complementRows(common, n + 1, line.complement_trees)
}
