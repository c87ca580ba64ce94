import { fnv1a } from '../../../platform/hash.ts'
import type { RepseStatus } from '../contract.ts'

/** Kinds of company as they end a name, without punctuation. CFDI 4.0 omits them; the registry includes them. */
const KINDS_OF_COMPANY = [
  'SOCIEDAD ANONIMA DE CAPITAL VARIABLE',
  'SOCIEDAD ANONIMA',
  'SOCIEDAD CIVIL',
  'ASOCIACION CIVIL',
  'S DE R L DE C V',
  'S DE RL DE CV',
  'S DE R L',
  'S DE RL',
  'S A P I DE C V',
  'SAPI DE CV',
  'S A B DE C V',
  'SAB DE CV',
  'S A S DE C V',
  'SAS DE CV',
  'S A DE C V',
  'SA DE CV',
  'S A S',
  'SAS',
  'S A',
  'SA',
  'S C DE R L DE C V',
  'S C DE R L',
  'S C P',
  'S C',
  'SC',
  'A C',
  'AC',
].sort((a, b) => b.length - a.length)

/** Normalizes a name for comparison: letters, digits and `&` in upper case, without accents, punctuation or the kind of company. */
export function normalName(name: string): string {
  const plain = name
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toUpperCase()
    .replace(/[^\p{L}\d&]+/gu, ' ')
    .replace(/ ?& ?/g, '&')
    .trim()
  const kind = KINDS_OF_COMPANY.find((one) => plain.endsWith(` ${one}`))
  return kind === undefined ? plain : plain.slice(0, -kind.length).trim()
}

/** The registry's record of an RFC. Days are `YYYY-MM-DD`. */
export type RegistryRecord = Omit<RepseStatus, 'rfc' | 'is_stale' | 'checked_at' | 'is_expired' | 'days_to_expiry'>

/** The record of an RFC that is not registered. */
export const ABSENT: RegistryRecord = {
  is_registered: false,
  folio: null,
  razon_social: null,
  entidad: null,
  municipio: null,
  num_aviso: null,
  fecha_aviso: null,
  vigencia_hasta: null,
  actividades: [],
}

/** The port to the public registry of providers of specialized services (REPSE). The sandbox and the live registry implement it. */
export interface Registry {
  /**
   * Returns the record of an RFC. `nameOf` returns the taxpayer's name for a registry that is searched by name. Throws RegistryUnavailable
   * when there is no answer, which never counts as absence.
   */
  lookUp(rfc: string, nameOf: () => Promise<string | null>): Promise<RegistryRecord>
}

/** The registry gave no answer: it is down, requires a captcha, or returned an unreadable page. */
export class RegistryUnavailable extends Error {}

/** Records that test helpers gave the sandbox registry to answer with. */
export interface RecordOverrides {
  find(rfc: string): Promise<RegistryRecord | null>
}

/** A registry that answers with the override of an RFC, or else with a generated record, always of the same kind for an RFC. */
export const sandboxRegistry = (overrides: RecordOverrides, now: Date): Registry => ({
  lookUp: async (rfc) => (await overrides.find(rfc)) ?? generatedRecord(rfc, now),
})

/** Of ten RFCs, four are registered, one of them without an end; three are absent, two expire soon, and one has expired. */
const KINDS = [
  'registered',
  'absent',
  'registered',
  'expiring',
  'absent',
  'registered',
  'expired',
  'absent',
  'expiring',
  'endless',
] as const

const PLACES = [
  ['Ciudad de México', 'Cuauhtémoc'],
  ['Nuevo León', 'San Pedro Garza García'],
  ['Jalisco', 'Zapopan'],
  ['Querétaro', 'Querétaro'],
] as const

const ACTIVITIES = ['Servicios de limpieza', 'Servicios de vigilancia', 'Mantenimiento de instalaciones', 'Servicios de comedor'] as const

/** The number of an RFC from which its record is generated. */
function numberOf(rfc: string): number {
  const hash = fnv1a(rfc)
  return (hash ^ (hash >>> 15)) >>> 0
}

/** The fifteenth of the month so many months from now. For one month that is within 60 days on any day, so `expiring` always holds. */
const fifteenth = (now: Date, months: number): string =>
  new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, 15)).toISOString().slice(0, 10)

function generatedRecord(rfc: string, now: Date): RegistryRecord {
  const number = numberOf(rfc)
  const kind = KINDS[number % KINDS.length]!
  if (kind === 'absent') return ABSENT
  const [entidad, municipio] = PLACES[(number >>> 4) % PLACES.length]!
  const folio = String(10_000 + (number % 90_000))
  const count = 1 + ((number >>> 6) % 2)
  const ends = { registered: fifteenth(now, 20), expiring: fifteenth(now, 1), expired: fifteenth(now, -2), endless: null }
  return {
    ...ABSENT,
    is_registered: true,
    folio,
    razon_social: `PRESTADORA ${rfc.slice(0, 3)} ${folio}, S.A. DE C.V.`,
    entidad,
    municipio,
    vigencia_hasta: ends[kind],
    actividades: Array.from({ length: count }, (_, n) => ({ descripcion: ACTIVITIES[(number + n) % ACTIVITIES.length]!, folio })),
  }
}

/** A search result of the registry. The registration is opened by its number. */
export interface FoundRegistration {
  razon_social: string
  number: string
}

const ENTITIES: Record<string, string> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', ntilde: 'ñ', Ntilde: 'Ñ', uuml: 'ü', Uuml: 'Ü' },
  ...{ aacute: 'á', eacute: 'é', iacute: 'í', oacute: 'ó', uacute: 'ú', Aacute: 'Á', Eacute: 'É', Iacute: 'Í', Oacute: 'Ó', Uacute: 'Ú' },
}

const decoded = (text: string): string =>
  text.replace(/&(?:#(\d{1,6})|#x([\da-f]{1,5})|(\w+));/gi, (whole, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return ENTITIES[name] ?? whole
    const code = decimal === undefined ? Number.parseInt(hex!, 16) : Number(decimal)
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole
  })

/** Returns the visible text of HTML. */
const textOf = (html: string): string =>
  decoded(html.replace(/<[^>]*>/g, ' '))
    .replace(/\s+/g, ' ')
    .trim()

const unreadable = (what: string) => new RegistryUnavailable(`The registry returned ${what}.`)

const REFUSAL = 'a captcha or a refusal'

const isRefusal = (page: string): boolean => /captcha|acceso denegado|access denied|mantenimiento|temporalmente/i.test(textOf(page))

/** Returns the value of a form field that a later request must send back. Throws RegistryUnavailable when the page lacks it. */
export function fieldOf(page: string, name: string): string {
  for (const [field] of page.matchAll(/<input\b[^>]*>/gi)) {
    const value = (attribute: string) => new RegExp(`\\b${attribute}\\s*=\\s*["']([^"']*)["']`, 'i').exec(field)?.[1]
    if (value('name') === name || value('id') === name) return decoded(value('value') ?? '')
  }
  throw unreadable(isRefusal(page) ? REFUSAL : `a page without the field ${name}`)
}

/**
 * Reads a page of search results and the number of pages. There are none only when the registry states so. Throws RegistryUnavailable when
 * the page cannot be read.
 */
export function readSearch(body: string): { found: FoundRegistration[]; pages: number } {
  let answer: { data?: unknown; total_pag?: unknown }
  try {
    answer = JSON.parse(body) as typeof answer
  } catch {
    throw unreadable(isRefusal(body) ? REFUSAL : 'search results that are not JSON')
  }
  const data = answer?.data
  if (typeof data !== 'string') throw unreadable('search results without data')
  if (/NO HAY DATOS/i.test(textOf(data))) return { found: [], pages: 0 }
  const found = [...data.matchAll(/<tr\b[^>]*>([\s\S]*?)<\/tr>/gi)].flatMap(([, row]): FoundRegistration[] => {
    const [name, number] = [...row!.matchAll(/<td\b[^>]*>([\s\S]*?)<\/td>/gi)].map(([, cell]) => textOf(cell!))
    return name && number ? [{ razon_social: name, number }] : []
  })
  const pages = Number(answer.total_pag)
  if (found.length === 0 || !Number.isInteger(pages) || pages < 1) throw unreadable('unreadable search results')
  return { found, pages }
}

const DAY = /^\d{4}-\d{2}-\d{2}$/

const dayOf = (text: string | undefined): string | null => {
  if (text === undefined || text === '') return null
  const isDay = DAY.test(text) && new Date(`${text}T00:00:00Z`).toJSON()?.startsWith(text)
  if (!isDay) throw unreadable('an invalid date')
  return text
}

/** Reads the page of a registration. Throws RegistryUnavailable when it cannot be read. */
export function readRegistration(page: string): RegistryRecord {
  const folio = /REGISTRO LOCALIZADO FOLIO:\s*([\w-]+)/i.exec(textOf(page))?.[1]
  if (folio === undefined) throw unreadable(isRefusal(page) ? REFUSAL : 'an unreadable registration')
  const paragraphAfter = highlightedValues(page)
  const razon_social = paragraphAfter('Nombre o Razón Social')
  if (!razon_social) throw unreadable('a registration without a name')
  const [entidad, municipio] = pairOf(paragraphAfter('Entidad / Municipio'))
  const [num_aviso, fecha_aviso] = pairOf(paragraphAfter('Fecha de aviso de registro'))
  const vigencia = paragraphAfter('Vigencia del Registro')
  if (vigencia === undefined) throw unreadable('a registration without the label of its last day')
  return {
    is_registered: true,
    folio,
    razon_social,
    entidad: entidad || null,
    municipio: municipio || null,
    num_aviso: num_aviso || null,
    fecha_aviso: dayOf(fecha_aviso),
    vigencia_hasta: dayOf(vigencia),
    actividades: servicesIn(page).map((descripcion) => ({ descripcion, folio })),
  }
}

/** Returns a function that finds a highlighted paragraph by the label that precedes it. */
function highlightedValues(page: string): (label: string) => string | undefined {
  const values: { before: string; text: string }[] = []
  let end = 0
  for (const match of page.matchAll(/<p\b[^>]*\bhighlightname\b[^>]*>([\s\S]*?)<\/p>/gi)) {
    values.push({ before: textOf(page.slice(end, match.index)).replace(/[\s:]+$/, ''), text: textOf(match[1]!) })
    end = match.index + match[0].length
  }
  return (label) => values.find(({ before }) => before.toLowerCase().endsWith(label.toLowerCase()))?.text
}

function servicesIn(page: string): string[] {
  const [, list = ''] = /siguientes\s+servicios[\s\S]*?<ul\b[^>]*>([\s\S]*?)<\/ul>/i.exec(page) ?? []
  return [...list.matchAll(/<li\b[^>]*>([\s\S]*?)<\/li>/gi)].map(([, item]) => textOf(item!)).filter((text) => text !== '')
}

const pairOf = (text: string | undefined): string[] => (text ?? '').split('/').map((part) => part.trim())
