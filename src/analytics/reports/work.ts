import { sql } from 'drizzle-orm'
import { readerOf } from '../../accounts/organization/organization.ts'
import type { RuleKey, RuleRow, Rules } from '../../authority/rules/dated.ts'
import { rulesAt } from '../../authority/rules/rules.ts'
import { spanOf } from '../../cfdi/summary/summary.ts'
import { syncWork } from '../../downloads/jobs/tables.ts'
import type { Ctx, System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { readFirst } from '../../platform/db/statement.ts'
import { clock } from '../../platform/time/clock.ts'
import { addMonths, centralDayOf } from '../../platform/time/months.ts'
import type { Leased } from '../../platform/work/lease.ts'
import { ledgerByLedger } from '../../platform/work/pages.ts'
import { sendHints } from '../../platform/work/send.ts'
import { isReadable } from '../../taxpayers/connection.ts'
import { openLedger, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { type Windows, windowStateOf } from '../../taxpayers/visibility/window.ts'
import { vatPositionOf } from '../vat/vat.ts'
import { KINDS, type MonthReading, readMonth, writeCells } from './parts/month.ts'
import {
  allMonths,
  type Ceilings,
  changedDocuments,
  claimState,
  dueStates,
  monthsOf,
  readSequences,
  replaceParts,
  reportLease,
  type Sequences,
  type StateChange,
  type StateRow,
  setState,
} from './state-store.ts'

/** The months that are still to be read, and the state that the parts will then show. */
export interface ReportRound {
  to: Pick<Sequences, 'sequence' | 'import_sequence'>
  basis: string
  watermark: number
  months: string[]
}

/** A round whose months are still to be found, and one that somebody asked for: it is made even if nothing has changed. */
const TO_PLAN = 'plan'
export const TO_REFRESH = 'refresh'

/** Reads the round of a row. Null without one, and while its months are still to be found. */
export const roundOf = ({ round }: StateRow): ReportRound | null =>
  round === null || round === TO_PLAN || round === TO_REFRESH ? null : (JSON.parse(round) as ReportRound)

/** The basis of the parts, beside the documents. */
interface PartsBasis {
  floors: (string | null)[]
  ceilings: Ceilings
  /** The values of rules that were in force on days of the documents. */
  rules: RuleRow[]
}

/** The first day of which the authority has documents. */
export const FIRST_DAY = '2018-01-01'

const TERMS = ['financing.default_terms_days'] as const
const OPERATIONS = [
  ...(['diot.operation', 'cash.threshold', 'cash.several_payments', 'payment_forms', 'vat.border_regions'] as const),
  ...(['deduction.fuel', 'deduction.restaurants', 'deduction.vehicles', 'deduction.car_rental'] as const),
] as const

/** The rules behind the parts, by the report that they are for. */
export const RULES_OF: Readonly<Record<'payment-behavior' | 'diot', readonly RuleKey[]>> = {
  'payment-behavior': TERMS,
  diot: OPERATIONS,
}

/** Formats the basis of the parts, as of a day. */
export const basisOf = ({ issued, received }: Windows, rules: Rules, today: string): string =>
  JSON.stringify({
    floors: [issued.floor, received.floor],
    ceilings: [issued.ceiling, received.ceiling],
    rules: rules.rowsOf([...OPERATIONS, ...TERMS], { first: FIRST_DAY, last: today }),
  } satisfies PartsBasis)

/** The values of some rules behind the parts: those of all of these bases, because a round makes the parts again month by month. */
export function rulesIn(bases: readonly string[], keys: readonly RuleKey[]): RuleRow[] {
  const rows = bases.flatMap((text) => (JSON.parse(text) as PartsBasis).rules).filter(({ key }) => keys.includes(key))
  return [...new Map(rows.map((row) => [JSON.stringify(row), row])).values()]
}

/** Whether parts of one basis show the same as parts of another, except for what their ceilings show. */
function isSameBasis(before: string, now: string): boolean {
  const [old, next] = [before, now].map((text) => JSON.parse(text) as PartsBasis) as [PartsBasis, PartsBasis]
  const isBounded = ({ ceilings }: PartsBasis) => ceilings.map((one) => one !== null).join()
  return (
    old.floors.join() === next.floors.join() &&
    JSON.stringify(old.rules) === JSON.stringify(next.rules) &&
    isBounded(old) === isBounded(next)
  )
}

const ceilingsOf = (basis: string): Ceilings => (JSON.parse(basis) as PartsBasis).ceilings

/** The earlier of the ceilings of a basis, up to which both sources are shown. Null when everything is. */
export const throughOf = (basis: string): number | null => {
  const [issued, received] = ceilingsOf(basis)
  return issued === null || received === null ? null : Math.min(issued, received)
}

/**
 * Returns the documents that the parts of a row do not show as they are. Null when that may be all. What the organization is not shown is
 * never among them, so that nobody learns from a report when others download.
 */
export async function outdatedIn(ledger: ScopedLedger, row: StateRow, to: Sequences, basis: string): Promise<string[] | null> {
  if (row.generated_at === null || row.basis === null || !isSameBasis(row.basis, basis)) return null
  return changedDocuments(ledger, { ...row, ceilings: ceilingsOf(row.basis) }, { ...to, ceilings: ceilingsOf(basis) })
}

/** Names the reports of a connection outside its ledger. */
export interface ReportHint {
  shard: number
  connection: number
}

/** What the VAT position of the current month and of the one before was, and when. A month of which too little was known has null. */
interface KeptVat {
  at: number
  months: Record<string, string | null>
}

export const keptVat = ({ vat }: Pick<StateRow, 'vat'>): KeptVat | null => vat && JSON.parse(vat)

async function positionsToKeep({ ctx, ...reading }: MonthReading & { ctx: Ctx }): Promise<string> {
  const to = reading.today.slice(0, 7)
  const span = spanOf({ from: addMonths(to, -1), to }, ctx.now)
  const { data } = await vatPositionOf({ ...reading, ctx, span }, { terceros: 'include', no_objeto: 'not_taxed' })
  const months = Object.fromEntries(data.map(({ period, saldo }) => [period, saldo]))
  return JSON.stringify({ at: clock.now(), months } satisfies KeptVat)
}

/** How long they wait for downloads that are under way. */
const SETTLE_MS = 30_000
/** The most statements of a month, but for those of long lists. */
const STATEMENTS = 60
const SWEPT = 500

/** Asks the queue to bring the reports of a connection up to date. The sweep finds those whose message is lost. */
export const wakeReports = (system: System, hints: readonly ReportHint[]): Promise<void> =>
  sendHints(
    system,
    system.env.REPORTS,
    hints.map(({ shard, connection }) => ({ body: { shard, connection } })),
  )

/** Wakes the reports that are due, ledger by ledger. A task. */
export const sweepReports = (system: System, cursor = ''): Promise<string | null> =>
  ledgerByLedger(system, cursor, async (shard, ledger) => {
    const due = await dueStates(ledger, clock.now(), SWEPT)
    await wakeReports(
      system,
      due.map((connection) => ({ shard, connection })),
    )
  })

/**
 * Brings the reports of a connection up to date: reads the months that have changed, one after the other, as far as the budget allows. One
 * worker at a time has them, under a lease; each month is committed with what is left, so that a crash repeats one month.
 */
export async function workOnReports(system: System, { shard, connection }: ReportHint): Promise<void> {
  const d1 = system.settings.ledgers[shard]!
  const row = await claimState(d1, connection, clock.now())
  if (row && (await reportLease.work(d1, row, () => continueReport(system, { d1, row }))))
    await wakeReports(system, [{ shard, connection }])
}

interface LeasedReports {
  d1: D1Database
  row: Leased<StateRow>
}

const save = ({ d1, row }: LeasedReports, ...changes: StateChange[]): Promise<unknown> =>
  commit(d1, [reportLease.assertLeased(row), ...changes.map((change) => setState(row, change))])

async function continueReport(system: System, leased: LeasedReports): Promise<boolean> {
  const { row } = leased
  const opened = await openedFor(system, row)
  if (opened === null) {
    await save(leased, { due_at: null, round: null })
    return false
  }
  const { ctx, ledger } = opened
  if (row.round === null && (await isDownloading(ledger))) {
    await save(leased, { due_at: clock.now() + SETTLE_MS })
    return false
  }
  const today = centralDayOf(system.now.getTime())
  const rules = await rulesAt(system, today)
  const reading = { system, ledger, rules, today }
  const vat = () => positionsToKeep({ ...reading, ctx })
  const round = roundOf(row) ?? (await plan(system, leased, reading, vat))
  if (round === null) return false
  for (let left = round.months; left.length > 0; ) {
    if (!system.budget.allows(STATEMENTS)) return true
    const [month, ...rest] = left as [string, ...string[]]
    const parts = writeCells(await readMonth(reading, month))
    await commit(leased.d1, [
      reportLease.assertLeased(row),
      ...replaceParts(row.connection, month, parts, KINDS),
      setState(row, { round: JSON.stringify({ ...round, months: rest }) }),
    ])
    left = rest
  }
  if (!system.budget.allows(STATEMENTS)) return true
  const { to, basis, watermark } = round
  await save(leased, { ...to, basis, watermark }, { generated_at: clock.now(), round: null, vat: await vat() })
  return false
}

/** The ledger of a connection that shows everything there is, and its reader; null for another one, which has no reports. */
async function openedFor(
  system: System,
  { organization_id, fiscal_entity_id }: StateRow,
): Promise<{ ctx: Ctx; ledger: ScopedLedger } | null> {
  const reader = await readerOf(system, { id: organization_id }, fiscal_entity_id)
  if (!reader || !isReadable(reader.connection)) return null
  const ctx: Ctx = { ...system, ...reader, actor: { kind: 'system', process: 'reports' } }
  const ledger = openLedger(ctx)
  return windowStateOf(ledger.windows) === 'open' ? { ctx, ledger } : null
}

/**
 * Whether jobs for extractions of the organization are under way, or begin soon; those of anybody where everything is shown. Jobs that wait
 * for longer delay nothing.
 */
const isDownloading = async ({ d1, entity, organization_id, window }: ScopedLedger): Promise<boolean> =>
  (await readFirst(
    d1,
    sql`select 1 from ${syncWork} where ${syncWork.entity} = ${entity}
      and (${syncWork.lease_until} > ${clock.now()} or ${syncWork.due_at} <= ${clock.now() + SETTLE_MS})
      and (${Number(window.ceiling === null)} or exists (select 1 from json_each(${syncWork.runs}) r where r.value->>0 = ${organization_id}))`,
  )) !== null

/** Finds the months of a round. Null when there is nothing to do: then only how far the parts are is noted, and nobody can tell that it was. */
async function plan(
  system: System,
  leased: LeasedReports,
  { ledger, rules, today }: MonthReading,
  vat: () => Promise<string>,
): Promise<ReportRound | null> {
  const { row } = leased
  // A later commit makes them due again.
  await save(leased, { due_at: null, round: row.round ?? TO_PLAN })
  const last = await readSequences(ledger)
  const to = { sequence: last.sequence, import_sequence: last.import_sequence }
  const basis = basisOf(ledger.windows, rules, today)
  const outdated = await outdatedIn(ledger, row, last, basis)
  if (outdated?.length === 0 && row.round !== TO_REFRESH) {
    // A new month, or one of which more is known. The downloads of others begin nothing, so that nobody learns of them.
    const isOwn = row.basis !== basis || ledger.window.ceiling === null
    const isLacking = typeof keptVat(row)?.months[today.slice(0, 7)] !== 'string'
    await save(leased, { ...to, basis, round: null, ...(isOwn && isLacking && { vat: await vat() }) })
    return null
  }
  const months = outdated ? await monthsOf(ledger, outdated) : await allMonths(ledger, row.connection)
  const round = { to, basis, watermark: ledger.window.ceiling ?? (last.committed_at || system.now.getTime()), months }
  await save(leased, { round: JSON.stringify(round) })
  return round
}
