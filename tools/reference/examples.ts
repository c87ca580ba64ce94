import { type Document, type Json, nameIn, operationsOf, pascal, refTo } from './json.ts'
import type { Recordings } from './recordings.ts'

/** A code that so many operations answer with a status means the same in all of them. */
const GENERAL = 5

/** Codes by status that any operation may answer with, each with one of its recorded bodies. */
function generalErrors(recordings: Recordings): Record<string, Record<string, unknown>> {
  const all = Object.values(recordings).flatMap(({ errors }) =>
    Object.entries(errors).flatMap(([status, codes]) => Object.entries(codes).map(([code, body]) => ({ status, code, body }))),
  )
  const found = Object.groupBy(all, ({ status }) => status)
  return Object.fromEntries(
    Object.entries(found).map(([status, bodies]) => {
      const general = Object.entries(Object.groupBy(bodies!, ({ code }) => code)).filter(
        ([, same]) => same!.length >= GENERAL || ALWAYS.includes(status),
      )
      return [status, Object.fromEntries(general.map(([code, same]) => [code, same![0]!.body]))]
    }),
  )
}

/** Statuses that mean the same wherever they are declared. */
const ALWAYS = ['401', '402', '405', '413', '415', '416', '429', '503']

const problem = () => ({ content: { 'application/json': { schema: refTo('Problem') } } })

/** Error codes that every operation with an Idempotency-Key answers with. */
const IDEMPOTENT = /^idempotency/

/** Writes what was recorded into the document: each answer has an example, each error one for each code. */
export function addExamples(document: Document, recordings: Recordings, samples: Record<string, unknown>): Document {
  const general = generalErrors(recordings)
  const examples: Record<string, Json> = {}
  const shared = new Map<string, string>()

  /** Refers to an example that several operations have. */
  const share = (code: string, body: unknown): Json => {
    const text = JSON.stringify(body)
    let name = shared.get(text)
    if (!name) {
      const base = pascal(code)
      name = base
      for (let n = 2; name in examples; n++) name = `${base}${n}`
      examples[name] = { summary: code, value: body }
      shared.set(text, name)
    }
    return { $ref: `#/components/examples/${name}` }
  }

  /** The refusal of a request that others keep overtaking, as another operation on the same things answered it. */
  const overtakenOf = (id: string): [string, unknown][] => {
    const nouns = Object.values(recordings[id]?.errors ?? {}).flatMap((codes) => Object.keys(codes).map((code) => code.split('.')[0]))
    const all = Object.values(recordings).flatMap(({ errors }) => Object.entries(errors['409'] ?? {}))
    return all.filter(([code]) => code.endsWith('.changed') && nouns.includes(code.split('.')[0])).slice(0, 1)
  }

  /** The codes that a description names, as other operations answered them. */
  const namedIn = (description: unknown, status: string): [string, unknown][] =>
    Object.values(recordings)
      .flatMap(({ errors }) => Object.entries(errors[status] ?? {}))
      .filter(([code]) => String(description).includes(`\`${code}\``))
      .slice(0, 1)

  const errorsOf = (id: string, status: string, isIdempotent: boolean, description: unknown): [string, unknown][] => {
    const own = recordings[id]?.errors[status]
    const named = own ? [] : namedIn(description, status)
    if (named.length > 0) return named
    const others = Object.entries(general[status] ?? {})
    if (!own && status === '409' && !isIdempotent) return overtakenOf(id)
    if (!own) return others.filter(([code]) => status !== '409' || IDEMPOTENT.test(code)).slice(0, 3)
    const missing = status === '409' && isIdempotent ? others.filter(([code]) => IDEMPOTENT.test(code) && !(code in own)) : []
    return [...Object.entries(own), ...missing]
  }

  for (const { operation } of operationsOf(document)) {
    const { operationId, responses, requestBody, parameters = [] } = operation
    const recorded = recordings[operationId]
    const isIdempotent = parameters.some(({ name }) => name === 'Idempotency-Key')
    const sent = requestBody?.content['application/json']
    if (sent && nameIn(sent['schema']) && recorded?.request !== undefined) sent['example'] = recorded.request
    if (!Object.keys(responses).some((status) => status.startsWith('4')))
      responses['405'] = { description: 'The path was asked with another method. Allow names those that it has.', ...problem() }
    for (const [status, { content = {}, description }] of Object.entries(responses))
      for (const [type, media] of Object.entries(content)) {
        if (type === 'application/json' && Number(status) >= 400 && nameIn(media['schema']) === 'Problem') {
          const codes = errorsOf(operationId, status, isIdempotent, description)
          if (codes.length > 0) media['examples'] = Object.fromEntries(codes.map(([code, body]) => [code, share(code, body)]))
        } else {
          const body = recorded?.success[type === 'application/json' ? status : `${status} ${type}`] ?? recorded?.errors[status]
          if (body !== undefined) media['example'] = body
        }
      }
  }
  for (const [key, { post }] of Object.entries(document.webhooks))
    if (samples[key]) post.requestBody!.content['application/json']!['example'] = samples[key]
  document.components['examples'] = Object.fromEntries(Object.entries(examples).sort(([one], [other]) => (one < other ? -1 : 1)))
  return document
}
