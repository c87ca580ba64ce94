import * as z from 'zod'

export type JsonSchema = Record<string, unknown>

/** The side of a schema that transforms its values: the values that are sent, or their results. */
export type Side = 'input' | 'output'

/** The documented JSON Schema of a zod schema (see `documented` and `documentedAs` of shapes.ts). Schemas with an id stand under `$defs`. */
export function jsonSchemaOf(schema: z.ZodType, side: Side): JsonSchema {
  const definitions: JsonSchema = {}
  const written: JsonSchema = z.toJSONSchema(schema, {
    io: side,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const { documented, description } = (zodSchema as unknown as z.ZodType).meta() ?? {}
      if (!documented) return
      for (const key of Object.keys(jsonSchema)) delete jsonSchema[key as keyof typeof jsonSchema]
      const {
        $schema: _,
        $defs,
        ...shown
      } = (documented instanceof z.ZodType ? jsonSchemaOf(documented, 'input') : documented) as JsonSchema
      Object.assign(definitions, $defs)
      Object.assign(jsonSchema, shown, description && { description })
    },
  })
  if (Object.keys(definitions).length > 0) written['$defs'] = { ...definitions, ...(written['$defs'] as JsonSchema | undefined) }
  return JSON.parse(JSON.stringify(written)) as JsonSchema
}

const FORMATS: Record<string, string> = {
  date: 'a date, YYYY-MM-DD',
  'date-time': 'a date and time with an offset, such as 2026-01-31T18:00:00Z',
  email: 'an e-mail address',
  uri: 'a URL',
  uuid: 'a UUID',
}

const isNumber = (bound: unknown): bound is number => typeof bound === 'number' && Math.abs(bound) < Number.MAX_SAFE_INTEGER

/** ` of 1 to 120 characters`, or nothing without bounds. */
function sized(least: unknown, most: unknown, one: string): string {
  const unit = (count: number): string => `${count} ${count === 1 ? one : `${one}s`}`
  if (isNumber(least) && least > 0 && isNumber(most)) return least === most ? ` of ${unit(most)}` : ` of ${least} to ${unit(most)}`
  if (isNumber(most)) return ` of at most ${unit(most)}`
  return isNumber(least) && least > 0 ? ` of at least ${unit(least)}` : ''
}

/** ` from 1 to 240`, or nothing without bounds. */
function ranged({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: JsonSchema): string {
  if (isNumber(minimum) && isNumber(maximum)) return ` from ${minimum} to ${maximum}`
  const bounds = [
    isNumber(minimum) ? `at least ${minimum}` : isNumber(exclusiveMinimum) ? `more than ${exclusiveMinimum}` : '',
    isNumber(maximum) ? `at most ${maximum}` : isNumber(exclusiveMaximum) ? `less than ${exclusiveMaximum}` : '',
  ]
  const said = bounds.filter(Boolean).join(' and ')
  return said && ` of ${said}`
}

/** The most values that are named one by one. */
const MOST_VALUES = 20

function listed(values: readonly unknown[]): string {
  if (values.length === 1) return JSON.stringify(values[0])
  const others = values.length - MOST_VALUES
  return `one of ${values.slice(0, MOST_VALUES).map(String).join(', ')}${others > 0 ? `, … (${others} more)` : ''}`
}

/** The values that a JSON Schema admits, as a noun phrase, such as `an integer from 1 to 240`; undefined when it admits anything. */
export function expectationOf(schema: JsonSchema): string | undefined {
  const { type, format, pattern } = schema
  if (Array.isArray(schema['enum'])) return listed(schema['enum'])
  if ('const' in schema) return schema['const'] === null ? 'null' : listed([schema['const']])
  const alternatives = (schema['anyOf'] ?? schema['oneOf'] ?? (Array.isArray(type) ? type.map((one) => ({ type: one })) : undefined)) as
    | JsonSchema[]
    | undefined
  if (alternatives) {
    const phrases = [...new Set(alternatives.map(expectationOf))]
    if (phrases.includes(undefined)) return undefined
    return phrases.join(phrases.some((phrase) => /,| or /.test(phrase!)) ? ', or ' : ' or ')
  }
  switch (type) {
    case 'string': {
      const what = FORMATS[String(format)] ?? (pattern === undefined || format ? 'text' : `text that matches ${pattern}`)
      return what + sized(schema['minLength'], schema['maxLength'], 'character')
    }
    case 'integer':
      return `an integer${ranged(schema)}`
    case 'number':
      return `a number${ranged(schema)}`
    case 'boolean':
      return 'true or false'
    case 'array':
      return `a list${sized(schema['minItems'], schema['maxItems'], 'item')}`
    case 'object':
      return 'an object'
    case 'null':
      return 'null'
    default:
      return undefined
  }
}
