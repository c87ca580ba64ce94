import type * as z from 'zod'
import { type Fault, MOST_FAULTS } from '../../failures.ts'
import { type InputTarget, messageOf } from './messages.ts'
import { textFaultsOf } from './texts.ts'

/** The request does not have the documented shape. */
export class InvalidInput extends Error {
  readonly target: InputTarget
  readonly faults: readonly Fault[]
  /** How many further faults there are. */
  readonly unlisted: number

  constructor(target: InputTarget, faults: readonly Fault[], unlisted = 0) {
    super('The request does not have the documented shape.')
    this.target = target
    this.faults = faults
    this.unlisted = unlisted
  }

  /** The same with a sentence more behind its first fault. */
  with(hint: string): InvalidInput {
    return new InvalidInput(
      this.target,
      this.faults.map((one, n) => (n === 0 ? { ...one, message: `${one.message} ${hint}` } : one)),
      this.unlisted,
    )
  }
}

const MEMBER = { json: 'member', query: 'query parameter', param: 'path parameter' } as const

/** A hint about an unknown member at this path of a schema, after a space; empty without one. */
type Hint = (schema: z.ZodType, path: readonly PropertyKey[], name: string) => string

/** Reads a value with a schema, and refuses broken text wherever it is. Throws InvalidInput, which names the first faults in words of ours and counts the others. */
export function parse<S extends z.ZodType>(target: InputTarget, schema: S, value: unknown, hint: Hint = () => ''): z.output<S> {
  const result = read(target, schema, value)
  const texts = textFaultsOf(schema, value)
  if (result.success && texts.count === 0) return result.data
  const issues = result.error?.issues ?? []
  const faults = issues.slice(0, MOST_FAULTS).flatMap((issue) => faultsOf(target, issue, (path, key) => hint(schema, path, key)))
  const named = new Set(faults.map(({ path }) => path))
  const broken = texts.faults.map(({ path, message }) => ({ path: pathOf(path), message })).filter(({ path }) => !named.has(path))
  const all = [...faults, ...broken].slice(0, MOST_FAULTS)
  const count = issues.reduce((sum, issue) => sum + countOf(issue), 0) + texts.count - (texts.faults.length - broken.length)
  throw new InvalidInput(target, target === 'query' ? all.map((fault) => withPlus(fault, value)) : all, count - all.length)
}

function read<S extends z.ZodType>(target: InputTarget, schema: S, value: unknown) {
  try {
    return schema.safeParse(value, { error: (issue) => messageOf(target, schema, issue) })
  } catch (error) {
    // Zod passes the faults of a list as arguments, of which an engine takes some 100,000.
    if (!(error instanceof RangeError)) throw error
    throw new InvalidInput(target, [{ path: '', message: 'Has too many faults to be listed.' }])
  }
}

/** An instant whose offset lost its sign: a plus sign that is not encoded is a blank in a query. */
const LOST_PLUS = /T[\d:.]+ \d\d:?\d\d$/

function withPlus({ path, message }: Fault, query: unknown): Fault {
  const sent = (query as Record<string, unknown> | null)?.[path]
  const isLost = typeof sent === 'string' && LOST_PLUS.test(sent)
  return { path, message: isLost ? `${message} A plus sign in a query is written %2B.` : message }
}

/** Each unknown member is a fault of its own. */
const countOf = (issue: z.core.$ZodIssue): number => (issue.code === 'unrecognized_keys' ? issue.keys.length : 1)

const faultsOf = (target: InputTarget, issue: z.core.$ZodIssue, hint: (path: readonly PropertyKey[], key: string) => string): Fault[] =>
  issue.code === 'unrecognized_keys'
    ? issue.keys.slice(0, MOST_FAULTS).map((key) => ({
        path: pathOf([...issue.path, key]),
        message: `Unknown ${MEMBER[target]}.${hint(issue.path, key)}`,
      }))
    : [{ path: pathOf(issue.path), message: issue.message }]

const pathOf = (path: readonly PropertyKey[]): string =>
  path.reduce<string>((text, part) => (typeof part === 'number' ? `${text}[${part}]` : text ? `${text}.${String(part)}` : String(part)), '')
