import { ENUMERATIONS } from './enumerations.ts'
import { type Document, isObject, type Json, mapSchemas, nameIn, operationsOf, pascal, refTo, singular } from './json.ts'

const isInlineObject = (schema: unknown): schema is Json =>
  isObject(schema) && schema['type'] === 'object' && isObject(schema['properties'])
const isEnumeration = (schema: Json): boolean => Array.isArray(schema['enum']) && schema['enum'].length > 1

/** The constant that tells the alternatives of a union apart. */
function constantOf({ properties }: Json): string | undefined {
  for (const property of Object.values((properties ?? {}) as Record<string, Json>))
    if (typeof property['const'] === 'string') return property['const']
  return undefined
}

/** The name of a union of many schemas: what their names end with. */
function unionOf(schema: Json): string | undefined {
  const names = ((schema['oneOf'] ?? schema['anyOf'] ?? []) as unknown[]).map(nameIn)
  if (names.length < 3 || names.includes(undefined)) return undefined
  const [first, ...others] = names as string[]
  return first!.match(/[A-Z][a-z0-9]*/g)?.findLast((_, n, words) => others.every((name) => name.endsWith(words.slice(n).join(''))))
}

/**
 * Gives every enumeration, list envelope and object a name, so that a program that reads the document finds each under the same name: an
 * enumeration that of the table or of its member, an envelope that of its items, an object that of its owner and member.
 */
export function nameSchemas(document: Document): Document {
  const { schemas } = document.components
  const known = new Map(Object.entries(schemas).map(([name, schema]) => [JSON.stringify(schema), name]))
  /** Enumerations that the contracts name. */
  const named = new Map(
    Object.entries(schemas).flatMap(([name, schema]) =>
      isEnumeration(schema) ? [[(schema['enum'] as unknown[]).join('|'), name] as const] : [],
    ),
  )

  /** The name under which this schema is kept: that of the same one, or one of the candidates that is free. */
  const keep = (schema: Json, ...candidates: string[]): string => {
    const text = JSON.stringify(schema)
    const same = known.get(text)
    if (same) return same
    const last = candidates.at(-1)!
    const numbered = Array.from({ length: 20 }, (_, n) => `${last}${n + 2}`)
    const free = [...candidates, ...numbered].find((name) => !(name in schemas))!
    schemas[free] = schema
    known.set(text, free)
    return free
  }

  /** A schema whose inner enumerations and objects are references. */
  const divided = (schema: Json, owner: string, isRoot: boolean): Json => {
    const visit = (one: unknown, name: string, item: boolean): unknown => {
      if (!isObject(one)) return one
      const own = `${owner}${pascal(item || one['type'] === 'array' ? singular(name) : name)}`
      const inner = divided(one, own, false)
      const union = unionOf(inner)
      if (union) {
        const { description, ...bare } = inner
        return { ...refTo(keep(bare, union, own)), ...(description !== undefined && { description }) }
      }
      if (isEnumeration(inner)) {
        const { description, default: standard, ...bare } = inner
        const values = (inner['enum'] as unknown[]).join('|')
        const notified = ENUMERATIONS[values]
        const ref = refTo(named.get(values) ?? keep(bare, ...(notified ? [notified] : []), own, `${own}Value`))
        return { ...ref, ...(description !== undefined && { description }), ...(standard !== undefined && { default: standard }) }
      }
      if (!isInlineObject(inner)) return inner
      const { description, ...bare } = inner
      const constant = constantOf(inner)
      return {
        ...refTo(keep(bare, ...(constant ? [`${own}${pascal(constant)}`, own] : [own]))),
        ...(description !== undefined && { description }),
      }
    }
    return Object.fromEntries(
      Object.entries(schema).map(([key, value]) => {
        if (key === 'properties' && isObject(value))
          return [key, Object.fromEntries(Object.entries(value).map(([name, one]) => [name, visit(one, name, false)]))]
        if (key === 'items' || key === 'additionalProperties') return [key, visit(value, isRoot ? 'item' : '', key === 'items' && isRoot)]
        if (['anyOf', 'oneOf', 'allOf'].includes(key) && Array.isArray(value)) return [key, value.map((one) => visit(one, '', false))]
        return [key, value]
      }),
    )
  }

  for (const name of Object.keys(schemas)) {
    known.delete(JSON.stringify(schemas[name]))
    const schema = divided(schemas[name]!, name, true)
    schemas[name] = schema
    known.set(JSON.stringify(schema), name)
  }

  const envelope = (schema: Json, operationId: string): string[] => {
    const { data, has_more } = (schema['properties'] ?? {}) as Record<string, Json>
    const item = nameIn(data?.['items']) ?? nameIn(schema['items'])
    const own = pascal(operationId)
    return [...(item ? [`${item}${has_more ? 'Page' : 'List'}`] : []), `${own}Answer`]
  }

  for (const { operation } of operationsOf(document)) {
    const { operationId, requestBody, responses, parameters = [] } = operation
    const own = pascal(operationId)
    for (const parameter of parameters) {
      const inner = divided(parameter.schema, `${own}${pascal(parameter.name)}`, true)
      const { default: standard, ...bare } = inner
      const values = String((inner['enum'] as unknown[] | undefined)?.join('|'))
      const name = ENUMERATIONS[values]
      parameter.schema = isEnumeration(inner)
        ? {
            ...refTo(named.get(values) ?? keep(bare, ...(name ? [name] : []), `${own}${pascal(parameter.name)}`)),
            ...(standard !== undefined && { default: standard }),
          }
        : inner
    }
    const body = requestBody?.content['application/json']
    if (body && !nameIn(body['schema']) && (body['schema'] as Json)['format'] !== 'binary')
      body['schema'] = refTo(keep(divided(body['schema'] as Json, own, false), `${own}Request`))
    for (const { content } of Object.values(responses)) {
      const media = content?.['application/json']
      const schema = media?.['schema'] as Json | undefined
      if (!media || !schema || nameIn(schema)) continue
      const union = unionOf(schema)
      if (union) media['schema'] = refTo(keep(schema, union, `${own}Answer`))
      if (!isInlineObject(schema) && schema['type'] !== 'array') continue
      const inner = divided(schema, own, true)
      media['schema'] = refTo(keep(inner, ...envelope(inner, operationId)))
    }
  }
  return document
}

/** What a schema refers to by no reference is not shown. */
export function dropUnused(document: Document): Document {
  const { schemas } = document.components
  const used = new Set<string>()
  const walk = (value: unknown): void => {
    const name = nameIn(value)
    if (name && !used.has(name)) {
      used.add(name)
      walk(schemas[name])
    }
    if (Array.isArray(value)) value.forEach(walk)
    else if (isObject(value)) Object.values(value).forEach(walk)
  }
  walk([document.paths, document.webhooks])
  document.components.schemas = Object.fromEntries(Object.entries(schemas).filter(([name]) => used.has(name)))
  return document
}

/** Every schema of the document as `change` makes it. */
export function mapDocument(document: Document, change: (schema: Json, at: string, owner: string) => Json): Document {
  const { schemas } = document.components
  for (const [name, schema] of Object.entries(schemas)) schemas[name] = mapSchemas(schema, (one, at) => change(one, at, name))
  const bodies = (operation: { operationId: string; requestBody?: Json; responses: Json }) => {
    for (const holder of [operation.requestBody, ...Object.values(operation.responses)] as (Json | undefined)[])
      for (const media of Object.values((holder?.['content'] ?? {}) as Record<string, Json>))
        media['schema'] = mapSchemas(media['schema'] as Json, (one, at) => change(one, at, operation.operationId))
  }
  for (const { operation } of operationsOf(document)) {
    for (const parameter of operation.parameters ?? [])
      parameter.schema = mapSchemas(parameter.schema, (one, at) => change(one, at, operation.operationId))
    bodies(operation)
  }
  for (const { post } of Object.values(document.webhooks)) bodies(post)
  return document
}
