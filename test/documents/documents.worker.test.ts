import { env, exports } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { filesOf } from '../../src/authority/sandbox/documents/documents.ts'
import { rangeOf } from '../../src/platform/content.ts'
import { idOfUuid } from '../../src/platform/db/id.ts'
import { losingMessages } from '../downloads/support/downloads.ts'
import { basic, request } from '../support/client.ts'
import { at, restore } from '../support/clock.ts'
import { freshRfc } from '../support/tenants.ts'
import { delivers, type Reader, reader, runsOn } from './support/documents.ts'

beforeEach(() => {
  at('2026-03-10T18:00:00Z')
  losingMessages()
})
afterEach(restore)

const placesOf = (documents: Awaited<ReturnType<Reader['documents']>>) =>
  documents.map(({ document_date, version, is_latest }) => [document_date, version, is_latest])

describe('versions', () => {
  it('are numbered in their series, and the unchanged are stored once', async () => {
    const rfc = freshRfc()
    const one = await reader(rfc)
    for (const day of ['2026-03-10', '2026-03-20', '2026-04-10', '2026-05-10']) await runsOn(day, rfc, [one])
    for (const source of ['sat_csf', 'sat_opinion_32d', 'sat_certificates'])
      expect(placesOf(await one.documents(`&data_source_key=${source}`))).toEqual([
        ['2026-05-01', 3, true],
        ['2026-04-01', 2, false],
        ['2026-03-01', 1, false],
      ])
    const latest = await one.documents('&version=latest')
    expect(latest.map(({ kind, version }) => [kind, version]).sort()).toEqual(
      ['certificates', 'csf', 'obligations', 'opinion_32d', 'registration'].map((kind) => [kind, 3]),
    )
    const { results } = await env.LEDGER_0.prepare("select count(*) as n from documents where fields_status = 'pending'").all()
    expect(results).toEqual([{ n: 0 }])
  })

  it('an amended return is the next version of the return and of its receipt', async () => {
    const rfc = freshRfc()
    const one = await reader(rfc, ['sat_declaracion_mensual'])
    await runsOn('2026-05-20', rfc, [one])
    const files = filesOf(rfc, 'sat_declaracion_mensual', new Date())
    const all = await one.documents()
    const shown = (some: typeof all) => some.map(({ kind, name, version, is_latest }) => `${kind} ${name} ${version} ${is_latest}`).sort()
    const expected = files.map(({ kind, name, series }) => {
      const amended = files.some((other) => other.series === series && other.name.includes('complementaria'))
      const version = name.includes('complementaria') ? 2 : 1
      return `${kind} ${name} ${version} ${amended ? version === 2 : true}`
    })
    expect(shown(all.filter(({ kind }) => kind !== 'registration'))).toEqual(expected.sort())
    expect(expected.some((one_) => one_.includes(' 2 true'))).toBe(true)
    expect((await one.documents('&version=latest&kind=declaracion')).every(({ is_latest }) => is_latest)).toBe(true)
  })

  it('are those that the own runs fetched: neither their number nor their list tells of others’ runs', async () => {
    const rfc = freshRfc()
    const [early, late] = [await reader(rfc), await reader(rfc)]
    for (const day of ['2026-03-10', '2026-04-10']) await runsOn(day, rfc, [early])
    // Both run at the same instant: the second finds the jobs finished.
    await runsOn('2026-05-10', rfc, [early])
    await runsOn('2026-05-10', rfc, [late])
    await runsOn('2026-06-10', rfc, [early])
    expect(placesOf(await early.documents('&kind=csf')).map(([, version]) => version)).toEqual([4, 3, 2, 1])
    expect(placesOf(await late.documents('&kind=csf'))).toEqual([['2026-05-01', 1, true]])
    expect((await late.documents()).every(({ version, is_latest }) => version === 1 && is_latest)).toBe(true)
    const { source, changes } = (await late.profile()).tax_status
    expect([source.version, source.is_latest, changes]).toEqual([1, true, []])
  })
})

describe('GET …/documents/{document_id}', () => {
  it('is the row as the list has it, numbered as each reader reads it; 404 for who cannot read it', async () => {
    const rfc = freshRfc()
    const [early, late, stranger] = [await reader(rfc), await reader(rfc), await reader(freshRfc())]
    await runsOn('2026-03-10', rfc, [early])
    await runsOn('2026-04-10', rfc, [early, late])
    const get = (of: Reader, id: string) => of.ask('GET', `${of.path}/documents/${id}`)
    for (const of of [early, late]) {
      const rows = await of.documents()
      expect(rows.length).toBeGreaterThan(4)
      for (const row of rows) expect(await get(of, row.document_id)).toMatchObject({ status: 200, body: row })
      const { tax_status } = await of.profile()
      expect((await get(of, tax_status.source.document_id)).body).toMatchObject({ kind: 'csf', version: tax_status.source.version })
    }
    const [newest, oldest] = (await early.documents('&kind=csf')).map(({ document_id }) => document_id)
    expect((await get(early, newest!)).body.version).toBe(2)
    expect((await get(late, newest!)).body.version).toBe(1)
    const missing = { status: 404, body: { code: 'document.not_found' } }
    for (const [of, id] of [
      [late, oldest],
      [stranger, newest],
      [early, idOfUuid('doc', crypto.randomUUID())],
    ] as const)
      expect(await get(of, id!)).toMatchObject(missing)
    expect((await stranger.ask('GET', `${early.path}/documents/${newest}`)).body.code).toBe('fiscal_entity.not_found')
  })
})

describe('the identifier of a document', () => {
  it('derives from what everybody sees who reads it, and from nothing that others know or that the service counts', async () => {
    const rfc = freshRfc()
    const [one, other] = [await reader(rfc), await reader(rfc)]
    await runsOn('2026-03-10', rfc, [one, other])
    const seen = await one.documents()
    const idsOf = (some: typeof seen) => some.map(({ document_id }) => document_id)
    expect(idsOf(await other.documents())).toEqual(idsOf(seen))
    const derived = await Promise.all(
      seen.map(async ({ data_source_key, name, sha256, document_date }) => {
        const text = new TextEncoder().encode(JSON.stringify([rfc, data_source_key, name, sha256]))
        const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', text)).toHex()
        return idOfUuid('doc', Date.parse(document_date).toString(16).padStart(12, '0') + digest.slice(0, 20))
      }),
    )
    expect(derived.length).toBeGreaterThan(3)
    expect(idsOf(seen)).toEqual(derived)
  })
})

describe('the list', () => {
  it('is filtered by source, kind, period and version, page by page', async () => {
    const rfc = freshRfc()
    const one = await reader(rfc, ['sat_csf', 'sat_declaracion_mensual', 'sat_declaracion_anual'])
    await runsOn('2026-05-20', rfc, [one])
    const all = await one.documents()
    const days = (some: typeof all) => some.map(({ period_end, document_date }) => period_end ?? document_date)
    const of = (from: string, to: string) => days(all).filter((day) => day >= from && day <= to)
    expect(days(await one.documents('&from=2026-01-01&to=2026-03-31'))).toEqual(of('2026-01-01', '2026-03-31'))
    expect(days(await one.documents('&from=2026-04-30'))).toEqual(of('2026-04-30', '9999'))
    expect(days(await one.documents('&to=2025-06-30&kind=acuse')).length).toBe(of('', '2025-06-30').length / 2)
    const found: string[] = []
    for (let cursor = ''; ; ) {
      const { body } = await one.ask('GET', `${one.path}/documents?limit=3&kind=acuse&version=latest${cursor}`)
      found.push(...body.data.map(({ document_id }: { document_id: string }) => document_id))
      if (!body.has_more) break
      cursor = `&cursor=${encodeURIComponent(body.next_cursor)}`
    }
    expect(found).toEqual((await one.documents('&kind=acuse&version=latest')).map(({ document_id }) => document_id))
    for (const query of ['from=2026-02-01&to=2026-01-01', 'kind=x', 'version=2', 'from=2026-13-01'])
      expect((await one.ask('GET', `${one.path}/documents?${query}`)).status).toBe(422)
  })
})

describe('the content of a document', () => {
  it('comes whole or in the part that Range asks for, with the SHA-256 as its ETag', async () => {
    const rfc = freshRfc()
    const one = await reader(rfc)
    await runsOn('2026-03-10', rfc, [one])
    const [csf] = await one.documents('&kind=csf')
    const { size, sha256, document_id, name } = csf!
    const bytes = filesOf(rfc, 'sat_csf', new Date())[0]!.bytes
    const text = new TextDecoder().decode(bytes)
    const get = async (headers: Record<string, string> = {}) => {
      const path = `${one.path}/documents/${document_id}/content`
      return request('GET', path, { headers: { authorization: basic(one.owner), ...headers } })
    }
    const whole = await get()
    expect([whole.status, whole.body, whole.headers.get('etag'), whole.headers.get('accept-ranges')]).toEqual([
      200,
      text,
      `"${sha256}"`,
      'bytes',
    ])
    expect([whole.headers.get('content-type'), whole.headers.get('content-disposition')]).toEqual([
      'application/pdf',
      `attachment; filename="${name.replace(/[^\w.-]/g, '_')}"`,
    ])
    const partOf = async (range: string, headers: Record<string, string> = {}) => {
      const { status, body, headers: notified } = await get({ range, ...headers })
      return [status, status === 416 ? null : body, notified.get('content-range'), notified.get('content-length')]
    }
    const part = (from: number, to: number) => [206, text.slice(from, to + 1), `bytes ${from}-${to}/${size}`, String(to - from + 1)]
    expect(await partOf('bytes=0-9')).toEqual(part(0, 9))
    expect(await partOf('bytes=10-')).toEqual([
      206,
      new TextDecoder().decode(bytes.subarray(10)),
      `bytes 10-${size - 1}/${size}`,
      `${size - 10}`,
    ])
    expect((await partOf('bytes=-7')).slice(2)).toEqual([`bytes ${size - 7}-${size - 1}/${size}`, '7'])
    expect((await partOf(`bytes=5-${size + 100}`))[2]).toBe(`bytes 5-${size - 1}/${size}`)
    expect((await partOf(`bytes=${size}-`)).slice(0, 3)).toEqual([416, null, `bytes */${size}`])
    expect((await partOf('bytes=0-1,4-5'))[0]).toBe(200)
    expect(await partOf('bytes=0-9', { 'if-range': `"${sha256}"` })).toEqual(part(0, 9))
    expect((await partOf('bytes=0-9', { 'if-range': '"another"' }))[0]).toBe(200)
    for (const known of [`"${sha256}"`, `"another", W/"${sha256}"`, '*']) {
      const { status, body, headers } = await get({ 'if-none-match': known, range: 'bytes=0-9' })
      expect([status, body, headers.get('etag'), headers.get('cache-control')]).toEqual([304, '', `"${sha256}"`, 'no-store'])
    }
    expect(await partOf('bytes=0-9', { 'if-none-match': '"another"' })).toEqual(part(0, 9))
    const head = await exports.default.fetch(
      new Request(`https://api.test${one.path}/documents/${document_id}/content`, {
        method: 'HEAD',
        headers: { authorization: basic(one.owner), range: 'bytes=0-9' },
      }),
    )
    expect([head.status, head.headers.get('content-length'), head.headers.get('etag')]).toEqual([200, `${size}`, `"${sha256}"`])
  })

  it('any range of any size is a part that lies within, or none', () => {
    for (const size of [0, 1, 2, 9])
      for (const header of [
        'bytes=0-',
        'bytes=0-0',
        'bytes=1-',
        'bytes=-1',
        'bytes=-0',
        'bytes=-99',
        'bytes=2-1',
        'bytes=8-99',
        'bytes=-',
        'x=0-1',
      ]) {
        const range = rangeOf(header, size)
        if (range === null || range === 'unsatisfiable') continue
        expect([header, size, range.length >= 1 && range.offset >= 0 && range.offset + range.length <= size]).toEqual([header, size, true])
      }
    expect([rangeOf('bytes=0-', 0), rangeOf('bytes=-0', 5), rangeOf('bytes=2-1', 5), rangeOf(null, 5)]).toEqual([
      ...['unsatisfiable', 'unsatisfiable', null, null],
    ])
  })
})

describe('a PDF that cannot be read', () => {
  it('is kept and served; its fields are null, with the reason, and its job succeeds', async () => {
    const rfc = freshRfc()
    const one = await reader(rfc)
    delivers((source) =>
      filesOf(rfc, source as never, new Date()).map((file) =>
        file.kind === 'csf' ? { ...file, bytes: new TextEncoder().encode('<html>') } : file,
      ),
    )
    await runsOn('2026-03-10', rfc, [one])
    const [csf] = await one.documents('&kind=csf')
    expect(csf).toMatchObject({
      fields_status: 'unreadable',
      fields: null,
      fields_reason: 'The file is not a PDF that can be opened.',
      size: 6,
    })
    expect((await one.jobs()).every(({ status }) => status === 'succeeded')).toBe(true)
    expect((await one.profile()).tax_status).toBeNull()
    expect(await one.notified()).toMatchObject([{ event: 'document.csf.updated', fields_status: 'unreadable', changes: [] }])
  })
})
