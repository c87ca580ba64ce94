import { language } from '../language.ts'
import { Refused } from './client.ts'
import { spanishFault, spanishOf } from './sentences.ts'

/** One sentence on why something failed, in the language that is spoken. */
export function sentenceOf(error: Error): string {
  const spanish = language() === 'es'
  if (!(error instanceof Refused)) return spanish ? 'La página falló. Vuelva a cargarla.' : 'The page failed. Load it again.'
  if (error.status === 0) return spanish ? 'No hay conexión con el servicio.' : 'The service cannot be reached.'
  const said = (spanish && spanishOf(error.problem?.code ?? '', error.message)) || error.message || `HTTP ${error.status}`
  // What is wrong may have no field on the page, such as a filter of the address.
  const [first] = error.problem?.code === 'request.invalid' && spanish ? (error.problem.errors ?? []) : []
  return first ? `${said.slice(0, -1)} (${first.path}).` : said
}

/** What is wrong with a member of what was sent: its first fault, for the field that shows it. */
export function faultOf(error: Error | null, path: string): string | undefined {
  if (!(error instanceof Refused)) return undefined
  const { code = '', errors = [] } = error.problem ?? {}
  const message = errors.find((one) => one.path === path || one.path.startsWith(`${path}.`))?.message
  if (message === undefined || language() !== 'es') return message
  return (code === 'request.invalid' ? spanishFault(message) : spanishOf(code)) ?? message
}

export const requestIdOf = (error: Error): string | null => (error instanceof Refused ? (error.problem?.request_id ?? null) : null)

/** Where what the request needs can be bought (402). */
export const checkoutOf = (error: Error): string | null => (error instanceof Refused ? (error.problem?.checkout_url ?? null) : null)
