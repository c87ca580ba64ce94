import { LISTED } from '../lists/listed.ts'
import { CANCUN, CENTRAL_PLACES, type Locality, TIJUANA } from './places.ts'
import { type Random, random, remembering } from './seed.ts'

type LineOfBusiness = keyof typeof LINES

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

const OWN_COMPANY_LINES: readonly LineOfBusiness[] = [
  ...(['software', 'consultoria', 'computo', 'alimentos', 'cerveza', 'autotransporte'] as const),
  ...(['educacion', 'hospedaje', 'construccion'] as const),
]
const OWN_PERSON_LINES: readonly LineOfBusiness[] = ['honorarios', 'honorarios', 'consultoria', 'educacion', 'papeleria']

export const productsOf = (line: LineOfBusiness): readonly Product[] => LINES[line]

/** Returns the rates in millionths that the receiver of a document withholds. `regimen` is the issuer's. */
export function withholdings(regimen: string, product: Product, iva: number): { impuesto: '001' | '002'; tasa: number }[] {
  if (product.withheld === 'autotransporte') return iva > 0 ? [{ impuesto: '002', tasa: 40_000 }] : []
  if (product.withheld !== 'servicios_personales') return []
  const isr = { impuesto: '001', tasa: regimen === '626' ? 12_500 : 100_000 } as const
  return iva > 0 ? [isr, { impuesto: '002', tasa: iva === 80_000 ? 53_333 : 106_667 }] : [isr]
}

/** Names with the first letters of their RFCs. Some of both contain `&` and `Ñ`. */
type Named = readonly [name: string, letters: string]

const COMPANIES: readonly Named[] = [
  ['DISTRIBUIDORA DEL BAJIO', 'DBA'],
  ['PAPELERIA & SUMINISTROS NORTE', 'P&S'],
  ['MUEBLES PEÑA', 'MPE'],
  ['ÑANDU TECNOLOGIAS', 'ÑAT'],
  ['GRUPO CONSTRUCTOR LOS ENCINOS', 'GCE'],
  ['SERVICIOS LOGISTICOS MAYAB', 'SLM'],
  ['ALIMENTOS SANTA LUCIA', 'ASL'],
  ['TELECOMUNICACIONES ARCOIRIS', 'TAR'],
  ['CONSULTORES "LA CIMA"', 'CCI'],
  ['FERRETERA HERNANDEZ E HIJOS', 'FHH'],
  ['ENERGETICOS DEL VALLE', 'EVA'],
  ['LABORATORIOS QUIMICOS ANAHUAC', 'LQA'],
  ['HOTELERA COSTA TURQUESA', 'HCT'],
  ["IMPRESOS O'FARRIL", 'IOF'],
  ['REFACCIONES Y MAQUINARIA SIGLO XXI', 'RMS'],
  ['CERVECERIA DOÑA EULALIA', 'CDE'],
  ['TEXTILES DE OCCIDENTE', 'TOC'],
  ['INMOBILIARIA JACARANDAS', 'IJA'],
  ['PLASTICOS & EMPAQUES DEL CENTRO', 'PEC'],
  ['AGROPRODUCTOS EL SAUCE', 'ASA'],
  ['SEGURIDAD PRIVADA CENTINELA', 'SPC'],
  ['NUBE DIGITAL MEXICANA', 'NDM'],
  ['TRANSPORTES RIO GRANDE', 'TRG'],
  ['INSTITUTO EDUCATIVO BENITO JUAREZ', 'IEB'],
]

const PEOPLE: readonly Named[] = [
  ['MARIA FERNANDA NUÑEZ IBARRA', 'NUIF'],
  ['JOSE LUIS HERNANDEZ ROJAS', 'HERL'],
  ['ANA SOFIA MUÑOZ CASTRO', 'MUCA'],
  ['RICARDO ÑUÑO GARCIA', 'ÑUGR'],
  ['GUADALUPE TORRES VEGA', 'TOVG'],
  ['MIGUEL ANGEL PONCE LARA', 'POLM'],
  ['CLAUDIA ESPINOZA RUIZ', 'EIRC'],
  ['FRANCISCO JAVIER SOLIS PEREZ', 'SOPF'],
  ['LETICIA CAMPOS OROZCO', 'CAOL'],
  ['RAUL ZAMORA DIAZ', 'ZADR'],
  ['PATRICIA BELTRAN MORA', 'BEMP'],
  ['EDUARDO VILLASEÑOR QUIROZ', 'VIQE'],
]

const FOREIGNERS = [
  { nombre: 'ACME TRADING & SUPPLY LLC', pais: 'USA', registro: '987654321', moneda: 'USD' },
  { nombre: 'HERMANOS IBAÑEZ SL', pais: 'ESP', registro: 'B12345674', moneda: 'EUR' },
] as const

/** A party of a document. */
export interface Taxpayer {
  rfc: string
  nombre: string
  regimen: string
  locality: Locality
  /** The lines of business in which it sells. */
  lines: readonly LineOfBusiness[]
  /** The currency of its invoices. */
  moneda: 'MXN' | 'USD' | 'EUR'
  foreign: { pais: string; registro: string } | null
}

/** A taxpayer and its counterparties, always the same for an RFC. */
export interface Circle {
  self: Taxpayer
  clients: Taxpayer[]
  foreigners: Taxpayer[]
  suppliers: Taxpayer[]
  employees: Taxpayer[]
  /** The employer of a natural person; null for companies and for persons without one. */
  employer: Taxpayer | null
}

const DIGITS = '0123456789ABCDEFGHIJKLMN&OPQRSTUVWXYZ Ñ'

/** Whether an RFC is a company’s (twelve characters) and not a natural person’s (thirteen). */
export const isCompany = (rfc: string): boolean => [...rfc].length === 12

/** Appends the check digit to an RFC that lacks it. */
export function withCheckDigit(stem: string): string {
  const sum = [...stem.padStart(12, ' ')].reduce((total, letter, i) => total + DIGITS.indexOf(letter) * (13 - i), 0)
  const digit = (11 - (sum % 11)) % 11
  return stem + (digit === 10 ? 'A' : String(digit))
}

const drawRfc = (draws: Random, letters: string): string => {
  const company = [...letters].length === 3
  const year = company ? draws.int(85, 115) % 100 : draws.int(60, 98)
  const date = [year, draws.int(1, 12), draws.int(1, 28)].map((part) => String(part).padStart(2, '0')).join('')
  const mark = () => '123456789ABCDEFGHIJKLMNPQRSTUVWXYZ'[draws.int(0, 33)]
  return withCheckDigit(letters + date + mark() + mark())
}

const OWN_PREFIXES = ['COMERCIALIZADORA', 'GRUPO', 'SOLUCIONES', 'INDUSTRIAS', 'SERVICIOS INTEGRALES']

function drawSelf(rfc: string): Taxpayer {
  const draws = random(`${rfc}|self`)
  const locality = draws.pick(CENTRAL_PLACES)
  const shared = { rfc, locality, moneda: 'MXN', foreign: null } as const
  if (isCompany(rfc))
    return { ...shared, nombre: `${draws.pick(OWN_PREFIXES)} ${rfc.slice(0, 3)}`, regimen: '601', lines: OWN_COMPANY_LINES }
  return { ...shared, nombre: draws.pick(PEOPLE)[0], regimen: draws.pick(['612', '612', '626']), lines: OWN_PERSON_LINES }
}

const SUPPLIER_COMPANIES: readonly { lines: readonly LineOfBusiness[]; locality?: Locality; moneda?: 'USD' | 'EUR' }[] = [
  { lines: ['papeleria'] },
  { lines: ['papeleria', 'computo'] },
  { lines: ['computo'], moneda: 'USD' },
  { lines: ['software'], moneda: 'EUR' },
  { lines: ['autotransporte'] },
  { lines: ['alimentos', 'cerveza'] },
  { lines: ['alimentos'] },
  { lines: ['combustible'] },
  { lines: ['consultoria', 'educacion'], locality: TIJUANA },
  { lines: ['papeleria', 'hospedaje'], locality: CANCUN },
]
const SUPPLIER_PEOPLE: readonly { line: LineOfBusiness; regimen: string }[] = [
  { line: 'honorarios', regimen: '612' },
  { line: 'honorarios', regimen: '612' },
  { line: 'arrendamiento', regimen: '606' },
  { line: 'honorarios', regimen: '626' },
  { line: 'medico', regimen: '612' },
]

/** The companies of a circle in whose places those of the blacklists are. */
const LISTED_SUPPLIERS = [1, 6, 8, 9]
const LISTED_CLIENTS = [4, 5, 6, 7]

function drawCircle(rfc: string): Circle {
  const draws = random(`${rfc}|circle`)
  const self = drawSelf(rfc)
  const companies = draws.sample(COMPANIES, 21)
  const people = draws.sample(
    PEOPLE.filter(([nombre]) => nombre !== self.nombre),
    11,
  )
  const party = ([nombre, letters]: readonly [string, string], rest: Partial<Taxpayer> = {}): Taxpayer => ({
    rfc: drawRfc(draws, letters),
    nombre,
    regimen: [...letters].length === 3 ? draws.pick(['601', '601', '603', '626']) : '612',
    locality: draws.pick(CENTRAL_PLACES),
    lines: [],
    moneda: 'MXN',
    foreign: null,
    ...rest,
  })
  const clients = [
    ...companies.slice(0, 10).map((named, i) => party(named, i === 0 ? { moneda: 'USD' } : i === 1 ? { locality: TIJUANA } : {})),
    ...people.slice(0, 2).map((named) => party(named)),
  ]
  const suppliers = [
    ...SUPPLIER_COMPANIES.map((trade, i) => party(companies[10 + i]!, { regimen: '601', ...trade })),
    ...SUPPLIER_PEOPLE.map(({ line, regimen }, i) => party(people[2 + i]!, { lines: [line], regimen })),
  ]
  const foreigners = FOREIGNERS.map(({ nombre, pais, registro, moneda }): Taxpayer => {
    const { locality } = self
    return { rfc: 'XEXX010101000', nombre, regimen: '616', locality, lines: [], moneda, foreign: { pais, registro } }
  })
  const employees = isCompany(rfc) ? people.slice(7, 10).map((named) => party(named, { regimen: '605' })) : []
  const employer = isCompany(rfc) || draws.chance(0.3) ? null : party(companies[20]!, { regimen: '601' })
  LISTED.forEach(({ rfc: listed, nombre }, i) => {
    const [parties, at] =
      i < LISTED_SUPPLIERS.length ? [suppliers, LISTED_SUPPLIERS[i]!] : [clients, LISTED_CLIENTS[i - LISTED_SUPPLIERS.length]!]
    if (listed !== rfc) parties[at] = { ...parties[at]!, rfc: listed, nombre }
  })
  return { self, clients, foreigners, suppliers, employees, employer }
}

/** Returns the circle of an RFC. */
export const circleOf = remembering(64, drawCircle)
