import { env } from 'cloudflare:workers'
import { cancelInSandbox, refuseLogin } from '../../../src/authority/sandbox/overrides.ts'
import { documentsOf } from '../../../src/authority/sandbox/world/month.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { commit } from '../../../src/platform/db/commit.ts'
import { api, request } from '../../support/client.ts'
import { at } from '../../support/clock.ts'
import { runs } from '../../support/fuzz.ts'
import type { Tenant } from '../../support/tenants.ts'
import type { Messages } from './messages.ts'

/**
 * A history as plain data, which follows from a seed alone: what the watched organization B and the stranger A do to the same RFC, and what
 * happens in the world. It is performed once with A and once without.
 */

export type Who = 'A' | 'B' | 'world'

export interface Step {
  /** Milliseconds since 1970. */
  at: number
  who: Who
  what: Act
}

type Source = 'sat_cfdi_issued' | 'sat_cfdi_received' | 'sat_csf' | 'sat_declaracion_mensual'

export type Act =
  | { do: 'connect'; ciec: number | null; sources?: Source[] }
  | { do: 'give'; ciec: number | null }
  | { do: 'extract'; draft: object }
  | { do: 'run'; nth: number }
  | { do: 'forget'; nth: number }
  | { do: 'pause' | 'resume' | 'unlink' | 'owe' | 'settle' | 'watch' | 'notice' | 'report' }
  | { do: 'change-ciec'; to: number }
  | { do: 'cancel'; direction: 'issued' | 'received'; month: string; nth: number }
  | { do: 'midnight' | 'morning' }

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** The CIECs of the taxpayer, one after the other. */
const ciecOf = (nth: number): string => `secreto${nth}`

/** The next midnight of Mexico City, in standard time. */
const midnightAfter = (instant: number): number => Math.floor((instant - 6 * HOUR) / DAY) * DAY + DAY + 6 * HOUR

export function historyOf(seed: number, next: () => number): { steps: Step[]; rfc: string } {
  const int = (least: number, most: number): number => least + Math.floor(next() * (most - least + 1))
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)]!
  const begin = Date.parse(pick(['2018-01-20', '2018-02-03', '2018-02-24', '2018-03-05', '2026-07-15'])) + int(0, 86_399) * 1_000
  let now = begin
  let current = 1
  const steps: Step[] = []
  const add = (who: Who, what: Act): void => {
    now += pick([int(1, 50) * 60_000, int(1, 11) * HOUR, int(12, 60) * HOUR, int(2, 6) * DAY])
    // Nobody acts in the same second as another, and time never goes back.
    now = what.do === 'midnight' ? midnightAfter(now) : Math.ceil(now / 1_000) * 1_000 + (who === 'A' ? 300 : who === 'B' ? 700 : 0)
    steps.push({ at: now, who, what })
    // The daily work finds the invoice. It is the world's: it goes on whoever is there.
    if (what.do === 'owe') steps.push({ at: now + 100, who: 'world', what: { do: 'morning' } })
  }
  const sources = (): Source[] =>
    pick<Source[]>([
      ['sat_cfdi_issued', 'sat_cfdi_received'],
      ['sat_cfdi_issued', 'sat_cfdi_received', 'sat_csf'],
      ['sat_cfdi_issued'],
      ['sat_cfdi_received', 'sat_declaracion_mensual'],
    ])
  const draft = () => {
    const trigger_kind = pick(['connection_created', 'connection_reactivated', 'schedule', 'schedule'])
    return {
      ...{ name: 'Uno', trigger_kind, scope: 'last_n_months', scope_months: int(1, 2), data_source_keys: sources() },
      // Reports are of the whole history, which is short here.
      ...(begin < Date.parse('2019-01-01') && next() < 0.5 && { scope: 'full_history', scope_months: null }),
      ...(trigger_kind === 'schedule' && { schedule_kind: 'daily' }),
    }
  }
  const usually = (): number => (next() < 0.85 ? current : pick([current, Math.max(1, current - 1), 7]))
  const begins = (who: Who): void => {
    add(who, { do: 'extract', draft: draft() })
    add(who, {
      do: 'connect',
      ciec: next() < 0.15 ? null : usually(),
      ...(next() < 0.2 && { sources: ['sat_cfdi_issued', 'sat_csf'] as Source[] }),
    })
  }
  if (next() < 0.5) begins('A')
  add('B', { do: 'watch' })
  begins('B')
  if (!steps.some(({ who }) => who === 'A')) begins('A')
  add('B', { do: 'report' })
  const whole = int(5, 9)
  const length = runs(Math.ceil(whole / 1.5), whole)
  for (let n = 0; n < length; n++) {
    const who = pick<Who>(['A', 'A', 'B', 'B', 'B', 'world', 'world'])
    if (who === 'world') {
      const what = next()
      if (what < 0.3) {
        add('world', { do: 'change-ciec', to: ++current })
        // Otherwise A could learn it first, and a stale CIEC of B's ends at once (decisions.md 4).
        add('B', { do: 'notice' })
      } else if (what < 0.6) {
        const month = new Date(now - int(0, 45) * DAY).toISOString().slice(0, 7)
        add('world', { do: 'cancel', direction: pick(['issued', 'received'] as const), month, nth: int(0, 30) })
      } else add('world', { do: 'midnight' })
      continue
    }
    add(
      who,
      pick<() => Act>([
        () => ({ do: 'run', nth: int(0, 1) }),
        () => ({ do: 'run', nth: 0 }),
        () => ({ do: 'run', nth: 0 }),
        () => ({ do: 'give', ciec: next() < 0.15 ? null : usually() }),
        () => ({ do: 'give', ciec: usually() }),
        () => ({ do: 'pause' }),
        () => ({ do: 'resume' }),
        () => ({ do: 'resume' }),
        () => ({ do: 'extract', draft: draft() }),
        () => ({ do: 'forget', nth: 0 }),
        () => ({ do: 'unlink' }),
        () => ({ do: 'connect', ciec: usually() }),
        () => ({ do: 'owe' }),
        () => ({ do: 'settle' }),
      ])(),
    )
    if (n % 2 === 0) add('B', { do: 'report' })
  }
  // B puts its house in order, and its last run covers all that its window can show.
  add('B', { do: 'settle' })
  add('B', { do: 'resume' })
  add('B', { do: 'connect', ciec: current })
  add('B', { do: 'give', ciec: current })
  const months = Math.min(16, Math.ceil((now - begin) / (30 * DAY)) + 2)
  const all: Source[] = ['sat_cfdi_issued', 'sat_cfdi_received', 'sat_csf', 'sat_declaracion_mensual']
  const last = { name: 'Todo', trigger_kind: 'connection_created', scope: 'last_n_months', scope_months: months, data_source_keys: all }
  add('B', { do: 'extract', draft: last })
  add('B', { do: 'run', nth: -1 })
  add('B', { do: 'report' })
  add('B', { do: 'report' })
  return { steps, rfc: `PAR${String(100101 + (seed % 28)).padStart(6, '0')}AA${seed % 10}` }
}

export interface Player extends Tenant {
  fiscal_entity_id: string
  /** What was done and what was answered. */
  said: unknown[]
  /** What a report said, one time after the other. */
  reported: { at: number; status: number; body: Record<string, unknown> }[]
  /** When it had no extractor: from and until, in milliseconds. */
  bare: { from: number; until: number }[]
}

export interface World {
  rfc: string
  messages: Messages
  players: Record<'A' | 'B', Player>
}

export async function perform(world: World, { at: instant, who, what }: Step): Promise<void> {
  at(new Date(instant).toISOString())
  if (who === 'world') await happen(world, what)
  else await act(world, world.players[who], what)
  await world.messages.deliverAll()
}

async function happen({ rfc, messages }: World, what: Act): Promise<void> {
  const { db, settings } = systemOf(env, new Date(), 'world')
  if (what.do === 'change-ciec') {
    // The sandbox accepts whatever it was not told to refuse.
    for (let old = 1; old < what.to; old++) await commit(env.DB, [await refuseLogin(settings.ciecKeys, { rfc, ciec: ciecOf(old) })])
  } else if (what.do === 'cancel') {
    const documents = documentsOf(rfc, what.direction, what.month)
    const document = documents[what.nth % Math.max(1, documents.length)]
    if (document) await cancelInSandbox(db, rfc, document.uuid, { cancelled_at: new Date(), cancellation_reason: '02' })
  } else if (what.do === 'midnight') {
    await messages.cron('*/15 * * * *')
    await messages.cron('* * * * *')
  } else if (what.do === 'morning') await messages.cron('0 10 * * *')
}

async function act(world: World, player: Player, what: Act): Promise<void> {
  const { rfc, messages } = world
  const ask = async (method: string, path: string, body?: unknown) => {
    const reply = await api(player, method, path, body)
    player.said.push({ method, path, body, status: reply.status, answer: reply.body })
    return reply.body
  }
  const entity = `/v1/fiscal-entities/${player.fiscal_entity_id}`
  const extractors = async (): Promise<{ extractor_id: string }[]> => (await api(player, 'GET', '/v1/extractors')).body
  switch (what.do) {
    case 'connect': {
      const body = await ask('POST', '/v1/fiscal-entities', {
        ...{ rfc, ...(what.ciec !== null && { ciec: ciecOf(what.ciec) }), ...(what.sources && { data_source_keys: what.sources }) },
      })
      if (body.fiscal_entity_id) player.fiscal_entity_id = body.fiscal_entity_id
      break
    }
    case 'give':
      await ask('PATCH', entity, { ciec: what.ciec === null ? null : ciecOf(what.ciec) })
      break
    case 'extract':
      await ask('POST', '/v1/extractors', what.draft)
      player.bare.at(-1)!.until = Math.min(player.bare.at(-1)!.until, Date.now())
      break
    case 'run': {
      const extractor = (await extractors()).at(what.nth)
      if (extractor) await ask('POST', `/v1/extractors/${extractor.extractor_id}/run`)
      break
    }
    case 'forget': {
      const extractor = (await extractors()).at(what.nth)
      if (extractor) await ask('DELETE', `/v1/extractors/${extractor.extractor_id}`)
      if ((await extractors()).length === 0) player.bare.push({ from: Date.now(), until: Number.POSITIVE_INFINITY })
      break
    }
    case 'notice':
      // A login of its own tells B that its CIEC is refused. When no run logs in, resuming does. Who owes can do neither.
      await act(world, player, { do: 'settle' })
      await act(world, player, { do: 'run', nth: 0 })
      await messages.deliverAll()
      if ((await api(player, 'GET', entity)).body.status !== 'active') break
      await act(world, player, { do: 'pause' })
      await act(world, player, { do: 'resume' })
      break
    case 'pause':
    case 'resume':
      await ask('PATCH', `/v1/billing/rfcs/${player.fiscal_entity_id}`, { active: what.do === 'resume' })
      break
    case 'unlink':
      await ask('DELETE', entity)
      break
    case 'owe':
      await ask('POST', '/v1/test-helpers/invoices', { due_date: new Date(Date.now() - 5 * DAY).toISOString().slice(0, 10) })
      break
    case 'settle': {
      const { data } = (await api(player, 'GET', '/v1/billing/invoices')).body as { data: { invoice_id: string; status: string }[] }
      for (const { invoice_id, status } of data) if (status !== 'paid') await ask('POST', `/v1/test-helpers/invoices/${invoice_id}/pay`)
      break
    }
    case 'report': {
      // At once, and when what is due is made.
      for (const isMade of [false, true]) {
        if (isMade) await messages.cron('* * * * *')
        const { status, body } = await api(player, 'GET', `/v1/reports/annual-comparison?fiscal_entity_id=${player.fiscal_entity_id}`)
        player.reported.push({ at: Date.now(), status, body })
      }
      break
    }
    case 'watch':
      await ask('POST', '/v1/webhooks', {
        ...{ name: 'Todo', url: 'https://hooks.example.com/b' },
        event_keys: ['cfdi.cancelled', 'cfdi.cancelled_after_payment', 'sync.completed', 'sync.failed', 'connection.ciec_invalid'],
      })
      break
  }
}

/** Signs an organization up and gives it a plan without limits and no extractor. */
export async function join(name: string): Promise<Player> {
  const { body } = await request('POST', '/v1/auth/signup', {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ organization_name: name, name: 'Ada Owner', email: `${name.toLowerCase()}@example.com` }),
  })
  const { organization, credential } = body as { organization: { id: string }; credential: { api_key: string; api_secret: string } }
  const player: Player = {
    ...{ organization_id: organization.id, api_key: credential.api_key, api_secret: credential.api_secret },
    ...{ fiscal_entity_id: `fe_${'0'.repeat(26)}`, said: [], reported: [], bare: [{ from: 0, until: Number.POSITIVE_INFINITY }] },
  }
  await env.DB.batch([
    env.DB.prepare('delete from extractors where organization_id = ?').bind(organization.id),
    env.DB.prepare("update organizations set plan = 'enterprise_gold', extractor_count = 0, billed_month = '9999-12' where id = ?").bind(
      organization.id,
    ),
  ])
  return player
}
