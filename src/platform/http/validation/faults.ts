import type * as z from 'zod'
import type { Fault } from '../../failures.ts'
import { type InputTarget, messageOf } from './messages.ts'
import { MOST_FAULTS, textFaultsOf } from './texts.ts'

/** The request does not have the documented shape. */
export class InvalidInput extends Error {
  readonly target: InputTarget
  readonly faults: readonly Fault[]

  constructor(target: InputTarget, faults: readonly Fault[]) {
    super('The request does not have the documented shape.')
    this.target = target
    this.faults = faults
  }

  /** The same with a sentence more behind its first fault. */
  with(hint: string): InvalidInput {
    return new InvalidInput(
      this.target,
      this.faults.map((one, n) => (n === 0 ? { ...one, message: `${one.message} ${hint}` } : one)),
    )
  }
}

const MEMBER = { json: 'member', query: 'query parameter', param: 'path parameter' } as const

/** A hint about an unknown member at this path of a schema, after a space; empty without one. */
type Hint = (schema: z.ZodType, path: readonly PropertyKey[], name: string) => string

/** Reads a value with a schema, and refuses broken text wherever it is. Throws InvalidInput, which names up to 100 faults in words of ours. */
export function parse<S extends z.ZodType>(target: InputTarget, schema: S, value: unknown, hint: Hint = () => ''): z.output<S> {
  const result = read(target, schema, value)
  const texts = textFaultsOf(schema, value).map(({ path, message }) => ({ path: pathOf(path), message }))
  if (result.success && texts.length === 0) return result.data
  const faults = (result.error?.issues ?? [])
    .slice(0, MOST_FAULTS)
    .flatMap((issue) => faultsOf(target, issue, (path, key) => hint(schema, path, key)))
  const named = new Set(faults.map(({ path }) => path))
  const all = [...faults, ...texts.filter(({ path }) => !named.has(path))].slice(0, MOST_FAULTS)
  throw new InvalidInput(target, target === 'query' ? all.map((fault) => withPlus(fault, value)) : all)
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
const faultsOf = (target: InputTarget, issue: z.core.$ZodIssue, hint: (path: readonly PropertyKey[], key: string) => string): Fault[] =>
  issue.code === 'unrecognized_keys'
    ? issue.keys.slice(0, MOST_FAULTS).map((key) => ({
        path: pathOf([...issue.path, key.slice(0, 64)]),
        message: `Unknown ${MEMBER[target]}.${hint(issue.path, key)}`,
      }))
    : [{ path: pathOf(issue.path), message: issue.message }]

const pathOf = (path: readonly PropertyKey[]): string =>
  path.reduce<string>((text, part) => (typeof part === 'number' ? `${text}[${part}]` : text ? `${text}.${String(part)}` : String(part)), '')
