import { Buffer } from 'node:buffer'
import { crc32 } from 'node:zlib'
import type { KnownDetail } from '../../../cfdi/chunks/content.ts'
import { type Located, readContents, type StoredLocation } from '../../../cfdi/chunks/contents.ts'
import { Cfdi } from '../../../cfdi/contract.ts'
import { JUBILACION, SEPARACION } from '../../../cfdi/detail/payroll.ts'
import { eachPacked, inflated, type XmlLocation } from '../../../cfdi/mirrored/mirrored.ts'
import { view } from '../../../cfdi/read-row.ts'
import type { PageItem } from '../../../cfdi/search/search.ts'
import type { Concepto, Pago, Tax } from '../../../cfdi/xml/document.ts'
import { labelOf } from '../../../lists/catalog.ts'
import type { ListedParties } from '../../../lists/listed/listed.ts'
import { at, columnsOf, csvLine } from '../../../platform/csv.ts'
import { micros } from '../../../platform/money.ts'
import { type Columns, type ColumnType, type ExportColumn, valuesOf, Workbook, Zip } from '../../../platform/workbook.ts'
import type { ScopedLedger } from '../../../taxpayers/visibility/scoped-ledger.ts'
import type { ExportRow } from '../store.ts'
import type { ExportLimits, FileOutput, MakingState } from './output.ts'
import { cut, PAYROLL } from './xml-rows.ts'

/** Codes and numbers of documents are text, so that they keep their zeros. */
const NUMBERS = new Set([
  ...['tipo_cambio', 'subtotal', 'descuento', 'total', 'total_mxn', 'iva_trasladado', 'iva_retenido', 'isr_retenido', 'ieps_trasladado'],
  ...['paid_amount', 'credited_amount', 'balance', 'balance_mxn'],
  ...['concepto', 'cantidad', 'valor_unitario', 'importe', 'descuento'],
  ...[
    'pago',
    'documento',
    'tipo_cambio_p',
    'monto',
    'equivalencia_dr',
    'num_parcialidad',
    'imp_saldo_ant',
    'imp_pagado',
    'imp_saldo_insoluto',
  ],
  ...[
    'nomina',
    'num_dias_pagados',
    'numero',
    'importe_gravado',
    'importe_exento',
    'importe_pagado',
    'importe_monetario',
    'subsidio_causado',
  ],
  ...['valor_mercado', 'precio_al_otorgarse', 'saldo_a_favor', 'remanente_sal_fav', 'dias', 'horas_extra', 'dias_incapacidad'],
  ...[...SEPARACION, ...JUBILACION],
])
const TIMES = new Set([
  ...['issued_at', 'fecha', 'certified_at', 'cancelled_at', 'status_checked_at', 'last_payment_at', 'fully_paid_at', 'updated_at'],
  ...['due_date', 'fecha_pago', 'fecha_inicial_pago', 'fecha_final_pago'],
])

const typeOf = (heading: string): ColumnType => (NUMBERS.has(heading) ? 'number' : TIMES.has(heading) ? 'time' : 'text')

const column = (heading: string, value: ExportColumn['value']): ExportColumn => ({ heading, type: typeOf(heading), value })
const named = (...names: readonly string[]): ExportColumn[] => names.map((name) => column(name, (row) => at(row, [name])))

/** The members of a document that rows of its lines and payments repeat. */
const REPEATED = [
  ...(['uuid', 'direction', 'version', 'tipo_comprobante', 'serie', 'folio', 'issued_at', 'fecha', 'emisor_rfc', 'emisor_nombre'] as const),
  ...(['receptor_rfc', 'receptor_nombre', 'uso_cfdi', 'metodo_pago', 'forma_pago', 'currency', 'tipo_cambio'] as const),
  ...(['estatus', 'cancelled_at', 'is_substituted', 'origin'] as const),
]
type Repeated = Pick<Cfdi, (typeof REPEATED)[number]>

/** A line of a document, numbered from 1, and a document that a payment pays. */
type LineRow = Repeated & { concepto: number } & Concepto
type PaidDocumentRow = Repeated & { pago: number } & Omit<Pago, 'documentos'> & { documento: number | null } & Partial<
    { documento_uuid: string } & Omit<Pago['documentos'][number], 'uuid' | 'serie' | 'folio'> & {
        serie_dr: string | null
        folio_dr: string | null
      }
  >

const [ISR, IVA, IEPS] = ['001', '002', '003']

const MICROS = 6

/** Micros as decimal text with at least two digits after the point. */
function decimalOf(amount: bigint): string {
  const digits = String(amount < 0n ? -amount : amount).padStart(MICROS + 1, '0')
  const fraction = digits.slice(-MICROS).replace(/0{1,4}$/, '')
  return `${amount < 0n ? '-' : ''}${digits.slice(0, -MICROS)}.${fraction}`
}

/** The sum of the amounts of a tax; nothing when there is none. */
const sumOf = (taxes: readonly Tax[] | undefined, tax: string): string | null => {
  const own = (taxes ?? []).filter(({ impuesto, importe }) => impuesto === tax && importe !== null)
  return own.length === 0 ? null : decimalOf(own.reduce((sum, { importe }) => sum + (micros(importe) ?? 0n), 0n))
}

/** The rates of IVA, `Exento` for what is exempt. */
const ratesOf = (taxes: readonly Tax[] | undefined): string[] => [
  ...new Set(
    (taxes ?? []).filter(({ impuesto }) => impuesto === IVA).map(({ tipo_factor, tasa_o_cuota }) => tasa_o_cuota ?? tipo_factor ?? ''),
  ),
]

const amount = (heading: string, member: string, which: 'traslados' | 'retenciones', tax: string): ExportColumn => ({
  heading,
  type: 'number',
  value: (row) => sumOf(at(row, [member, which]) as Tax[] | undefined, tax),
})
const taxesOf = (member: string): ExportColumn[] => [
  column('iva_tasa', (row) => ratesOf(at(row, [member, 'traslados']) as Tax[] | undefined)),
  amount('iva_trasladado', member, 'traslados', IVA),
  amount('ieps_trasladado', member, 'traslados', IEPS),
  amount('iva_retenido', member, 'retenciones', IVA),
  amount('isr_retenido', member, 'retenciones', ISR),
]

/** The columns of each kind of rows, by the names of the API. */
export const COLUMNS_OF: Readonly<Record<Exclude<ExportRow['kind'], 'xml'>, Columns>> = {
  cfdi: columnsOf(Cfdi).map(({ heading, path }) => column(heading, (row) => at(row, path))),
  conceptos: [
    ...named(...REPEATED, 'concepto', 'clave_prod_serv', 'no_identificacion', 'cantidad', 'clave_unidad', 'unidad', 'descripcion'),
    ...named('valor_unitario', 'importe', 'descuento', 'objeto_imp'),
    ...taxesOf('impuestos'),
    ...named('a_cuenta_terceros_rfc', 'cuenta_predial', 'pedimentos'),
  ],
  pagos: [
    ...named(...REPEATED, 'pago', 'fecha_pago', 'forma_pago_p', 'moneda_p', 'tipo_cambio_p', 'monto', 'num_operacion'),
    ...named('documento', 'documento_uuid', 'serie_dr', 'folio_dr', 'moneda_dr', 'equivalencia_dr', 'metodo_pago_dr', 'num_parcialidad'),
    ...named('imp_saldo_ant', 'imp_pagado', 'imp_saldo_insoluto', 'objeto_imp_dr'),
    ...taxesOf('impuestos_dr'),
  ],
  nominas: named(...REPEATED, ...PAYROLL),
  complementos: named(...REPEATED, 'concepto', 'complemento', 'nodo', 'atributo', 'valor'),
}

/** The members of a document that each of its rows repeats. */
export function repeatedOf({ row, context }: PageItem, listed: ListedParties): Repeated {
  const cfdi = view(row, context, listed)
  return Object.fromEntries(REPEATED.map((name) => [name, cut(cfdi[name])])) as Repeated
}

/** The rows of documents, in their order. Their contents are read at once. */
export async function* rowsOf(
  ledger: ScopedLedger,
  kind: 'conceptos' | 'pagos',
  batch: readonly Located<PageItem>[],
  listed: ListedParties,
): AsyncGenerator<object> {
  const contents = new Map<string, KnownDetail>()
  await readContents(ledger, batch, (uuid, content) => contents.set(uuid, content))
  for (const { item } of batch) {
    const content = contents.get(item.row.uuid)
    if (content) yield* kind === 'conceptos' ? linesOf(repeatedOf(item, listed), content) : paidOf(repeatedOf(item, listed), content)
  }
}

function* linesOf(common: Repeated, { conceptos }: KnownDetail): Generator<LineRow> {
  for (const [n, line] of conceptos.entries()) yield { ...common, concepto: n + 1, ...line } as LineRow
}

function* paidOf(common: Repeated, { pagos }: KnownDetail): Generator<PaidDocumentRow> {
  for (const [n, { documentos, ...pago }] of pagos.entries()) {
    const one: PaidDocumentRow = { ...common, pago: n + 1, ...pago, documento: null }
    if (documentos.length === 0) yield one
    for (const [at, { uuid, serie, folio, ...rest }] of documentos.entries())
      yield { ...one, ...{ documento: at + 1, documento_uuid: uuid, serie_dr: serie, folio_dr: folio }, ...rest }
  }
}

type Known = StoredLocation & XmlLocation

export const isKnown = (one: Located<PageItem>): one is Located<PageItem> & { location: Known } => one.location.xml_object !== null

/** A document of which the XML is known, with its place and the name of its file. */
export interface FileOf extends Located<PageItem> {
  name: string
  location: Known
}

/** By month; imports apart, because the authority may deliver the same document. */
const nameOf = ({ row, context }: PageItem): string =>
  `${context.partition.origin === 'import' ? 'imported/' : ''}${row.direction === 0 ? 'issued' : 'received'}/${row.fecha.slice(0, 7)}/${row.uuid}.xml`

/** The files of those documents whose XML is known, in their order. */
export const filesOf = (located: readonly Located<PageItem>[]): FileOf[] =>
  located.filter(isKnown).map(({ item, location }) => ({ name: nameOf(item), item, location }))

/** Adds files to an archive as they are stored, without packing them again. */
export async function addFiles(bucket: R2Bucket, zip: Zip, files: readonly FileOf[]): Promise<void> {
  const names = new Map(files.map(({ name, location }) => [location, name]))
  await eachPacked(bucket, [...names.keys()], (location, bytes) => {
    const name = names.get(location)!
    const { xml_method: method, xml_crc, xml_size } = location
    if (xml_crc !== null && xml_size !== null) {
      zip.add(name, bytes, { method, crc: xml_crc, size: xml_size })
      return
    }
    const plain = inflated(bytes, method)
    zip.add(name, bytes, { method, crc: crc32(plain), size: plain.length })
  })
}

/** The Spanish headings of columns, by the names of the API. */
export const HEADINGS: Readonly<Record<string, string>> = {
  uuid: 'UUID',
  fiscal_entity_id: 'Identificador del RFC',
  direction: 'Sentido',
  kind: 'Clase',
  version: 'Versión',
  tipo_comprobante: 'Tipo de comprobante',
  serie: 'Serie',
  folio: 'Folio',
  issued_at: 'Fecha de emisión (repetida; en CSV, con su zona horaria)',
  fecha: 'Fecha de emisión',
  certified_at: 'Fecha de timbrado',
  pac_rfc: 'RFC del PAC',
  emisor_rfc: 'RFC emisor',
  emisor_nombre: 'Nombre del emisor',
  emisor_regimen_fiscal: 'Régimen fiscal del emisor',
  receptor_rfc: 'RFC receptor',
  receptor_nombre: 'Nombre del receptor',
  receptor_regimen_fiscal: 'Régimen fiscal del receptor',
  receptor_domicilio_fiscal: 'Domicilio fiscal del receptor (C.P.)',
  'counterparty.rfc': 'RFC de la contraparte',
  'counterparty.nombre': 'Nombre de la contraparte',
  'counterparty.blacklist.source': 'Lista en la que está la contraparte',
  'counterparty.blacklist.situacion': 'Situación en esa lista',
  uso_cfdi: 'Uso del CFDI',
  tipo_relacion: 'Tipo de relación',
  metodo_pago: 'Método de pago',
  forma_pago: 'Forma de pago',
  condiciones_pago: 'Condiciones de pago',
  currency: 'Moneda',
  moneda: 'Moneda (repetida)',
  tipo_cambio: 'Tipo de cambio',
  subtotal: 'Subtotal',
  descuento: 'Descuento',
  total: 'Total',
  total_mxn: 'Total en pesos',
  iva_trasladado: 'IVA trasladado',
  iva_retenido: 'IVA retenido',
  isr_retenido: 'ISR retenido',
  ieps_trasladado: 'IEPS trasladado',
  exportacion: 'Exportación',
  lugar_expedicion: 'Lugar de expedición (C.P.)',
  estatus: 'Estado',
  cancelled_at: 'Fecha de cancelación',
  cancellation_reason: 'Motivo de cancelación',
  folio_sustitucion: 'UUID del CFDI que lo sustituye',
  status_answer: 'Última respuesta del SAT sobre su estado',
  es_cancelable: 'Es cancelable',
  estatus_cancelacion: 'Estado de la cancelación',
  validacion_efos: 'Validación EFOS',
  status_checked_at: 'Fecha de la consulta al SAT (UTC)',
  is_substituted: 'Sustituido',
  substituted_not_cancelled: 'Sustitución sin cancelar',
  payment_status: 'Estado de pago',
  paid_amount: 'Pagado',
  credited_amount: 'Notas de crédito aplicadas',
  balance: 'Saldo',
  balance_mxn: 'Saldo en pesos',
  due_date: 'Fecha de vencimiento',
  last_payment_at: 'Fecha del último pago',
  fully_paid_at: 'Fecha de liquidación',
  has_xml: 'Con XML',
  beyond_limits: 'Fuera de los límites',
  has_pdf: 'Con PDF',
  origin: 'Origen',
  updated_at: 'Última actualización (UTC)',
  concepto: 'Número de concepto',
  clave_prod_serv: 'Clave de producto o servicio',
  no_identificacion: 'Número de identificación',
  cantidad: 'Cantidad',
  clave_unidad: 'Clave de unidad',
  unidad: 'Unidad',
  descripcion: 'Descripción',
  valor_unitario: 'Valor unitario',
  importe: 'Importe',
  objeto_imp: 'Objeto de impuesto',
  iva_tasa: 'Tasa de IVA',
  a_cuenta_terceros_rfc: 'RFC a cuenta de terceros',
  cuenta_predial: 'Cuenta predial',
  pedimentos: 'Pedimentos',
  pago: 'Número de pago',
  fecha_pago: 'Fecha de pago',
  forma_pago_p: 'Forma de pago del pago',
  moneda_p: 'Moneda del pago',
  tipo_cambio_p: 'Tipo de cambio del pago',
  monto: 'Monto del pago',
  num_operacion: 'Número de operación',
  documento: 'Número de documento pagado',
  documento_uuid: 'UUID del documento pagado',
  serie_dr: 'Serie del documento pagado',
  folio_dr: 'Folio del documento pagado',
  moneda_dr: 'Moneda del documento pagado',
  equivalencia_dr: 'Equivalencia',
  metodo_pago_dr: 'Método de pago del documento pagado',
  num_parcialidad: 'Número de parcialidad',
  imp_saldo_ant: 'Saldo anterior',
  imp_pagado: 'Importe pagado',
  imp_saldo_insoluto: 'Saldo insoluto',
  objeto_imp_dr: 'Objeto de impuesto del documento pagado',
  nomina: 'Número de nómina',
  fecha_inicial_pago: 'Fecha inicial de pago',
  fecha_final_pago: 'Fecha final de pago',
  num_dias_pagados: 'Días pagados',
  num_empleado: 'Número de empleado',
  curp: 'CURP',
  num_seguridad_social: 'Número de seguridad social',
  linea: 'Clase de renglón',
  numero: 'Número de renglón',
  tipo: 'Tipo (clave del SAT)',
  clave: 'Clave del patrón',
  importe_gravado: 'Importe gravado',
  importe_exento: 'Importe exento',
  dias: 'Días con horas extra',
  horas_extra: 'Horas extra',
  importe_pagado: 'Importe de las horas extra',
  dias_incapacidad: 'Días de incapacidad',
  importe_monetario: 'Importe de la incapacidad',
  subsidio_causado: 'Subsidio causado',
  saldo_a_favor: 'Saldo a favor',
  anio: 'Año del saldo a favor',
  remanente_sal_fav: 'Remanente del saldo a favor',
  valor_mercado: 'Valor de mercado',
  precio_al_otorgarse: 'Precio al otorgarse',
  total_pagado: 'Total de la separación',
  num_anios_servicio: 'Años de servicio',
  ultimo_sueldo_mens_ord: 'Último sueldo mensual ordinario',
  total_una_exhibicion: 'Jubilación en una exhibición',
  total_parcialidad: 'Jubilación en parcialidades',
  monto_diario: 'Monto diario de la jubilación',
  ingreso_acumulable: 'Ingreso acumulable',
  ingreso_no_acumulable: 'Ingreso no acumulable',
  complemento: 'Complemento',
  nodo: 'Nodo',
  atributo: 'Atributo',
  valor: 'Valor',
}

type Enumerated =
  | 'direction'
  | 'kind'
  | 'estatus'
  | 'status_answer'
  | 'es_cancelable'
  | 'estatus_cancelacion'
  | 'payment_status'
  | 'beyond_limits'
  | 'origin'
type Situacion = NonNullable<NonNullable<Cfdi['counterparty']['blacklist']>['situacion']>
type Words = { [Name in Enumerated]: Record<NonNullable<Cfdi[Name]>, string> } & {
  'counterparty.blacklist.situacion': Record<Situacion, string>
}

/** The Spanish words for the values of enumerations. Codes of the authority, such as those of FormaPago, stay, because people know them. */
export const WORDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  direction: { issued: 'Emitido', received: 'Recibido' },
  kind: { cfdi: 'CFDI', retenciones: 'Retenciones' },
  estatus: { vigente: 'Vigente', cancelado: 'Cancelado' },
  status_answer: { vigente: 'Vigente', cancelado: 'Cancelado', no_encontrado: 'No encontrado', unknown: 'Desconocida' },
  es_cancelable: {
    cancelable_sin_aceptacion: 'Cancelable sin aceptación',
    cancelable_con_aceptacion: 'Cancelable con aceptación',
    no_cancelable: 'No cancelable',
  },
  estatus_cancelacion: {
    en_proceso: 'En proceso',
    rechazada: 'Solicitud rechazada',
    cancelado_sin_aceptacion: 'Cancelado sin aceptación',
    cancelado_con_aceptacion: 'Cancelado con aceptación',
    plazo_vencido: 'Plazo vencido',
  },
  payment_status: { paid: 'Pagada', partially_paid: 'Pago parcial', unpaid: 'Sin pagar', not_applicable: 'No aplica' },
  beyond_limits: { lines: 'Conceptos', xml: 'XML' },
  origin: { authority: 'SAT', import: 'Importación' },
  'counterparty.blacklist.situacion': {
    presunto: 'Presunto',
    definitivo: 'Definitivo',
    desvirtuado: 'Desvirtuado',
    sentencia_favorable: 'Sentencia favorable',
  },
} satisfies Words

type Kind = keyof typeof COLUMNS_OF

/** A value in Spanish. */
function inSpanish(name: string, value: unknown): unknown {
  if (typeof value === 'boolean') return value ? 'Sí' : 'No'
  if (typeof value !== 'string') return value
  return name === 'counterparty.blacklist.source' ? labelOf(value, null) : (WORDS[name]?.[value] ?? value)
}

const spanish = (columns: Columns): Columns =>
  columns.map(({ heading, type, value }) => ({
    heading: HEADINGS[heading] ?? heading,
    type,
    value: (row) => inSpanish(heading, value(row)),
  }))

const SHEETS: Readonly<Record<Kind, string>> = {
  ...{ cfdi: 'CFDI', conceptos: 'Conceptos', pagos: 'Pagos', nominas: 'Nóminas', complementos: 'Complementos' },
}

/** The columns of a kind of rows, in the same order in both. */
export const columnsFor = (kind: Kind, headings: ExportRow['headings']): Columns =>
  headings === 'es' ? spanish(COLUMNS_OF[kind]) : COLUMNS_OF[kind]

/** Writes the rows of an export in its format. */
export interface RowWriter {
  /** Before the first row. */
  begin(): void
  write(rows: readonly unknown[]): void
  /** After the last one. */
  end(): void
}

const BYTE_ORDER_MARK = '\ufeff'

const nothing = () => {}

export const zipOf = ({ created_at }: ExportRow, state: MakingState, output: FileOutput, { zip }: ExportLimits): Zip =>
  new Zip(output, state.zip, new Date(created_at), zip)

export function rowWriterOf(row: ExportRow, state: MakingState, output: FileOutput, limits: ExportLimits): RowWriter {
  const kind = row.kind as Exclude<ExportRow['kind'], 'xml'>
  const columns = columnsFor(kind, row.headings)
  const push = (text: string) => output.push(Buffer.from(text))
  if (row.format === 'ndjson')
    return { begin: nothing, write: (rows) => push(rows.map((one) => `${JSON.stringify(one)}\n`).join('')), end: nothing }
  if (row.format === 'csv')
    return {
      begin: () => push(BYTE_ORDER_MARK + csvLine(columns.map(({ heading }) => heading))),
      write: (rows) => push(rows.map((one) => csvLine(valuesOf(columns, one))).join('')),
      end: nothing,
    }
  const name = row.headings === 'es' ? SHEETS[kind] : kind
  const workbook = new Workbook(zipOf(row, state, output, limits), state.workbook, columns, name, limits.sheet)
  return { begin: nothing, write: (rows) => workbook.write(rows), end: () => workbook.end() }
}
