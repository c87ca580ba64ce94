import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { idempotent, operation, params, query, refusesAny, returns, returnsTable, roles } from '../../platform/http/operation.ts'
import { pageOf } from '../../platform/http/shapes.ts'
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
} from './contract.ts'
import { listVat } from './portfolio.ts'
import { getReport, listReports, refreshReport } from './reports.ts'

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
    roles('owner', 'admin'),
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
