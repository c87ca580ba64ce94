import type { Json } from './json.ts'

/** A format says more than the pattern by which zod checks it. */
const FORMATS = ['date', 'date-time', 'uuid', 'email', 'uri']

const isUnbounded = (bound: unknown): boolean => typeof bound === 'number' && Math.abs(bound) === Number.MAX_SAFE_INTEGER

const SUFFIX = '[0-7][0-9a-hjkmnp-tv-z]{25}'

/** How an identifier is checked, by the prefix of its example. */
function patternOf(schema: Json): string | undefined {
  const [example] = (schema['examples'] ?? []) as unknown[]
  const prefix = schema['type'] === 'string' && typeof example === 'string' ? /^([a-z]+)_01kabc/.exec(example)?.[1] : undefined
  return prefix && `^${prefix}_${SUFFIX}$`
}

/** A schema without what says nothing to who reads it: the bounds of integers in JavaScript, and patterns of what has a format. */
export function plain(schema: Json): Json {
  const { minimum, maximum, pattern = patternOf(schema), ...rest } = schema
  const values = rest['enum']
  if (Array.isArray(values) && values.join() === 'true,false') {
    const { enum: _, type: __, ...others } = rest
    return { type: 'boolean', ...others, ...('default' in others && { default: others['default'] === 'true' }) }
  }
  return {
    ...rest,
    ...(minimum !== undefined && !isUnbounded(minimum) && { minimum }),
    ...(maximum !== undefined && !isUnbounded(maximum) && { maximum }),
    ...(pattern !== undefined && !(FORMATS.includes(String(schema['format'])) && isOfFormat(String(pattern))) && { pattern }),
  }
}

/** The patterns of formats are long. Those of ours that stand beside a format are short. */
const isOfFormat = (pattern: string): boolean => pattern.length > 40
