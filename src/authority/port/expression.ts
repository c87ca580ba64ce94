import type { PrintedCfdi } from './status.ts'

const PAGE = 'https://verificacfdi.facturaelectronica.sat.gob.mx/default.aspx'
const PAGE_OF_RETENCIONES = 'https://prodretencionverificacion.clouda.sat.gob.mx/'

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }
const escaped = (text: string): string => text.replace(/[&<>]/g, (one) => ESCAPES[one]!)

/**
 * The expression (expresión impresa) of a CFDI, which its QR code says. RFCs are escaped in it as in XML, and the whole is escaped again in a
 * request. Source: Anexo 20.
 */
export function expressionOf({ version, uuid, emisor_rfc, receptor_rfc, total, sello_ultimos_8 }: PrintedCfdi): string {
  const parties = `re=${escaped(emisor_rfc)}&rr=${escaped(receptor_rfc)}`
  const [whole, micros] = partsOf(total ?? '')
  if (version === '3.2') return `?${parties}&tt=${whole.padStart(10, '0')}.${micros}&id=${uuid}`
  const fe = version === null ? '' : `&fe=${sello_ultimos_8 ?? ''}`
  return `${PAGE}?id=${uuid}&${parties}&tt=${whole}.${shortened(micros)}${fe}`
}

/** What a CFDI de retenciones prints. A receiver abroad has a tax identity and no RFC. */
export interface PrintedRetenciones extends Omit<PrintedCfdi, 'receptor_rfc'> {
  receptor: { rfc: string } | { num_reg_id_trib: string }
}

/** The expression of a CFDI de retenciones of version 1.0 or 2.0. */
export function retencionesExpressionOf({ version, uuid, emisor_rfc, receptor, total, sello_ultimos_8 }: PrintedRetenciones): string {
  const to = 'rfc' in receptor ? `rr=${escaped(receptor.rfc)}` : `nr=${escaped(receptor.num_reg_id_trib).padStart(20, '0')}`
  const parties = `re=${escaped(emisor_rfc)}&${to}`
  const [whole, micros] = partsOf(total ?? '')
  if (version === '1.0') return `?${parties}&tt=${whole.padStart(10, '0')}.${micros}&id=${uuid}`
  return `${PAGE_OF_RETENCIONES}?id=${uuid}&${parties}&tt=${whole}.${shortened(micros)}&fe=${sello_ultimos_8 ?? ''}`
}

const shortened = (micros: string): string => micros.replace(/0{1,5}$/, '')

const DECIMAL = /^\+?(\d*)\.?(\d*)$/
const PLACES = 6

/** The part before the point, and six digits behind it, rounded half up. Throws TypeError for what is no amount of a CFDI. */
function partsOf(amount: string): [whole: string, micros: string] {
  const [, whole, fraction = ''] = DECIMAL.exec(amount) ?? []
  if (whole === undefined) throw new TypeError('The total is not a decimal without a sign.')
  const tenths = BigInt(whole + fraction.slice(0, PLACES + 1).padEnd(PLACES + 1, '0'))
  const digits = ((tenths + 5n) / 10n).toString().padStart(PLACES + 1, '0')
  return [digits.slice(0, -PLACES), digits.slice(-PLACES)]
}
