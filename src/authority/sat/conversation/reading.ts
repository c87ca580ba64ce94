import { log } from '../../../platform/log.ts'
import type { HeldConversation } from './held.ts'
import { again } from './rules/outcomes.ts'
import { halvesOf } from './rules/periods.ts'
import { addDays, xmlPeriods } from './rules/plan.ts'
import { SHORT, UNREADABLE } from './rules/requests.ts'
import { type AnsweredRequest, roundsOf } from './rules/rounds.ts'
import { PackageUnreadable, type Surroundings } from './surroundings.ts'

/** XML that metadata announces and that does not come is asked for so often. */
const MOST_XML_ROUNDS = 2
/** Metadata that lists fewer documents than were announced is asked for by halves so often. */
const MOST_SHORT_ROUNDS = 3
/** An unreadable package is asked for anew at once so often; then it takes longer. */
const MOST_MOVES = 3

/** Reads what came, once all packages of a request are in the bucket: of metadata one package at a time, and asks for the XML that is missing. */
export async function readPackages(held: HeldConversation, around: Surroundings, reading: AnsweredRequest): Promise<void> {
  const { request, requests } = reading
  try {
    if (request.kind === 'xml') return await readXml(held, around, reading)
    const k = request.packages.findIndex(({ rows }) => rows === undefined)
    if (k < 0) return await finishMetadata(held, reading)
    const read = await around.readMetadata(request, k)
    await held.commit([held.update(request, { packages: request.packages.map((one, i) => (i === k ? { ...one, ...read } : one)) })])
  } catch (error) {
    if (!(error instanceof PackageUnreadable)) throw error
    const about = { entity: held.entity, request: request.n }
    log.error(held.system, 'A package of the tax authority cannot be read. It is asked for anew.', about, error)
    const outcome = request.attempts > MOST_MOVES ? again(request.attempts) : ({ state: 'replaced', how: 'moved' } as const)
    await held.record(request, requests, outcome, { code: UNREADABLE, message: error.message })
  }
}

async function finishMetadata(held: HeldConversation, reading: AnsweredRequest): Promise<void> {
  const { request, requests } = reading
  const { announced } = request
  const { rows = 0, unread = 0 } = request.packages.at(-1)!
  // A request that is done need not be complete. None with packages announces nothing.
  const isShort = announced ? rows < announced : unread > 0
  const said = isShort ? { code: SHORT, message: `${rows} of ${announced || 'unknown'} documents are listed.` } : {}
  const rounds = roundsOf(reading, { state: 'replaced', code: SHORT })
  if (said.code !== undefined && rounds < MOST_SHORT_ROUNDS && halvesOf(request) !== null)
    return held.replace(request, requests, 'halved', said)
  const periods = xmlPeriods(addDays(request.packages.map(({ days }) => days!)))
  await held.commit([
    held.update(request, {
      state: 'stored',
      ...said,
      announced: announced || rows,
      packages: request.packages.map(({ days: _, ...one }) => one),
    }),
    ...held.plan(request, requests, { kind: 'xml', periods, asked_at: held.now, attempts: 0 }),
  ])
}

async function readXml(held: HeldConversation, around: Surroundings, reading: AnsweredRequest): Promise<void> {
  const { request, requests } = reading
  const { family, source, attempts } = request
  const announcing = requests.filter(
    (one) => one.kind === 'metadata' && one.family === family && one.source === source && one.state === 'stored',
  )
  const { unannounced, left } = await around.readXml(request, announcing)
  const packages = request.packages.map((one, k) => ({ ...one, ...(unannounced[k]!.length > 0 && { unannounced: unannounced[k]! }) }))
  const isLast = roundsOf(reading, { state: 'stored' }) + 1 >= MOST_XML_ROUNDS
  const periods = isLast ? [] : xmlPeriods(left)
  await held.commit([
    held.update(request, { state: 'stored', packages }),
    ...held.plan(request, requests, { kind: 'xml', periods, asked_at: held.now, attempts }),
  ])
}
