import type { PrintedCfdi } from '../port/status.ts'
import { escapedText } from './canonical.ts'

const PAGE = 'https://verificacfdi.facturaelectronica.sat.gob.mx/default.aspx'

/**
 * The expression (expresión impresa) of a CFDI. RFCs are escaped in it as in XML, and the whole is escaped again in a request. Source: sat.md
 * 2.1, Anexo 20.
 */
export function expressionOf({ version, uuid, emisor_rfc, receptor_rfc, total, sello_ultimos_8 }: PrintedCfdi): string {
  const parties = `re=${escapedText(emisor_rfc)}&rr=${escapedText(receptor_rfc)}`
  const [whole, micros] = partsOf(total ?? '')
  if (version === '3.2') return `?${parties}&tt=${whole.padStart(10, '0')}.${micros}&id=${uuid}`
  const fe = version === null ? '' : `&fe=${sello_ultimos_8 ?? ''}`
  return `${PAGE}?id=${uuid}&${parties}&tt=${whole}.${micros.replace(/0{1,5}$/, '')}${fe}`
}

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
