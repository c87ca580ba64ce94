import { addExamples } from './examples.ts'
import type { Document } from './json.ts'
import { dropUnused, mapDocument, nameSchemas } from './names.ts'
import { plain } from './plain.ts'
import type { Recordings } from './recordings.ts'
import { addSamples } from './samples.ts'
import { divideIntoSections } from './sections.ts'
import { openAnswers } from './sides.ts'
import { describeMembers } from './words.ts'

/**
 * The document that customers read, of what the routes say: with names for generators, descriptions, sections, and the examples that the
 * tests recorded.
 */
export function referenceOf(written: object, recordings: Recordings, samples: Record<string, unknown>): Document {
  // A value of any JSON refers to itself, and the writer numbers such schemas.
  const document = JSON.parse(JSON.stringify(written).replaceAll(/__schema\d+/g, 'JsonValue')) as Document
  mapDocument(document, plain)
  openAnswers(document)
  describeMembers(document)
  nameSchemas(document)
  dropUnused(document)
  divideIntoSections(document)
  addExamples(document, recordings, samples)
  return addSamples(document)
}
