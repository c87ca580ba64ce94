import type { DataSourceKey } from '../../port/authority.ts'
import type { Certificate } from '../../port/fields-contract.ts'
import { localTime } from '../world/places.ts'
import { digitsOf, random } from '../world/seed.ts'
import { circleOf, type Taxpayer } from '../world/taxpayers.ts'
import { addressAt, constancia, obligationsAt, opinion } from './constancia.ts'
import type { InventedFile } from './port.ts'
import { annualReturns, monthlyReturns } from './returns.ts'

/** Returns the files of a document source on a day. Other files than returns bear the first of the month, so that each month has one. */
export function filesOf(rfc: string, source: DataSourceKey, now: Date): InventedFile[] {
  const { self } = circleOf(rfc)
  const today = localTime(now).slice(0, 10)
  return FILES[source]?.(self, today) ?? []
}

const FILES: Partial<Record<DataSourceKey, (self: Taxpayer, today: string) => InventedFile[]>> = {
  sat_csf: (self, today) => [
    pdf(
      'csf',
      `constancia-situacion-fiscal-${self.rfc}`,
      'Constancia de Situación Fiscal',
      firstOf(today),
      constancia(self, firstOf(today)),
    ),
  ],
  sat_opinion_32d: (self, today) => [
    pdf(
      ...(['opinion_32d', `opinion-cumplimiento-${self.rfc}`, 'Opinión del Cumplimiento de Obligaciones Fiscales (32-D)'] as const),
      ...([firstOf(today), opinion(self, firstOf(today))] as const),
    ),
  ],
  sat_obligations: (self, today) => {
    const obligations = obligationsAt(self, firstOf(today))
    return [
      json('obligations', 'obligaciones', 'Obligaciones fiscales', self, today, {
        content: { obligaciones: obligations },
        attributes: { total: String(obligations.length) },
        fields: { obligations },
      }),
    ]
  },
  sat_declaracion_anual: annualReturns,
  sat_declaracion_mensual: monthlyReturns,
  sat_miinformacion: (self, today) => [
    json('registration', 'mi-informacion', 'Mi información', self, today, {
      content: {
        domicilio: addressAt(self, firstOf(today)),
        medios_contacto: { correo: `contacto@${self.rfc.replaceAll(/\W/g, '').toLowerCase()}.example.mx` },
      },
      attributes: { codigo_postal: self.locality.codigo_postal },
    }),
  ],
  sat_certificates: (self, today) => {
    const certificates = (['efirma', 'csd'] as const).map((kind) => certificateOf(self, kind, firstOf(today)))
    return [
      json('certificates', 'certificados', 'Certificados', self, today, {
        content: { certificados: certificates },
        attributes: { vigentes: String(certificates.length), vence: certificates.map(({ valid_to }) => valid_to).sort()[0]! },
        fields: { certificates },
      }),
    ]
  },
  sat_rug: (self, today) => [
    json('rug', 'rug', 'Registro Único de Garantías Mobiliarias', self, today, {
      content: { garantias: guaranteesOf(self) },
      attributes: { garantias: String(guaranteesOf(self).length) },
    }),
  ],
}

const firstOf = (today: string): string => `${today.slice(0, 7)}-01`

const pdf = (kind: 'csf' | 'opinion_32d', slug: string, title: string, document_date: string, bytes: Uint8Array): InventedFile => ({
  ...{ kind, series: kind, name: `${slug}-${document_date}.pdf`, content_type: 'application/pdf', bytes, document_date },
  ...{ period_end: null, title, attributes: {}, fields: null },
})

const json = (
  kind: InventedFile['kind'],
  slug: string,
  title: string,
  { rfc, nombre }: Taxpayer,
  today: string,
  { content, attributes, fields = null }: Pick<InventedFile, 'attributes'> & { content: object; fields?: InventedFile['fields'] },
): InventedFile => ({
  ...{ kind, series: kind, name: `${slug}-${rfc}.json`, content_type: 'application/json', document_date: firstOf(today) },
  ...{ period_end: null, title, attributes, fields },
  bytes: new TextEncoder().encode(`${JSON.stringify({ rfc, nombre, fecha: firstOf(today), ...content }, null, 2)}\n`),
})

/** Certificates last four years and are renewed on the same day. */
function certificateOf({ rfc }: Taxpayer, kind: Certificate['kind'], today: string): Certificate {
  const tipo = kind === 'efirma' ? 'FIEL' : 'CSD'
  const draws = random(`${rfc}|${tipo}`)
  const day = `-${String(draws.int(1, 12)).padStart(2, '0')}-${String(draws.int(10, 28))}`
  const cycle = draws.int(0, 3)
  const year = Number(today.slice(0, 4)) - (today.slice(4) < day ? 1 : 0)
  const since = year - ((year + cycle) % 4)
  return {
    ...{ serial: `0000100000${digitsOf(`${rfc}|${tipo}|${since}`, 10)}`, kind, status: 'active' },
    ...{ valid_from: since + day, valid_to: since + 4 + day },
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
