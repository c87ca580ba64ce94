import type { Customer } from '../../../scripts/customer.ts'
import { checkDigit } from '../../../src/taxpayers/rfc.ts'

interface Page<Row> {
  data: Row[]
  next_cursor: string | null
}

interface Cfdi {
  uuid: string
  total: string
  fecha: string
}

interface Job {
  data_source_key: string
  period: string | null
  status: string
  created_count: number
}

const MONTHS = 3

/** The RFC of the nth round: the sandbox makes the same books of it every time. */
export const rfcOf = (round: number): string => {
  const stem = `KRA${String(200101 + (round % 28))}${'ABCDEFGHJK'[Math.floor(round / 28)]}${'123456789'[round % 9]}`
  return stem + checkDigit(`${stem}0`)
}

/** Few months instead of three years, so that a round is short; and seats for many RFCs. */
export async function wantFewMonths(customer: Customer): Promise<void> {
  await customer.ask('POST', '/v1/test-helpers/organization', { plan: 'enterprise_gold' })
  const extractors = await customer.ask<{ extractor_id: string }[]>('GET', '/v1/extractors')
  for (const { extractor_id } of extractors)
    await customer.ask('PATCH', `/v1/extractors/${extractor_id}`, { scope: 'last_n_months', scope_months: MONTHS })
}

/** Connects the RFC, or finds that it is connected: the answer to an earlier attempt may have got lost. */
export async function connected(customer: Customer, rfc: string): Promise<string> {
  const known = await all<{ rfc: string; fiscal_entity_id: string }>(customer, '/v1/fiscal-entities?limit=100')
  return known.find((one) => one.rfc === rfc)?.fiscal_entity_id ?? customer.connect(rfc)
}

export async function all<Row>(customer: Customer, path: string): Promise<Row[]> {
  const rows: Row[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Page<Row> = await customer.ask('GET', `${path}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`)
    rows.push(...page.data)
    cursor = page.next_cursor
  }
  return rows
}

const monthsAgo = (n: number): string => {
  const now = new Date()
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - n)).toISOString().slice(0, 7)
}

/** What is known of an RFC, of months that are over: two runs of the current one are not at the same instant. */
export async function booksOf(customer: Customer, fiscal_entity_id: string) {
  const past = new Date(Date.now() - 48 * 3_600_000).toISOString().slice(0, 10)
  const cfdi = await all<Cfdi>(customer, `/v1/cfdi?fiscal_entity_id=${fiscal_entity_id}&issued_to=${past}&limit=100`)
  const range = `from=${monthsAgo(MONTHS + 1)}&to=${monthsAgo(1)}`
  const summary = await customer.ask<{ data: object[] }>('GET', `/v1/cfdi/summary/monthly?fiscal_entity_id=${fiscal_entity_id}&${range}`)
  const jobs = await all<Job>(customer, `/v1/fiscal-entities/${fiscal_entity_id}/sync-jobs?limit=100`)
  return {
    documents: cfdi.length,
    different: new Set(cfdi.map(({ uuid }) => uuid)).size,
    cfdi: cfdi.map(({ uuid, total, fecha }) => `${fecha} ${uuid} ${total}`).sort(),
    // The link of a row names the entity, which is another one in another place.
    summary: summary.data.map((row) => ({ ...row, drilldown: null })),
    jobs: jobs
      .filter(({ period }) => period !== monthsAgo(0))
      .map(({ data_source_key, period, status, created_count }) => `${data_source_key} ${period} ${status} ${created_count}`)
      .sort(),
  }
}
