import { sql } from 'drizzle-orm'
import { readerOf } from '../../accounts/organization/organization.ts'
import type { RuleKey, RuleRow, Rules } from '../../authority/rules/dated.ts'
import { rulesAt } from '../../authority/rules/rules.ts'
import { WITHHOLDING_KEYS } from '../../authority/rules/withholding-classes.ts'
import { syncWork } from '../../downloads/jobs/tables.ts'
import type { System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { prepared } from '../../platform/db/statement.ts'
import { addMonths, centralDayOf } from '../../platform/time/months.ts'
import type { Leased } from '../../platform/work/lease.ts'
import { ledgerByLedger } from '../../platform/work/pages.ts'
import { sendHints } from '../../platform/work/send.ts'
import { isReadable } from '../../taxpayers/connection.ts'
import { latestCeilings } from '../../taxpayers/taxpayers.ts'
import { openLedger, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { type Windows, windowStateOf } from '../../taxpayers/visibility/window.ts'
import { KINDS, readMonth, writeCells } from './parts/month.ts'
import {
  allMonths,
  changedMonths,
  claimState,
  dueStates,
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

/** A round whose months are still to be found. */
export const TO_PLAN = 'plan'

/** The basis of the parts, beside the documents. */
interface PartsBasis {
  floors: (string | null)[]
  ceilings: (number | null)[]
  /** The values of rules that were in force on days of the documents. */
  rules: RuleRow[]
}

/** The first day of which the authority has documents. */
export const FIRST_DAY = '2018-01-01'

const TERMS = ['financing.default_terms_days'] as const

/** The rules behind the parts, by the report that they are for. */
export const RULES_OF: Readonly<Record<'payment-behavior' | 'diot', readonly RuleKey[]>> = {
  'payment-behavior': TERMS,
  diot: WITHHOLDING_KEYS,
}

/** Formats the basis of the parts, as of a day. */
export const basisOf = ({ issued, received }: Windows, rules: Rules, today: string): string =>
  JSON.stringify({
    floors: [issued.floor, received.floor],
    ceilings: [issued.ceiling, received.ceiling],
    rules: rules.rowsOf([...WITHHOLDING_KEYS, ...TERMS], { first: FIRST_DAY, last: today }),
  } satisfies PartsBasis)

/** The values of some rules behind the parts: those of all of these bases, because a round makes the parts again month by month. */
export function rulesIn(bases: readonly string[], keys: readonly RuleKey[]): RuleRow[] {
  const rows = bases.flatMap((text) => (JSON.parse(text) as PartsBasis).rules).filter(({ key }) => keys.includes(key))
  return [...new Map(rows.map((row) => [JSON.stringify(row), row])).values()]
}

/** Whether parts of one basis show the same as parts of another, except for documents of the days between their ceilings. */
export function isSameBasis(before: string, now: string): boolean {
  const [old, next] = [before, now].map((text) => JSON.parse(text) as PartsBasis) as [PartsBasis, PartsBasis]
  const isBounded = ({ ceilings }: PartsBasis) => ceilings.map((one) => one !== null).join()
  return (
    old.floors.join() === next.floors.join() &&
    JSON.stringify(old.rules) === JSON.stringify(next.rules) &&
    isBounded(old) === isBounded(next)
  )
}

/** The instants, in milliseconds, between which ceilings moved from one basis to another. Null when none moved. */
function movedCeilings(before: string, now: string): [from: number, to: number] | null {
  const [old, next] = [before, now].map((text) => (JSON.parse(text) as PartsBasis).ceilings) as [(number | null)[], (number | null)[]]
  const moved = old.flatMap((from, n) => (from === null || next[n] == null || from === next[n] ? [] : [[from, next[n]] as const]))
  return moved.length === 0 ? null : [Math.min(...moved.map(([from]) => from)), Math.max(...moved.map(([, to]) => to))]
}

/** Names the reports of a connection outside its ledger. */
export interface ReportHint {
  shard: number
  connection: number
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
    const due = await dueStates(ledger, Date.now(), SWEPT)
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
  const row = await claimState(d1, connection, Date.now())
  if (row && (await reportLease.work(d1, row, () => continueReport(system, { d1, row }))))
    await wakeReports(system, [{ shard, connection }])
}

interface LeasedReports {
  d1: D1Database
  row: Leased<StateRow>
}

const save = ({ d1, row }: LeasedReports, ...changes: StateChange[]): Promise<unknown> =>
  commit(d1, [reportLease.assertLeased(d1, row), ...changes.map((change) => setState(d1, row, change))])

async function continueReport(system: System, leased: LeasedReports): Promise<boolean> {
  const { row } = leased
  const ledger = await openedFor(system, row)
  if (ledger === null) {
    await save(leased, { due_at: null, round: null })
    return false
  }
  if (row.round === null && (await isDownloading(ledger))) {
    await save(leased, { due_at: Date.now() + SETTLE_MS })
    return false
  }
  const today = centralDayOf(system.now.getTime())
  const rules = await rulesAt(system, today)
  // A later commit makes them due again.
  if (row.round === null) await save(leased, { due_at: null, round: TO_PLAN })
  const round =
    row.round === null || row.round === TO_PLAN ? await plan(system, leased, ledger, rules, today) : (JSON.parse(row.round) as ReportRound)
  const reading = { system, ledger, rules, today }
  for (let left = round.months; left.length > 0; ) {
    if (!system.budget.allows(STATEMENTS)) return true
    const [month, ...rest] = left as [string, ...string[]]
    const parts = writeCells(await readMonth(reading, month))
    await commit(leased.d1, [
      reportLease.assertLeased(leased.d1, row),
      ...replaceParts(leased.d1, row.connection, month, parts, KINDS),
      setState(leased.d1, row, { round: JSON.stringify({ ...round, months: rest }) }),
    ])
    left = rest
  }
  const { to, basis, watermark } = round
  await save(leased, { ...to, basis, watermark }, { generated_at: Date.now(), round: null })
  return false
}

/** The ledger of a connection that shows everything there is; null for another one, which has no reports. */
async function openedFor(system: System, { organization_id, fiscal_entity_id }: StateRow): Promise<ScopedLedger | null> {
  const reader = await readerOf(system, organization_id, fiscal_entity_id)
  if (!reader || !isReadable(reader.connection)) return null
  const ledger = openLedger({ settings: system.settings, ...reader })
  const latest = await latestCeilings(system.db, [ledger.entity])
  return windowStateOf(ledger.windows, latest.get(ledger.entity)) === 'open' ? ledger : null
}

/** Whether jobs of the RFC are under way, or begin soon. Jobs that wait for longer delay nothing. */
const isDownloading = async ({ d1, entity }: ScopedLedger): Promise<boolean> =>
  (await prepared(
    d1,
    sql`select 1 from ${syncWork} where ${syncWork.entity} = ${entity}
      and (${syncWork.lease_until} > ${Date.now()} or ${syncWork.due_at} <= ${Date.now() + SETTLE_MS})`,
  ).first()) !== null

async function plan(system: System, leased: LeasedReports, ledger: ScopedLedger, rules: Rules, today: string): Promise<ReportRound> {
  const { row } = leased
  const to = await readSequences(ledger)
  const basis = basisOf(ledger.windows, rules, today)
  const isKnown = row.generated_at !== null && row.basis !== null && isSameBasis(row.basis, basis)
  const changed = isKnown ? await changedMonths(ledger, row, to) : null
  const months = changed ? [...new Set([...changed, ...monthsBetween(row.basis!, basis)])].sort() : await allMonths(ledger, row.connection)
  const watermark = ledger.window.ceiling ?? (to.committed_at || system.now.getTime())
  const round = { to: { sequence: to.sequence, import_sequence: to.import_sequence }, basis, watermark, months }
  await save(leased, { round: JSON.stringify(round) })
  return round
}

/** The months between the ceilings: documents that somebody downloaded before this window reached them are shown now. */
function monthsBetween(before: string, now: string): string[] {
  const moved = movedCeilings(before, now)
  if (moved === null) return []
  const [first, last] = moved.map((at) => centralDayOf(at).slice(0, 7)) as [string, string]
  const months: string[] = []
  for (let month = first; month <= last; month = addMonths(month, 1)) months.push(month)
  return months
}
