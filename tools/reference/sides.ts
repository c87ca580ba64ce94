import { type Document, isObject, type Json, mapSchemas, nameIn, operationsOf, REF, refTo } from './json.ts'

/** Whoever reads an answer leaves out what it does not know, so that members can be added. */
const open = (schema: Json): Json => {
  const { additionalProperties, ...rest } = schema
  return additionalProperties === undefined || additionalProperties === false ? rest : schema
}

function reached(schemas: Record<string, Json>, begin: unknown): Set<string> {
  const found = new Set<string>()
  const walk = (value: unknown): void => {
    const name = nameIn(value)
    if (name && !found.has(name)) {
      found.add(name)
      walk(schemas[name])
    }
    if (Array.isArray(value)) value.forEach(walk)
    else if (isObject(value)) Object.values(value).forEach(walk)
  }
  walk(begin)
  return found
}

const renamed = (value: unknown, names: ReadonlyMap<string, string>): unknown =>
  JSON.parse(JSON.stringify(value), (key, inner: unknown) =>
    key === '$ref' && typeof inner === 'string' && names.has(inner.slice(REF.length))
      ? refTo(names.get(inner.slice(REF.length))!)['$ref']
      : inner,
  )

/** Lets answers have further members. A schema that requests have too is divided, because they refuse such members. */
export function openAnswers(document: Document): Document {
  const { schemas } = document.components
  const operations = operationsOf(document).map(({ operation }) => operation)
  const sent = reached(schemas, [operations.map(({ requestBody, parameters }) => [requestBody, parameters])])
  const answered = reached(schemas, [operations.map(({ responses }) => responses), document.webhooks])
  const opened = (value: Json): Json => mapSchemas(value, open)
  const differs = new Set(
    [...sent].filter((name) => answered.has(name) && JSON.stringify(opened(schemas[name]!)) !== JSON.stringify(schemas[name])),
  )
  // What refers to a divided schema is divided with it.
  for (let before = -1; before !== differs.size; ) {
    before = differs.size
    for (const name of sent)
      if (answered.has(name) && [...reached(schemas, schemas[name])].some((one) => differs.has(one))) differs.add(name)
  }
  const names = new Map([...differs].map((name) => [name, `${name}Input`]))
  const inputs = [...sent].map((name) => [names.get(name) ?? name, renamed(schemas[name], names)] as const)
  const outputs = [...answered].map((name) => [name, opened(schemas[name]!)] as const)
  const kept = new Map<string, unknown>([...inputs, ...outputs])
  const order = [...Object.keys(schemas).flatMap((name) => [name, `${name}Input`])]
  document.components.schemas = Object.fromEntries(order.flatMap((name) => (kept.has(name) ? [[name, kept.get(name) as Json]] : [])))
  for (const operation of operations) {
    if (operation.requestBody) operation.requestBody = renamed(operation.requestBody, names) as typeof operation.requestBody
    for (const response of Object.values(operation.responses))
      for (const media of Object.values(response.content ?? {})) media['schema'] = opened(media['schema'] as Json)
  }
  for (const { post } of Object.values(document.webhooks))
    for (const media of Object.values(post.requestBody!.content)) media['schema'] = opened(media['schema'] as Json)
  return document
}
