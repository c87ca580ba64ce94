import { basisOf as basisOfRows, type RuleRow, type Rules } from '../../authority/rules/dated.ts'
import { rulesAt } from '../../authority/rules/rules.ts'
import { countDocuments } from '../../cfdi/summary/summary.ts'
import { readFilings } from '../../documents/obligations/filings.ts'
import { listedAmong } from '../../lists/listings/listed-among.ts'
import { change } from '../../platform/audit/audit.ts'
import type { Ctx } from '../../platform/context.ts'
import { Failure, notFound } from '../../platform/failures.ts'
import { type CursorScope, openCursor, sealCursor } from '../../platform/paging/cursor.ts'
import { centralDayOf } from '../../platform/time/months.ts'
import { latestCeilings } from '../../taxpayers/taxpayers.ts'
import { openLedger, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { type Window, windowStateOf } from '../../taxpayers/visibility/window.ts'
import { worstOf } from '../common/listed.ts'
import { REPORTS } from './catalog.ts'
import type { Report, ReportBuilding, ReportKey, ReportPageQuery, ReportQueued } from './contract.ts'
import { withDrilldowns } from './drilldowns.ts'
import { withPartial } from './partial.ts'
import { basisOf, FIRST_DAY, isSameBasis, type ReportRound, RULES_OF, rulesIn, TO_PLAN } from './round.ts'
import { compliance } from './rows/compliance.ts'
import { diot, payroll } from './rows/filings.ts'
import { cancellations, counterpartyNetwork, paymentBehavior } from './rows/parties.ts'
import { annualComparison, count, fiscalSummary, revenueExpenses } from './rows/sums.ts'
import { askStatement, readReport, type StateRow } from './state-store.ts'
import { wakeReports } from './work.ts'

const RETRY_AFTER_SECONDS = 15
const COOLDOWN_SECONDS = 600

const NOTES = [
  'A report covers everything that the service holds of the RFC and your own imports, up to source_watermark.',
  'Amounts are in MXN at each document’s own TipoCambio, else at the published rate; a credit note counts in its own month.',
  'Rules are those of the day of the invoice, or of the month of a payment, as of when the report was made.',
]

function keyOf(key: string): ReportKey {
  if (!Object.hasOwn(REPORTS, key)) throw notFound('report')
  return key as ReportKey
}

const textOf = (name: string, { isEmpty, floor, ceiling }: Window): string =>
  isEmpty
    ? `no ${name} CFDIs yet`
    : `${name} CFDIs from ${floor ?? 'the first one'} to ${ceiling === null ? 'the last one' : new Date(ceiling).toISOString()}`

/** Opens the ledger of the request. Throws Failure 404, and 409 report.window_bounded unless the windows show everything there is. */
async function openWhole(ctx: Ctx): Promise<ScopedLedger> {
  const ledger = openLedger(ctx)
  const latest = await latestCeilings(ctx.db, [ledger.entity])
  const { issued, received } = ledger.windows
  if (windowStateOf(ledger.windows, latest.get(ledger.entity)) !== 'open')
    throw new Failure(
      'conflict',
      'report.window_bounded',
      `Reports cover the whole history of the RFC, and your windows show ${textOf('issued', issued)} and ${textOf('received', received)}. ` +
        'A run of an extractor with the scope full_history and the sources sat_cfdi_issued and sat_cfdi_received lifts this.',
    )
  return ledger
}

/** Asks for the reports to be made or brought up to date. */
async function ask(ctx: Ctx, ledger: ScopedLedger): Promise<void> {
  const { connection, shard } = ctx.connection!
  await askStatement(ledger, connection, Date.now()).run()
  await wakeReports(ctx, [{ shard, connection }])
}

/**
 * Returns a page of a report, or that it is being made for the first time. Takes at most five D1 calls beside authentication. Throws Failure 404
 * report.not_found and fiscal_entity.not_found, 409 report.window_bounded, 400 for a foreign cursor, and 409 report.changed when the report was
 * brought up to date since the page before.
 */
export async function getReport(ctx: Ctx, name: string, { limit, cursor }: PageOf): Promise<Report | ReportBuilding> {
  const key = keyOf(name)
  const ledger = await openWhole(ctx)
  const scope: CursorScope = { list: `reports/${key}`, filters: { fiscal_entity_id: ledger.fiscal_entity_id } }
  const [made, first = 0] = ((await openCursor(ctx, scope, cursor)) ?? []) as readonly number[]
  const today = centralDayOf(ctx.now.getTime())
  const rules = await rulesAt(ctx, today)
  const { kinds, formulas } = REPORTS[key]
  const found = await readReport(ledger, ctx.connection!.connection, [...kinds, 'quality'])
  const { state, last } = found
  const basis = basisOf(ledger.windows, rules, today)
  const isBehind =
    state?.generated_at == null ||
    last.sequence !== state.sequence ||
    last.import_sequence !== state.import_sequence ||
    !isSameBasis(state.basis!, basis)
  if (isBehind && (state === null || (state.due_at === null && state.round === null))) await ask(ctx, ledger)
  if (state === null || state.generated_at === null) return { status: 'building', key, retry_after_seconds: RETRY_AFTER_SECONDS }
  if (made !== undefined && made !== state.generated_at) throw changed()
  const span = { first: FIRST_DAY, last: today, directions: [0, 1] as const }
  const [{ counts }, rows] = await Promise.all([
    countDocuments(ledger, span, ctx.now.getTime()),
    rowsOf(ctx, ledger, key, { today, rules, found }),
  ])
  const quality = found.cellsOf('quality')
  const dof_rate = count(quality, 'dof_rate')
  const end = first + limit
  const has_more = rows.length > end
  return {
    ...{ key, generated_at: new Date(state.generated_at).toISOString(), source_watermark: new Date(state.watermark!).toISOString() },
    is_stale: isBehind || state.round !== null,
    data: {
      basis: { rules: key === 'compliance' ? rules.basis() : basisOfRows(rulesBehind(key, state)), formulas, notes: NOTES },
      data_quality: {
        ...{ ...counts, missing_rate: Math.max(counts.missing_rate - dof_rate, 0), dof_rate },
        unreconciled_payments: count(quality, 'unreconciled_payments'),
        other_parties: count(quality, 'other_parties'),
        drilldown: linksOf(ledger),
      },
      rows: withDrilldowns(key, ledger.fiscal_entity_id, withPartial(key, centralDayOf(state.watermark!), rows)).slice(
        first,
        end,
      ) as Report['data']['rows'],
    },
    has_more,
    next_cursor: has_more ? await sealCursor(ctx, scope, [state.generated_at, end]) : null,
  }
}

/** The rules that the rows rest on, which are older than those of today while the report is behind. */
const rulesBehind = (key: ReportKey, { basis, round }: StateRow): RuleRow[] =>
  key === 'payment-behavior' || key === 'diot'
    ? rulesIn([basis!, ...(round === null || round === TO_PLAN ? [] : [(JSON.parse(round) as ReportRound).basis])], RULES_OF[key])
    : []

/** What leads to documents that the report leaves out, as far as whole searches do. */
const linksOf = ({ fiscal_entity_id }: ScopedLedger): Record<string, string> => {
  const search = (more: Record<string, string>) =>
    `/v1/cfdi?${new URLSearchParams({ fiscal_entity_id, estatus: 'vigente', kind: 'cfdi', to_itself: 'false', ...more })}`
  return { without_xml: search({ has_xml: 'false', is_substituted: 'false' }), substituted: search({ is_substituted: 'true' }) }
}

interface Reading {
  today: string
  rules: Rules
  found: Awaited<ReturnType<typeof readReport>>
}

async function rowsOf(ctx: Ctx, ledger: ScopedLedger, key: ReportKey, { today, rules, found }: Reading): Promise<object[]> {
  switch (key) {
    case 'fiscal-summary':
      return fiscalSummary(found.cellsOf('sums'))
    case 'revenue-expenses':
      return revenueExpenses(found.cellsOf('sums'))
    case 'annual-comparison':
      return annualComparison(found.cellsOf('sums'))
    case 'cancellations':
      return cancellations(found.cellsOf('sums'))
    case 'payroll':
      return payroll(found.cellsOf('payroll'))
    case 'payment-behavior':
      return paymentBehavior(found.cellsOf('payments'), today)
    case 'diot':
      return diot(found.cellsOf('cash'))
    case 'compliance':
      return compliance(await readFilings(ledger, today, rules), today)
    case 'counterparty-network': {
      const cells = found.cellsOf('documents')
      const rfcs = [...new Set(cells.map(({ rfc }) => String(rfc)))]
      const { listings } = await listedAmong({ db: ctx.db, organization_id: ctx.organization.id }, rfcs, today)
      return counterpartyNetwork(cells, (rfc) => worstOf(listings.get(rfc)))
    }
  }
}

/**
 * Asks for the reports of an RFC to be brought up to date. Throws Failure 404 report.not_found and fiscal_entity.not_found, 409
 * report.window_bounded, and 429 report.cooldown within ten minutes of the last request for the report.
 */
export async function refreshReport(ctx: Ctx, name: string): Promise<ReportQueued> {
  const key = keyOf(name)
  const ledger = await openWhole(ctx)
  const { fiscal_entity_id } = ledger
  const cooldown = ctx.env.COOLDOWNS.getByName(`report:${fiscal_entity_id}:${key}`)
  const acquired = await cooldown.acquire(COOLDOWN_SECONDS, Date.now())
  if (!acquired.acquired) throw tooSoon(acquired.retry_after_seconds)
  try {
    await change(ctx, { action: 'report.refresh_requested', resource_id: fiscal_entity_id, changed: [key] }, [])
    await ask(ctx, ledger)
  } catch (error) {
    await cooldown.release()
    throw error
  }
  return { status: 'queued', key, fiscal_entity_id }
}

type PageOf = Pick<ReportPageQuery, 'limit' | 'cursor'>

const changed = () =>
  new Failure('conflict', 'report.changed', 'The report was brought up to date since the page before. Begin again without a cursor.')

const tooSoon = (retry_after_seconds: number) =>
  new Failure(
    'too_many_requests',
    'report.cooldown',
    `The report was refreshed less than 10 minutes ago. Try again in ${retry_after_seconds} s.`,
    { retry_after_seconds },
  )
