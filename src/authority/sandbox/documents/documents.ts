import type { DocumentFile } from '../../port/authority.ts'
import type { DataSourceKey } from '../../port/catalog.ts'
import { addMonths, daysIn, localTime } from '../world/places.ts'
import { digitsOf, random } from '../world/seed.ts'
import { circleOf, isCompany, type Taxpayer } from '../world/taxpayers.ts'
import { money } from '../xml/markup.ts'
import { pdfOf } from './pdf.ts'

const REGIMES: Record<string, string> = {
  '601': 'General de Ley Personas Morales',
  '612': 'Personas Físicas con Actividades Empresariales y Profesionales',
  '626': 'Régimen Simplificado de Confianza',
}

/** Monthly returns are due on the 17th of the next month. Annual returns are due at the end of March, or of April for natural persons. */
const DUE_DAY = '17'

/** Returns the files of a document source on a day. Certificates of status bear the first of the month, so that each month has one. */
export function filesOf(rfc: string, source: DataSourceKey, now: Date): DocumentFile[] {
  const { self } = circleOf(rfc)
  const today = localTime(now).slice(0, 10)
  return FILES[source]?.(self, today) ?? []
}

const FILES: Partial<Record<DataSourceKey, (self: Taxpayer, today: string) => DocumentFile[]>> = {
  sat_csf: (self, today) => [
    pdf('constancia-situacion-fiscal', 'Constancia de Situación Fiscal', firstOf(today), null, {
      ...identity(self),
      estatus_padron: 'ACTIVO',
      regimen: self.regimen,
      regimen_nombre: REGIMES[self.regimen]!,
      codigo_postal: self.place.codigo_postal,
      entidad: self.place.entidad,
      municipio: self.place.municipio,
      id_cif: digitsOf(`${self.rfc}|cif`, 11),
      inicio_operaciones: startOf(self),
    }),
  ],
  sat_opinion_32d: (self, today) => [
    pdf('opinion-cumplimiento', 'Opinión del Cumplimiento de Obligaciones Fiscales (32-D)', firstOf(today), null, {
      ...identity(self),
      folio: `${today.slice(2, 4)}NA${digitsOf(`${self.rfc}|32d|${today.slice(0, 7)}`, 7)}`,
      sentido: random(`${self.rfc}|32d`).chance(0.1) ? 'negativo' : 'positivo',
    }),
  ],
  sat_obligations: (self, today) => [
    json(
      'obligaciones',
      'Obligaciones fiscales',
      firstOf(today),
      { ...identity(self), obligaciones: obligationsOf(self) },
      { total: String(obligationsOf(self).length) },
    ),
  ],
  sat_declaracion_anual: (self, today) =>
    [1, 2, 3].flatMap((years) => {
      const year = String(Number(today.slice(0, 4)) - years)
      const filed = `${Number(year) + 1}-${isCompany(self.rfc) ? '03-31' : '04-30'}`
      return filed > today ? [] : annualReturn(self, year, filed)
    }),
  sat_declaracion_mensual: (self, today) =>
    Array.from({ length: 13 }, (_, i) => addMonths(today.slice(0, 7), -1 - i))
      .filter((month) => `${addMonths(month, 1)}-${DUE_DAY}` <= today)
      .slice(0, 12)
      .map((month) => monthlyReturn(self, month, `${addMonths(month, 1)}-${DUE_DAY}`)),
  sat_miinformacion: (self, today) => [
    json(
      'mi-informacion',
      'Mi información',
      firstOf(today),
      {
        ...identity(self),
        domicilio: self.place,
        medios_contacto: { correo: `contacto@${self.rfc.replaceAll(/\W/g, '').toLowerCase()}.example.mx` },
      },
      { codigo_postal: self.place.codigo_postal },
    ),
  ],
  sat_certificates: (self, today) => {
    const certificados = ['FIEL', 'CSD'].map((tipo) => certificateOf(self, tipo, today))
    return [
      json(
        'certificados',
        'Certificados',
        certificados[0]!.desde,
        { ...identity(self), certificados },
        { vigentes: String(certificados.length), vence: certificados[0]!.hasta },
      ),
    ]
  },
  sat_rug: (self, today) => [
    json(
      'rug',
      'Registro Único de Garantías Mobiliarias',
      firstOf(today),
      { ...identity(self), garantias: guaranteesOf(self) },
      { garantias: String(guaranteesOf(self).length) },
    ),
  ],
}

const firstOf = (today: string): string => `${today.slice(0, 7)}-01`
const identity = (self: Taxpayer) => ({ rfc: self.rfc, nombre: self.nombre })
const startOf = (self: Taxpayer): string => `201${random(`${self.rfc}|start`).int(0, 7)}-03-01`

function pdf(
  slug: string,
  title: string,
  document_date: string,
  period_end: string | null,
  { rfc, nombre, ...attributes }: { rfc: string; nombre: string } & Record<string, string>,
): DocumentFile {
  const lines = Object.entries({ rfc, nombre, fecha: document_date, ...attributes }).map(([key, value]) => `${key}: ${value}`)
  const name = `${slug}-${rfc}-${period_end ?? document_date}.pdf`
  return { name, content_type: 'application/pdf', bytes: pdfOf(title, lines), document_date, period_end, title, attributes }
}

const json = (
  slug: string,
  title: string,
  document_date: string,
  content: { rfc: string } & Record<string, unknown>,
  attributes: Record<string, string>,
): DocumentFile => ({
  ...{ name: `${slug}-${content.rfc}.json`, content_type: 'application/json', document_date, period_end: null, title, attributes },
  bytes: new TextEncoder().encode(`${JSON.stringify(content, null, 2)}\n`),
})

const obligationsOf = (self: Taxpayer) =>
  [
    { descripcion: 'Pago definitivo mensual de IVA', periodicidad: 'mensual', vencimiento: 'A más tardar el día 17 del mes siguiente' },
    { descripcion: 'Pago provisional mensual de ISR', periodicidad: 'mensual', vencimiento: 'A más tardar el día 17 del mes siguiente' },
    {
      descripcion: 'Declaración anual de ISR',
      periodicidad: 'anual',
      vencimiento: isCompany(self.rfc) ? 'Dentro de los tres meses siguientes al cierre del ejercicio' : 'En abril del año siguiente',
    },
    ...(isCompany(self.rfc)
      ? [
          {
            descripcion: 'Entero de retenciones de ISR por salarios',
            periodicidad: 'mensual',
            vencimiento: 'A más tardar el día 17 del mes siguiente',
          },
        ]
      : []),
  ].map((obligation) => ({ ...obligation, desde: startOf(self) }))

function annualReturn(self: Taxpayer, ejercicio: string, filed: string): DocumentFile {
  const draws = random(`${self.rfc}|anual|${ejercicio}`)
  const ingresos = draws.int(200_000_000, 1_900_000_000)
  const deducciones = Math.floor((ingresos * draws.int(70, 95)) / 100)
  return pdf('declaracion-anual', `Declaración anual ${ejercicio}`, filed, `${ejercicio}-12-31`, {
    ...identity(self),
    ...{ ejercicio, periodo: 'del ejercicio', tipo: 'normal', impuesto: 'ISR' },
    ingresos: money(ingresos),
    deducciones: money(deducciones),
    isr_a_cargo: money(Math.floor(((ingresos - deducciones) * 30) / 100)),
    numero_operacion: digitsOf(`${self.rfc}|anual|${ejercicio}|operation`, 12),
  })
}

function monthlyReturn(self: Taxpayer, month: string, filed: string): DocumentFile {
  const draws = random(`${self.rfc}|mensual|${month}`)
  const owed = draws.int(-4_000_000, 9_000_000)
  return pdf('declaracion-mensual', `Declaración mensual ${month}`, filed, `${month}-${daysIn(month)}`, {
    ...identity(self),
    ...{ ejercicio: month.slice(0, 4), periodo: month.slice(5, 7), tipo: 'normal', impuesto: 'IVA' },
    iva_a_cargo: money(Math.max(owed, 0)),
    iva_a_favor: money(Math.max(-owed, 0)),
    isr_a_cargo: money(draws.int(0, 6_000_000)),
    numero_operacion: digitsOf(`${self.rfc}|mensual|${month}|operation`, 12),
  })
}

/** Certificates last four years and are renewed on the same day. */
function certificateOf(self: Taxpayer, tipo: string, today: string) {
  const draws = random(`${self.rfc}|${tipo}`)
  const day = `-${String(draws.int(1, 12)).padStart(2, '0')}-${String(draws.int(10, 28))}`
  const cycle = draws.int(0, 3)
  const year = Number(today.slice(0, 4)) - (today.slice(4) < day ? 1 : 0)
  const since = year - ((year + cycle) % 4)
  return {
    tipo,
    numero: `0000100000${digitsOf(`${self.rfc}|${tipo}|${since}`, 10)}`,
    estado: 'Activo',
    desde: since + day,
    hasta: since + 4 + day,
  }
}

const guaranteesOf = (self: Taxpayer) =>
  random(`${self.rfc}|rug`).chance(0.4)
    ? [
        {
          numero: digitsOf(`${self.rfc}|garantia`, 8),
          tipo: 'Prenda sin transmisión de posesión',
          acreedor: 'BANCO DEL SURESTE',
          inscripcion: '2022-06-14',
          vigente: true,
        },
      ]
    : []
