import { Temporal } from 'temporal-polyfill'
import { expect } from 'vitest'
import { cfdiXml } from '../../../src/authority/sandbox/xml/cfdi-xml.ts'
import type { CfdiMonth } from '../../../src/cfdi/summary/contract.ts'
import { api, basic, request } from '../../support/client.ts'
import { type History, type Player, pick } from './sharing-history.ts'
import { dayIn, filesSeenBy, isComplete, MEXICO, seenBy, shownBounds, windowState } from './sharing-model.ts'
import {
  actualCfdi,
  appliedBy,
  balanceOf,
  countedIn,
  type Expected,
  expectedApplied,
  expectedCfdi,
  expectedMonths,
  type Sight,
} from './sharing-sums.ts'

/** Every answer about the shared RFC, held against the oracle. Exactly: what is missing fails like what is too much. */

async function listed({ tenant, fiscal_entity_id }: Player, query: string): Promise<Expected[]> {
  const found: Expected[] = []
  let cursor = ''
  for (;;) {
    const { status, body } = await api(tenant, 'GET', `/v1/cfdi?fiscal_entity_id=${fiscal_entity_id}${query}${cursor}`)
    expect(status).toBe(200)
    found.push(...body.data.map((cfdi: never) => actualCfdi(cfdi)))
    if (!body.has_more) return found
    cursor = `&cursor=${encodeURIComponent(body.next_cursor)}`
  }
}

const newestFirst = (a: Expected, b: Expected): number =>
  a.issued_at === b.issued_at ? (a.uuid < b.uuid ? 1 : -1) : a.issued_at < b.issued_at ? 1 : -1

/** Both lists in the same order; told by what is too much and what is missing. */
function expectSame(what: string, actual: readonly object[], expected: readonly object[]): void {
  const [left, right] = [actual, expected].map((list) => list.map((one) => JSON.stringify(one, Object.keys(one).sort()))) as [
    string[],
    string[],
  ]
  if (left.join() === right.join()) return
  const [tooMuch, missing] = [left.filter((one) => !right.includes(one)), right.filter((one) => !left.includes(one))]
  const twice = left.filter((one, n) => left.indexOf(one) !== n)
  throw new Error([what, 'too much:', ...tooMuch, 'missing:', ...missing, 'twice:', ...twice].join('\n'))
}

/** A filter as a query, and as plain code. */
type Filter = [query: string, matches: (one: Expected) => boolean]

function filters(history: History, every: readonly Expected[]): Filter[] {
  const hidden = [...history.stored.keys()].filter(() => history.next() < 0.1).slice(0, 40)
  const some = every.filter(() => history.next() < 0.1).slice(0, 40)
  const wanted = [...hidden, ...some.map(({ uuid }) => uuid.toLowerCase()), crypto.randomUUID()]
  const status = pick(history, ['paid', 'unpaid', 'partially_paid', 'not_applicable', 'unpaid,partially_paid', 'paid,not_applicable'])
  const [from, to] = [pick(history, every)?.fecha.slice(0, 10), pick(history, every)?.fecha.slice(0, 10)].sort()
  const until = new Date(history.now - Math.floor(history.next() * 60 * 86_400) * 1_000).toISOString()
  const least = pick(history, [0.01, 1_000, 20_000])
  const paidFrom = dayIn(history.now - Math.floor(history.next() * 90 * 86_400) * 1_000, MEXICO)
  const limit = 1 + Math.floor(history.next() * 60)
  return [
    [`&limit=100&uuid=${wanted.join()}`, ({ uuid }) => wanted.includes(uuid) || wanted.includes(uuid.toLowerCase())],
    [`&limit=${limit + 40}&payment_status=${status}`, ({ payment_status }) => status.split(',').includes(payment_status)],
    [`&limit=${limit + 40}&balance_min=${least}`, ({ balance }) => balance !== null && Number(balance) >= least],
    [
      `&limit=100&paid_from=${paidFrom}&payment_status=paid,partially_paid`,
      ({ last_payment_at, payment_status }) => last_payment_at !== null && last_payment_at >= paidFrom && payment_status !== 'unpaid',
    ],
    ['&direction=issued&limit=100', ({ direction }) => direction === 'issued'],
    ['&estatus=cancelado', ({ estatus }) => estatus === 'cancelado'],
    ['&tipo_comprobante=P,E&limit=50', ({ tipo_comprobante }) => tipo_comprobante === 'P' || tipo_comprobante === 'E'],
    ['&metodo_pago=PPD&has_xml=true&limit=100', ({ metodo_pago, has_xml }) => metodo_pago === 'PPD' && has_xml],
    [`&limit=100&issued_to=${until}`, ({ issued_at }) => issued_at <= until],
    [`&limit=${limit}&direction=received&estatus=vigente`, ({ direction, estatus }) => direction === 'received' && estatus === 'vigente'],
    ...(from && to ? [[`&limit=100&issued_from=${from}&issued_to=${to}`, ({ fecha }) => fecha >= from && fecha < `${to}U`] as Filter] : []),
  ]
}

async function checkList(history: History, player: Player, sight: Sight): Promise<void> {
  const every = await listed(player, '&limit=100')
  const expected = [...sight.seen.values()].map((one) => expectedCfdi(sight, one)).sort(newestFirst)
  expectSame(`list of ${player.name}`, every, expected)
  const all = filters(history, every)
  for (const [query, matches] of [pick(history, all.slice(0, 5)), pick(history, all.slice(1, 3)), pick(history, all)])
    expectSame(`list of ${player.name} ${query.slice(0, 80)}`, await listed(player, query), every.filter(matches))
}

/** The search that a row leads to answers the documents that it counts. */
async function checkDrilldown({ tenant }: Player, row: CfdiMonth | undefined, sight: Sight): Promise<void> {
  if (!row) return
  const found: string[] = []
  for (let cursor = ''; ; ) {
    const { body } = await api(tenant, 'GET', `${row.drilldown}&limit=100${cursor}`)
    found.push(...body.data.map(({ uuid }: Expected) => uuid))
    if (!body.has_more) break
    cursor = `&cursor=${encodeURIComponent(body.next_cursor)}`
  }
  const counted = countedIn(sight).filter(({ document, direction }) => direction === row.direction && document.fecha.startsWith(row.month))
  expect(found).toHaveLength(row.count)
  expect(found.sort()).toEqual(counted.map(({ document }) => document.uuid).sort())
}

/** A mirror that is kept by the changes, from whenever it was looked at last, is what is listed. */
async function checkChanges(history: History, { tenant, fiscal_entity_id, mirror, name }: Player): Promise<void> {
  if (history.next() < 0.4) return
  const limit = pick(history, [3, 20, 100, 100])
  const path = `/v1/cfdi/changes?fiscal_entity_id=${fiscal_entity_id}&limit=${limit}`
  for (let isMore = true; isMore; ) {
    const { status, body } = await api(tenant, 'GET', `${path}${mirror.cursor && `&cursor=${encodeURIComponent(mirror.cursor)}`}`)
    expect(status).toBe(200)
    for (const { uuid, cfdi } of body.data) {
      if (cfdi === null) mirror.rows.delete(uuid)
      else mirror.rows.set(uuid, cfdi)
    }
    mirror.cursor = body.next_cursor
    isMore = body.has_more
  }
  const rows: { uuid: string }[] = []
  for (let cursor = ''; ; ) {
    const { body } = await api(tenant, 'GET', `/v1/cfdi?fiscal_entity_id=${fiscal_entity_id}&limit=100${cursor}`)
    rows.push(...body.data)
    if (!body.has_more) break
    cursor = `&cursor=${encodeURIComponent(body.next_cursor)}`
  }
  const sorted = (some: Iterable<{ uuid: string }>) => [...some].sort((a, b) => (a.uuid < b.uuid ? -1 : 1))
  expectSame(`mirror of ${name}`, sorted(mirror.rows.values()), sorted(rows))
}

function monthsUntil(from: string, to: string): string[] {
  const [first, last] = [Temporal.PlainYearMonth.from(from), Temporal.PlainYearMonth.from(to)]
  return Array.from({ length: first.until(last, { largestUnit: 'months' }).months + 1 }, (_, n) => first.add({ months: n }).toString())
}

async function checkSummary(history: History, player: Player, sight: Sight): Promise<void> {
  const { now } = history
  const { fiscal_entity_id } = player
  const [from, to] = [dayIn(now - 400 * 86_400_000, MEXICO).slice(0, 7), dayIn(now + 40 * 86_400_000, MEXICO).slice(0, 7)]
  const only = pick(history, ['', '', 'issued', 'received'])
  const { status, body } = await api(
    player.tenant,
    'GET',
    `/v1/cfdi/summary/monthly?fiscal_entity_id=${fiscal_entity_id}&from=${from}&to=${to}${only && `&direction=${only}`}`,
  )
  expect(status).toBe(200)
  const isAll = player.rules.length === 0
  const asked = only === '' ? sight.seen : new Map([...sight.seen].filter(([, { direction }]) => direction === only))
  const rows = expectedMonths(history, { ...sight, seen: asked }, player, { from, to }, now).filter(
    ({ direction }) => only === '' || direction === only,
  )
  const found: CfdiMonth[] = body.data
  expect(found.map(({ drilldown: _, ...row }) => row)).toEqual(rows)
  await checkDrilldown(player, pick(history, found), { ...sight, seen: asked })
  const { issued, received } = isAll ? { issued: null, received: null } : player.reached
  expect(body.windows).toEqual({ sat_cfdi_issued: shownBounds(issued), sat_cfdi_received: shownBounds(received) })
  expect(body.window_state).toBe(windowState(player))
  const ceilings = [only === 'received' ? 0 : (issued?.ceiling ?? 0), only === 'issued' ? 0 : (received?.ceiling ?? 0)]
  expect(body.as_of).toBe(new Date(Math.max(...ceilings) || now).toISOString())
  // A month begins five hours after UTC's in the east of Mexico. One without a row is missing, too; nothing before 2018 is downloaded.
  const begun = monthsUntil(from < '2018-01' ? '2018-01' : from, to).filter((month) => Date.parse(`${month}-01T05:00:00Z`) <= now).length
  expect(body.data_quality).toEqual({
    cfdi_total: rows.reduce((sum, { count, cancelled_count, substituted_count }) => sum + count + cancelled_count + substituted_count, 0),
    with_xml: [...asked.values()].filter(
      ({ hasXml, cancelled, document: { emisor, receptor, retencion } }) =>
        hasXml && !cancelled && !retencion && emisor.rfc !== receptor.rfc,
    ).length,
    missing_rate: 0,
    months_missing: begun * (only === '' ? 2 : 1) - rows.filter(({ data_status }) => data_status !== 'missing').length,
    months_downloading: 0,
    not_counted: 0,
  })
}

/** One document at each of its addresses: shown, or as absent as one that never was. */
async function checkOne({ tenant, fiscal_entity_id }: Player, sight: Sight, uuid: string): Promise<void> {
  const read = (path: string) => api(tenant, 'GET', `/v1/cfdi/${uuid}${path}?fiscal_entity_id=${fiscal_entity_id}`)
  const [detail, payments, xml] = await Promise.all([read(''), read('/payments'), read('/xml')])
  const one = sight.seen.get(uuid)
  if (!one) {
    for (const { status, body } of [detail, payments, xml]) expect([uuid, status, body.code]).toEqual([uuid, 404, 'cfdi.not_found'])
    return
  }
  expect(actualCfdi(detail.body)).toEqual(expectedCfdi(sight, one))
  expect(appliedBy(detail.body.aplicaciones)).toEqual(expectedApplied(sight, uuid))
  expect(appliedBy(payments.body.data)).toEqual(expectedApplied(sight, uuid))
  const { payment_status, paid_amount, credited_amount, balance } = balanceOf(sight, one)
  expect(payments.body).toMatchObject({ payment_status, paid_amount, credited_amount, balance })
  if (one.hasXml) expect([xml.status, xml.body]).toEqual([200, cfdiXml(one.document)])
  else expect([xml.status, xml.body.code]).toEqual([404, 'cfdi.xml_not_available'])
}

/** The windows that the connection shows, which are those of its own runs whatever extractors there are. */
async function checkWindows(player: Player): Promise<void> {
  const { body } = await api(player.tenant, 'GET', `/v1/fiscal-entities/${player.fiscal_entity_id}`)
  const { issued, received } = player.reached
  const [floor] = [issued, received].flatMap((one) => one?.floor ?? []).sort()
  const ceiling = Math.max(issued?.ceiling ?? 0, received?.ceiling ?? 0)
  expect(body).toMatchObject({
    windows: { sat_cfdi_issued: shownBounds(issued), sat_cfdi_received: shownBounds(received) },
    ...shownBounds(floor === undefined ? null : { floor, ceiling }),
    window_state: windowState(player),
  })
}

/** The suppliers are those of the received documents that are seen. */
async function checkSuppliers(history: History, player: Player, sight: Sight): Promise<void> {
  const { now } = history
  const { tenant, fiscal_entity_id } = player
  const { status, body } = await api(tenant, 'GET', `/v1/cfdi/repse-suppliers?fiscal_entity_id=${fiscal_entity_id}&months=24&limit=200`)
  expect(status).toBe(200)
  const to = Temporal.PlainDate.from(dayIn(now, MEXICO)).toPlainYearMonth()
  const from = to.subtract({ months: 23 }).toString()
  const invoiced = countedIn(sight).filter(
    ({ direction, document: { tipo, fecha } }) =>
      direction === 'received' && (tipo === 'I' || tipo === 'E') && fecha.slice(0, 7) >= from && fecha.slice(0, 7) <= to.toString(),
  )
  expect(body.suppliers.map(({ rfc }: { rfc: string }) => rfc).sort()).toEqual(
    [...new Set(invoiced.map(({ document }) => document.emisor.rfc))].sort(),
  )
  const months = Array.from({ length: 24 }, (_, n) => to.subtract({ months: n }).toString())
  expect(body.data_quality).toEqual({
    ...{
      cfdi_total: invoiced.length,
      with_xml: invoiced.filter(({ hasXml }) => hasXml).length,
      missing_rate: 0,
      not_counted: 0,
      months_downloading: 0,
    },
    months_missing: months.filter((month) => !isComplete(history, player, 'received', month, now)).length,
  })
}

async function checkFiles(history: History, player: Player): Promise<void> {
  const path = `/v1/fiscal-entities/${player.fiscal_entity_id}/documents`
  const found: { document_id: string; data_source_key: string; name: string; document_date: string }[] = []
  for (let cursor = ''; ; ) {
    const { body } = await api(player.tenant, 'GET', `${path}?limit=7${cursor}`)
    found.push(...body.data)
    if (!body.has_more) break
    cursor = `&cursor=${encodeURIComponent(body.next_cursor)}`
  }
  const key = ({ data_source_key, name, document_date }: (typeof found)[number]) => [data_source_key, name, document_date].join(' ')
  const expected = filesSeenBy(history, player)
  expect(found.map(key).sort()).toEqual(expected.map((file) => key({ ...file, document_id: '', data_source_key: file.source })).sort())
  for (const other of history.players) {
    // What one sees the other reads only if it sees it too.
    const all = other === player ? found : ((await api(other.tenant, 'GET', `${path}?limit=100`)).body.data ?? [])
    for (const document of all.slice(0, 3)) {
      const { status } = await request('GET', `${path}/${document.document_id}/content`, {
        headers: { authorization: basic(player.tenant) },
      })
      expect([key(document), status]).toEqual([
        key(document),
        found.some(({ document_id }) => document_id === document.document_id) ? 200 : 404,
      ])
    }
  }
}

async function checkClosed({ stored }: History, { tenant, fiscal_entity_id, state }: Player): Promise<void> {
  const uuid = [...stored.keys()][0] ?? crypto.randomUUID().toUpperCase()
  const query = `fiscal_entity_id=${fiscal_entity_id}`
  const paths = ['', `/${uuid}`, `/${uuid}/xml`, `/${uuid}/pdf`, `/${uuid}/payments`, '/summary/monthly'].map(
    (path) => `/v1/cfdi${path}?${query}`,
  )
  for (const path of [...paths, `/v1/fiscal-entities/${fiscal_entity_id}/documents`]) {
    const { status, body } = await api(tenant, 'GET', path)
    expect([path, status, body.code]).toEqual([path, 404, state === 'unlinked' ? 'fiscal_entity.not_found' : 'fiscal_entity.not_active'])
  }
}

/** Everything that the organization can read of the RFC. Answers how many documents it sees, and how many there are that it does not. */
export async function check(history: History, player: Player): Promise<{ shown: number; hidden: number }> {
  if (player.fiscal_entity_id === '') return { shown: 0, hidden: 0 }
  if (player.state !== 'unlinked') await checkWindows(player)
  if (player.state !== 'active') {
    await checkClosed(history, player)
    return { shown: 0, hidden: history.stored.size }
  }
  const seen = seenBy(history, player)
  const sight: Sight = { seen, imports: player.imports }
  await checkList(history, player, sight)
  await checkChanges(history, player)
  await checkSummary(history, player, sight)
  await checkSuppliers(history, player, sight)
  await checkFiles(history, player)
  const others = history.players.flatMap(({ imports }) => [...imports.keys()])
  const known = [...new Set([...history.stored.keys(), ...others])]
  const hidden = known.filter((uuid) => !seen.has(uuid))
  const invoices = [...seen.values()]
    .filter(({ document, hasXml }) => hasXml && document.metodo === 'PPD')
    .map(({ document }) => document.uuid)
  const drawn = [hidden, hidden, [...seen.keys()], invoices, [...player.imports.keys()]].flatMap((some) => pick(history, some) ?? [])
  for (const uuid of new Set(drawn)) await checkOne(player, sight, uuid)
  return { shown: seen.size, hidden: hidden.length }
}
