import type { Document, Json } from './json.ts'
import { isObject, operationsOf } from './json.ts'
import { mapDocument } from './names.ts'
import { COMMON } from './words/common.ts'
import { DOWNLOADS } from './words/downloads.ts'
import { FISCAL } from './words/fiscal.ts'
import { OPERATIONS } from './words/operations.ts'

const WORDS: Record<string, string> = { ...COMMON, ...DOWNLOADS, ...FISCAL }

const wordOf = (owner: string, name: string): string | undefined =>
  WORDS[`${owner}.${name}`] ?? WORDS[`${owner.replace(/Input$/, '')}.${name}`] ?? WORDS[name]

/** Describes every operation, member and parameter that does not say itself what it means. */
export function describeMembers(document: Document): Document {
  mapDocument(document, (schema, _, owner) => {
    if (!isObject(schema['properties'])) return schema
    const properties = Object.entries(schema['properties'] as Record<string, Json>).map(([name, property]) => {
      const word = wordOf(owner, name)
      return [name, 'description' in property || word === undefined ? property : { ...property, description: word }]
    })
    return { ...schema, properties: Object.fromEntries(properties) }
  })
  for (const { operation } of operationsOf(document)) {
    const notified = OPERATIONS[operation.operationId]
    if (notified && !operation.description?.startsWith(notified))
      operation.description = [notified, operation.description].filter(Boolean).join('\n\n')
    for (const parameter of operation.parameters ?? []) {
      const word = wordOf(operation.operationId, parameter.name)
      if (parameter['description'] === undefined && word !== undefined) parameter['description'] = word
    }
  }
  return document
}
