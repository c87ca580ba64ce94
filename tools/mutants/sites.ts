import { parseAst } from 'vitest/node'
import { isSql, mutateSql } from './sql.ts'

export type Kind = 'comparison' | 'condition' | 'predicate'

/** What replaces a stretch of a text. */
export interface Change {
  start: number
  end: number
  by: string
}

/** A change that makes a mutant. */
export interface Site extends Change {
  kind: Kind
  /** The code that runs when the mutant matters. */
  code: { start: number; end: number }
  /** That code is the beginning of a statement. */
  isStatement: boolean
}

interface Node {
  type: string
  start: number
  end: number
  [field: string]: unknown
}

const COMPARISONS: Record<string, string> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>', '===': '!==', '!==': '===' }
const CONNECTIVES: Record<string, string> = { '&&': '||', '||': '&&' }
const DRIZZLE = /^import \{[^}]*\} from 'drizzle-orm'$/m
const DRIZZLE_OPERATORS: Record<string, string> = {
  eq: 'ne',
  ne: 'eq',
  lt: 'lte',
  lte: 'lt',
  gt: 'gte',
  gte: 'gt',
  isNull: 'isNotNull',
  isNotNull: 'isNull',
  and: 'or',
  or: 'and',
}
/** The nodes of TypeScript's own syntax that hold code which runs; all others are types. */
const CASTS = /^TS(As|Satisfies|NonNull)Expression$/

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && 'type' in value
const childrenOf = (node: Node): Node[] =>
  (CASTS.test(node.type) ? [node['expression']] : Object.values(node).flat())
    .filter(isNode)
    .filter(({ type }) => !type.startsWith('TS') || CASTS.test(type))

/** A text with all of the changes, which do not overlap. */
export const applyChanges = (text: string, changes: readonly Change[]): string =>
  [...changes]
    .sort((a, b) => b.start - a.start)
    .reduce((changed, { start, end, by }) => changed.slice(0, start) + by + changed.slice(end), text)

/** The changes that make a mutant of a source file. */
export const changesOf = ({ start, end, by }: Change): Change[] => [
  { start, end, by },
  ...(by.startsWith('drizzleOrm.') ? [{ start: 0, end: 0, by: "import * as drizzleOrm from 'drizzle-orm'; " }] : []),
]

/** The changes after which a source file reports, as `mark`, that the code of a site runs. */
export const markOf = ({ code, isStatement }: Site, mark: number): Change[] => {
  const call = `void (globalThis.reached ??= new Set()).add(${mark}), `
  // After a statement without a semicolon a parenthesis would be a call.
  if (isStatement) return [{ start: code.start, end: code.start, by: call }]
  return [
    { start: code.start, end: code.start, by: `(${call}` },
    { start: code.end, end: code.end, by: ')' },
  ]
}

export const parses = (source: string): boolean => {
  try {
    parseAst(source, { lang: 'ts' })
    return true
  } catch {
    return false
  }
}

/** Every place in a source file where a mutant can be made. */
export function sitesOf(source: string): Site[] {
  const sites: Site[] = []
  const usesDrizzle = DRIZZLE.test(source)

  const visit = (node: Node, parent: Node | undefined, statement: number): void => {
    const textOf = ({ start, end }: Node): string => source.slice(start, end)
    const add = (kind: Kind, { start, end, by }: Change, { start: from, end: to } = node): void =>
      void sites.push({ kind, start, end, by, code: { start: from, end: to }, isStatement: from === statement })
    const addOperator = (kind: Kind, replacements: Record<string, string>): void => {
      const operator = node['operator'] as string
      const by = replacements[operator]
      const start = source.indexOf(operator, (node['left'] as Node).end)
      if (by !== undefined) add(kind, { start, end: start + operator.length, by })
    }
    if (node.type === 'BinaryExpression') addOperator('comparison', COMPARISONS)
    if (node.type === 'LogicalExpression') addOperator('condition', CONNECTIVES)
    if (node.type === 'IfStatement' || node.type === 'ConditionalExpression') {
      const test = node['test'] as Node
      // The negation of `===` is among the comparisons.
      if (!/^[!=]==$/.test(String(test['operator']))) add('condition', { start: test.start, end: test.end, by: `!(${textOf(test)})` }, test)
    }
    if (node.type === 'CallExpression' && usesDrizzle) {
      const callee = node['callee'] as Node
      const name = textOf(callee)
      const by = DRIZZLE_OPERATORS[name]
      if (by !== undefined) add('predicate', { start: callee.start, end: callee.end, by: `drizzleOrm.${by}` })
      if (name === 'and') for (const { start, end } of node['arguments'] as Node[]) add('predicate', { start, end, by: 'undefined' })
    }
    if (node.type === 'TemplateLiteral' || (node.type === 'Literal' && typeof node['value'] === 'string')) {
      const tag = parent?.type === 'TaggedTemplateExpression' ? textOf(parent['tag'] as Node) : ''
      const text = source.slice(node.start + 1, node.end - 1)
      if (tag === 'sql' || (tag === '' && isSql(text)))
        for (const { start, end, by } of mutateSql(text))
          add('predicate', { start: node.start + 1 + start, end: node.start + 1 + end, by }, tag ? parent : node)
    }
    const within = node.type === 'ExpressionStatement' ? node.start : statement
    for (const child of childrenOf(node)) visit(child, node, within)
  }
  visit(parseAst(source, { lang: 'ts' }) as unknown as Node, undefined, -1)
  return sites
}
