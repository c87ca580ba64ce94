export type Json = Record<string, unknown>

export const isObject = (value: unknown): value is Json => value !== null && typeof value === 'object' && !Array.isArray(value)

export const REF = '#/components/schemas/'

export const refTo = (name: string): Json => ({ $ref: REF + name })
export const nameIn = (schema: unknown): string | undefined =>
  isObject(schema) && typeof schema['$ref'] === 'string' && schema['$ref'].startsWith(REF) ? schema['$ref'].slice(REF.length) : undefined

export interface Operation extends Json {
  operationId: string
  tags: string[]
  summary: string
  description?: string
  security?: unknown[]
  parameters?: (Json & { name: string; in: string; required: boolean; schema: Json })[]
  requestBody?: Json & { content: Record<string, Json> }
  responses: Record<string, Json & { content?: Record<string, Json> }>
}

export interface Document extends Json {
  paths: Record<string, Record<string, Operation>>
  webhooks: Record<string, { post: Operation }>
  components: Json & { schemas: Record<string, Json> }
}

/** Every operation, the webhooks left out. */
export const operationsOf = ({ paths }: Document): { path: string; method: string; operation: Operation }[] =>
  Object.entries(paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, operation]) => ({ path, method, operation })))

/** Members whose values are no schemas. */
const VALUES = ['enum', 'const', 'default', 'examples', 'example', 'required']

/** A schema in which every schema, the innermost first, is what `change` makes of it. `at` is the member that it describes, or ''. */
export function mapSchemas(schema: Json, change: (schema: Json, at: string) => Json, at = ''): Json {
  const inner = (value: unknown, key: string): unknown =>
    Array.isArray(value) ? value.map((one) => inner(one, key)) : isObject(value) ? mapSchemas(value, change, key) : value
  const mapped = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => {
      if (VALUES.includes(key)) return [key, value]
      if (key === 'properties' && isObject(value))
        return [key, Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inner(one, name)]))]
      return [key, inner(value, at)]
    }),
  )
  return change(mapped, at)
}

export const pascal = (name: string): string =>
  name.replace(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_, letter: string) => letter.toUpperCase())

export const singular = (name: string): string =>
  /ies$/.test(name) ? `${name.slice(0, -3)}y` : /(ss|us|is)$/.test(name) ? name : name.replace(/s$/, '')
