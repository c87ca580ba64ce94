import { applyD1Migrations, reset } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { withCheckDigit } from '../../src/authority/sandbox/world/taxpayers.ts'
import { api } from '../support/client.ts'
import { at } from '../support/clock.ts'
import { runs } from '../support/fuzz.ts'
import { randomOf } from '../support/random.ts'
import { Messages } from './support/messages.ts'
import { answersTo, renamed, unread } from './support/paired-answers.ts'
import { type Act, historyOf, join, type Player, perform, type Step, type World } from './support/paired-history.ts'

/**
 * Two services get the same history of an organization B. In one of them, a stranger A works with the same RFC. After B's own last run, B is
 * answered the same by both: nothing tells B that A exists.
 */

const HISTORIES = runs(2, 2_000)

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

async function empty(): Promise<void> {
  await reset()
  await Promise.all([
    applyD1Migrations(env.DB, env.CONTROL_MIGRATIONS),
    applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS),
    applyD1Migrations(env.EVENTS_0, env.EVENTS_MIGRATIONS),
  ])
}

async function live(rfc: string, begin: number, steps: readonly Step[]) {
  await empty()
  at(new Date(begin).toISOString())
  vi.spyOn(env.EGRESS, 'fetch').mockImplementation(async () => new Response('Thank you.'))
  const world: World = { rfc, messages: new Messages(), players: { A: await join('Ana'), B: await join('Beto') } }
  for (const step of steps) await perform(world, step)
  const { B } = world.players
  const { cancellations, ciec_invalid, late, reports, known, ...answers } = separated(await answersTo(B), B.bare)
  vi.restoreAllMocks()
  return {
    ...{ answers: comparable(renamed(B, { said: B.said, ...answers })), cancellations, ciec_invalid, late, bare: B.bare },
    ...{ reports: renamed(B, reports), reported: renamed(B, B.reported), known },
  }
}

type Lived = Awaited<ReturnType<typeof live>>

// biome-ignore lint/suspicious/noExplicitAny: answers are compared whole.
type Any = any

/** Members that may tell that the RFC is shared, and why. */
const EXCEPTIONS = [
  // A download that A's run has queued already is not queued again (service.md, Run rules 3).
  'dispatched',
  // A document that B's window shows changes when anybody's download finds it changed, or brings it late, as its updated_at tells.
  'latest_change_at',
]

const comparable = (answers: Any): Any =>
  JSON.parse(JSON.stringify(answers), (key, value) => {
    if (EXCEPTIONS.includes(key)) return undefined
    // The instant of a document of which only metadata is known is that of Mexico City, whatever its zone.
    return ['first_issued_at', 'last_issued_at'].includes(key) ? value !== null : value
  })

const isOfCancellation = (key: string | undefined): boolean => key?.startsWith('cfdi.cancelled') ?? false

/** What a cancelled document shows alike in both worlds. XML and metadata state the same total with other digits. */
const cancelled = ({ uuid, fecha, direction, total, estatus, cancelled_at }: Any) => ({
  ...{ uuid, fecha, direction, estatus, cancelled_at },
  total: Number(total),
})

/**
 * Whether a document was stamped hours after it was issued, or after one of B's runs that was later than its issue. The times of both are
 * local, of places at most two hours apart.
 */
const isLate = ({ fecha, issued_at, certified_at }: Any, ran: readonly number[]): boolean =>
  certified_at !== null &&
  (Date.parse(`${certified_at}Z`) - Date.parse(`${fecha}Z`) > 3 * 3_600_000 ||
    ran.some((at) => Date.parse(issued_at) <= at && at <= Date.parse(`${certified_at}-06:00`)))

/** A refused CIEC of B becomes known with the one that A gives, or at B's next login. */
const isOfCiec = (key: string | undefined): boolean =>
  ['connection.ciec_invalid', 'connection.relink_needed', 'connection.relinked', 'fiscal_entity.ciec_invalid'].includes(key ?? '')
/** So do the alert about it and its events. */
const isAlertOfCiec = ({ event, kind }: Any): boolean => /^alert\./.test(event) && kind === 'connection.invalid'

/**
 * Sets apart what depends on the moment at which a cancellation becomes known, which may be earlier when A's download finds it: the events
 * about it, updated_at, and whether the XML was fetched before (the authority gives the XML of a received document only while it is valid).
 * A document that was stamped after a run of B, and issued before, is in B's window as soon as A's download brings it: so is its updated_at.
 */
function separated(answers: Any, bare: Player['bare']): Any {
  const isApplied = ({ estatus }: Any): boolean => estatus !== 'cancelado'
  const ran: number[] = answers.runs.flat().map(({ started_at }: Any) => Date.parse(started_at))
  const timed = (one: Any): Any => (isLate(one, ran) ? { ...one, updated_at: undefined } : one)
  // Without the XML, a cancelled document has another zone and therefore another place in a list.
  const documents = (list: Any[]) => ({
    applied: list.filter(isApplied).map(timed),
    cancelled: list
      .filter((one) => !isApplied(one))
      .map(cancelled)
      .sort((a, b) => (a.uuid < b.uuid ? -1 : 1)),
  })
  const detail = ({ status, body }: Any): Any => ({
    status,
    body:
      body.estatus === 'cancelado'
        ? cancelled(body)
        : { ...timed(body), ...(body.aplicaciones && { aplicaciones: body.aplicaciones.filter(isApplied) }) },
  })
  // Without extractors, B reads what others downloaded (decisions.md 6): a document that comes then is numbered among theirs.
  const numbered = (one: Any): Any =>
    'version' in one && bare.some(({ from, until }) => from <= Date.parse(one.occurred_at) && Date.parse(one.occurred_at) <= until)
      ? { ...one, version: undefined }
      : one
  const vigentes = new Set(answers.cfdi.filter(isApplied).map(({ uuid }: Any) => uuid))
  return {
    ...answers,
    cfdi: documents(answers.cfdi),
    // A document that is stamped after B's run comes into its window with the next download, whosever that is.
    coverage: answers.coverage.map(({ with_xml_count: _, metadata_only_count: __, ...month }: Any) => month),
    missingXml: answers.missingXml.map((list: Any[]) => list.filter(({ why }) => why !== 'cancelled_received')),
    sums: { ...answers.sums, body: { ...answers.sums.body, data: answers.sums.body.data?.filter(isApplied) } },
    changes: {
      ...documents(answers.changes.map(({ cfdi, ...other }: Any) => cfdi ?? other)),
      reasons: [...new Set(answers.changes.flatMap(({ reasons }: Any) => reasons ?? []))],
    },
    details: answers.details.map(detail),
    insight: answers.insight.map(({ path, status, body }: Any) => ({
      ...{ path, status },
      body: { ...body, data: unrisked((body.data ?? []).filter(({ uuid }: Any) => uuid === undefined || vigentes.has(uuid))) },
    })),
    payments: answers.payments
      .filter(({ body }: Any) => vigentes.has(body.uuid))
      .map(({ status, body }: Any) => ({ status, body: { ...body, data: body.data.filter(isApplied) } })),
    events: answers.events.filter((one: Any) => !isOfCancellation(one.event) && !isOfCiec(one.event) && !isAlertOfCiec(one)).map(numbered),
    deliveries: answers.deliveries.map((list: Any[]) =>
      list.filter(({ event_key }) => !isOfCancellation(event_key) && !isOfCiec(event_key)),
    ),
    alerts: answers.alerts.filter(({ kind }: Any) => kind !== 'connection.invalid'),
    audit: answers.audit.filter(({ action }: Any) => !isOfCiec(action)),
    xml: answers.xml.filter(({ uuid }: Any) => vigentes.has(uuid)),
    history: answers.history.filter(({ uuid }: Any) => vigentes.has(uuid)),
    relations: answers.relations
      .filter(({ uuid }: Any) => vigentes.has(uuid))
      .map(({ status, body }: Any) => ({ status, data: body.data?.filter(({ cfdi }: Any) => cfdi === null || isApplied(cfdi)) })),
    known: answers.cfdi.map(({ uuid, estatus, version, updated_at }: Any) => [uuid, estatus, version, updated_at]).sort(),
    late: new Set(answers.cfdi.filter((one: Any) => isLate(one, ran)).map(({ uuid }: Any) => uuid)),
    ciec_invalid: answers.events.filter(({ event }: Any) => isOfCiec(event)).length,
    cancellations: answers.events.filter(({ event }: Any) => isOfCancellation(event)),
  }
}

/** What a complement paid is known while its XML is: the flag that it is cancelled, and the score with it, follow from that. */
const unrisked = (rows: Any[]): Any[] =>
  rows.every(({ flags }) => flags === undefined)
    ? rows
    : rows
        .map(({ uuid, flags }) => [uuid, ...flags.flatMap(({ code }: Any) => (code === 'complement_cancelled' ? [] : [code]))])
        .filter(({ length }) => length > 1)
        .sort()

/** Events about cancellations that differ. One that became known at the same moment is the same in everything. */
function cancellationDifferences({ cancellations: alone }: Lived, { cancellations: shared, bare, late }: Lived): string[] {
  const main = (list: Any[]) => new Map(list.filter(({ event }) => event === 'cfdi.cancelled').map((one) => [one.cfdi_uuid, one]))
  const subset = (list: Any[]) => new Set(list.filter(({ event }) => event !== 'cfdi.cancelled').map(({ cfdi_uuid }) => cfdi_uuid))
  const [one, other] = [main(alone), main(shared)]
  const found: string[] = []
  for (const uuid of new Set([...one.keys(), ...other.keys()])) {
    const [a, b] = [one.get(uuid), other.get(uuid)]
    // Without extractors, B reads what others downloaded (decisions.md 6), and is told what becomes of it.
    if (!a && bare.some(({ from, until }) => from <= Date.parse(b.occurred_at) && Date.parse(b.occurred_at) <= until)) continue
    // What was stamped late was in B's window since A's download, and B is told what becomes of it.
    if (!a && late.has(uuid)) continue
    if (!a || !b) {
      found.push(`cancellation ${uuid}: ${a ? 'only alone' : 'only shared'}`)
      continue
    }
    const { event_id: _, fiscal_entity_id: __, occurred_at: atA, severity: sevA, payment_status: paidA, ...restA } = a
    const { event_id: ___, fiscal_entity_id: ____, occurred_at: atB, severity: sevB, payment_status: paidB, ...restB } = b
    found.push(...differences(restA, restB, `cancellation ${uuid}`))
    if (atA !== atB) continue
    found.push(...differences([sevA, paidA, subset(alone).has(uuid)], [sevB, paidB, subset(shared).has(uuid)], `cancellation ${uuid}`))
  }
  return found
}

/**
 * How often B was told that its CIEC is refused. Alone, a refused CIEC that B replaces before its next login is never found; together, the
 * one that A gives finds it.
 */
function ciecDifferences(alone: number, shared: number, steps: readonly Step[]): string[] {
  const replaced = steps.filter(({ who, what }) => who === 'B' && 'ciec' in what && typeof what.ciec === 'number').length
  return alone <= shared && shared <= alone + replaced ? [] : [`ciec_invalid: alone ${alone}, shared ${shared}`]
}

const inBrief = ({ at: when, status, body: { code, through } }: Any): Any => ({ when, status, code, through })
const inRows = ({ status, body: { generated_at: _, ...body } }: Any): Any => ({ status, body })

/**
 * Where the reports differ. They are there, or refused, at the same times and up to the same instant. Figures and times also depend on when a
 * cancellation became known, and when a document came that was stamped late: the figures are compared where B knows the same in the end, and
 * the times where it learned everything at the same time.
 */
function reportDifferences(alone: Lived, shared: Lived): string[] {
  // Without extractors, B reads what others downloaded (decisions.md 6).
  const isOwn = ({ at: when }: Any): boolean => !shared.bare.some(({ from, until }) => from <= when && when <= until)
  const known = ({ known: documents }: Lived, members: number): Any => documents.map((one: Any) => one.slice(0, members))
  const isSame = (members: number): boolean => differences(known(alone, members), known(shared, members)).length === 0
  const viewed = isSame(4) ? (one: Any) => one : inBrief
  const of = ({ reports, reported }: Lived): Any => [reports.map(isSame(3) ? inRows : inBrief), reported.filter(isOwn).map(viewed)]
  return differences(of(alone), of(shared), 'reports')
}

/** Where two answers differ, as paths with both values. */
function differences(a: Any, b: Any, path = ''): string[] {
  if (a === b) return []
  if (a && b && typeof a === 'object' && typeof b === 'object') {
    const keys = new Set([...Object.keys(a), ...Object.keys(b)])
    return [...keys].flatMap((key) => differences(a[key], b[key], `${path}/${key}`))
  }
  return [`${path}: alone ${JSON.stringify(a)?.slice(0, 300)}, shared ${JSON.stringify(b)?.slice(0, 300)}`]
}

describe('an organization is answered as if no other had connected its RFC', () => {
  it.each(Array.from({ length: HISTORIES }, (_, seed) => seed))('through history %i', { timeout: 300_000 }, async (seed) => {
    const { steps, rfc } = historyOf(seed, randomOf(seed + 1))
    const checked = withCheckDigit(rfc.slice(0, -1))
    const begin = steps[0]!.at - 3_600_000
    const alone = await live(
      checked,
      begin,
      steps.filter(({ who }) => who !== 'A'),
    )
    const shared = await live(checked, begin, steps)
    const found = [
      ...differences(alone.answers, shared.answers),
      ...cancellationDifferences(alone, shared),
      ...ciecDifferences(alone.ciec_invalid, shared.ciec_invalid, steps),
      ...reportDifferences(alone, shared),
    ]
    const tale = steps.map(({ at: when, who, what }) => `${new Date(when).toISOString()} ${who} ${JSON.stringify(what)}`)
    expect(unread()).toEqual([])
    expect(found.slice(0, 20), [`Seed ${seed}: ${found.length} differences`, ...tale].join('\n')).toEqual([])
  })
})

describe('a credential that is bound to an RFC is answered as if its organization had connected no other', () => {
  const [RFC, OTHER] = ['PAR100101AA', 'PAR100102AA'].map((rfc) => withCheckDigit(rfc)) as [string, string]
  const BEGIN = Date.parse('2026-07-15T15:00:00Z')
  const DRAFT = {
    ...{ name: 'Todo', trigger_kind: 'connection_created', scope: 'last_n_months', scope_months: 2 },
    data_source_keys: ['sat_cfdi_issued', 'sat_cfdi_received', 'sat_csf', 'sat_declaracion_mensual'],
  }

  /** What the credential is answered after all of it. The other RFC, where there is one, has everything that the first one has. */
  async function answered(hasOther: boolean) {
    await empty()
    at(new Date(BEGIN).toISOString())
    vi.spyOn(env.EGRESS, 'fetch').mockImplementation(async () => new Response('Thank you.'))
    const messages = new Messages()
    const owner = await join('Beto')
    const one: World = { rfc: RFC, messages, players: { A: owner, B: owner } }
    const other: World = {
      rfc: OTHER,
      messages,
      players: { A: owner, B: { ...owner, said: [], reported: [], bare: [{ from: 0, until: 0 }] } },
    }
    let now = BEGIN
    const both = async (who: 'B' | 'world', what: Act) => {
      now += 3_600_000
      await perform(one, { at: now, who, what })
      if (hasOther) await perform(other, { at: now + 60_000, who, what })
    }
    now += 1_000
    await perform(one, { at: now, who: 'B', what: { do: 'extract', draft: DRAFT } })
    await both('B', { do: 'connect', ciec: 1 })
    const { fiscal_entity_id } = one.players.B
    const { body } = await api(owner, 'POST', '/v1/credentials', { name: 'B', role: 'admin', fiscal_entity_ids: [fiscal_entity_id] })
    const bound: Player = { ...one.players.B, api_key: body.api_key, api_secret: body.api_secret }
    one.players.B = bound
    if (hasOther) await perform(other, { at: now + 120_000, who: 'B', what: { do: 'watch' } })
    await perform(one, { at: now + 180_000, who: 'B', what: { do: 'watch' } })
    await both('world', { do: 'midnight' })
    for (const direction of ['issued', 'received'] as const) await both('world', { do: 'cancel', direction, month: '2026-07', nth: 3 })
    // Each asks for its own RFC, and the owner for both at once.
    for (const { players, messages } of hasOther ? [one, other] : [one]) {
      const { fiscal_entity_id } = players.B
      at(new Date(now + 240_000).toISOString())
      await api(players.B, 'POST', `/v1/fiscal-entities/${fiscal_entity_id}/extractions`, {
        ...{ data_source_keys: ['sat_cfdi_issued'], from: '2026-06-01' },
      })
      await api(players.B, 'POST', '/v1/exports', { fiscal_entity_id, kind: 'cfdi', format: 'csv' })
      await messages.deliverAll()
    }
    now += 3_600_000
    at(new Date(now).toISOString())
    const [extractor] = (await api(owner, 'GET', '/v1/extractors')).body
    await api(owner, 'POST', `/v1/extractors/${extractor.extractor_id}/run`)
    await messages.deliverAll()
    await both('world', { do: 'morning' })
    at(new Date(now + 3_600_000).toISOString())
    const answers = renamed(bound, { said: bound.said, ...(await answersTo(bound)) })
    vi.restoreAllMocks()
    // The feed of the organization numbers the events of all RFCs.
    return JSON.parse(JSON.stringify(answers), (key, value) => (key === 'ordering' ? undefined : value))
  }

  it('by every route', { timeout: 300_000 }, async () => {
    const [alone, beside] = [await answered(false), await answered(true)]
    expect([alone.cfdi.length > 0, alone.events.length > 0, alone.webhooks.length]).toEqual([true, true, 1])
    expect(differences(alone, beside)).toEqual([])
    expect(JSON.stringify(beside)).not.toContain(OTHER)
  })
})
