import { type SQL, sql } from 'drizzle-orm'
import { cfdiAs } from '../columns.ts'
import { asRfc, isRfc } from '../xml/fields.ts'

/** The letters that a search takes for the same one. SQLite's `lower` knows only those without a mark. */
const SAME: readonly (readonly [letter: string, variants: string])[] = [
  ['a', 'ÀÁÂÃÄÅàáâãäå'],
  ['c', 'Çç'],
  ['e', 'ÈÉÊËèéêë'],
  ['i', 'ÌÍÎÏìíîï'],
  ['n', 'Ññ'],
  ['o', 'ÒÓÔÕÖòóôõö'],
  ['u', 'ÙÚÛÜùúûü'],
  ['y', 'Ýýÿ'],
  ['ø', 'Ø'],
  ['æ', 'Æ'],
  // Marks that stand apart from their letter.
  ['', '\u0300\u0301\u0302\u0303\u0308\u030a\u0327'],
]

const REPLACED = new Map(SAME.flatMap(([letter, variants]) => [...variants].map((one) => [one, letter] as const)))

/** Text without case and accents. */
export const folded = (text: string): string =>
  [...text.replace(/[A-Z]/g, (one) => one.toLowerCase())].map((one) => REPLACED.get(one) ?? one).join('')

/** The same in SQL, as far as it matters for finding a folded text. D1 allows few bytes in a pattern of LIKE or GLOB. */
function foldedFor(searched: string, text: SQL): SQL {
  const meant = [...REPLACED].filter(([, letter]) => letter === '' || searched.includes(letter))
  const lower = sql`lower(${text})`
  const replaced = meant.reduce((inner, [one, letter]) => sql`replace(${inner}, ${sql.raw(`'${one}', '${letter}'`)})`, lower)
  return sql`case when length(${text}) = length(cast(${text} as blob)) then ${lower} else ${replaced} end`
}

const { uuid, emisor_rfc, emisor_nombre, receptor_rfc, receptor_nombre, serie, folio } = cfdiAs('page')
const TEXT = sql`coalesce(${emisor_nombre}, '') || char(10) || coalesce(${receptor_nombre}, '') || char(10) || coalesce(${serie}, '') || coalesce(${folio}, '')
  || char(10) || coalesce(${serie} || ' ' || ${folio}, '')`

/**
 * The condition that a text is in the names of the parties or in series and folio, with or without a space between them, or that the UUID begins
 * with it, or that it is the RFC of a party, on a row of the alias `page`.
 */
export function hasText(q: string): SQL {
  const searched = folded(q)
  const conditions = [sql`instr(${foldedFor(searched, TEXT)}, ${searched}) > 0`]
  if (/^[\da-f-]{2,36}$/.test(searched)) conditions.push(sql`substr(${uuid}, 1, ${searched.length}) = ${searched.toUpperCase()}`)
  const rfc = asRfc(q)
  if (isRfc(rfc)) conditions.push(sql`${rfc} in (${emisor_rfc}, ${receptor_rfc})`)
  return sql`(${sql.join([...conditions], sql.raw(' or '))})`
}
