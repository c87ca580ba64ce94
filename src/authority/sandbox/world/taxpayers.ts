import { LISTED } from '../lists/listed.ts'
import { COMPANIES, FOREIGNERS, PEOPLE } from './names.ts'
import { CANCUN, CENTRAL_PLACES, type Locality, TIJUANA } from './places.ts'
import { type LineOfBusiness, OWN_COMPANY_LINES, OWN_PERSON_LINES } from './products.ts'
import { type Random, random } from './seed.ts'

/** A party of a document. */
export interface Taxpayer {
  rfc: string
  nombre: string
  regimen: string
  place: Locality
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

/** Appends the check digit to an RFC that lacks it (sat.md 4). */
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
  const place = draws.pick(CENTRAL_PLACES)
  const shared = { rfc, place, moneda: 'MXN', foreign: null } as const
  if (isCompany(rfc))
    return { ...shared, nombre: `${draws.pick(OWN_PREFIXES)} ${rfc.slice(0, 3)}`, regimen: '601', lines: OWN_COMPANY_LINES }
  return { ...shared, nombre: draws.pick(PEOPLE)[0], regimen: draws.pick(['612', '612', '626']), lines: OWN_PERSON_LINES }
}

const SUPPLIER_COMPANIES: readonly { lines: readonly LineOfBusiness[]; place?: Locality; moneda?: 'USD' | 'EUR' }[] = [
  { lines: ['papeleria'] },
  { lines: ['papeleria', 'computo'] },
  { lines: ['computo'], moneda: 'USD' },
  { lines: ['software'], moneda: 'EUR' },
  { lines: ['autotransporte'] },
  { lines: ['alimentos', 'cerveza'] },
  { lines: ['alimentos'] },
  { lines: ['combustible'] },
  { lines: ['consultoria', 'educacion'], place: TIJUANA },
  { lines: ['papeleria', 'hospedaje'], place: CANCUN },
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
    place: draws.pick(CENTRAL_PLACES),
    lines: [],
    moneda: 'MXN',
    foreign: null,
    ...rest,
  })
  const clients = [
    ...companies.slice(0, 10).map((named, i) => party(named, i === 0 ? { moneda: 'USD' } : i === 1 ? { place: TIJUANA } : {})),
    ...people.slice(0, 2).map((named) => party(named)),
  ]
  const suppliers = [
    ...SUPPLIER_COMPANIES.map((trade, i) => party(companies[10 + i]!, { regimen: '601', ...trade })),
    ...SUPPLIER_PEOPLE.map(({ line, regimen }, i) => party(people[2 + i]!, { lines: [line], regimen })),
  ]
  const foreigners = FOREIGNERS.map(
    ({ nombre, pais, registro, moneda }): Taxpayer => ({
      rfc: 'XEXX010101000',
      nombre,
      regimen: '616',
      place: self.place,
      lines: [],
      moneda,
      foreign: { pais, registro },
    }),
  )
  const employees = isCompany(rfc) ? people.slice(7, 10).map((named) => party(named, { regimen: '605' })) : []
  const employer = isCompany(rfc) || draws.chance(0.3) ? null : party(companies[20]!, { regimen: '601' })
  LISTED.forEach(({ rfc: listed, nombre }, i) => {
    const [parties, at] =
      i < LISTED_SUPPLIERS.length ? [suppliers, LISTED_SUPPLIERS[i]!] : [clients, LISTED_CLIENTS[i - LISTED_SUPPLIERS.length]!]
    if (listed !== rfc) parties[at] = { ...parties[at]!, rfc: listed, nombre }
  })
  return { self, clients, foreigners, suppliers, employees, employer }
}

const KEPT = 64
const circles = new Map<string, Circle>()

/** Returns the circle of an RFC. Caches the most recently used ones. */
export function circleOf(rfc: string): Circle {
  const circle = circles.get(rfc) ?? drawCircle(rfc)
  circles.delete(rfc)
  circles.set(rfc, circle)
  if (circles.size > KEPT) circles.delete(circles.keys().next().value!)
  return circle
}
