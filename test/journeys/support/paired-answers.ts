import { REPORT_KEYS } from '../../../src/analytics/reports/contract.ts'
import { uuidOf } from '../../../src/platform/db/id.ts'
import { isServed } from '../../analytics/support/served.ts'
import { api as answerTo, basic, request } from '../../support/client.ts'
import { isPublic, meant, nameOf, ROUTES } from '../../support/wire.ts'
import type { Player } from './paired-history.ts'

/** Everything that the API answers an organization about itself and an RFC, with its identifiers renamed in the order of their appearance. */

// biome-ignore lint/suspicious/noExplicitAny: answers are compared whole.
type Any = any

/** What is not read here, and why. */
const UNREAD: readonly [why: string, ...names: string[]][] = [
  [
    'The documents behind the figures of a surface: its rows and drilldowns are read, and CFDIs one by one.',
    ...ROUTES.map(nameOf).filter((name) => /^GET .*\/entries$/.test(name)),
  ],
  ['The same for everybody.', 'GET /v1/blacklists/lookup', 'GET /v1/test-helpers/clock'],
  ['The registry of REPSE is public, and its answers are shared by all who ask.', 'GET /v1/fiscal-entities/:fiscal_entity_id/repse'],
  ['The same payment and its documents, as a file.', 'GET /v1/analytics/isr-provisional/file'],
  [
    'What B itself began, with the documents that it reads as CFDIs.',
    ...['GET /v1/exports/:export_id', 'GET /v1/exports/:export_id/content', 'GET /v1/storage-connectors/:connector_id'],
    'GET /v1/storage-connectors/:connector_id/refused-documents',
  ],
]

const read = new Set<string>()

/** The routes that were not read, of all that an organization can read. */
export const unread = (): string[] =>
  ROUTES.filter((route) => route.method === 'GET' && !isPublic(route))
    .map(nameOf)
    .filter((name) => !read.has(name) && !UNREAD.some(([, ...names]) => names.includes(name)))

const api = (player: Player, method: string, path: string) => {
  for (const route of meant(path)) if (route.method === 'GET') read.add(nameOf(route))
  return answerTo(player, method, path)
}

async function pages(player: Player, path: string): Promise<Any[]> {
  const items: Any[] = []
  for (let cursor = ''; ; ) {
    const { status, body } = await api(player, 'GET', `${path}${path.includes('?') ? '&' : '?'}limit=100${cursor}`)
    if (status !== 200) return [{ status, body }]
    items.push(...body.data)
    if (!body.has_more) return items
    cursor = `&cursor=${encodeURIComponent(body.next_cursor)}`
  }
}

/** Every surface of fiscal insight that answers a question about an RFC. */
const INSIGHT = [
  ...['/v1/cfdi/risk', '/v1/cfdi/withholdings', '/v1/cfdi/deductions', '/v1/analytics/financing', '/v1/analytics/vat-position'],
  ...['/v1/analytics/fx-exposure', '/v1/analytics/risk'],
  ...['601', '612'].map((regimen) => `/v1/analytics/isr-provisional?regimen=${regimen}`),
  ...['/v1/cfdi/concentration', '/v1/analytics/concepts', '/v1/analytics/efos-exposure'].flatMap((path) =>
    ['issued', 'received'].map((direction) => `${path}?direction=${direction}`),
  ),
].filter((path) => isServed(path.slice(3).split('?')[0]!))

/** The first page of a surface with the rows of all. Of rows that are not compared there can be more or fewer, and so the pages. */
async function surface(player: Player, path: string): Promise<Any> {
  const url = `${path}${path.includes('?') ? '&' : '?'}fiscal_entity_id=${player.fiscal_entity_id}`
  const { status, body } = await api(player, 'GET', url)
  // The rows of a report are a member of its data.
  if (!Array.isArray(body.data)) return { path, status, body }
  const data = [...body.data]
  for (let page = body; page.has_more; ) {
    page = (await api(player, 'GET', `${url}&cursor=${encodeURIComponent(page.next_cursor)}`)).body
    data.push(...page.data)
  }
  return { path, status, body: { ...body, data, has_more: undefined } }
}

/** Everything that is told of the RFC, from nothing. */
async function changesOf(player: Player): Promise<Any[]> {
  const items: Any[] = []
  for (let cursor = ''; ; ) {
    const { status, body } = await api(player, 'GET', `/v1/cfdi/changes?fiscal_entity_id=${player.fiscal_entity_id}&limit=100${cursor}`)
    if (status !== 200) return [{ status, body }]
    items.push(...body.data)
    if (!body.has_more) return items
    cursor = `&cursor=${encodeURIComponent(body.next_cursor)}`
  }
}

export async function answersTo(player: Player): Promise<Record<string, unknown>> {
  const get = async (path: string) => {
    const { status, body } = await api(player, 'GET', path)
    return { status, body }
  }
  const fe = player.fiscal_entity_id
  const entity = `/v1/fiscal-entities/${fe}`
  const cfdi = await pages(player, `/v1/cfdi?fiscal_entity_id=${fe}`)
  const some = cfdi
    .filter(({ uuid }) => uuid)
    .sort((a, b) => (a.uuid < b.uuid ? -1 : 1))
    .filter((_, n) => n % 17 === 0)
    .slice(0, 6)
  const documents = await pages(player, `${entity}/documents`)
  const [extractors, webhooks] = [await get('/v1/extractors'), await pages(player, '/v1/webhooks')]
  const each = async <T>(list: readonly T[], read: (one: T) => Promise<unknown>) => {
    const answers: unknown[] = []
    for (const one of list) answers.push(await read(one))
    return answers
  }
  const [coverage, consents] = [await pages(player, `${entity}/coverage`), await pages(player, '/v1/consents')]
  const of = async (uuid: string, path: string) => ({ uuid, ...(await get(path)) })
  const run_id: string = (await get(`${entity}/runs`)).body.data?.[0]?.run_id ?? `run_${NOBODY}`
  return {
    entity: await get(entity),
    entities: await pages(player, '/v1/fiscal-entities'),
    sync: await get(`${entity}/sync`),
    sync_jobs: await pages(player, `${entity}/sync-jobs`),
    coverage,
    missingXml: await each(coverage.filter(({ source }) => source).slice(0, 8), ({ source, month }) =>
      pages(player, `${entity}/coverage/${source}/${month}`),
    ),
    cfdi,
    details: await each(some, ({ uuid }) => get(`/v1/cfdi/${uuid}?fiscal_entity_id=${fe}`)),
    payments: await each(some, ({ uuid }) => get(`/v1/cfdi/${uuid}/payments?fiscal_entity_id=${fe}`)),
    changes: await changesOf(player),
    sums: await get(`/v1/cfdi/summary?fiscal_entity_id=${fe}`),
    months: await get(`/v1/cfdi/summary/monthly?fiscal_entity_id=${fe}`),
    insight: await each(INSIGHT, (path) => surface(player, path)),
    suppliers: await get(`/v1/cfdi/repse-suppliers?fiscal_entity_id=${fe}&months=24`),
    documents,
    tax_profile: await get(`${entity}/tax-profile`),
    contents: await each(
      documents.filter(({ document_id }, n) => document_id && n % 4 === 0),
      async ({ document_id }) => {
        read.add('GET /v1/fiscal-entities/:fiscal_entity_id/documents/:document_id/content')
        const { status, body } = await request('GET', `${entity}/documents/${document_id}/content`, {
          headers: { authorization: basic(player) },
        })
        return { status, body }
      },
    ),
    notifications: await pages(player, `${entity}/buzon/notifications`),
    imports: await get(`${entity}/cfdi/imports/imp_${NOBODY}`),
    events: await pages(player, '/v1/events'),
    alerts: await pages(player, '/v1/alerts'),
    audit: await pages(player, '/v1/audit-events'),
    extractors,
    runs: await each(Array.isArray(extractors.body) ? extractors.body : [], ({ extractor_id }: Any) =>
      pages(player, `/v1/extractors/${extractor_id}/runs`),
    ),
    webhooks,
    deliveries: await each(
      webhooks.filter(({ webhook_id }) => webhook_id),
      ({ webhook_id }) => pages(player, `/v1/webhooks/${webhook_id}/deliveries`),
    ),
    organization: await get('/v1/organization'),
    stats: await get('/v1/organization/stats'),
    billing: await get('/v1/billing'),
    invoices: await pages(player, '/v1/billing/invoices'),
    reports: await each(REPORT_KEYS, async (key) => {
      const { status, body } = await surface(player, `/v1/reports/${key}`)
      return { key, status, body }
    }),
    xml: await each(some, ({ uuid }) => of(uuid, `/v1/cfdi/${uuid}/xml?fiscal_entity_id=${fe}`)),
    consents,
    connect_links: await pages(player, '/v1/connect-links'),
    cancellation_requests: await pages(player, `/v1/cancellation-requests?fiscal_entity_id=${fe}`),
    cancellation_request: await each(some, ({ uuid }) => of(uuid, `/v1/cancellation-requests/${uuid}?fiscal_entity_id=${fe}`)),
    pdf: await each(some, ({ uuid }) => of(uuid, `/v1/cfdi/${uuid}/pdf?fiscal_entity_id=${fe}`)),
    relations: await each(some, ({ uuid }) => of(uuid, `/v1/cfdi/${uuid}/relations?fiscal_entity_id=${fe}`)),
    history: await each(some, ({ uuid }) => of(uuid, `/v1/cfdi/${uuid}/history?fiscal_entity_id=${fe}`)),
    others: await each(
      [
        ...[
          '/v1/team/members',
          '/v1/team/invitations',
          '/v1/team/mail-preferences',
          '/v1/credentials',
          '/v1/billing/plan',
          '/v1/billing/plans',
          '/v1/billing/usage',
        ],
        ...['/v1/billing/rfcs', '/v1/sync', '/v1/exports', '/v1/storage-connectors', '/v1/reports', '/v1/blacklists/custom'],
        ...['attention', 'opinions', 'obligations', 'listed', 'vat'].map((name) => `/v1/portfolio/${name}`),
        ...['check?', 'file?incomplete=allow&'].map(
          (name) => `/v1/reports/diot/${name}month=${new Date().toISOString().slice(0, 7)}&fiscal_entity_id=${fe}`,
        ),
        ...[`${entity}/diot-settings`, `${entity}/diot-settings/suppliers`],
        ...['/v1/blacklists/watch', '/v1/fiscal-entities/data-sources', '/v1/webhooks/event-catalog', `${entity}/runs`],
        ...[`${entity}/obligations`, `${entity}/cfdi/imports`, `${entity}/buzon/document?notification_id=ntf_${NOBODY}`],
        `${entity}/buzon/notifications/ntf_${NOBODY}`,
        `${entity}/documents/${documents.find(({ document_id }) => document_id)?.document_id ?? `doc_${NOBODY}`}`,
        `/v1/webhooks/${webhooks.find(({ webhook_id }) => webhook_id)?.webhook_id ?? `wh_${NOBODY}`}`,
        `/v1/extractors/${(extractors.body as Any)[0]?.extractor_id ?? `ext_${NOBODY}`}`,
        `/v1/connect-links/lnk_${NOBODY}`,
        `/v1/consents/${consents[0]?.consent_id ?? `cns_${NOBODY}`}`,
        ...[`/v1/runs/${run_id}`, `/v1/runs/${run_id}/jobs?limit=100`],
        `/v1/events/${(await get('/v1/events')).body.data[0]?.event_id ?? `evt_${NOBODY}`}`,
      ],
      async (path) => ({ path: path.replaceAll(fe, 'fe'), ...(await get(path)) }),
    ),
  }
}

const NOBODY = '0'.repeat(26)

const ID = /\b(org|mem|ivt|fe|ext|run|job|wh|evt|inv|aud|alr|doc|ntf|imp|exp|lnk|cns)_[0-9a-z]{26}\b/g

/** Names each identifier after the order in which it first appears, and drops what differs between two services anyway. */
export function renamed(player: Player, answers: unknown): Any {
  const names = new Map<string, string>()
  const uuid = uuidOf(player.fiscal_entity_id)
  const text = JSON.stringify(answers)
    .replaceAll(uuid, player.fiscal_entity_id)
    .replaceAll(player.api_key, 'the-key')
    .replace(ID, (id, prefix: string) => {
      const name = names.get(id) ?? `${prefix}#${[...names.values()].filter((one) => one.startsWith(`${prefix}#`)).length + 1}`
      names.set(id, name)
      return name
    })
  return JSON.parse(text, (key, value) =>
    ['request_id', 'signing_secret', 'secret_hint', 'next_cursor'].includes(key) ? 'dropped' : value,
  )
}
