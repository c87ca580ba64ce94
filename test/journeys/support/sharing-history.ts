import { env } from 'cloudflare:workers'
import { documentsOf } from '../../../src/authority/sandbox/world/month.ts'
import { cfdiXml } from '../../../src/authority/sandbox/xml/cfdi-xml.ts'
import { ledgerOf } from '../../downloads/support/downloads.ts'
import { api, basic, request } from '../../support/client.ts'
import { at } from '../../support/clock.ts'
import { runs } from '../../support/fuzz.ts'
import { freshRfc, organization, type Tenant } from '../../support/tenants.ts'
import { zipOf } from '../../support/zip.ts'
import {
  activate,
  DIRECTIONS,
  dayIn,
  emptySeat,
  importDocument,
  MANDATORY,
  MEXICO,
  type Rule,
  runRule,
  type Seat,
  type Shared,
} from './sharing-model.ts'

/** A history of one RFC that several organizations share: everything is done to the service and to the oracle. */

export interface Player extends Seat {
  tenant: Tenant
  name: string
  /** Empty before the first connection. */
  fiscal_entity_id: string
  /** What it has of the RFC by following the changes. */
  mirror: { cursor: string; rows: Map<string, { uuid: string }> }
}

export interface History extends Shared {
  now: number
  next: () => number
  players: Player[]
  /** What was done, to be told when a check fails. */
  notified_so_far: string[]
}

export const pick = <T>({ next }: History, list: readonly T[]): T => list[Math.floor(next() * list.length)]!
const int = ({ next }: History, least: number, most: number): number => least + Math.floor(next() * (most - least + 1))
const say = (history: History, who: Player, what: string) =>
  history.notified_so_far.push(`${new Date(history.now).toISOString()} ${who.name} ${what}`)

const ALL_SOURCES = ['sat_cfdi_issued', 'sat_cfdi_received', 'sat_csf', 'sat_declaracion_mensual', MANDATORY]
const ZONES = [...[MEXICO, MEXICO, 'America/Tijuana', 'America/Cancun', 'Asia/Tokyo'], ...['Pacific/Auckland', 'Pacific/Honolulu', 'UTC']]

/** Begins where all of history is a few months, around a change of clocks or a year's end, or anywhere. */
const BEGINNINGS = ['2018-03-02', '2018-04-20', '2018-06-11', '2021-03-29', '2022-10-26', '2024-02-27', '2025-12-29', '2026-07-15']

export async function begin(seed: number, next: () => number, organizations: number): Promise<History> {
  const now = Date.parse(`${BEGINNINGS[seed % BEGINNINGS.length]}T00:00:00Z`) + Math.floor(next() * 86_400) * 1_000
  at(new Date(now).toISOString())
  const history: History = {
    ...{ rfc: freshRfc(), stored: new Map(), notified: new Map(), files: new Map(), fetched: [] },
    ...{ now, next, players: [], notified_so_far: [] },
  }
  for (const name of ['Ana', 'Beto', 'Caro'].slice(0, organizations)) {
    const { owner: tenant } = await organization('enterprise_gold')
    const player = { ...emptySeat(), tenant, name, fiscal_entity_id: '', mirror: { cursor: '', rows: new Map() } }
    history.players.push(player)
    if (next() < 0.9) await create(history, player)
    if (next() < 0.8) await connect(history, player)
    await settled(history)
    wait(history, 1_000)
  }
  return history
}

async function asked({ notified_so_far }: History, tenant: Tenant, method: string, path: string, body?: unknown) {
  const reply = await api(tenant, method, path, body)
  if (reply.status >= 300)
    throw new Error([`${method} ${path} answered ${reply.status} ${JSON.stringify(reply.body)}`, ...notified_so_far].join('\n'))
  return reply.body
}

/** Time passes: whatever comes next comes at another instant. */
export function wait(history: History, milliseconds: number): void {
  history.now += milliseconds
  at(new Date(history.now).toISOString())
}

/** Until nobody fetches anything for the RFC. Queues are real; the clock of the service stands still meanwhile. */
export async function settled(history: History): Promise<void> {
  const entity = await env.DB.prepare('select entity from fiscal_entities where rfc = ?').bind(history.rfc).first<number>('entity')
  if (entity === null) return
  const open = (await ledgerOf(history.rfc)).prepare('select error_class from sync_jobs where entity = ? and open = 1').bind(entity)
  await until(history, async () => {
    const { results } = await open.all<{ error_class: string | null }>()
    const failed = results.find(({ error_class }) => error_class !== null)
    if (failed) throw new Error(`A download failed: ${failed.error_class}`)
    return results.length === 0
  })
}

/** Looks again and again. Not by vitest's own waiting, which moves a clock that stands still. */
async function until<T>({ notified_so_far }: History, look: () => Promise<T | false>): Promise<T> {
  for (let tries = 0; tries < 1_500; tries++) {
    const found = await look()
    if (found) return found
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(['What was waited for did not come.', ...notified_so_far].join('\n'))
}

function drawScope(history: History): Pick<Rule, 'scope' | 'scope_months'> {
  const isEarly = new Date(history.now).getUTCFullYear() === 2018
  if (isEarly && history.next() < 0.4) return { scope: pick(history, ['full_history', 'since_watermark']), scope_months: null }
  // Without a watermark it is all of history, which is a few months only early on.
  if (history.next() < 0.2 && history.players.every(({ watermarks: { issued, received } }) => issued && received))
    return { scope: 'since_watermark', scope_months: null }
  return { scope: 'last_n_months', scope_months: int(history, 1, runs(3, 4)) }
}

const drawSources = (history: History): string[] =>
  pick(history, [
    ['sat_cfdi_issued', 'sat_cfdi_received'],
    ['sat_cfdi_issued', 'sat_cfdi_received', 'sat_csf'],
    ['sat_cfdi_issued'],
    ['sat_cfdi_received', 'sat_declaracion_mensual'],
    ['sat_csf'],
  ])

async function create(history: History, player: Player): Promise<void> {
  const trigger_kind = pick(history, ['connection_created', 'connection_reactivated', 'schedule', 'schedule'] as const)
  const draft = {
    ...{ name: 'Uno', trigger_kind, timezone: pick(history, ZONES), is_enabled: history.next() < 0.9 },
    ...(trigger_kind === 'schedule' && { schedule_kind: 'daily' }),
    ...{ data_source_keys: drawSources(history), ...drawScope(history) },
  }
  say(history, player, `creates ${JSON.stringify(draft)}`)
  const { extractor_id } = await asked(history, player.tenant, 'POST', '/v1/extractors', draft)
  const { data_source_keys, ...rest } = draft
  player.rules.push({ ...rest, extractor_id, sources: [...data_source_keys, MANDATORY] })
}

async function connect(history: History, player: Player): Promise<void> {
  const isDraft = history.next() < 0.2
  const only = history.next() < 0.25 ? ['sat_cfdi_issued', 'sat_csf'] : undefined
  say(history, player, `connects ${isDraft ? 'without a CIEC ' : ''}${only ?? ''}`)
  const { fiscal_entity_id } = await asked(history, player.tenant, 'POST', '/v1/fiscal-entities', {
    ...{ rfc: history.rfc, ...(!isDraft && { ciec: 'secreta1' }), ...(only && { data_source_keys: only }) },
  })
  player.fiscal_entity_id = fiscal_entity_id
  player.sources = only ? [...only, MANDATORY] : ALL_SOURCES
  player.state = 'draft'
  if (!isDraft) activate(history, player, history.now)
}

async function run(history: History, player: Player): Promise<void> {
  const rule = pick(
    history,
    player.rules.filter(({ is_enabled }) => is_enabled),
  )
  say(history, player, `runs ${JSON.stringify(rule)}`)
  const notified = await asked(history, player.tenant, 'POST', `/v1/extractors/${rule.extractor_id}/run`)
  if (notified.connections !== (player.state === 'active' ? 1 : 0)) throw new Error(`covered ${notified.connections}`)
  if (player.state === 'active') runRule(history, player, rule, history.now)
}

async function change(history: History, player: Player): Promise<void> {
  const rule = pick(history, player.rules)
  const changes = {
    ...(history.next() < 0.5 && drawScope(history)),
    ...(history.next() < 0.3 && { timezone: pick(history, ZONES) }),
    ...(history.next() < 0.3 && { data_source_keys: drawSources(history) }),
    ...(history.next() < 0.3 && { is_enabled: !rule.is_enabled }),
  }
  say(history, player, `changes ${rule.extractor_id} ${JSON.stringify(changes)}`)
  await asked(history, player.tenant, 'PATCH', `/v1/extractors/${rule.extractor_id}`, changes)
  const { data_source_keys, ...rest } = changes
  Object.assign(rule, rest, data_source_keys && { sources: [...data_source_keys, MANDATORY] })
}

async function remove(history: History, player: Player, rules: readonly Rule[]): Promise<void> {
  say(history, player, `deletes ${rules.length} of ${player.rules.length} extractors`)
  for (const { extractor_id } of rules) await asked(history, player.tenant, 'DELETE', `/v1/extractors/${extractor_id}`)
  player.rules = player.rules.filter((rule) => !rules.includes(rule))
}

async function unlink(history: History, player: Player): Promise<void> {
  say(history, player, 'unlinks')
  await asked(history, player.tenant, 'DELETE', `/v1/fiscal-entities/${player.fiscal_entity_id}`)
  player.state = 'unlinked'
}

async function giveCiec(history: History, player: Player): Promise<void> {
  say(history, player, 'gives a CIEC')
  await asked(history, player.tenant, 'PATCH', `/v1/fiscal-entities/${player.fiscal_entity_id}`, { ciec: 'secreta2' })
  if (player.state === 'draft') activate(history, player, history.now)
}

async function cancel(history: History, player: Player): Promise<void> {
  const uuid = pick(history, [...history.stored.keys()])
  say(history, player, `has ${uuid} cancelled`)
  const path = `/v1/test-helpers/cfdi/${uuid}/cancel`
  const { status } = await api(player.tenant, 'POST', path, { fiscal_entity_id: player.fiscal_entity_id })
  // Nobody cancels what its window hides.
  if (status === 404) return
  if (status !== 200) throw new Error([`POST ${path} answered ${status}`, ...history.notified_so_far].join('\n'))
  if (!history.notified.has(uuid)) history.notified.set(uuid, history.now)
}

/** One to four documents of the months around now, singly or packed; most of them outside somebody's window. */
async function upload(history: History, player: Player): Promise<void> {
  const direction = pick(history, DIRECTIONS)
  const month = dayIn(history.now - int(history, 0, 200) * 86_400_000, MEXICO).slice(0, 7)
  const all = documentsOf(history.rfc, direction, month)
  const payments = all.filter(({ pago }) => pago)
  const payment = history.next() < 0.4 && payments.length > 0 ? pick(history, payments) : undefined
  // A payment with an invoice that it settles, of a month before; or whatever.
  const documents = payment ? [payment, payment.pago!.documentos[0]!.invoice] : all.filter(() => history.next() < 0.1).slice(0, 4)
  if (documents.length === 0) return
  const files = documents.map((document) => ({ name: `${document.uuid}.xml`, bytes: new TextEncoder().encode(cfdiXml(document)) }))
  const bytes = files.length === 1 ? files[0]!.bytes : zipOf(files)
  say(history, player, `imports ${documents.map(({ uuid }) => uuid)}`)
  const path = `/v1/fiscal-entities/${player.fiscal_entity_id}/cfdi/imports`
  const headers = { authorization: basic(player.tenant), 'content-type': 'application/octet-stream' }
  const { body } = await request('POST', path, { headers, body: bytes as BodyInit })
  const { import_id } = body as { import_id: string }
  const done = await until(history, async () => {
    const reply = await api(player.tenant, 'GET', `${path}/${import_id}`)
    return reply.body.status === 'completed' && reply.body
  })
  const expected = documents.map((document) => [document.uuid, importDocument(history, player, document, direction, history.now)].join(' '))
  const actual = done.files.map(({ uuid, status }: { uuid: string; status: string }) => [uuid, status].join(' '))
  if (expected.join() !== actual.join())
    throw new Error(['An import went otherwise', ...expected, ...actual, ...history.notified_so_far].join('\n'))
}

function weighted<T>({ next }: History, possible: readonly (readonly [weight: number, T])[]): T {
  let left = next() * possible.reduce((sum, [weight]) => sum + weight, 0)
  for (const [weight, one] of possible) {
    left -= weight
    if (left < 0) return one
  }
  return possible.at(-1)![1]
}

const HOUR = 3_600_000

/** Does something at random, and lets a while pass before. */
export async function step(history: History): Promise<void> {
  wait(history, pick(history, [601, int(history, 601, 100_000), int(history, 1, 12) * 3_600, int(history, 20, 900) * 3_600]) * 1_000)
  // Some runs come right at the edge of a month, where zones disagree on the day.
  if (history.next() < 0.2) {
    const edge = Date.parse(`${dayIn(history.now, 'UTC').slice(0, 7)}-01T00:00:00Z`) + int(history, -14, 20) * HOUR
    if (edge > history.now) wait(history, edge - history.now)
  }
  const player = pick(history, history.players)
  const { state, rules } = player
  const isLinked = state === 'draft' || state === 'active'
  const possible: [weight: number, act: () => Promise<void>][] = [
    [isLinked ? 0 : 6, () => connect(history, player)],
    [state === 'draft' ? 5 : 1, () => (isLinked ? giveCiec(history, player) : connect(history, player))],
    [state === 'active' && rules.some(({ is_enabled }) => is_enabled) ? 8 : 0, () => run(history, player)],
    [rules.length < 4 ? 2 : 0, () => create(history, player)],
    [rules.length === 0 ? 4 : 0, () => create(history, player)],
    [rules.length > 0 ? 2 : 0, () => change(history, player)],
    [rules.length > 0 ? 0.5 : 0, () => remove(history, player, [pick(history, rules)])],
    [rules.length > 0 ? 1 : 0, () => remove(history, player, [...rules])],
    [isLinked ? 1 : 0, () => unlink(history, player)],
    [state === 'active' && history.stored.size > 0 ? 2 : 0, () => cancel(history, player)],
    // What is imported while everything is visible has to stay when that ends.
    [isLinked ? (rules.length === 0 ? 8 : 2) : 0, () => upload(history, player)],
  ]
  const act = weighted(history, possible)
  await act()
  await settled(history)
}
