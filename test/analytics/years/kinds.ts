import {
  conceptoOf,
  type Draft,
  isOld,
  type SandboxComprobante,
  type SandboxConcepto,
} from '../../../src/authority/sandbox/world/comprobante.ts'
import type { Locality } from '../../../src/authority/sandbox/world/places.ts'
import { random } from '../../../src/authority/sandbox/world/seed.ts'
import type { Product } from '../../../src/authority/sandbox/world/taxpayers.ts'

const goods = { clave_unidad: 'H87', unidad: 'Pieza', most: 1, iva: 'general' } as const
const kind = (clave: string, descripcion: string, price: readonly [number, number], more: Partial<Product> = {}): Product => ({
  ...{ ...goods, clave, descripcion, price },
  ...more,
})
const MEAL = [40_000, 900_000] as const
const CAR = [12_000_000, 45_000_000] as const

/** What is bought of which the law deducts a part, or nothing. */
const BOUGHT = [
  kind('90101500', 'Consumo en restaurante', MEAL),
  kind('90101501', 'Consumo de alimentos', MEAL),
  kind('90101502', 'Consumo en bar', MEAL),
  kind('25101503', 'Automóvil', CAR, { most: 2 }),
  kind('25101509', 'Automóvil eléctrico', CAR),
  kind('25101507', 'Camioneta', CAR),
  kind('15101514', 'Gasolina', [60_000, 300_000]),
]
/** What is sold that does not take part in the proportion of IVA, or may not, or is exempt. */
const SOLD = [
  kind('84121500', 'Intereses', [50_000, 3_000_000], { iva: 'exento' }),
  kind('84121600', 'Divisas', [50_000, 3_000_000], { iva: 'exento' }),
  kind('84121800', 'Títulos de crédito', [50_000, 3_000_000], { iva: 'exento' }),
  kind('95101500', 'Terreno', [9_000_000, 90_000_000], { iva: 'exento' }),
  kind('95121500', 'Edificio', [9_000_000, 90_000_000]),
  kind('86121700', 'Servicios educativos', [280_000, 1_400_000], { iva: 'exento' }),
]

/** The mark of a line on behalf of a third party, whose element `withThirdParties` writes. */
const THIRD_PARTY = 'TERCERO'

/**
 * Lines of an invoice, seldom of other kinds, not subject to tax, subject without a transfer, or on behalf of a third party. They are drawn by
 * the invoice alone, so that the rest of a history stays as it is.
 */
export function withKinds(draft: Draft, lugar: Locality, lines: readonly SandboxConcepto[], isSold: boolean): SandboxConcepto[] {
  const { chance, pick, int } = random(`kinds|${draft.key}`)
  const isWhole = chance(0.5)
  const [isOther, isUntaxed, isForeign] = [chance(0.2), chance(0.15), chance(0.1)]
  const other = pick(isSold ? SOLD : BOUGHT)
  const objeto_imp = chance(0.6) ? '01' : pick(['03', '04', '05', '06', '07', '08'])
  return lines.map((line, n) => {
    if (n > 0 && !isWhole) return line
    const amounts = { cantidad: int(1, other.most), valor_unitario: int(...other.price), descuento: 0, no_identificacion: 'OTRO' }
    const one = isOther ? conceptoOf(draft, lugar, other, amounts) : line
    const plain = isUntaxed && !isOld(draft.fecha) ? { ...one, objeto_imp: objeto_imp as '01', traslados: [], retenciones: [] } : one
    return isForeign ? { ...plain, no_identificacion: THIRD_PARTY } : plain
  })
}

const ELEMENT =
  '<cfdi:ACuentaTerceros RfcACuentaTerceros="EEEE850505EE4" NombreACuentaTerceros="TERCERO" RegimenFiscalACuentaTerceros="612" DomicilioFiscalACuentaTerceros="06600"/>'

/** The XML of a document with the third parties of its lines, which the sandbox does not write. CFDI 3.3 has no such element. */
export const withThirdParties = (xml: string, { fecha }: SandboxComprobante): string =>
  isOld(fecha)
    ? xml
    : xml.replace(
        new RegExp(`(<cfdi:Concepto [^>]*NoIdentificacion="${THIRD_PARTY}"[^>]*?)(/>|>(.*?)</cfdi:Concepto>)`, 'gs'),
        (_, head: string, __: string, inner = '') => `${head}>${inner}${ELEMENT}</cfdi:Concepto>`,
      )

/** The period of an invoice to the public: its month, the one before, or its two months (2022 on). */
export function globalOf({ key, fecha }: Draft): SandboxComprobante['global'] {
  const { chance, int } = random(`global|${key}`)
  const [anio, month] = [fecha.slice(0, 4), Number(fecha.slice(5, 7))]
  if (isOld(fecha) || chance(0.3)) return null
  if (chance(0.3)) return { periodicidad: '05', meses: String(12 + Math.ceil(month / 2)), anio }
  return { periodicidad: '04', meses: String(Math.max(1, month - int(0, 1))).padStart(2, '0'), anio }
}
