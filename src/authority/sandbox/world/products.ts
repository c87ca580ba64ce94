export type LineOfBusiness = keyof typeof LINES

/** A product and its taxes. Prices are in cents. */
export interface Product {
  clave: string
  clave_unidad: string
  unidad: string | null
  descripcion: string
  price: readonly [min: number, max: number]
  /** The maximum quantity on a line. */
  most: number
  iva: 'general' | 'cero' | 'exento'
  /** The rate of IEPS in millionths. */
  ieps?: number
  /** IEPS by volume: litres in a unit, and millionths of a peso a litre. */
  cuota?: { litres: number; tasa: number }
  /** A local tax, and its rate in hundredths of a percent. */
  local?: { nombre: string; isWithheld: boolean; tasa: number }
  /** The kind of withholding that applies when a company buys it. */
  withheld?: 'servicios_personales' | 'autotransporte'
}

const goods = { clave_unidad: 'H87', unidad: 'Pieza', most: 24, iva: 'general' } as const
const service = { clave_unidad: 'E48', unidad: 'Unidad de servicio', most: 2, iva: 'general' } as const
const personal = { ...service, most: 1, withheld: 'servicios_personales' } as const

const LINES = {
  papeleria: [
    { ...goods, clave: '14111507', descripcion: 'Papel bond carta, caja con 5,000 hojas', price: [65_000, 98_000] },
    { ...goods, clave: '44121701', descripcion: 'Bolígrafos tinta azul & negra, caja', price: [4_500, 12_900] },
  ],
  computo: [
    { ...goods, clave: '43211503', descripcion: 'Computadora portátil 14" 16 GB', price: [890_000, 2_450_000], most: 4 },
    { ...goods, clave: '43211902', descripcion: 'Monitor LED 24"', price: [189_900, 420_000], most: 6 },
  ],
  software: [
    { ...service, clave: '81112501', descripcion: 'Licencia de software, suscripción mensual', price: [120_000, 950_000], most: 12 },
    { ...service, clave: '81111503', descripcion: 'Desarrollo de sistema a la medida', price: [1_500_000, 9_800_000] },
  ],
  consultoria: [
    { ...service, clave: '80101500', descripcion: 'Consultoría de negocios', price: [850_000, 6_400_000] },
    { ...service, clave: '80141600', descripcion: 'Campaña de publicidad <temporada>', price: [450_000, 3_200_000] },
  ],
  alimentos: [
    { ...goods, clave: '50221000', descripcion: 'Maíz en grano, costal 50 kg', price: [38_000, 61_000], iva: 'cero' },
    { ...goods, clave: '50131702', descripcion: 'Leche entera, caja 12 L', price: [21_000, 33_000], iva: 'cero' },
  ],
  cerveza: [
    { ...goods, clave: '50202201', descripcion: 'Cerveza clara, cartón 24', price: [32_000, 45_000], ieps: 265_000 },
    { ...goods, clave: '50202306', descripcion: 'Refresco, caja 12 L', price: [14_000, 22_000], cuota: { litres: 12, tasa: 1_645_100 } },
    { ...goods, clave: '50181909', descripcion: 'Galletas, caja', price: [18_000, 36_000], iva: 'cero', ieps: 80_000 },
  ],
  hospedaje: [
    {
      ...{ ...service, clave: '90111501', descripcion: 'Hospedaje, habitación sencilla', price: [110_000, 340_000], most: 5 },
      local: { nombre: 'Impuesto sobre hospedaje', isWithheld: false, tasa: 300 },
    },
  ],
  construccion: [
    {
      ...{ ...service, clave: '72121400', descripcion: 'Obra de mantenimiento de inmuebles', price: [1_800_000, 9_500_000] },
      local: { nombre: '5 al millar', isWithheld: true, tasa: 50 },
    },
  ],
  combustible: [
    { ...goods, clave: '15101514', clave_unidad: 'LTR', unidad: 'Litro', descripcion: 'Gasolina regular', price: [2_190, 2_480], most: 60 },
  ],
  autotransporte: [
    {
      ...service,
      clave: '78101802',
      descripcion: 'Flete terrestre de carga',
      price: [650_000, 3_900_000],
      withheld: 'autotransporte',
    },
  ],
  educacion: [{ ...service, clave: '86121700', descripcion: 'Servicios educativos', price: [280_000, 1_400_000], iva: 'exento' }],
  honorarios: [
    { ...personal, clave: '84111500', descripcion: 'Honorarios por servicios contables', price: [600_000, 3_500_000] },
    { ...personal, clave: '80121600', descripcion: 'Honorarios por asesoría legal', price: [900_000, 5_200_000] },
  ],
  arrendamiento: [{ ...personal, clave: '80131502', descripcion: 'Arrendamiento de local comercial', price: [1_200_000, 4_800_000] }],
  medico: [{ ...personal, clave: '85121600', descripcion: 'Consulta médica de especialidad', price: [80_000, 250_000], iva: 'exento' }],
} as const satisfies Record<string, readonly Product[]>

export const OWN_COMPANY_LINES: readonly LineOfBusiness[] = [
  'software',
  'consultoria',
  'computo',
  'alimentos',
  'cerveza',
  'autotransporte',
  'educacion',
  'hospedaje',
  'construccion',
]
export const OWN_PERSON_LINES: readonly LineOfBusiness[] = ['honorarios', 'honorarios', 'consultoria', 'educacion', 'papeleria']

export const productsOf = (line: LineOfBusiness): readonly Product[] => LINES[line]

/** Returns the rates in millionths that the receiver of a document withholds (insights.md 8.2). `regimen` is the issuer's. */
export function withholdings(regimen: string, product: Product, iva: number): { impuesto: '001' | '002'; tasa: number }[] {
  if (product.withheld === 'autotransporte') return iva > 0 ? [{ impuesto: '002', tasa: 40_000 }] : []
  if (product.withheld !== 'servicios_personales') return []
  const isr = { impuesto: '001', tasa: regimen === '626' ? 12_500 : 100_000 } as const
  return iva > 0 ? [isr, { impuesto: '002', tasa: iva === 80_000 ? 53_333 : 106_667 }] : [isr]
}
