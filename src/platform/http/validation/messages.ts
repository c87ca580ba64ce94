import type * as z from 'zod'
import { meant, meantMember } from '../../names.ts'
import { expectationOf, type JsonSchema, jsonSchemaOf } from './json-schema.ts'

/** The part of a request that a schema describes. */
export type InputTarget = 'json' | 'query' | 'param'

type Issue = z.core.$ZodRawIssue

/**
 * The sentence for an issue whose schema has no message of its own: what the OpenAPI document says of the value, or else what the issue
 * says, such as `Must be an integer from 1 to 240.`
 */
export function messageOf(target: InputTarget, schema: z.ZodType, issue: Issue): string {
  if (issue.input === undefined) return 'Is required.'
  if (target === 'query' && Array.isArray(issue.input) && issue.code.startsWith('invalid_')) return 'Must be given only once.'
  const own = schemaOf(issue)
  const documented = documentedAt(rootOf(schema), issue.path ?? [])
  const expectation = documented.some((one) => isAbout(issue, own, one)) ? expectationOf({ anyOf: documented }) : undefined
  const expected = expectation ?? expectationOf(own)
  return expected === undefined
    ? 'Is not valid.'
    : `Must be ${expected}.${issue.code === 'invalid_value' ? meant(issue.input, issue.values) : ''}`
}

/** Names the known member that an unknown one probably meant. */
export const memberHint = (schema: z.ZodType, path: readonly PropertyKey[], name: string): string =>
  meantMember(
    name,
    documentedAt(rootOf(schema), path).flatMap(({ properties }) => Object.keys(properties ?? {})),
  )

/** The required members of an object, as ` with a, b and c`; the optional ones where none is required. */
export function membersOf(schema: z.ZodType): string {
  const all = documentedAt(rootOf(schema), [])
  const required = all.flatMap((one) => (one['required'] as string[] | undefined) ?? [])
  const known = all.flatMap(({ properties }) => Object.keys(properties ?? {}))
  const list = (names: readonly string[], last: string) => [...names.slice(0, -2), names.slice(-2).join(` ${last} `)].join(', ')
  return required.length > 0 ? ` with ${list(required, 'and')}` : known.length > 0 ? `, which may have ${list(known, 'and')}` : ''
}

/** False where documentation and issue differ in kind: comma-separated text is documented as text and read as a list. */
function isAbout({ code }: Issue, own: JsonSchema, documented: JsonSchema): boolean {
  if (code === 'invalid_format') return documented['type'] !== 'string' || 'format' in documented || 'pattern' in documented
  if (code !== 'too_small' && code !== 'too_big') return true
  return documented['type'] === own['type'] || (documented['type'] === 'integer' && own['type'] === 'number')
}

const roots = new WeakMap<z.ZodType, JsonSchema>()

function rootOf(schema: z.ZodType): JsonSchema {
  const root = roots.get(schema) ?? jsonSchemaOf(schema, 'input')
  roots.set(schema, root)
  return root
}

/** The documented alternatives of the value at a path; none where nothing is documented. */
function documentedAt(root: JsonSchema, path: readonly PropertyKey[]): JsonSchema[] {
  const definitions = (root['$defs'] ?? {}) as Record<string, JsonSchema>
  const resolved = (schema: JsonSchema): JsonSchema[] => {
    const { $ref, anyOf, oneOf } = schema as { $ref?: string; anyOf?: JsonSchema[]; oneOf?: JsonSchema[] }
    if ($ref === undefined) return (anyOf ?? oneOf)?.flatMap(resolved) ?? [schema]
    const definition = definitions[$ref.slice($ref.lastIndexOf('/') + 1)]
    return definition ? resolved(definition) : []
  }
  return path.reduce<JsonSchema[]>((schemas, part) => schemas.flatMap((one) => within(one, part)).flatMap(resolved), resolved(root))
}

function within({ items, properties }: JsonSchema, part: PropertyKey): JsonSchema[] {
  if (typeof part === 'number') return items ? [items as JsonSchema] : []
  const known = (properties ?? {}) as Record<PropertyKey, JsonSchema>
  return Object.hasOwn(known, part) ? [known[part]!] : []
}

const FORMATS: Record<string, string> = { datetime: 'date-time', url: 'uri' }

/** The demand of an issue alone, as a JSON Schema. */
function schemaOf(issue: Issue): JsonSchema {
  switch (issue.code) {
    case 'invalid_type':
      return { type: issue.expected === 'int' ? 'integer' : issue.expected }
    case 'invalid_value':
      return { enum: issue.values }
    case 'invalid_format':
      return { type: 'string', format: FORMATS[issue.format] ?? issue.format }
    case 'too_small':
      return rangeOf(issue.origin, Number(issue.minimum), undefined)
    case 'too_big':
      return rangeOf(issue.origin, undefined, Number(issue.maximum))
    default:
      return {}
  }
}

function rangeOf(origin: string, low: number | undefined, high: number | undefined): JsonSchema {
  if (origin === 'string') return { type: 'string', minLength: low, maxLength: high }
  if (origin === 'array') return { type: 'array', minItems: low, maxItems: high }
  return { type: 'number', minimum: low, maximum: high }
}
