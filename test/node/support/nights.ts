import { scheduledPath } from '../../../scripts/crons.ts'
import { Customer } from '../../../scripts/customer.ts'
import { documentsOf } from '../../../src/authority/sandbox/month.ts'
import { all, rfcOf } from './books.ts'

interface Run {
  local_date: string | null
  started_at: string
  status: string
  connections: number
}

interface Entity {
  rfc: string
  fiscal_entity_id: string
  visible_from: string
  visible_to: string
  linked_at: string
}

/** An organization with what it has connected. */
export interface Office {
  customer: Customer
  /** The scope of its extractors. */
  months: number
  extractors: string[]
  rfcs: string[]
}

const ZONE = 'America/Mexico_City'
const CFDI = ['sat_cfdi_issued', 'sat_cfdi_received']
const DAY = 86_400_000

const localDay = (at: number): string => new Intl.DateTimeFormat('en-CA', { timeZone: ZONE, dateStyle: 'short' }).format(at)
const daysAfter = (day: string, days: number): string => new Date(Date.parse(day) + days * DAY).toISOString().slice(0, 10)

/** Midnights of the zone from tomorrow on. It has been at UTC−6 all year round since 2022. */
export class Nights {
  readonly #today = localDay(Date.now())
  readonly dates: string[] = []

  get instant(): number {
    return Date.parse(`${this.dates.at(-1)}T06:00:00Z`)
  }

  next(): void {
    this.dates.push(daysAfter(this.#today, this.dates.length + 1))
  }

  /** Evaluates cadences as of the midnight. A cron may repeat: only its first time does anything. */
  strike = (url: string): Promise<void> => fire(url, '*/15 * * * *', this.instant)

  /** The sweep as of soon after the midnight: the runner's own is of today, before the ticks that it would look for. */
  sweep = (url: string): Promise<void> => fire(url, '* * * * *', this.instant + 2 * 60_000)
}

async function fire(url: string, cron: string, time: number): Promise<void> {
  const response = await fetch(url + scheduledPath(cron, time), { signal: AbortSignal.timeout(30_000) })
  if (!response.ok) throw new Error(`${cron} answered ${response.status}: ${await response.text()}`)
}

/** Organizations with daily extractors and RFCs that they share in part: the nth RFC is of the nth office, every other of the next too. */
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
  const given = await customer.ask<{ extractor_id: string; trigger_kind: string }[]>('GET', '/v1/extractors')
  const [daily, other] = ['schedule', 'connection_created'].map((kind) => given.find((one) => one.trigger_kind === kind)!.extractor_id)
  await customer.ask('PATCH', `/v1/extractors/${other}`, { is_enabled: false })
  const months = 1 + (n % 2)
  const scope = { scope: 'last_n_months', scope_months: months }
  await customer.ask('PATCH', `/v1/extractors/${daily}`, { ...scope, data_source_keys: [...CFDI, 'sat_csf'] })
  const extractors = [daily!]
  if (n === 0) {
    const draft = { name: 'Recibidos', trigger_kind: 'schedule', schedule_kind: 'daily', data_source_keys: [CFDI[1]], ...scope }
    const made = await customer.ask<{ extractor_id: string }>('POST', '/v1/extractors', draft)
    extractors.push(made.extractor_id)
  }
  return { customer, months, extractors, rfcs: [] }
}

export const entitiesOf = ({ customer }: Office): Promise<Entity[]> => all<Entity>(customer, '/v1/fiscal-entities?limit=100')

export const runsOf = async ({ customer, extractors }: Office): Promise<Run[][]> =>
  Promise.all(extractors.map((id) => all<Run>(customer, `/v1/extractors/${id}/runs?limit=100`)))

/** Whether nothing is planned, queued or running, and each of these dates has its run. */
export async function isSettled(office: Office, dates: readonly string[]): Promise<boolean> {
  const runs = await runsOf(office)
  if (runs.flat().some(({ status }) => status === 'planned')) return false
  if (!runs.every((list) => dates.every((date) => list.some(({ local_date }) => local_date === date)))) return false
  for (const { fiscal_entity_id } of await entitiesOf(office)) {
    const { status, jobs } = await office.customer.sync(fiscal_entity_id)
    if (status !== 'idle' || jobs.total === 0) return false
  }
  return true
}

/** Where the window has to be: back to the first run's floor, up to the last midnight. */
export const windowOf = ({ months }: Office, { linked_at }: Entity, midnight: number) => ({
  visible_from: daysAfter(localDay(Date.parse(linked_at)), -30 * months),
  visible_to: new Date(midnight).toISOString(),
})

/** What the authority has of an RFC between two days that are over. */
export function authorityHas(rfc: string, from: string, to: string): string[] {
  const found: string[] = []
  for (let month = from.slice(0, 7); month <= to.slice(0, 7); month = daysAfter(`${month}-28`, 4).slice(0, 7))
    for (const direction of ['issued', 'received'] as const)
      for (const { uuid, fecha } of documentsOf(rfc, direction, month)) {
        const day = fecha.slice(0, 10)
        if (day >= from && day <= to) found.push(`${direction} ${uuid.toUpperCase()}`)
      }
  return found.sort()
}

/** What the organization finds of it. */
export async function officeHas({ customer }: Office, fiscal_entity_id: string, from: string, to: string): Promise<string[]> {
  const path = `/v1/cfdi?fiscal_entity_id=${fiscal_entity_id}&issued_from=${from}&issued_to=${to}&limit=100`
  const rows = await all<{ uuid: string; direction: string }>(customer, path)
  return rows.map(({ uuid, direction }) => `${direction} ${uuid.toUpperCase()}`).sort()
}

/** The last literal day that is over in every Mexican zone. */
export const lastDayOver = (): string => daysAfter(localDay(Date.now()), -2)
