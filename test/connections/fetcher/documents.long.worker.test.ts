import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import contract from '../../../docs/fetcher.openapi.json'
import type { Leased } from '../../../scripts/fetcher/client.ts'
import { fetchOnce } from '../../../scripts/fetcher/portal.ts'
import { DATA_SOURCE_KEYS, type DataSourceKey } from '../../../src/authority/port/authority.ts'
import { isPending } from '../../../src/authority/port/mailbox.ts'
import { filesOf } from '../../../src/authority/sandbox/documents/documents.ts'
import { notificationsOf } from '../../../src/authority/sandbox/mailbox.ts'
import { Completion, Lease } from '../../../src/connections/fetcher/contract.ts'
import type { Notification } from '../../../src/documents/mailbox/contract.ts'
import { DOWN } from '../../documents/support/documents.ts'
import { bookOf, jobsOf, later, losingMessages, NOW } from '../../downloads/support/downloads.ts'
import { freshRfc, organization } from '../../support/tenants.ts'
import { efirmaOf } from '../../taxpayers/support/efirmas.ts'
import { askOf, withFetcher, withoutFetcher } from './support/deployment.ts'
import { clientOf, deliver, listed, listOf, reader, refusal, uploads, without } from './support/documents.ts'

const client = clientOf(withFetcher)
const DOCUMENT_SOURCES = DATA_SOURCE_KEYS.filter((key) => !key.startsWith('sat_cfdi'))
const bytes = (text: string) => new TextEncoder().encode(text)

beforeEach(async () => {
  later(0)
  losingMessages()
  vi.spyOn(console, 'error').mockImplementation(() => {})
  await env.LEDGER_0.prepare('delete from fetches').run()
  for (const key of await uploads()) await env.FILES.delete(key)
})

const sweep = () => deliver({ task: 'sweepFetches', at: Date.now(), cursor: '' }, 'tasks')

/** An organization whose job of a document source waits for the fetcher, which has leased it. */
async function leased(source: DataSourceKey = 'sat_rug') {
  const one = await reader([source])
  await one.run()
  if (source !== 'sat_miinformacion') await without(one.rfc, 'sat_miinformacion')
  await one.drain()
  const lease = (await client.lease())!
  expect(lease).toMatchObject({ task: 'documents', rfc: one.rfc, ciec: 'deAna1', source, month: null })
  return { ...one, lease }
}
const state = async ({ rfc }: { rfc: string }, source: DataSourceKey) =>
  (await jobsOf(rfc)).findLast((job) => job.source === source)!.status

describe('a document source in a deployment with a fetcher', () => {
  it('waits, and keeps what the reference fetcher uploads, to the byte; what it was brought with is forgotten', async () => {
    const one = await reader(DOCUMENT_SOURCES)
    await one.run()
    await one.drain()
    expect((await one.fetches()).every(({ state }) => state === 'offered')).toBe(true)
    expect(await one.stored()).toEqual([])
    while (await fetchOnce(client)) await one.drain()
    for (const source of DOCUMENT_SOURCES) expect(await one.states(source), source).toEqual([['succeeded', null]])
    const invented = DOCUMENT_SOURCES.flatMap((source) => filesOf(one.rfc, source, new Date(NOW)))
    const sent = await Promise.all(
      invented.map(async ({ name, bytes }) => [name, new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)).toHex()]),
    )
    const stored = await one.stored()
    expect(stored.map(({ name, sha256 }) => [name, sha256]).sort()).toEqual(sent.sort())
    for (const { sha256 } of stored) {
      const kept = await (await env.FILES.get(`documents/${sha256}`))!.arrayBuffer()
      expect(new Uint8Array(await crypto.subtle.digest('SHA-256', kept)).toHex()).toBe(sha256)
    }
    const { body: profile } = await one.ask('GET', `${one.path}/tax-profile`)
    expect([profile.tax_status.fields.rfc, profile.opinion.fields.rfc]).toEqual([one.rfc, one.rfc])
    expect([profile.certificates.fields.certificates.length, profile.obligations.fields.obligations.length > 0]).toEqual([2, true])
    await sweep()
    expect([await one.fetches(), await uploads()]).toEqual([[], []])
  })

  it('brings the tax mailbox with sat_miinformacion, and opens nothing', async () => {
    const one = await reader(['sat_miinformacion'])
    await one.run()
    await one.drain()
    while (await fetchOnce(client)) await one.drain()
    const shown = (await one.ask('GET', `${one.path}/buzon/notifications?limit=100`)).body.data as Notification[]
    const invented = notificationsOf(one.rfc, new Date(NOW))
    expect(shown.map(({ sent_at, opened_at }) => [sent_at, opened_at]).sort()).toEqual(
      invented.map(({ sent_at, opened_at }) => [sent_at.toISOString(), opened_at?.toISOString() ?? null]).sort(),
    )
    const kept = (await bookOf(one.rfc, ['mailbox_notifications']))['mailbox_notifications'] as { notification: string; sha256: string }[]
    const withDocument = kept.filter(({ sha256 }) => sha256 !== null).map(({ notification }) => notification)
    const readable = invented.filter((of) => of.document_kind !== null && !isPending(of, new Date(NOW)))
    expect(withDocument.sort()).toEqual(readable.map(({ notification }) => notification).sort())
    expect(readable.length).toBeGreaterThan(2)
    for (const { sha256 } of kept) if (sha256 !== null) expect(await env.FILES.head(`mailbox/${sha256}`)).not.toBeNull()
  })

  it('writes nothing anew when the same comes the next day', async () => {
    const one = await reader(['sat_csf', 'sat_declaracion_mensual'])
    const round = async () => {
      await one.run()
      await one.drain()
      while (await fetchOnce(client)) await one.drain()
    }
    await round()
    const [before, put] = [await one.stored(), vi.spyOn(Object.getPrototypeOf(env.FILES) as R2Bucket, 'put')]
    later(86_400)
    await round()
    expect(await one.states('sat_csf')).toEqual([
      ['succeeded', null],
      ['succeeded', null],
    ])
    expect(await one.stored()).toEqual(before)
    expect(put.mock.calls.map(([key]) => key).filter((key) => !key.startsWith('fetcher/'))).toEqual([])
  })

  it('is active there, and nowhere else with the real authority', async () => {
    const { owner } = await organization()
    const active = async (of: Env) =>
      (await askOf(of, owner, 'GET', '/v1/fiscal-entities/data-sources')).body.data
        .filter(({ is_active }: { is_active: boolean }) => is_active)
        .map(({ key }: { key: string }) => key)
    expect(await active(withFetcher)).toEqual([...DATA_SOURCE_KEYS])
    expect(await active(withoutFetcher)).toEqual(['sat_cfdi_issued', 'sat_cfdi_received'])
  })
})

describe('a list of documents', () => {
  it('is refused when a document is of another RFC, by its own word or by what its PDF or its fields say, and nothing is kept', async () => {
    const one = await leased('sat_csf')
    const [foreign] = filesOf(freshRfc(), 'sat_csf', new Date(NOW))
    const [own] = filesOf(one.rfc, 'sat_csf', new Date(NOW))
    const csf = { kind: 'csf', series: 'csf', name: 'csf.pdf', content_type: 'application/pdf' }
    const refused = [422, 'fetcher.documents']
    const sha256 = await client.uploadDocument(one.lease, 0, foreign!.bytes)
    expect(await refusal(client.complete(one.lease, listOf(listed(freshRfc(), 0, sha256, csf))))).toEqual(refused)
    expect(await refusal(client.complete(one.lease, listOf(listed(one.rfc, 0, sha256, csf))))).toEqual(refused)
    const { body } = await fieldsOf(own!.bytes)
    const fields = { ...body.fields, rfc: freshRfc() }
    expect(await refusal(client.complete(one.lease, listOf(listed(one.rfc, 0, sha256, { ...csf, fields }))))).toEqual(refused)
    await one.drain()
    expect([await one.stored(), await state(one, 'sat_csf')]).toEqual([[], 'queued'])
    // The lease goes on.
    const right = await client.uploadDocument(one.lease, 0, own!.bytes)
    await client.complete(one.lease, listOf(listed(one.rfc, 0, right, csf)))
    await one.drain()
    expect([(await one.stored()).length, await state(one, 'sat_csf')]).toEqual([1, 'succeeded'])
  })

  it('is refused when a notification has the document of another RFC', async () => {
    const one = await leased('sat_miinformacion')
    const sha256 = await client.uploadDocument(one.lease, 0, bytes('oficio'))
    const document = { n: 0, sha256, rfc: freshRfc(), name: 'oficio.pdf', content_type: 'application/pdf' }
    const notification = { ...NOTIFICATION, document }
    expect(await refusal(client.complete(one.lease, { notifications: [notification] }))).toEqual([422, 'fetcher.documents'])
    await client.complete(one.lease, { notifications: [{ ...notification, document: { ...document, rfc: one.rfc } }] })
  })

  it('is refused unless it names each upload once, with its content', async () => {
    const one = await leased()
    const incomplete = [409, 'fetcher.incomplete']
    const first = await client.uploadDocument(one.lease, 0, bytes('{"one":1}'))
    const cut = await client.uploadDocument(one.lease, 1, bytes('{"two"'))
    const wanted = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes('{"two":2}'))).toHex()
    const lists = [
      listOf(listed(one.rfc, 0, first)),
      listOf(listed(one.rfc, 0, first), listed(one.rfc, 1, wanted)),
      listOf(listed(one.rfc, 0, first), listed(one.rfc, 1, cut), listed(one.rfc, 2, cut, { name: 'c' })),
      listOf(listed(one.rfc, 0, first), listed(one.rfc, 1, cut), listed(one.rfc, 1, cut, { name: 'c' })),
      listOf(),
    ]
    for (const list of lists) expect(await refusal(client.complete(one.lease, list)), JSON.stringify(list)).toEqual(incomplete)
    // The whole one takes the place of the one that was cut off.
    expect(await client.uploadDocument(one.lease, 1, bytes('{"two":2}'))).toBe(wanted)
    await client.complete(one.lease, lists[1]!)
    await one.drain()
    expect((await one.stored()).map(({ sha256 }) => sha256).sort()).toEqual([first, wanted].sort())
  })

  it.each<[string, DataSourceKey, object, string]>([
    ['a kind that the source does not have', 'sat_rug', { kind: 'csf' }, 'documents[0].kind'],
    ['fields of another kind', 'sat_rug', { fields: { certificates: [] } }, 'documents[0].fields'],
    ['a return without its period', 'sat_declaracion_anual', { kind: 'declaracion' }, 'documents[0].attributes'],
  ])('is refused with %s', async (_, source, more) => {
    const one = await leased(source)
    const sha256 = await client.uploadDocument(one.lease, 0, bytes('{}'))
    expect(await refusal(client.complete(one.lease, listOf(listed(one.rfc, 0, sha256, more))))).toEqual([422, 'fetcher.documents'])
  })

  it('is refused when it names the same document or notification twice, or notifications of another source, or packages', async () => {
    const one = await leased()
    const faulty = [422, 'fetcher.documents']
    const sha256 = await client.uploadDocument(one.lease, 0, bytes('{}'))
    await client.uploadDocument(one.lease, 1, bytes('{}'))
    const twice = listOf(listed(one.rfc, 0, sha256), listed(one.rfc, 1, sha256, { name: 'rug-0.json' }))
    expect(await refusal(client.complete(one.lease, twice))).toEqual(faulty)
    expect(await refusal(client.complete(one.lease, { notifications: [NOTIFICATION] }))).toEqual(faulty)
    for (const other of [{ metadata: 1, xml: 0 }, { metadata: 0, xml: 1 }, { is_whole: false }])
      expect(await refusal(client.complete(one.lease, other))).toEqual([422, 'fetcher.task'])
    await client.fail(one.lease, 'sat_unavailable')
    const mailbox = await leased('sat_miinformacion')
    expect(await refusal(client.complete(mailbox.lease, { notifications: [NOTIFICATION, NOTIFICATION] }))).toEqual(faulty)
    // None at all is an empty mailbox.
    await client.complete(mailbox.lease, {})
    await mailbox.drain()
    expect(await state(mailbox, 'sat_miinformacion')).toBe('succeeded')
  })

  it('completes no month', async () => {
    const one = await reader(['sat_cfdi_issued'])
    await one.run()
    await without(one.rfc, 'sat_miinformacion')
    await one.drain()
    const lease = (await client.lease())!
    expect(lease.task).toBe('month')
    expect(await refusal(client.complete(lease, listOf(listed(one.rfc, 0, 'a'.repeat(64)))))).toEqual([422, 'fetcher.task'])
  })

  it('waits while PDFs cannot be read, so that none is kept unread that may be of another RFC', async () => {
    const one = await leased('sat_csf')
    const [own] = filesOf(one.rfc, 'sat_csf', new Date(NOW))
    const sha256 = await client.uploadDocument(one.lease, 0, own!.bytes)
    const csf = listed(one.rfc, 0, sha256, { kind: 'csf', series: 'csf', name: 'csf.pdf', content_type: 'application/pdf' })
    const down = clientOf({ ...withFetcher, ...DOWN } as unknown as Env)
    expect(await refusal(down.complete(one.lease, listOf(csf)))).toEqual([409, 'fetcher.unread'])
    await client.complete(one.lease, listOf(csf))
  })
})

const NOTIFICATION = {
  ...{ notification: 'n-1', kind: 'aviso', title: 'Aviso', authority: 'SAT', document_number: null },
  ...{ sent_at: '2026-05-04T16:30:00Z', opened_at: null, document_kind: 'aviso', document: null },
}

/** What the reader of PDFs reads in a certificate. */
const fieldsOf = async (pdf: Uint8Array) => {
  const answer = await env.PDF.fetch('https://pdf/csf', { method: 'POST', body: pdf })
  return { body: (await answer.json()) as { fields: object } }
}

describe('a lease of documents', () => {
  it('survives a fetcher that repeats everything', async () => {
    const one = await leased()
    let sha256 = ''
    for (let n = 0; n < 3; n++) sha256 = await client.uploadDocument(one.lease, 7, bytes('{"a":1}'))
    expect(await uploads()).toHaveLength(1)
    const list = listOf(listed(one.rfc, 7, sha256))
    await client.complete(one.lease, list)
    await client.complete(one.lease, list)
    // The document and the list.
    expect(await uploads()).toHaveLength(2)
    await one.drain()
    await client.complete(one.lease, list)
    await one.drain()
    expect([(await one.stored()).length, await one.states('sat_rug')]).toEqual([1, [['succeeded', null]]])
    expect(await refusal(client.uploadDocument(one.lease, 7, bytes('{"b":1}')))).toEqual([409, 'fetcher.lease_lost'])
    await sweep()
    expect(await uploads()).toEqual([])
    expect(await refusal(client.complete(one.lease, list))).toEqual([409, 'fetcher.lease_lost'])
  })

  it('keeps what the list names when an upload and the completion cross, whichever comes first', async () => {
    const one = await leased()
    const sha256 = await client.uploadDocument(one.lease, 0, bytes('{"a":1}'))
    const list = listOf(listed(one.rfc, 0, sha256))
    const [completed, replaced] = await Promise.all([
      refusal(client.complete(one.lease, list)),
      refusal(client.uploadDocument(one.lease, 0, bytes('{"b":1}'))),
    ])
    expect([completed === null, replaced === null]).toContain(true)
    if (completed !== null) {
      expect(completed).toEqual([409, 'fetcher.incomplete'])
      await client.uploadDocument(one.lease, 0, bytes('{"a":1}'))
      await client.complete(one.lease, list)
    }
    await one.drain()
    expect((await one.stored()).map((row) => row.sha256)).toEqual([sha256])
  })

  it('that ran out counts for nothing: another fetcher begins anew, and the first one is refused', async () => {
    const one = await leased()
    const sha256 = await client.uploadDocument(one.lease, 0, bytes('{"first":1}'))
    later(601)
    const second = (await client.lease())!
    expect([second.rfc, second.lease_id === one.lease.lease_id]).toEqual([one.rfc, false])
    expect(await uploads()).toEqual([])
    const late = [
      client.renew(one.lease),
      client.uploadDocument(one.lease, 1, bytes('{}')),
      client.complete(one.lease, listOf(listed(one.rfc, 0, sha256))),
      client.fail(one.lease, 'not_delivered'),
    ]
    expect(await Promise.all(late.map(refusal))).toEqual(late.map(() => [409, 'fetcher.lease_lost']))
    expect(await refusal(client.complete(second, listOf(listed(one.rfc, 0, sha256))))).toEqual([409, 'fetcher.incomplete'])
    const own = await client.uploadDocument(second, 0, bytes('{"second":1}'))
    await client.complete(second, listOf(listed(one.rfc, 0, own)))
    await one.drain()
    expect((await one.stored()).map((row) => row.sha256)).toEqual([own])
  })

  it('is one at a time of an RFC, with its months', async () => {
    const one = await reader(['sat_cfdi_issued', 'sat_csf'])
    await one.run()
    await one.drain()
    expect(await client.lease()).not.toBeNull()
    expect(await client.lease()).toBeNull()
  })

  it('fails its job when the portal will never deliver, and offers it again after a wait when it is not available', async () => {
    const one = await leased()
    await client.fail(one.lease, 'sat_unavailable')
    await one.drain()
    expect(await client.lease()).toBeNull()
    later(60)
    await one.drain()
    const again: Leased = (await client.lease())!
    await client.fail(again, 'not_delivered')
    await one.drain()
    expect(await one.states('sat_rug')).toEqual([['failed', 'sat_unavailable']])
  })
})

it.each(Object.entries({ Lease, Completion }))('the examples of the contract for %s have its shape', (name, shape) => {
  const { examples } = contract.components.schemas[name as 'Lease' | 'Completion']
  expect(examples.length).toBeGreaterThan(0)
  for (const example of examples) expect(shape.safeParse(example).error).toBeUndefined()
})

describe('a connection', () => {
  const EVERYTHING: DataSourceKey[] = ['sat_cfdi_issued', 'sat_csf']

  it('with an e.firma only downloads CFDIs day after day, is told why nothing else, and no job of documents fails', async () => {
    const rfc = freshRfc()
    const one = await reader(EVERYTHING, null, { efirma: efirmaOf(rfc) }, rfc)
    for (let day = 0; day < 3; day++) {
      later(86_400 * day)
      expect((await one.run()).connections).toBe(1)
    }
    expect(new Set((await jobsOf(rfc)).map(({ source }) => source))).toEqual(new Set(['sat_cfdi_issued']))
    expect((await one.entity()).warnings.map(({ code }: { code: string }) => code)).toEqual(['ciec.missing'])
  })

  it('with an e.firma only is asked for no range of documents, and may be asked for CFDIs at once', async () => {
    const rfc = freshRfc()
    const one = await reader(EVERYTHING, null, { efirma: efirmaOf(rfc) }, rfc)
    const asked = (data_source_keys: string[]) => one.ask('POST', `${one.path}/extractions`, { data_source_keys, from: '2026-05-01' })
    expect(await asked(['sat_cfdi_issued', 'sat_csf'])).toMatchObject({
      status: 422,
      body: { code: 'data_source.no_login', errors: [{ path: 'data_source_keys[1]', message: expect.stringContaining('sat_csf') }] },
    })
    expect(await asked(['sat_cfdi_issued'])).toMatchObject({ status: 202, body: { jobs: { total: 1 } } })
    const other = await reader(EVERYTHING, 'deAna1')
    expect((await other.ask('POST', `${other.path}/extractions`, { data_source_keys: ['sat_csf'], from: '2026-05-01' })).status).toBe(202)
  })

  it('with both logins downloads documents with its CIEC', async () => {
    const rfc = freshRfc()
    const one = await reader(EVERYTHING, 'deAna1', { efirma: efirmaOf(rfc) }, rfc)
    expect((await one.entity()).warnings).toEqual([])
    await one.run()
    await without(rfc, 'sat_miinformacion')
    await one.drain()
    expect(await one.fetches()).toMatchObject([{ source: 'sat_csf', state: 'offered' }])
    while (await fetchOnce(client)) await one.drain()
    expect(await one.states('sat_csf')).toEqual([['succeeded', null]])
  })

  it('that loses its CIEC and goes on with its e.firma has its waiting job fail once, and none asked for again', async () => {
    const rfc = freshRfc()
    const one = await reader(EVERYTHING, 'deAna1', { efirma: efirmaOf(rfc) }, rfc)
    await one.run()
    await without(rfc, 'sat_miinformacion')
    await one.drain()
    expect((await one.give(null as never)).body.status).toBe('active')
    expect(await client.lease()).toBeNull()
    await one.drain()
    expect(await one.states('sat_csf')).toEqual([['failed', 'login_failed']])
    for (let day = 1; day < 3; day++) {
      later(86_400 * day)
      await one.run()
      await one.drain()
    }
    expect(await one.states('sat_csf')).toEqual([['failed', 'login_failed']])
    expect((await one.entity()).warnings.map(({ code }: { code: string }) => code)).toEqual(['ciec.missing'])
  })

  it('ends when the portal refuses its CIEC, and its job waits for another one', async () => {
    const one = await leased()
    await client.fail(one.lease, 'login_rejected')
    expect((await one.entity()).status).toBe('invalid_ciec')
    await one.drain()
    expect([await client.lease(), await one.states('sat_rug')]).toEqual([null, [['queued', 'invalid_credentials']]])
  })
})

describe('a notification that nobody can open here', () => {
  it('says so, with an acknowledgement and without, and one whose document has not come says when it does; nothing waits', async () => {
    const one = await leased('sat_miinformacion')
    const sent = { ...NOTIFICATION, sent_at: '2026-05-19T16:30:00Z' }
    await client.complete(one.lease, { notifications: [sent, { ...sent, notification: 'n-2', kind: 'requerimiento' }] })
    await one.drain()
    const shown = (await one.ask('GET', `${one.path}/buzon/notifications`)).body.data as Notification[]
    const documentOf = (status: string, more = '') => {
      const { notification_id } = shown.find((row) => row.status === status)!
      return one.ask('GET', `${one.path}/buzon/document?notification_id=${notification_id}${more}`)
    }
    const plain = await documentOf('pending')
    expect([plain.status, plain.body.code]).toEqual([409, 'would_notify'])
    expect(plain.body.detail).toContain('Open it in the tax mailbox at the portal')
    const acknowledged = await documentOf('pending', '&acknowledge_notification=true')
    expect([acknowledged.status, acknowledged.body.code]).toEqual([409, 'notification.not_openable'])
    const informs = await documentOf('informational')
    expect([informs.status, informs.body.code]).toEqual([409, 'notification.not_fetched'])
    expect(await env.DB.prepare('select count(*) as n from mailbox_requests where organization_id = ?').bind(one.id).first('n')).toBe(0)
  })
})
