import { addMonths } from '../../../platform/time/months.ts'
import type { TaxObligation, TaxRegime } from '../../port/fields-contract.ts'
import { base64Of, digitsOf, isDue, random } from '../world/seed.ts'
import { isCompany, type Taxpayer } from '../world/taxpayers.ts'
import { type PositionedText, pdfOfPages } from './pdf.ts'

const REGIMES: Record<string, string> = {
  '601': 'Régimen General de Ley Personas Morales',
  '606': 'Régimen de Arrendamiento',
  '612': 'Régimen de las Personas Físicas con Actividades Empresariales y Profesionales',
  '626': 'Régimen Simplificado de Confianza',
}
const STREETS = ['AVENIDA JUAREZ', 'CALLE REFORMA', 'CALLE HIDALGO', 'AVENIDA INSURGENTES', 'CALLE 5 DE MAYO', 'CALLE MORELOS']
const NEIGHBORHOODS = ['CENTRO', 'DEL VALLE', 'LAS FLORES', 'SAN JOSE', 'INDUSTRIAL']

/** A taxpayer moves, within its postal code, once in so many months. */
const MOVES_EVERY = 40

const startOf = ({ rfc }: Taxpayer): string => `201${random(`${rfc}|start`).int(0, 7)}-03-01`

/** The month in which the taxpayer got its second regime or, as a company, its first employees. */
const grownAt = ({ rfc }: Taxpayer): string => {
  const draws = random(`${rfc}|grown`)
  return `${draws.int(2019, 2026)}-${String(draws.int(1, 12)).padStart(2, '0')}-01`
}

export function addressAt({ rfc, locality }: Taxpayer, day: string) {
  let month = day.slice(0, 7)
  while (!isDue(`${rfc}|moves`, month, MOVES_EVERY)) month = addMonths(month, -1)
  const draws = random(`${rfc}|address|${month}`)
  return {
    moved_on: `${month}-01`,
    codigo_postal: locality.codigo_postal,
    calle: draws.pick(STREETS),
    numero: String(draws.int(1, 990)),
    interior: draws.chance(0.3) ? String(draws.int(1, 40)) : '',
    colonia: draws.pick(NEIGHBORHOODS),
    municipio: locality.municipio.toUpperCase(),
    entidad: locality.entidad.toUpperCase(),
    entre: draws.pick(STREETS),
    y: draws.pick(STREETS),
  }
}

/** The regimes of a day. 626 exists since 2022; who has it had 612 before. */
export function regimesAt(self: Taxpayer, day: string): (TaxRegime & { code: string })[] {
  const regime = (code: string, from: string) => ({ code, name: REGIMES[code]!, from, to: null })
  const grown = grownAt(self)
  return [
    self.regimen === '626' && day >= '2022'
      ? regime('626', '2022-01-01')
      : regime(self.regimen === '626' ? '612' : self.regimen, startOf(self)),
    ...(isCompany(self.rfc) || day < grown ? [] : [regime('606', grown)]),
  ]
}

const ON_THE_17TH = 'A más tardar el día 17 del mes inmediato posterior al periodo que corresponda.'

export function obligationsAt(self: Taxpayer, day: string): TaxObligation[] {
  const company = isCompany(self.rfc)
  const grown = grownAt(self)
  const obligations: [string, string, string?][] = company
    ? [
        ['Declaración informativa de IVA con la anual de ISR', 'Conjuntamente con la declaración anual del ejercicio.'],
        ['Pago provisional mensual de ISR personas morales régimen general', ON_THE_17TH],
        ['Pago definitivo mensual de IVA.', ON_THE_17TH],
        ['Declaración de proveedores de IVA', 'A más tardar el último día del mes inmediato posterior al periodo que corresponda.'],
        ['Declaración anual de ISR del ejercicio Personas morales.', 'Dentro de los tres meses siguientes al cierre del ejercicio.'],
        ...(day < grown
          ? []
          : [['Entero de retenciones mensuales de ISR por sueldos y salarios', ON_THE_17TH, grown] satisfies [string, string, string]]),
      ]
    : [
        [
          'Pago provisional mensual de ISR por actividades empresariales. Régimen de Actividades Empresariales y Profesionales',
          ON_THE_17TH,
        ],
        ['Pago definitivo mensual de IVA.', ON_THE_17TH],
        ['Declaración anual de ISR. Personas Físicas.', 'A más tardar el 30 de abril del ejercicio siguiente.'],
      ]
  return obligations.map(([description, due_rule, from]) => ({ description, due_rule, from: from ?? startOf(self), to: null }))
}

/** Whether the opinion of a month is negative: a return is missing then. */
export const isNegative = ({ rfc }: Taxpayer, month: string): boolean => isDue(`${rfc}|32d`, month, 24)

const LEFT = 40
const TOP = 752
const BOTTOM = 60
/** The height of a line, and the width of a letter in the average, as multiples of the size of the font. */
const LINE = 1.2
const LETTER = 0.56

/** A document that is written from top to bottom, and continues on further pages. */
export class Layout {
  #pages: PositionedText[][] = [[]]
  #y = TOP

  /** Writes pieces of text in one line, each from its distance to the left margin on. */
  line(cells: Readonly<Record<number, string>>, { size = 8, isBold = false } = {}): this {
    if (this.#y < BOTTOM) this.page()
    for (const [x, text] of Object.entries(cells))
      if (text !== '') this.#pages.at(-1)!.push({ x: LEFT + Number(x), y: Math.round(this.#y), size, isBold, text })
    this.#y -= size * LINE
    return this
  }

  /** Writes text in lines of the page's width. */
  text(text: string, size = 8): this {
    for (const one of wrapped(text, 532, size)) this.line({ 0: one }, { size })
    return this.gap(4)
  }

  heading(text: string): this {
    return this.gap(8).line({ 0: text }, { size: 10, isBold: true }).gap(4)
  }

  /** Writes rows under their headings. A cell takes as many lines as it needs. */
  table(headings: Readonly<Record<number, string>>, rows: readonly (readonly string[])[]): this {
    this.line(headings, { isBold: true }).gap(5)
    const columns = Object.keys(headings).map(Number)
    for (const row of rows) {
      const cells = row.map((text, n) => wrapped(text, (columns[n + 1] ?? 540) - columns[n]! - 14, 8))
      const height = Math.max(...cells.map(({ length }) => length))
      for (let i = 0; i < height; i++) this.line(Object.fromEntries(columns.map((x, n) => [x, cells[n]?.[i] ?? ''])))
      this.gap(5)
    }
    return this
  }

  /** Continues on a new page. */
  page(): this {
    this.#pages.push([])
    this.#y = TOP
    return this
  }

  gap(points: number): this {
    this.#y -= points
    return this
  }

  /** Ends the document, with the number of each page. */
  pdf(title: string): Uint8Array {
    const footer = (n: number) => ({ x: 480, y: 30, size: 7, isBold: false, text: `Página [${n + 1}] de [${this.#pages.length}]` })
    const pages = this.#pages.map((page, n) => [...page, footer(n)])
    return pdfOfPages(title, pages)
  }
}

function wrapped(text: string, width: number, size: number): string[] {
  const letters = Math.floor(width / (size * LETTER))
  const lines = ['']
  for (const word of text.split(' ')) {
    const last = lines.at(-1)!
    if (last !== '' && last.length + 1 + word.length > letters) lines.push(word)
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`
  }
  return lines
}

const MONTHS = 'ENERO FEBRERO MARZO ABRIL MAYO JUNIO JULIO AGOSTO SEPTIEMBRE OCTUBRE NOVIEMBRE DICIEMBRE'.split(' ')

/** `10 DE FEBRERO DE 2022`. */
const inWords = (day: string): string => `${day.slice(8)} DE ${MONTHS[Number(day.slice(5, 7)) - 1]} DE ${day.slice(0, 4)}`
/** `10/02/2022`. */
const inDigits = (day: string | null): string => day?.split('-').reverse().join('/') ?? ''

/** The CURP of a natural person, which begins like the RFC. */
const curpOf = (rfc: string): string => {
  const draws = random(`${rfc}|curp`)
  return `${rfc.slice(0, 10)}${draws.pick(['H', 'M'])}DF${draws.pick(['RRN', 'SLP', 'MRT'])}0${draws.int(1, 9)}`
}

/** Returns a tax status certificate of a day as the authority writes it. */
export function constancia(self: Taxpayer, day: string): Uint8Array {
  const { rfc, nombre } = self
  const address = addressAt(self, day)
  const layout = new Layout()
    .line({ 0: 'CÉDULA DE IDENTIFICACIÓN FISCAL' }, { isBold: true })
    .line({ 0: rfc })
    .line({ 0: 'Registro Federal de Contribuyentes' })
    .line({ 0: nombre })
    .line({ 0: 'Nombre, denominación o razón social' })
    .line({ 0: `idCIF: ${digitsOf(`${rfc}|cif`, 11)}` })
    .line({ 0: 'VALIDA TU INFORMACIÓN FISCAL' })
    .line({ 180: 'CONSTANCIA DE SITUACIÓN FISCAL' }, { size: 12, isBold: true })
    .line({ 180: 'Lugar y Fecha de Emisión' })
    .line({ 180: `${address.municipio} , ${address.entidad} A ${inWords(day)}` })
    .line({ 180: rfc })
    .heading('Datos de Identificación del Contribuyente:')
  const words = nombre.split(' ')
  const company = isCompany(rfc)
  const who: [string, string][] = company
    ? [
        ['RFC', rfc],
        ['Denominación/Razón Social', nombre],
        ['Régimen Capital', 'SOCIEDAD ANONIMA DE CAPITAL VARIABLE'],
      ]
    : [
        ['RFC', rfc],
        ['CURP', curpOf(rfc)],
        ['Nombre (s)', words.slice(0, -2).join(' ')],
        ['Primer Apellido', words.at(-2)!],
        ['Segundo Apellido', words.at(-1)!],
      ]
  const since: [string, string][] = [
    ['Fecha inicio de operaciones', inWords(startOf(self))],
    ['Estatus en el padrón', 'ACTIVO'],
    ['Fecha de último cambio de estado', inWords(startOf(self))],
    ['Nombre Comercial', company ? words.at(-1)! : ''],
  ]
  for (const [label, value] of [...who, ...since]) layout.line({ 0: `${label}:`, 170: value }).gap(3)
  layout.heading('Datos del domicilio registrado')
  const where: [string, string][] = [
    [`Código Postal:${address.codigo_postal}`, 'Tipo de Vialidad: CALLE'],
    [`Nombre de Vialidad: ${address.calle}`, `Número Exterior: ${address.numero}`],
    [`Número Interior:${address.interior}`, `Nombre de la Colonia: ${address.colonia}`],
    ['Nombre de la Localidad:', `Nombre del Municipio o Demarcación Territorial: ${address.municipio}`],
    [`Nombre de la Entidad Federativa: ${address.entidad}`, `Entre Calle: ${address.entre}`],
    [`Y Calle: ${address.y}`, `Correo Electrónico: contacto@${rfc.replaceAll(/\W/g, '').toLowerCase()}.example.mx`],
  ]
  for (const [left, right] of where) layout.line({ 0: left, 270: right }).gap(3)
  const activity = company ? 'Otros intermediarios de comercio al por mayor' : 'Servicios de consultoría en administración'
  layout
    .page()
    .heading('Actividades Económicas:')
    .table({ 0: 'Orden', 40: 'Actividad Económica', 320: 'Porcentaje', 400: 'Fecha Inicio', 470: 'Fecha Fin' }, [
      ['1', activity, '100', inDigits(startOf(self)), ''],
    ])
    .heading('Regímenes:')
    .table(
      { 0: 'Régimen', 400: 'Fecha Inicio', 470: 'Fecha Fin' },
      regimesAt(self, day).map(({ name, from, to }) => [name, inDigits(from), inDigits(to)]),
    )
    .heading('Obligaciones:')
    .table(
      { 0: 'Descripción de la Obligación', 200: 'Descripción Vencimiento', 400: 'Fecha Inicio', 470: 'Fecha Fin' },
      obligationsAt(self, day).map(({ description, due_rule, from, to }) => [description, due_rule!, inDigits(from), inDigits(to)]),
    )
    .gap(10)
    .text(
      'Sus datos personales son incorporados y protegidos en los sistemas del SAT, de conformidad con los Lineamientos de Protección de ' +
        'Datos Personales y con diversas disposiciones fiscales y legales sobre confidencialidad y protección de datos.',
    )
    .text(`Cadena Original Sello: ||${day.replaceAll('-', '/')}|${rfc}|CONSTANCIA DE SITUACIÓN FISCAL|200001088888800000031||`)
    .text(`Sello Digital: ${base64Of(`${rfc}|${day}|sello`, 128)}`)
  return layout.pdf('Constancia de Situación Fiscal')
}

export const folioOf = ({ rfc }: Taxpayer, day: string): string => `${day.slice(2, 4)}NA${digitsOf(`${rfc}|32d|${day.slice(0, 7)}`, 7)}`

/** Returns a compliance opinion of a day as the authority writes it. */
export function opinion(self: Taxpayer, day: string): Uint8Array {
  const { rfc, nombre } = self
  const negative = isNegative(self, day.slice(0, 7))
  return new Layout()
    .line({ 120: 'Opinión del cumplimiento de obligaciones fiscales' }, { size: 12, isBold: true })
    .gap(10)
    .line({ 0: 'Folio', 270: 'Clave de R.F.C.' }, { isBold: true })
    .line({ 0: folioOf(self, day), 270: rfc })
    .gap(6)
    .line({ 0: 'Nombre, denominación o razón social' }, { isBold: true })
    .line({ 0: nombre })
    .gap(6)
    .text('Estimado contribuyente:', 9)
    .text('Respuesta de opinión:', 9)
    .text(
      'En atención a su consulta sobre el Cumplimiento de Obligaciones, se le informa lo siguiente: En los controles electrónicos ' +
        'institucionales del Servicio de Administración Tributaria, se observa que en el momento en que se realiza esta revisión, ' +
        `${negative ? 'no ' : ''}se encuentra al corriente en el cumplimiento de los puntos que se revisan en la regla 2.1.37. de la ` +
        `Resolución Miscelánea Fiscal. Por lo anterior se emite opinión en sentido ${negative ? 'NEGATIVO' : 'POSITIVO'}.`,
      9,
    )
    .text(
      negative
        ? 'Obligación omitida: Pago definitivo mensual de IVA.'
        : 'La presente opinión no es una constancia del correcto entero de los impuestos declarados.',
      9,
    )
    .text(`Revisión practicada el día ${inWords(day).toLowerCase()}, a las 09:30 horas`, 9)
    .text(`Cadena Original: ||${rfc}|${folioOf(self, day)}|${day}|${negative ? 'N' : 'P'}||`)
    .pdf('Opinión del Cumplimiento de Obligaciones Fiscales')
}
