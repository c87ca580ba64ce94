import type { App } from '../platform/context.ts'
import { Hono } from '../platform/http/hono.ts'
import { idempotent, operation, params, query, refuses, refusesAny, returns, returnsTable } from '../platform/http/operation.ts'
import { pageOf } from '../platform/http/shapes.ts'
import { NOT_READABLE } from '../taxpayers/contract.ts'
import { EntriesPage } from './common/contract.ts'
import { getConcentration, getConcentrationEntries } from './concentration/concentration.ts'
import { Concentration, ConcentrationEntriesQuery, ConcentrationQuery } from './concentration/contract.ts'
import { getConcepts, getConceptsEntries } from './concepts/concepts.ts'
import { Concepts, ConceptsEntriesQuery, ConceptsQuery } from './concepts/contract.ts'
import { EfosEntriesQuery, EfosExposure, EfosQuery } from './efos/contract.ts'
import { getEfosEntries, getEfosExposure } from './efos/efos.ts'
import { Financing, FinancingEntriesQuery, FinancingQuery } from './financing/contract.ts'
import { getFinancing, getFinancingEntries } from './financing/financing.ts'
import { FxEntriesQuery, FxExposure, FxQuery } from './fx/contract.ts'
import { getFxEntries, getFxExposure } from './fx/fx.ts'
import { IndicatorEntriesQuery, Indicators, IndicatorsQuery } from './indicators/contract.ts'
import { getIndicators, listIndicatorEntries } from './indicators/indicators.ts'
import {
  columnsOfReport,
  PortfolioVat,
  PortfolioVatQuery,
  Report,
  ReportBuilding,
  ReportCatalog,
  ReportPageQuery,
  ReportPath,
  ReportQuery,
  ReportQueued,
} from './reports/contract.ts'
import { listVat } from './reports/portfolio.ts'
import { getReport, listReports, refreshReport } from './reports/reports.ts'
import { SupplierReport, SupplierReportQuery } from './repse/contract.ts'
import { reportSuppliers } from './repse/report.ts'
import { Risk, RiskEntriesQuery, RiskQuery } from './risk/contract.ts'
import { getRisk, getRiskEntries } from './risk/risk.ts'
import { WithholdingEntriesQuery, Withholdings, WithholdingsQuery } from './withholdings/contract.ts'
import { listWithholdingEntries, listWithholdings } from './withholdings/withholdings.ts'

const CONCENTRATION = `Returns how the net amounts of issued or received CFDIs are divided among counterparties, the largest first. The
header is about the whole range and stands in every page. Amounts are subtotal − descuento in MXN, net of credit notes.`

const ENTRIES = `Returns the documents behind a figure, newest first: their amounts add up to it exactly. A page may have fewer entries than
limit while has_more is true. The figures missing_rate, dof_rate and not_counted list what data_quality counts, with totals in the
document’s own currency.`

/** Mounted at /v1/cfdi. */
export const concentrationRoutes = new Hono<App>()
  .get(
    '/concentration',
    operation('getConcentration', 'Insight', 'Measure the concentration of customers or suppliers', CONCENTRATION),
    query(ConcentrationQuery),
    returnsTable(Concentration),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getConcentration(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/concentration/entries',
    operation('listConcentrationEntries', 'Insight', 'List the documents behind a figure of concentration', ENTRIES),
    query(ConcentrationEntriesQuery),
    returnsTable(EntriesPage),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getConcentrationEntries(c.var.ctx, c.req.valid('query'))),
  )

const CONCEPTS = `Returns what was bought or sold, by segment, family, class or key of c_ClaveProdServ, or by description, the largest
amount first. Amounts are importe − descuento in MXN, net of credit notes. Quantities, prices, the mix of IVA and outliers need the lines of
the documents: when the range has more than 5,000 documents they are null, with has_line_figures false, and level=description is refused.`

const CONCEPTS_ENTRIES = `Returns the documents behind a figure, newest first: their amounts add up to it exactly. A page may have fewer entries than
limit while has_more is true. The figures missing_rate, dof_rate and not_counted list what data_quality counts, with totals in the
document’s own currency.`

/** Mounted at /v1/analytics. */
export const conceptsRoutes = new Hono<App>()
  .get(
    '/concepts',
    operation('getConcepts', 'Insight', 'Analyze what was bought or sold', CONCEPTS),
    query(ConceptsQuery),
    returnsTable(Concepts),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getConcepts(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/concepts/entries',
    operation('listConceptsEntries', 'Insight', 'List the documents behind a figure of concepts', CONCEPTS_ENTRIES),
    query(ConceptsEntriesQuery),
    returnsTable(EntriesPage),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getConceptsEntries(c.var.ctx, c.req.valid('query'))),
  )

const EXPOSURE = `Returns what was invoiced with counterparties on the list of article 69-B (EFOS), the largest amount first, as the list and
the documents stood at the end of as_of. The range has the last ten years by default. Presumptions and cleared counterparties are told too;
is_active says which of them count in share_of_purchases.`

const EFOS_ENTRIES = `Returns the documents behind a figure of a counterparty, or of all (active_amount, total_purchases, total_sales), newest first: their amounts add up to it exactly. A page may have fewer
entries than limit while has_more is true. The figures missing_rate, dof_rate, not_counted, unreconciled_payments and other_parties list
what data_quality counts, with amounts in the document’s own currency.`

/** Mounted at /v1/analytics. */
export const efosRoutes = new Hono<App>()
  .get(
    '/efos-exposure',
    operation('getEfosExposure', 'Insight', 'Measure the exposure to counterparties on the list of article 69-B', EXPOSURE),
    query(EfosQuery),
    returnsTable(EfosExposure),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getEfosExposure(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/efos-exposure/entries',
    operation('listEfosEntries', 'Insight', 'List the documents behind a figure of the exposure', EFOS_ENTRIES),
    query(EfosEntriesQuery),
    returnsTable(EntriesPage),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getEfosEntries(c.var.ctx, c.req.valid('query'))),
  )

const FINANCING = `Returns what customers owe and what is owed to suppliers at the end of a day: how late it is, when it is expected, how
long payments take, and which issued invoices could be sold or lent upon. Debtors are in data, the largest first. Only PPD invoices are owed;
receivables, payables and pool are about all of them and stand in every page. from and to are the months whose payments are looked at.`

const FINANCING_ENTRIES = `Returns the documents behind a figure, newest first: their amounts, in MXN, add up to it exactly. A page may have fewer entries than
limit while has_more is true. The figures missing_rate, dof_rate, not_counted, unreconciled_payments and other_parties list what data_quality counts, in the
currency that the document states.`

/** Mounted at /v1/analytics. */
export const financingRoutes = new Hono<App>()
  .get(
    '/financing',
    operation('getFinancing', 'Insight', 'Get receivables, payables and what could be lent upon them', FINANCING),
    query(FinancingQuery),
    returnsTable(Financing),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getFinancing(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/financing/entries',
    operation('listFinancingEntries', 'Insight', 'List the documents behind a figure of financing', FINANCING_ENTRIES),
    query(FinancingEntriesQuery),
    returnsTable(EntriesPage),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getFinancingEntries(c.var.ctx, c.req.valid('query'))),
  )

const FX_EXPOSURE = `Returns a row for each currency other than MXN: what was invoiced in it, what is open at the end of a day, at the exchange
rates of the invoices and of that day, and what exchange rates gained on the payments of the range. The range is up to the month of as_of by
default; documents and payments after as_of do not count.`

const FX_ENTRIES = `Returns the documents behind a figure, newest first: their amounts add up to it exactly. issued_amount, received_amount, open_receivable and
open_payable are in the currency of the row, the others in MXN. A page may have fewer entries than limit while has_more
is true. The figures missing_rate, dof_rate, not_counted, unreconciled_payments and other_parties list what data_quality counts, in the currency that the
document states.`

/** Mounted at /v1/analytics. */
export const fxRoutes = new Hono<App>()
  .get(
    '/fx-exposure',
    operation('getFxExposure', 'Insight', 'Measure the exposure to exchange rates', FX_EXPOSURE),
    query(FxQuery),
    returnsTable(FxExposure),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getFxExposure(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/fx-exposure/entries',
    operation('listFxExposureEntries', 'Insight', 'List the documents behind a figure of the exposure', FX_ENTRIES),
    query(FxEntriesQuery),
    returnsTable(EntriesPage),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getFxEntries(c.var.ctx, c.req.valid('query'))),
  )

const INDICATORS = `Returns twelve indicators of the risk of a fiscal entity: compliance, lists, concentration, cash, cancellations,
overdue balances and specialized services. Each has its formula, its threshold and how much it rests on.`

const INDICATOR_ENTRIES = `Returns the documents behind an indicator, newest first: those of its numerator. Their net amounts, totals for
cash_share, add up to it. A page may have fewer entries than limit while has_more is true.`

/** Mounted at /v1/analytics. */
export const indicatorRoutes = new Hono<App>()
  .get(
    '/risk',
    operation('getRiskIndicators', 'Insight', 'Measure risk by twelve indicators', INDICATORS),
    query(IndicatorsQuery),
    returnsTable(Indicators),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getIndicators(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/risk/entries',
    operation('listRiskIndicatorEntries', 'Insight', 'List the documents behind an indicator of risk', INDICATOR_ENTRIES),
    query(IndicatorEntriesQuery),
    returnsTable(EntriesPage),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await listIndicatorEntries(c.var.ctx, c.req.valid('query'))),
  )

const REPSE = 'REPSE'

const REPORT =
  'Compares the issuers of received CFDIs inside their visibility window with the registry. Counts and amounts cover all suppliers, with ' +
  '`blacklist` all that are on a list; `limit` only shortens the list. A supplier is `unknown` until the registry has answered about it. Each request queues look-ups of ' +
  'up to 500 suppliers whose answer is missing or older than a day, which go on in the background until all of them are done. Nothing else ' +
  'does: the flags of fiscal insight about specialized services rest on these answers.'

/** The supplier report, mounted at /v1/cfdi. */
export const supplierRoutes = new Hono<App>().get(
  '/repse-suppliers',
  operation('reportRepseSuppliers', REPSE, 'Compare suppliers with REPSE', REPORT),
  query(SupplierReportQuery),
  returns(200, SupplierReport),
  refuses(404, NOT_READABLE),
  async (c) => c.json(await reportSuppliers(c.var.ctx, c.req.valid('query'))),
)

const BOUNDED =
  'A floor of your windows is later than 2018-01-01, or one of the CFDI sources was never extracted (`report.window_bounded`). The detail names the ' +
  'floor and the ceiling of each source, and the request that lifts this, with its body.'
const PAGED = `${BOUNDED} Or the report was brought up to date since the page before (\`report.changed\`): begin again.`
const ABSENT = 'There is no such report, or no active connection to the fiscal entity.'

/** Mounted at /v1/reports. */
export const reportRoutes = new Hono<App>()
  .get('/', operation('listReports', 'Insight', 'List the reports'), returns(200, ReportCatalog), (c) => c.json(listReports()))
  .get(
    '/:key',
    operation(
      'getReport',
      'Insight',
      'Get a report on the whole history of an RFC, or on some months of it',
      'A report is made when it is first asked for, and brought up to date after each download or import that changes something: only ' +
        'the months are read again that changed. It covers what your windows show, up to `through`: the ' +
        'downloads of others change nothing in it. Returns 202 while it is made for the first time. Repeat the request after the delay. A report ' +
        'by counterparty can have several pages, all of which show the same state of it; the others have one.',
    ),
    params(ReportPath),
    query(ReportPageQuery),
    returnsTable(Report, ({ key, data }: Report) => [columnsOfReport(key), data.rows]),
    returns(202, ReportBuilding, 'The report is being made', {
      'Retry-After': 'Seconds to wait before the next request, as in the body.',
    }),
    refusesAny({ 404: ABSENT, 409: PAGED }),
    async (c) => {
      const it = await getReport(c.var.ctx, c.req.valid('param').key, c.req.valid('query'))
      return 'status' in it ? c.json(it, 202, { 'Retry-After': String(it.retry_after_seconds) }) : c.json(it)
    },
  )
  .post(
    '/:key/refresh',
    operation(
      'refreshReport',
      'Insight',
      'Bring a report up to date',
      'Queues the work, at most once in ten minutes for each report of an RFC. `GET /v1/reports/{key}` returns the report.',
    ),
    params(ReportPath),
    query(ReportQuery),
    returns(202, ReportQueued, 'The work is queued'),
    refusesAny({ 404: ABSENT, 409: BOUNDED, 429: 'The report was refreshed less than ten minutes ago (`report.cooldown`).' }),
    idempotent(),
    async (c) => c.json(await refreshReport(c.var.ctx, c.req.valid('param').key), 202),
  )

/** Of all RFCs of the organization, mounted at /v1/portfolio. */
export const portfolioVatRoutes = new Hono<App>().get(
  '/vat',
  operation(
    'listPortfolioVat',
    'Insight',
    'List the IVA of a month of all RFCs',
    'Returns what the VAT position of a month was for each RFC whose connection is active, when its reports were last brought up to date. Each RFC of ' +
      'which somebody has asked for a report keeps it, for the current month and the one before. Where nothing is kept, `saldo` is null and ' +
      '`reason` says why: nothing is guessed. A page looks at `limit` connections.',
  ),
  query(PortfolioVatQuery),
  returns(200, pageOf(PortfolioVat)),
  async (c) => c.json(await listVat(c.var.ctx, c.req.valid('query'))),
)

const RISK = `Returns the CFDIs of a range that something is wrong with, the highest score first, then the largest total in MXN. Each
flag names the provision and what it rests on. Cancelled and substituted documents are among them. The flag repse_not_valid_at_payment is
raised only of suppliers that the registry was asked about: GET /v1/cfdi/repse-suppliers queues these look-ups, and nothing else does.`

const RISK_ENTRIES = `Returns the documents that data_quality counts as missing_rate, dof_rate or not_counted, newest first, with their totals
in their own currency. A page may have fewer entries than limit while has_more is true.`

/** Mounted at /v1/cfdi. */
export const riskRoutes = new Hono<App>()
  .get(
    '/risk',
    operation('listRisk', 'Insight', 'List documents by risk', RISK),
    query(RiskQuery),
    returnsTable(Risk),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getRisk(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/risk/entries',
    operation('listRiskEntries', 'Insight', 'List the documents that risk leaves out of amounts', RISK_ENTRIES),
    query(RiskEntriesQuery),
    returnsTable(EntriesPage),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await getRiskEntries(c.var.ctx, c.req.valid('query'))),
  )

const LIST = `Returns what is withheld of the RFC and by it, and what should be, by the day of cash: a row for each event and tax, the
latest first. totals adds up each month of the range, whatever the filters are.`

const WITHHOLDINGS_ENTRIES = `Returns the documents behind a figure of totals, newest first. Their amounts add up to the figure exactly. A page may
have fewer entries than limit while has_more is true.`

/** Withholdings, under /v1/cfdi. */
export const withholdingRoutes = new Hono<App>()
  .get(
    '/withholdings',
    operation('listWithholdings', 'Insight', 'List withholdings', LIST),
    query(WithholdingsQuery),
    returnsTable(Withholdings),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await listWithholdings(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/withholdings/entries',
    operation('listWithholdingEntries', 'Insight', 'List the documents behind the totals of withholdings', WITHHOLDINGS_ENTRIES),
    query(WithholdingEntriesQuery),
    returnsTable(EntriesPage),
    refuses(404, NOT_READABLE),
    async (c) => c.json(await listWithholdingEntries(c.var.ctx, c.req.valid('query'))),
  )
