import { basisOf as basisOfRows, type RuleRow, type Rules } from '../../authority/rules/dated.ts'
import { rulesAt } from '../../authority/rules/rules.ts'
import { countDocuments, spanOf } from '../../cfdi/summary/summary.ts'
import { type Filings, readFilings } from '../../documents/obligations/obligations.ts'
import { listedAmong } from '../../lists/listings/listing.ts'
import { change } from '../../platform/audit/audit.ts'
import type { Ctx } from '../../platform/context.ts'
import { changesOf } from '../../platform/db/statement.ts'
import { Failure, invalid, notFound } from '../../platform/failures.ts'
import { countHourly } from '../../platform/locks/hourly.ts'
import { decimal } from '../../platform/money.ts'
import { type CursorScope, openCursor, sealCursor, WHOLE } from '../../platform/paging/cursor.ts'
import { epochDayOf } from '../../platform/time/calendar.ts'
import { clock } from '../../platform/time/clock.ts'
import { addMonths, centralDayOf, lastDayOf } from '../../platform/time/months.ts'
import { openLedger, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { EARLIEST_DAY, type Window, windowStateOf } from '../../taxpayers/visibility/window.ts'
import { quotientText } from '../common/figures.ts'
import { worstOf } from '../common/omitted.ts'
import { definitiveAmong, diot, diotDrilldown } from '../diot/rows.ts'
import type { Report, ReportBuilding, ReportCatalog, ReportKey, ReportPageQuery, ReportQueued } from './contract.ts'
import type { PartKind } from './parts/month.ts'
import {
  addUp,
  annualComparison,
  cancellations,
  count,
  counterpartyNetwork,
  fiscalSummary,
  type Of,
  paymentBehavior,
  revenueExpenses,
} from './rows/sums.ts'
import { askStatement, readReport, type StateRow } from './state-store.ts'
import { basisOf, FIRST_DAY, outdatedIn, RULES_OF, roundOf, rulesIn, TO_REFRESH, throughOf, wakeReports } from './work.ts'

interface ReportEntry {
  title: string
  description: string
  /** The parts that it is made of. */
  kinds: readonly PartKind[]
  formulas: Record<string, string>
}

const NET = '(subtotal − descuento of I) − (the same of E), in MXN'

export const REPORTS: Readonly<Record<ReportKey, ReportEntry>> = {
  'fiscal-summary': {
    title: 'Resumen fiscal por año',
    description: 'Ingresos, egresos, IVA trasladado, acreditable y retenido, ISR retenido y nómina de cada año.',
    kinds: ['sums'],
    formulas: {
      ...{ ingresos: `${NET}, issued`, egresos: `${NET}, received`, iva_trasladado: 'IVA of I − E, issued, accrued' },
      ...{
        iva_acreditable: 'IVA of I − E, received, accrued',
        nomina: 'Σ subtotal of issued N, by Fecha',
        nomina_isr: 'Σ ISR withheld by issued N',
      },
      ...{ iva_retenido_por_clientes: 'IVA withheld of I − E, issued', iva_retenido_a_terceros: 'the same, received' },
      ...{ isr_retenido_por_clientes: 'ISR withheld of I − E, issued', isr_retenido_a_terceros: 'the same, received' },
    },
  },
  'revenue-expenses': {
    title: 'Ingresos y gastos por mes',
    description: 'Ingresos, gastos, costo de mercancías, nómina y margen bruto de cada mes, según los CFDI.',
    kinds: ['sums'],
    formulas: {
      ...{ net_revenue: 'revenue − credit_notes', net_expenses: 'expenses − credit_notes_received', payroll: 'Σ subtotal of issued N' },
      ...{ cost_of_goods: `${NET}, received, UsoCFDI G01`, gross_profit: 'net_revenue − cost_of_goods' },
      ...{ gross_margin: 'gross_profit ÷ net_revenue', operating_result: 'net_revenue − net_expenses − payroll' },
    },
  },
  'annual-comparison': {
    title: 'Comparativo anual',
    description: 'Lo emitido, recibido y cancelado de cada mes, comparado con el mismo mes del año anterior.',
    kinds: ['sums'],
    formulas: {
      ...{
        issued: `${NET}, issued`,
        received: `${NET}, received`,
        cancelled_issued: 'Σ total of cancelled I in MXN, but for cancelled_issued_without_amount of them',
      },
      issued_change_pct: 'issued ÷ issued of the same month of the year before − 1',
    },
  },
  'counterparty-network': {
    title: 'Red de contrapartes',
    description: 'Clientes y proveedores con sus montos, su participación, sus meses activos y las listas en que aparecen hoy.',
    kinds: ['documents'],
    formulas: { issued: `${NET}, issued`, received: `${NET}, received`, issued_share: 'issued ÷ Σ issued', cancelled_count: 'cancelled I' },
  },
  cancellations: {
    title: 'Cancelaciones',
    description: 'CFDI cancelados por motivo: cuántos, cuánto, con cuántos días de retraso y cuántos después del cierre del mes.',
    kinds: ['sums'],
    formulas: {
      ...{
        count: 'cancelled I and E',
        amount: 'Σ total of I − Σ total of E, in MXN, but for without_amount of them',
        share: 'count ÷ Σ count of the direction',
      },
      lag_days: 'Σ days from Fecha to the cancellation ÷ those with a date',
      after_month_close: 'those that were cancelled in a later month than that of Fecha',
    },
  },
  'payment-behavior': {
    title: 'Comportamiento de pago',
    description: 'Facturas PPD por contraparte: lo pagado, días de pago, puntualidad, parcialidades y saldos abiertos.',
    kinds: ['payments'],
    formulas: {
      ...{
        paid: 'Σ ImpPagado of complements that count, with a FechaPago up to today, at the rate of the invoice',
        invoice_count: 'PPD invoices whose rate is known',
        on_time_rate: 'paid until due ÷ paid',
      },
      weighted_days_to_pay: 'Σ paid × days from Fecha to FechaPago ÷ paid',
      ...{ average_installments: 'payment_count ÷ invoices with a payment', overdue: 'outstanding that was due before today' },
    },
  },
  diot: {
    title: 'DIOT',
    description: 'Lo pagado a cada proveedor por mes: bases e IVA por tasa, lo devuelto, lo no acreditable e IVA retenido.',
    kinds: ['cash'],
    formulas: {
      base_16:
        'bases of the cash events of received documents, without what credit notes return: PUE on the day of Fecha, else complements by FechaPago; bases without IVA are less what is returned',
      devuelto: 'what credit notes return, by rate',
      no_acreditable:
        'IVA of payments in cash above the limit or for lines of fuel, of uso S01, or to issuers that are definitive under article 69-B today, and the part of restaurants, bars, cars and rented cars that is not deductible; less what is returned of them',
      region:
        'of the rate of 8 %, what is of the northern (norte) and of the southern border region (sur), by the state of the place of issue: vat.border_regions; what is of neither is in base_8 alone',
      acreditable: 'iva − devuelto_iva − no_acreditable_iva, before the proportion',
      tipo_operacion:
        'by what is supplied: the regime of the issuer and the product key with the largest amount; diot.operation has the keys',
      tipo_tercero: '05 foreign, 04 others; 15 with 87 (85 before 2025) is the grouping of global_suppliers',
    },
  },
  compliance: {
    title: 'Cumplimiento',
    description: 'Opiniones 32-D, cambios de la constancia, obligaciones por periodo y certificados por vencer.',
    kinds: [],
    formulas: { status: 'as GET /v1/fiscal-entities/{id}/obligations' },
  },
  payroll: {
    title: 'Nómina',
    description: 'Recibos pagados por mes: personas, percepciones, deducciones, ISR y salario diario integrado promedio.',
    kinds: ['payroll'],
    formulas: {
      ...{ headcount: 'distinct receivers of issued N by the month of FechaPago', isr: 'Σ deductions 002' },
      ...{ percepciones: 'Σ TotalPercepciones', deducciones: 'Σ TotalDeducciones', otros_pagos: 'Σ TotalOtrosPagos' },
      average_salario_diario_integrado: 'Σ SalarioDiarioIntegrado ÷ receipts that state it',
    },
  },
}

export const listReports = (): ReportCatalog => ({
  data: Object.entries(REPORTS).map(([key, { title, description }]) => ({
    ...{ key: key as ReportKey, title, description },
    inputs: ['fiscal_entity_id', 'from', 'to'],
  })),
  ...WHOLE,
})

type Query = Record<string, string>
type Direction = 'issued' | 'received'
/** A row of a report: the members that name it are text. */
type DrilldownsRow = Record<string, unknown> &
  Partial<Record<'year' | 'month' | 'rfc' | 'relation' | 'first_day' | 'last_day' | 'direction' | 'period', string>>

/** The longest range of a surface, in months. */
const LONGEST = 120

/** The months that were asked for. Without one the report begins, or ends, where the documents do. */
type Months = Readonly<Pick<ReportPageQuery, 'from' | 'to'>>

const isWithin = (month: string, { from, to }: Months): boolean =>
  (from === undefined || month >= from) && (to === undefined || month <= to)

/** The months, as a search for documents has them. */
const issuedWithin = ({ from, to }: Months): Query => ({
  ...(from !== undefined && { issued_from: `${from}-01` }),
  ...(to !== undefined && { issued_to: lastDayOf(to) }),
})

/**
 * Adds to each row links from its figures to the documents that add up to them. Figures that no surface lists have no drilldown, such as what
 * is open of the invoices of some months.
 */
function withDrilldowns<One extends object>(
  key: ReportKey,
  fiscal_entity_id: string,
  rows: readonly One[],
  months: Months,
): (One & { drilldown: Query })[] {
  const path = (name: string, query: Query) => `/v1/${name}?${new URLSearchParams({ fiscal_entity_id, ...query })}`
  const net = (direction: Direction, from: string, to: string, more: Query = {}) =>
    path('cfdi/concentration/entries', { from, to, direction, figure: 'total', ...more })
  const accrued = (figure: string, from: string, to: string) =>
    path('analytics/vat-position/entries', { from, to, figure: `devengado.${figure}` })
  const cancelled = (query: Query) =>
    path('cfdi', { estatus: 'cancelado', kind: 'cfdi', tipo_comprobante: 'I', to_itself: 'false', ...query })
  const operations = Map.groupBy(key === 'diot' ? (rows as readonly DrilldownsRow[]) : [], ({ period, rfc }) => `${period}|${rfc}`)

  function of(row: DrilldownsRow): Query {
    const { year = '', rfc = '', relation, first_day = '', last_day = '', direction, period = '' } = row
    switch (key) {
      case 'fiscal-summary': {
        const [from, to] = monthsOfYear(year, months)
        return {
          ...{ ingresos: net('issued', from, to), egresos: net('received', from, to) },
          ...{ iva_trasladado: accrued('trasladado', from, to), iva_acreditable: accrued('acreditable', from, to) },
        }
      }
      case 'revenue-expenses': {
        const month = row.month ?? ''
        return { net_revenue: net('issued', month, month), net_expenses: net('received', month, month) }
      }
      case 'annual-comparison': {
        const month = `${year}-${row.month}`
        const [issued, received] = [net('issued', month, month), net('received', month, month)]
        const lost = (side: Direction) => cancelled({ direction: side, issued_from: `${month}-01`, issued_to: lastDayOf(month) })
        return {
          ...{ issued, received, issued_count: issued, received_count: received },
          ...{ cancelled_issued_count: lost('issued'), cancelled_received_count: lost('received') },
        }
      }
      case 'counterparty-network': {
        if (addMonths(first_day.slice(0, 7), LONGEST) <= last_day.slice(0, 7)) return {}
        return {
          ...(relation === 'supplier' ? {} : { issued: net('issued', first_day, last_day, { rfc }) }),
          ...(relation === 'customer' ? {} : { received: net('received', first_day, last_day, { rfc }) }),
          cancelled_count: cancelled({ counterparty_rfc: rfc, ...issuedWithin(months) }),
        }
      }
      case 'payment-behavior': {
        if (months.from !== undefined || months.to !== undefined) return {}
        const side = direction === 'issued' ? 'receivables' : 'payables'
        const open = (figure: string) => path('analytics/financing/entries', { figure: `${side}.${figure}`, rfc })
        return { outstanding: open('outstanding'), overdue: open('overdue') }
      }
      case 'diot': {
        // The VAT position does not divide a supplier by operation.
        if (!rfc || operations.get(`${period}|${rfc}`)!.length > 1) return {}
        return diotDrilldown(row, (figure, more) => path('analytics/vat-position/entries', { period, figure, rfc, ...more }))
      }
      default:
        return {}
    }
  }
  return rows.map((row) => ({ ...row, drilldown: of(row as DrilldownsRow) }))
}

const sorted = <Cell>(groups: Map<string, Cell[]>): [string, Cell[]][] => [...groups].sort(([a], [b]) => (a < b ? -1 : 1))

export const payroll = (cells: readonly Of<'payroll'>[]) =>
  sorted(Map.groupBy(cells, ({ month }) => String(month))).map(([month, list]) => ({
    ...{ month, headcount: new Set(list.map(({ rfc }) => rfc)).size, receipts: count(list, 'receipts') },
    ...{ percepciones: decimal(addUp(list, 'percepciones')), deducciones: decimal(addUp(list, 'deducciones')) },
    ...{ otros_pagos: decimal(addUp(list, 'otros_pagos')), isr: decimal(addUp(list, 'isr')) },
    average_salario_diario_integrado: quotientText(addUp(list, 'wages'), addUp(list, 'wage_count') * 1_000_000n, 2),
  }))

const newest = <One>(list: readonly One[], day: (one: One) => string): One[] =>
  [...list].sort((a, b) => (day(a) < day(b) ? 1 : day(a) > day(b) ? -1 : 0))

/** Opinions, changes of the tax status, what is to be filed by obligation and period, and certificates, each from the newest on. */
function compliance({ opinions, changes, obligations, certificates }: Filings, today: string) {
  const returns = obligations.flatMap(({ description, periodicity, period, due_date, status, declaration_id }) =>
    period === null || due_date === null
      ? []
      : [{ kind: 'return' as const, description, periodicity, period, due_date, status, declaration_id }],
  )
  return [
    ...newest(opinions, ({ date }) => date).map((one) => ({ kind: 'opinion' as const, ...one })),
    ...newest(changes, ({ date }) => date).map((one) => ({ kind: 'csf_change' as const, ...one })),
    ...newest(returns, ({ due_date }) => due_date),
    ...newest(certificates, ({ valid_to }) => valid_to).map(({ serial, kind, valid_to, status }) => ({
      ...{ kind: 'certificate' as const, serial, certificate_kind: kind, valid_to, status },
      days_to_expiry: epochDayOf(valid_to) - epochDayOf(today),
    })),
  ]
}

/** The day of a row of compliance. */
const dateOf = (row: ReturnType<typeof compliance>[number]): string =>
  'date' in row ? row.date : 'due_date' in row ? row.due_date : row.valid_to

type Row = Partial<Record<'year' | 'month' | 'period', string>>

/** The months of a year that were asked for. */
const monthsOfYear = (year: string, { from, to }: Months): [first: string, last: string] => [
  from?.startsWith(year) ? from : `${year}-01`,
  to?.startsWith(year) ? to : `${year}-12`,
]

/** The year or month of a row, in reports with a row for each. */
const PERIODS: Partial<Record<ReportKey, (row: Row) => string | undefined>> = {
  'fiscal-summary': ({ year }) => year,
  'revenue-expenses': ({ month }) => month,
  'annual-comparison': ({ year, month }) => `${year}-${month}`,
  diot: ({ period }) => period,
  payroll: ({ month }) => month,
}

/** Marks in each row of a year or month whether it was not over on the day up to which documents were known, or is not in the range whole. */
function withPartial(key: ReportKey, known: string, rows: readonly object[], months: Months): readonly object[] {
  const periodOf = PERIODS[key]
  if (periodOf === undefined) return rows
  return rows.map((row) => {
    const period = periodOf(row) ?? ''
    const [first, last] = monthsOfYear(period, months)
    const isCut = key === 'fiscal-summary' && (first !== `${period}-01` || last !== `${period}-12`)
    return { ...row, is_partial: isCut || period >= known.slice(0, period.length) }
  })
}

const RETRY_AFTER_SECONDS = 15
const COOLDOWN_SECONDS = 600

const NOTES = [
  'A report covers what your windows show of the RFC, up to through, and your own imports.',
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

/** Opens the ledger of the request. Throws Failure 404, and 409 report.window_bounded while a floor hides anything. */
function openWhole(ctx: Ctx): ScopedLedger {
  const ledger = openLedger(ctx)
  const { issued, received } = ledger.windows
  if (windowStateOf(ledger.windows) !== 'open')
    throw new Failure(
      'conflict',
      'report.window_bounded',
      `Reports cover the history of the RFC since ${EARLIEST_DAY}, and your windows show ${textOf('issued', issued)} and ` +
        `${textOf('received', received)}. An owner or admin lifts this with POST /v1/fiscal-entities/${ledger.fiscal_entity_id}/extractions ` +
        `and the body ${LIFTING}, or with a run of an extractor with the scope full_history and both sources.`,
    )
  return ledger
}

/** The body of the extraction after which no floor hides anything. */
const LIFTING = JSON.stringify({ data_source_keys: ['sat_cfdi_issued', 'sat_cfdi_received'], from: EARLIEST_DAY })

/** Asks for the reports to be made or brought up to date; with a round, even if nothing has changed. */
async function ask(ctx: Ctx, ledger: ScopedLedger, round: string | null): Promise<void> {
  const { connection, shard } = ctx.connection!
  await changesOf(ledger.d1, askStatement(ledger, connection, clock.now(), round))
  await wakeReports(ctx, [{ shard, connection }])
}

/** The days of the months that were asked for. Throws Failure 422 range.invalid. */
function daysOf({ from, to }: Months, now: Date): { first: string; last: string } {
  if (from !== undefined) return spanOf({ from, to }, now, 'range.invalid')
  const last = to === undefined ? centralDayOf(now.getTime()) : lastDayOf(to)
  return { first: last < FIRST_DAY ? `${last.slice(0, 7)}-01` : FIRST_DAY, last }
}

/**
 * Returns a page of a report, or that it is being made for the first time. Takes at most four D1 calls beside authentication, and a few more while
 * something was committed, or a run has moved a ceiling, since the report was made. Throws Failure 404 report.not_found and
 * fiscal_entity.not_found, 409 report.window_bounded, 422 range.invalid, 400 for a foreign cursor, and 409 report.changed when the report was
 * brought up to date since the page before.
 */
export async function getReport(
  ctx: Ctx,
  name: string,
  { limit, cursor, from, to, global_suppliers }: PageOf,
): Promise<Report | ReportBuilding> {
  const key = keyOf(name)
  if (global_suppliers !== undefined && key !== 'diot')
    throw invalid('request.invalid', [{ path: 'query.global_suppliers', message: 'Can be given with the report diot only.' }])
  const months: Months = { from, to }
  const days = daysOf(months, ctx.now)
  const ledger = openWhole(ctx)
  const scope: CursorScope = { list: `reports/${key}`, filters: { fiscal_entity_id: ledger.fiscal_entity_id, ...months, global_suppliers } }
  const [made, first = 0] = ((await openCursor(ctx, scope, cursor)) ?? []) as readonly number[]
  const today = centralDayOf(ctx.now.getTime())
  const rules = await rulesAt(ctx, today)
  const { kinds, formulas } = REPORTS[key]
  const found = await readReport(ledger, ctx.connection!.connection, [...kinds, 'quality'])
  const { state, last } = found
  const basis = basisOf(ledger.windows, rules, today)
  const outdated = state && (await outdatedIn(ledger, state, last, basis))
  const isBehind = outdated === null || outdated.length > 0
  if (isBehind && (state === null || (state.due_at === null && state.round === null))) await ask(ctx, ledger, null)
  if (state === null || state.generated_at === null) return { status: 'building', key, retry_after_seconds: RETRY_AFTER_SECONDS }
  if (made !== undefined && made !== state.generated_at) throw changed()
  const [{ counts }, rows] = await Promise.all([
    countDocuments(ledger, { ...days, directions: [0, 1] }, ctx.now.getTime()),
    rowsOf(ctx, ledger, key, { today, rules, found, months, global: global_suppliers?.split(',') ?? [] }),
  ])
  const quality = found.cellsOf('quality').filter(({ of }) => isWithin(of, months))
  const dof_rate = count(quality, 'dof_rate')
  const end = first + limit
  const has_more = rows.length > end
  // What has come since changes nothing in a report that is not behind.
  const through = throughOf(isBehind ? state.basis! : basis)
  const watermark = (isBehind ? null : ledger.window.ceiling) ?? state.watermark!
  return {
    ...{ key, from: from ?? null, to: to ?? null, generated_at: new Date(state.generated_at).toISOString() },
    ...{ source_watermark: new Date(watermark).toISOString(), through: through === null ? null : new Date(through).toISOString() },
    is_stale: isBehind,
    data: {
      basis: { rules: key === 'compliance' ? rules.basis() : basisOfRows(rulesBehind(key, state)), formulas, notes: NOTES },
      data_quality: {
        ...{ ...counts, missing_rate: Math.max(counts.missing_rate - dof_rate, 0), dof_rate },
        unreconciled_payments: count(quality, 'unreconciled_payments'),
        other_parties: count(quality, 'other_parties'),
        repse_unknown: null,
        drilldown: linksOf(ledger, months),
      },
      rows: withDrilldowns(key, ledger.fiscal_entity_id, withPartial(key, centralDayOf(watermark), rows, months), months).slice(
        first,
        end,
      ) as Report['data']['rows'],
    },
    has_more,
    next_cursor: has_more ? await sealCursor(ctx, scope, [state.generated_at, end]) : null,
  }
}

/** The rules behind the rows, which are older than today’s while the report is behind. */
const rulesBehind = (key: ReportKey, row: StateRow): RuleRow[] =>
  key === 'payment-behavior' || key === 'diot' ? rulesIn([row.basis!, roundOf(row)?.basis ?? row.basis!], RULES_OF[key]) : []

/** Links to documents that the report leaves out, as far as whole searches find them. */
const linksOf = ({ fiscal_entity_id }: ScopedLedger, months: Months): Record<string, string> => {
  const search = (more: Record<string, string>) =>
    `/v1/cfdi?${new URLSearchParams({ fiscal_entity_id, estatus: 'vigente', kind: 'cfdi', to_itself: 'false', ...issuedWithin(months), ...more })}`
  return { without_xml: search({ has_xml: 'false', is_substituted: 'false' }), substituted: search({ is_substituted: 'true' }) }
}

interface Reading {
  today: string
  rules: Rules
  found: Awaited<ReturnType<typeof readReport>>
  months: Months
  global: readonly string[]
}

async function rowsOf(ctx: Ctx, ledger: ScopedLedger, key: ReportKey, { today, rules, found, months, global }: Reading): Promise<object[]> {
  const cellsOf = <Kind extends PartKind>(kind: Kind) => found.cellsOf(kind).filter(({ of }) => isWithin(of, months))
  switch (key) {
    case 'fiscal-summary':
      return fiscalSummary(cellsOf('sums'))
    case 'revenue-expenses':
      return revenueExpenses(cellsOf('sums'))
    case 'annual-comparison':
      // A month is compared with one before the range.
      return annualComparison(found.cellsOf('sums')).filter(({ year, month }) => isWithin(`${year}-${month}`, months))
    case 'cancellations':
      return cancellations(cellsOf('sums'))
    case 'payroll':
      // A receipt counts in the month of its payment, which can be another one than that of its Fecha.
      return payroll(found.cellsOf('payroll')).filter(({ month }) => isWithin(month, months))
    case 'payment-behavior':
      return paymentBehavior(cellsOf('payments'), today)
    case 'diot': {
      const cells = cellsOf('cash')
      return diot(cells, await definitiveAmong(ctx, cells, today), global)
    }
    case 'compliance':
      return compliance(await readFilings(ledger, today, rules), today).filter((row) => isWithin(dateOf(row).slice(0, 7), months))
    case 'counterparty-network': {
      const cells = cellsOf('documents')
      const listings = await listingsOf(ctx, cells, today)
      return counterpartyNetwork(cells, (rfc) => worstOf(listings.get(rfc)))
    }
  }
}

/** The listings of the counterparties in cells today. One D1 call. */
async function listingsOf({ db, organization }: Ctx, cells: readonly { rfc: string | number }[], today: string) {
  const rfcs = [...new Set(cells.map(({ rfc }) => String(rfc)))]
  return (await listedAmong({ db, organization_id: organization.id }, rfcs, today)).listings
}

/**
 * Asks for the reports of an RFC to be brought up to date. Throws Failure 404 report.not_found and fiscal_entity.not_found, 409
 * report.window_bounded, and 429 report.cooldown within ten minutes of the last request for the report and
 * organization.hourly_limit.
 */
export async function refreshReport(ctx: Ctx, name: string): Promise<ReportQueued> {
  const key = keyOf(name)
  const ledger = openWhole(ctx)
  const { fiscal_entity_id } = ledger
  const cooldown = ctx.env.COOLDOWNS.getByName(`report:${fiscal_entity_id}:${key}`)
  const acquired = await cooldown.acquire(COOLDOWN_SECONDS, clock.now())
  if (!acquired.acquired) throw tooSoon(acquired.retry_after_seconds)
  try {
    await countHourly(ctx, 'report_refreshes')
    await change(ctx, { action: 'report.refresh_requested', resource_id: fiscal_entity_id, changed: [key] }, [])
    await ask(ctx, ledger, TO_REFRESH)
  } catch (error) {
    await cooldown.release()
    throw error
  }
  return { status: 'queued', key, fiscal_entity_id }
}

type PageOf = Pick<ReportPageQuery, 'limit' | 'cursor' | 'from' | 'to' | 'global_suppliers'>

const changed = () =>
  new Failure('conflict', 'report.changed', 'The report was brought up to date since the page before. Begin again without a cursor.')

const tooSoon = (retry_after_seconds: number) =>
  new Failure(
    'too_many_requests',
    'report.cooldown',
    `The report was refreshed less than 10 minutes ago. Try again in ${retry_after_seconds} s.`,
    { retry_after_seconds },
  )
