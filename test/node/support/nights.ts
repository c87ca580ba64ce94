import { scheduledPath } from '../../../scripts/crons.ts'
import { Customer } from '../../../scripts/customer.ts'
import { documentsOf } from '../../../src/authority/sandbox/world/month.ts'
import { type Cell, Midnights, type Plan } from '../../journeys/support/midnights.ts'
import { all, rfcOf } from './books.ts'

const [ISSUED, RECEIVED] = ['sat_cfdi_issued', 'sat_cfdi_received'] as const

interface Run {
  local_date: string | null
  started_at: string
  status: string
  connections: number
}

interface Entity {
  rfc: string
  fiscal_entity_id: string
  data_source_keys: string[]
  windows: Record<typeof ISSUED | typeof RECEIVED, { visible_from: string; visible_to: string }>
}

type Extractor = Omit<Plan, 'organization'>

/** An organization with what it has connected. */
export interface Office {
  customer: Customer
  id: string
  rfcs: string[]
  extractors: Extractor[]
}

const ZONE = 'America/Mexico_City'
const DAY = 86_400_000

const localDay = (at: number): string => new Intl.DateTimeFormat('en-CA', { timeZone: ZONE, dateStyle: 'short' }).format(at)
const daysAfter = (day: string, days: number): string => new Date(Date.parse(day) + days * DAY).toISOString().slice(0, 10)

/** The coming midnight of the zone, which has been at UTC−6 all year round since 2022. */
export class Midnight {
  readonly saved = new Date().toISOString()
  readonly date = daysAfter(localDay(Date.parse(this.saved)), 1)
  readonly at = Date.parse(`${this.date}T06:00:00Z`)

  get instant(): string {
    return new Date(this.at).toISOString()
  }

  /** Evaluates cadences as of the midnight. A cron may repeat: only its first time does anything. */
  strike = (url: string): Promise<void> => fire(url, '*/15 * * * *', this.at)

  /** The sweep as of soon after the midnight: the runner's own is of today, before the tick that it would look for. */
  sweep = (url: string): Promise<void> => fire(url, '* * * * *', this.at + 2 * 60_000)
}

async function fire(url: string, cron: string, time: number): Promise<void> {
  const response = await fetch(url + scheduledPath(cron, time), { signal: AbortSignal.timeout(30_000) })
  if (!response.ok) throw new Error(`${cron} answered ${response.status}: ${await response.text()}`)
}

/** Organizations with RFCs that they share in part: the nth RFC is of the nth office, every other of the next too. A month of each comes. */
export async function openOffices(url: string, offices: number, rfcs: number): Promise<Office[]> {
  const opened: Office[] = []
  for (let n = 0; n < offices; n++) {
    const office = await openOffice(url, n)
    opened.push(office)
    for (let i = 0; i < rfcs; i++) if (i % offices === n || (i % 2 === 0 && (i + 1) % offices === n)) office.rfcs.push(rfcOf(i))
    for (const rfc of office.rfcs) await office.customer.connect(rfc)
  }
  return opened
}

async function openOffice(url: string, n: number): Promise<Office> {
  const customer = await Customer.signUp(url, `Despacho ${n}`)
  await customer.ask('POST', '/v1/test-helpers/organization', { plan: 'enterprise_gold' })
  const { id } = await customer.ask<{ id: string }>('GET', '/v1/organization')
  for (const { extractor_id, trigger_kind } of await customer.ask<Extractor[]>('GET', '/v1/extractors')) {
    const narrow = { scope: 'last_n_months', scope_months: 1, data_source_keys: [ISSUED, RECEIVED] }
    await customer.ask('PATCH', `/v1/extractors/${extractor_id}`, trigger_kind === 'schedule' ? narrow : { is_enabled: false })
  }
  return { customer, id, rfcs: [], extractors: [] }
}

/** What the offices want at the midnight, by all cadences that fall on it: so many months, each more than the one before, the first most. */
export async function askForMuch(offices: readonly Office[], { date }: Midnight, months: number, most: number): Promise<void> {
  const weekday = (new Date(date).getUTCDay() + 6) % 7
  const nth = Math.ceil(Number(date.slice(8)) / 7)
  const daily = { schedule_kind: 'daily', scope: 'last_n_months' }
  const everyDay = { schedule_kind: 'every_n_days', schedule_spec: { n: 1 }, scope: 'last_n_months' }
  const thatWeekday = { schedule_kind: 'nth_weekday_monthly', schedule_spec: { weekday, nth }, scope: 'full_history' }
  for (const [n, { customer, extractors }] of offices.entries()) {
    const drafts = [
      { ...daily, name: 'Todo', scope_months: months + 3 * n, data_source_keys: [ISSUED, RECEIVED, 'sat_csf'] },
      { ...daily, name: 'Recibidos', scope_months: n === 0 ? most : 1, data_source_keys: [RECEIVED] },
      { ...everyDay, name: 'Emitidos', scope_months: 2, data_source_keys: [ISSUED] },
      { ...thatWeekday, name: 'Opinión', data_source_keys: ['sat_opinion_32d'] },
    ]
    for (const draft of drafts) await customer.ask('POST', '/v1/extractors', { ...draft, trigger_kind: 'schedule' })
    extractors.push(...(await customer.ask<Extractor[]>('GET', '/v1/extractors')).filter(({ trigger_kind }) => trigger_kind === 'schedule'))
  }
}

/** What the oracle says of the midnight. */
export async function expectedOf(offices: readonly Office[], { saved, instant }: Midnight): Promise<ReturnType<Midnights['tick']>> {
  const oracle = new Midnights(saved)
  for (const office of offices) {
    for (const extractor of office.extractors) oracle.plan({ ...extractor, organization: office.id })
    for (const { rfc, data_source_keys } of await entitiesOf(office))
      oracle.link({ organization: office.id, rfc, sources: data_source_keys })
  }
  return oracle.tick(instant)
}

export const entitiesOf = ({ customer }: Office): Promise<Entity[]> => all<Entity>(customer, '/v1/fiscal-entities?limit=100')

export const runsOf = ({ customer, extractors }: Office): Promise<Run[][]> =>
  Promise.all(extractors.map(({ extractor_id }) => all<Run>(customer, `/v1/extractors/${extractor_id}/runs?limit=100`)))

/** Whether nothing is planned, queued or running, and every extractor has its run of the date, if there is one. Asks no more than it must. */
export async function areSettled(offices: readonly Office[], date?: string): Promise<boolean> {
  for (const office of offices) {
    // Runs first: what they ask for is there once they are no longer planned.
    const runs = await runsOf(office)
    if (runs.flat().some(({ status }) => status === 'planned')) return false
    if (date && !runs.every((list) => list.some(({ local_date }) => local_date === date))) return false
    for (const { fiscal_entity_id } of await entitiesOf(office)) {
      const { status, jobs } = await office.customer.sync(fiscal_entity_id)
      if (status !== 'idle' || jobs.total === 0) return false
    }
  }
  return true
}

/** What the authority has in these cells between two days that are over. */
export function authorityHas(cells: readonly Cell[], from: string, to: string): string[] {
  const found: string[] = []
  for (const { rfc, source, month } of cells) {
    const direction = source === ISSUED ? 'issued' : 'received'
    if (month !== '' && month >= from.slice(0, 7) && month <= to.slice(0, 7))
      for (const { uuid, fecha } of documentsOf(rfc, direction, month)) {
        const day = fecha.slice(0, 10)
        if (day >= from && day <= to) found.push(`${direction} ${uuid.toUpperCase()}`)
      }
  }
  return found.sort()
}

/** What the organization finds of a source. */
export async function officeHas(
  { customer }: Office,
  fiscal_entity_id: string,
  source: typeof ISSUED | typeof RECEIVED,
  from: string,
  to: string,
): Promise<string[]> {
  const direction = source === ISSUED ? 'issued' : 'received'
  const path = `/v1/cfdi?fiscal_entity_id=${fiscal_entity_id}&direction=${direction}&issued_from=${from}&issued_to=${to}&limit=100`
  const rows = await all<{ uuid: string; direction: string }>(customer, path)
  return rows.map(({ uuid, direction }) => `${direction} ${uuid.toUpperCase()}`).sort()
}

/** The last literal day whose documents are all stamped: it is over in every Mexican zone, and so are the 72 hours after it. */
export const lastDayOver = (): string => daysAfter(localDay(Date.now()), -5)
