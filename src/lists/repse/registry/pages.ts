import { type RegistryRecord, RegistryUnavailable } from './registry.ts'

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
