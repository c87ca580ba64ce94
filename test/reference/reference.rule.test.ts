import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Document, Json } from '../../tools/reference/json.ts'
import { isObject, nameIn, operationsOf, pascal } from '../../tools/reference/json.ts'
import { readRecordings } from '../../tools/reference/recordings.ts'
import { SECTIONS } from '../../tools/reference/sections.ts'

const document = JSON.parse(readFileSync('assets/openapi.test.json', 'utf8')) as Document
const operations = operationsOf(document)
const { schemas } = document.components

/** Every schema, with where it stands. */
function* schemasIn(schema: unknown, at: string): Generator<[string, Json]> {
  if (Array.isArray(schema)) for (const one of schema) yield* schemasIn(one, at)
  if (!isObject(schema)) return
  yield [at, schema]
  for (const [key, value] of Object.entries(schema))
    if (key === 'properties' && isObject(value)) for (const [name, one] of Object.entries(value)) yield* schemasIn(one, `${at}.${name}`)
    else if (['items', 'anyOf', 'oneOf', 'allOf', 'additionalProperties'].includes(key)) yield* schemasIn(value, at)
}

const bodies = operations.flatMap(({ operation }) => [
  ...Object.entries(operation.requestBody?.content ?? {}).map(([type, media]) => ({
    at: `${operation.operationId} sent`,
    type,
    media,
    isAnswer: false,
  })),
  ...Object.entries(operation.responses).flatMap(([status, { content = {} }]) =>
    Object.entries(content).map(([type, media]) => ({ at: `${operation.operationId} ${status}`, type, media, isAnswer: true })),
  ),
])
const everywhere = [
  ...Object.entries(schemas).flatMap(([name, schema]) => [...schemasIn(schema, name)]),
  ...bodies.flatMap(({ at, media }) => [...schemasIn(media['schema'], at)]),
  ...operations.flatMap(({ operation }) =>
    (operation.parameters ?? []).flatMap(({ name, schema }) => [...schemasIn(schema, `${operation.operationId} ${name}`)]),
  ),
]

/** Every schema that these refer to. */
function reached(begin: unknown, found = new Set<string>()): Set<string> {
  const name = nameIn(begin)
  if (name && !found.has(name)) reached(schemas[name], found.add(name))
  if (Array.isArray(begin)) for (const one of begin) reached(one, found)
  else if (isObject(begin)) for (const one of Object.values(begin)) reached(one, found)
  return found
}

/** Refusals to requests that others keep overtaking. No test makes so many at once. */
const OVERTAKEN = ['updateStorageConnector 409', 'updateExtractor 409', 'receiveStripeEvent 409']

describe('the document that customers read', () => {
  it('has an example for every answer in JSON and for every error (record it: RECORD=missing vitest …)', () => {
    const missingXml = bodies.filter(
      ({ type, media, isAnswer }) =>
        isAnswer && type === 'application/json' && nameIn(media['schema']) && !('example' in media || 'examples' in media),
    )
    // What it answers is this document.
    expect(missingXml.map(({ at }) => at).filter((at) => at !== 'getOpenApi 200' && !OVERTAKEN.includes(at))).toEqual([])
  })

  it('has an example for every table, but for a part of one', () => {
    const missingXml = bodies.filter(({ type, media, isAnswer }) => isAnswer && type === 'text/csv' && !('example' in media))
    expect(missingXml.map(({ at }) => at)).toEqual(['readExport 206'])
  })

  it('has recordings of its operations only', () => {
    const ids = operations.map(({ operation }) => operation.operationId)
    expect(Object.keys(readRecordings()).filter((id) => !ids.includes(id) && id !== 'elsewhere')).toEqual([])
  })

  it('shows no secret that opens anything', () => {
    const text = JSON.stringify(document)
    const secrets = text.match(/fds_(test|live)_(secret|invitation)_\w+|whsec_[\w+/=]+/g) ?? []
    expect(secrets.filter((one) => !/notAReal|bm90IGEgcmVhbC|_secret_?$/.test(one) && one.length > 30)).toEqual([])
  })

  it('describes every operation, parameter and member', () => {
    const missingXml = [
      ...operations.flatMap(({ operation }) => [
        ...(operation.description ? [] : [operation.operationId]),
        ...(operation.parameters ?? []).filter((one) => !one['description']).map(({ name }) => `${operation.operationId} ${name}`),
      ]),
      ...everywhere.flatMap(([at, { properties }]) =>
        Object.entries((properties ?? {}) as Record<string, Json>).flatMap(([name, one]) => (one['description'] ? [] : [`${at}.${name}`])),
      ),
    ]
    expect(missingXml).toEqual([])
  })

  it('has every operation in a section, and an introduction for each', () => {
    const names = SECTIONS.map(({ name }) => name)
    expect(operations.filter(({ operation }) => !names.includes(operation.tags[0]!)).map(({ operation }) => operation.operationId)).toEqual(
      [],
    )
    expect((document['tags'] as Json[]).map(({ name }) => name)).toEqual(names)
    for (const { introduction } of SECTIONS) expect(introduction.length).toBeGreaterThan(40)
  })

  it('names every enumeration, every object and every list', () => {
    const inline = everywhere.filter(
      ([at, schema]) =>
        ((Array.isArray(schema['enum']) && schema['enum'].length > 1) ||
          (isObject(schema['properties']) && Object.keys(schema['properties']).length > 0)) &&
        schemas[at] !== schema,
    )
    expect(inline.map(([at]) => at)).toEqual([])
    expect(
      bodies
        .filter(
          ({ type, media }) =>
            type === 'application/json' && !nameIn(media['schema']) && media['schema'] && !('format' in (media['schema'] as Json)),
        )
        .map(({ at }) => at),
    ).toEqual([])
    for (const name of Object.keys(schemas)) expect(name).toMatch(/^[A-Z][A-Za-z0-9]*$/)
    expect(Object.keys(schemas).filter((name) => name !== pascal(name))).toEqual([])
  })

  it('lets answers have further members, and requests none', () => {
    const answered = reached(operations.map(({ operation }) => operation.responses))
    expect(
      [...answered].filter((name) => [...schemasIn(schemas[name], name)].some(([, one]) => one['additionalProperties'] === false)),
    ).toEqual([])
    const sent = reached(operations.map(({ operation }) => operation.requestBody))
    // A key file of Google's has more than is needed.
    const isOpen = (one: Json): boolean => isObject(one['properties']) && one['additionalProperties'] !== false
    expect([...sent].filter((name) => isOpen(schemas[name]!))).toEqual(['GoogleDriveCredentialsServiceAccount'])
  })

  it('has no bounds that only say how numbers are stored, and requires no member that has a default', () => {
    for (const [at, { minimum, maximum }] of everywhere)
      for (const bound of [minimum, maximum]) expect(Math.abs(Number(bound ?? 0)), at).toBeLessThan(Number.MAX_SAFE_INTEGER)
    const sent = reached(operations.map(({ operation }) => operation.requestBody))
    for (const name of sent) {
      const { required = [], properties = {} } = schemas[name] as { required?: string[]; properties?: Record<string, Json> }
      expect(
        required.filter((one) => 'default' in properties[one]!),
        name,
      ).toEqual([])
    }
  })

  it('shows how each operation is called in curl, TypeScript and Python', () => {
    for (const { operation } of operations)
      expect(
        (operation['x-codeSamples'] as Json[]).map(({ label }) => label),
        operation.operationId,
      ).toEqual(['curl', 'TypeScript', 'Python'])
  })
})
