import type { Change } from './sites.ts'

const FLIPPED: Record<string, string> = { '=': '<>', '<>': '=', '<': '<=', '<=': '<', '>': '>=', '>=': '>' }
const CLAUSE =
  /^(select|from|where|set|on|values|group|order|limit|having|when|then|else|union|returning|join|cross|left|as|asc|desc|window|do)$/
const WORD_BEFORE_OPERAND = /^(and|or|not|is|in|like|between|distinct|exists|case)$/
const TOKEN = /\$x+|'[^']*'|[\w.?]+|->>?|\|\||<>|[<>]=|[=<>(),]/g

const STATEMENT = /^\s*(select|insert (or \w+ )?into|update \w+ set|delete from|with (recursive )?\w+[ (])/
const PREDICATE = /[\w)'?] (=|<>|[<>]=?) (\?|'|\$x|[\w.]+)|\bis (not )?(null\b|\?|')/
const SENTENCE = /^\s*[A-ZÁ-Ú<]|[.:] /

/** Interpolations become `$xxx` of the same length, so that places in the text stay what they are. */
function withoutInterpolations(text: string): string {
  let masked = ''
  for (let at = 0; at < text.length; at++) {
    if (!text.startsWith('${', at)) {
      masked += text[at]
      continue
    }
    const from = at
    for (let depth = 0; at < text.length; at++) {
      if (text[at] === '{') depth++
      if (text[at] === '}' && --depth === 0) break
    }
    masked += '$'.padEnd(at + 1 - from, 'x')
  }
  return masked
}

/** Whether a string that is not marked as SQL is some. */
export const isSql = (text: string): boolean => {
  const masked = withoutInterpolations(text)
  return STATEMENT.test(masked) || (PREDICATE.test(masked) && !SENTENCE.test(masked))
}

interface Level {
  clause: string
  /** Where the conjunct begins that is being read, and after which word. */
  conjunct?: { from: number; after: string } | undefined
  isBetween?: boolean
}

/** The mutations of the predicates of a piece of SQL: an operator turned, a connective exchanged, a conjunct made true. */
export function mutateSql(text: string): Change[] {
  const masked = withoutInterpolations(text)
  const changes: Change[] = []
  const levels: Level[] = [{ clause: '' }]
  let previous = ''

  const replace = (start: number, end: number, by: string): void => void changes.push({ start, end, by })
  /** The conjunct stays in the text, so that as many values are bound as before. */
  const close = (level: Level, at: number, before: string): void => {
    const { from, after } = level.conjunct ?? {}
    level.conjunct = undefined
    if (from === undefined || (after === 'where' && before === 'or')) return
    const conjunct = text.slice(from, at)
    const start = from + conjunct.length - conjunct.trimStart().length
    if (!/^(true)?$/.test(conjunct.trim())) replace(start, start + conjunct.trim().length, `(${conjunct.trim()} or true)`)
  }

  for (const { 0: token, index: at } of masked.matchAll(TOKEN)) {
    const level = levels.at(-1)!
    const end = at + token.length
    const isOperand = /^[$'\w?]/.test(token) && !/^(and|or|not|is|in|like|between|end|null)$/.test(token) && !CLAUSE.test(token)
    if (token === '(' || token === 'case') levels.push({ clause: '' })
    else if (token === ')' || token === 'end') {
      close(level, at, token)
      if (levels.length > 1) levels.pop()
    } else if (token === 'between') level.isBetween = true
    else if (token === 'and' && level.isBetween) level.isBetween = false
    else if (token === 'and' || token === 'or') {
      close(level, at, token)
      replace(at, end, token === 'and' ? 'or' : 'and')
      if (token === 'and') level.conjunct = { from: end, after: token }
    } else if (CLAUSE.test(token) || token === ',') {
      close(level, at, token)
      if (token !== ',') level.clause = token
      if (token === 'where') level.conjunct = { from: end, after: token }
    } else if (token === 'is') {
      const not = /^\s+not\b/.exec(masked.slice(end))?.[0] ?? ''
      replace(at, end + not.length, not ? 'is' : 'is not')
    } else if (token in FLIPPED && !(token === '=' && level.clause === 'set')) replace(at, end, FLIPPED[token]!)
    else if (
      isOperand &&
      token.startsWith('$') &&
      /^[\w$'?)]/.test(previous) &&
      !WORD_BEFORE_OPERAND.test(previous) &&
      !CLAUSE.test(previous)
    )
      close(level, at, token) // What is put in after a whole operand is no part of the predicate.
    previous = token
  }
  close(levels.at(-1)!, text.length, '')
  return changes
}
