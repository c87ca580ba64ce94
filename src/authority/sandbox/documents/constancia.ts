import { base64Of, digitsOf, random } from '../world/seed.ts'
import { isCompany, type Taxpayer } from '../world/taxpayers.ts'
import { Layout } from './layout.ts'
import { addressAt, isNegative, obligationsAt, regimesAt, startOf } from './registration.ts'

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
    .line([[0, 'CÉDULA DE IDENTIFICACIÓN FISCAL']], { isBold: true })
    .line([[0, rfc]])
    .line([[0, 'Registro Federal de Contribuyentes']])
    .line([[0, nombre]])
    .line([[0, 'Nombre, denominación o razón social']])
    .line([[0, `idCIF: ${digitsOf(`${rfc}|cif`, 11)}`]])
    .line([[0, 'VALIDA TU INFORMACIÓN FISCAL']])
    .line([[180, 'CONSTANCIA DE SITUACIÓN FISCAL']], { size: 12, isBold: true })
    .line([[180, 'Lugar y Fecha de Emisión']])
    .line([[180, `${address.municipio} , ${address.entidad} A ${inWords(day)}`]])
    .line([[180, rfc]])
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
  for (const [label, value] of [...who, ...since])
    layout
      .line([
        [0, `${label}:`],
        [170, value],
      ])
      .gap(3)
  layout.heading('Datos del domicilio registrado')
  const where: [string, string][] = [
    [`Código Postal:${address.codigo_postal}`, 'Tipo de Vialidad: CALLE'],
    [`Nombre de Vialidad: ${address.calle}`, `Número Exterior: ${address.numero}`],
    [`Número Interior:${address.interior}`, `Nombre de la Colonia: ${address.colonia}`],
    ['Nombre de la Localidad:', `Nombre del Municipio o Demarcación Territorial: ${address.municipio}`],
    [`Nombre de la Entidad Federativa: ${address.entidad}`, `Entre Calle: ${address.entre}`],
    [`Y Calle: ${address.y}`, `Correo Electrónico: contacto@${rfc.replaceAll(/\W/g, '').toLowerCase()}.example.mx`],
  ]
  for (const [left, right] of where)
    layout
      .line([
        [0, left],
        [270, right],
      ])
      .gap(3)
  const activity = company ? 'Otros intermediarios de comercio al por mayor' : 'Servicios de consultoría en administración'
  layout
    .page()
    .heading('Actividades Económicas:')
    .table(
      [
        [0, 'Orden'],
        [40, 'Actividad Económica'],
        [320, 'Porcentaje'],
        [400, 'Fecha Inicio'],
        [470, 'Fecha Fin'],
      ],
      [['1', activity, '100', inDigits(startOf(self)), '']],
    )
    .heading('Regímenes:')
    .table(
      [
        [0, 'Régimen'],
        [400, 'Fecha Inicio'],
        [470, 'Fecha Fin'],
      ],
      regimesAt(self, day).map(({ name, from, to }) => [name, inDigits(from), inDigits(to)]),
    )
    .heading('Obligaciones:')
    .table(
      [
        [0, 'Descripción de la Obligación'],
        [200, 'Descripción Vencimiento'],
        [400, 'Fecha Inicio'],
        [470, 'Fecha Fin'],
      ],
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
    .line([[120, 'Opinión del cumplimiento de obligaciones fiscales']], { size: 12, isBold: true })
    .gap(10)
    .line(
      [
        [0, 'Folio'],
        [270, 'Clave de R.F.C.'],
      ],
      { isBold: true },
    )
    .line([
      [0, folioOf(self, day)],
      [270, rfc],
    ])
    .gap(6)
    .line([[0, 'Nombre, denominación o razón social']], { isBold: true })
    .line([[0, nombre]])
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
