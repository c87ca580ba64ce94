import type { ComplianceOpinion, OpinionSense } from '../../authority/port/fields-contract.ts'
import { type PdfLine, textOf } from './page-lines.ts'
import { dateIn, plain } from './spanish.ts'
import { Unreadable } from './unreadable.ts'

/** Words of the text that say the sense. The first that is found counts. */
const WORDS: readonly (readonly [RegExp, OpinionSense])[] = [
  [/inscrit[oa] sin obligaciones/, 'inscrito_sin_obligaciones'],
  [/\bno inscrit[oa]\b/, 'no_inscrito'],
  [/suspension de actividades/, 'en_suspension'],
  [/sentido:? (de )?(la opinion:? )?negativ[oa]/, 'negativo'],
  [/sentido:? (de )?(la opinion:? )?positiv[oa]/, 'positivo'],
  [/opinion (del cumplimiento )?negativa/, 'negativo'],
  [/opinion (del cumplimiento )?positiva/, 'positivo'],
]

/** Reads a compliance opinion (article 32-D). Throws Unreadable. */
export function readOpinion(lines: readonly PdfLine[]): ComplianceOpinion {
  const whole = lines.map(textOf).join(' ').replace(/\s+/g, ' ')
  const folded = plain(whole)
  if (!/opinion del cumplimiento de (las )?obligaciones fiscales/.test(folded)) throw new Unreadable('The PDF is not a compliance opinion.')
  const sense = WORDS.find(([words]) => words.test(folded))?.[1]
  // The value stands behind its label or, under a heading, in the next line.
  const folio = /folio.{0,60}?(?<![0-9a-z])([0-9]{2}[a-z]{2}[0-9]{5,8})(?![0-9a-z])/.exec(folded)?.[1]?.toUpperCase()
  const rfc = /r\.?f\.?c\b.{0,60}?(?<![0-9a-zñ&])([a-zñ&]{3,4}[0-9]{6}[0-9a-z]{3})(?![0-9a-z])/.exec(folded)?.[1]?.toUpperCase()
  const date = dateIn(/(revisi[oó]n practicada el d[ií]a|fecha( y hora)?( de emisi[oó]n)?:)(.{0,60})/i.exec(whole)?.[4] ?? null)
  if (!sense || !folio || !rfc || !date) {
    const missing = Object.entries({ sense, folio, rfc, date }).flatMap(([name, value]) => (value ? [] : [name]))
    throw new Unreadable(`The compliance opinion has no ${missing.join(' and no ')} that can be read.`)
  }
  return { rfc, name: nameIn(lines), folio, sense, date }
}

/** What follows the label, up to the next label or sentence. */
function nameIn(lines: readonly PdfLine[]): string | null {
  const text = lines.map(textOf).join('\n')
  const found = /nombre,? denominaci[oó]n o raz[oó]n social:?\s*([^\n]+(?:\n(?!.*:|estimad)[^\n]+)?)/i.exec(text)?.[1]
  return found?.replace(/\s+/g, ' ').trim() || null
}
