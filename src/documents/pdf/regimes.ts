import { plain } from './spanish.ts'

/** The catalog c_RegimenFiscal, as certificates name its entries. */
const REGIMES: Record<string, string> = {
  '601': 'general de ley personas morales',
  '603': 'personas morales con fines no lucrativos',
  '605': 'sueldos y salarios e ingresos asimilados a salarios',
  '606': 'arrendamiento',
  '607': 'enajenación o adquisición de bienes',
  '608': 'demás ingresos',
  '610': 'residentes en el extranjero sin establecimiento permanente en méxico',
  '611': 'ingresos por dividendos (socios y accionistas)',
  '612': 'personas físicas con actividades empresariales y profesionales',
  '614': 'ingresos por intereses',
  '615': 'ingresos por obtención de premios',
  '616': 'sin obligaciones fiscales',
  '620': 'sociedades cooperativas de producción que optan por diferir sus ingresos',
  '621': 'incorporación fiscal',
  '622': 'actividades agrícolas, ganaderas, silvícolas y pesqueras',
  '623': 'opcional para grupos de sociedades',
  '624': 'coordinados',
  '625': 'actividades empresariales con ingresos a través de plataformas tecnológicas',
  '626': 'simplificado de confianza',
}

/** Both the catalog and certificates begin some names with “Régimen”, “de las” and the like. */
const core = (name: string): string =>
  plain(name).replace(/^(el |la )?(regimen )?(de |del )?(las |los |la )?(personas fisicas con (?=actividades empresariales con))?/, '')

const CODES = new Map(Object.entries(REGIMES).map(([code, name]) => [core(name), code]))

/** Returns the code of a regime by its name; null when the catalog has no such name. */
export const regimeCode = (name: string): string | null => CODES.get(core(name)) ?? null
