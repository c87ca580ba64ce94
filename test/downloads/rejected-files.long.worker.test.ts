import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import * as adapters from '../../src/authority/adapters.ts'
import type { Package } from '../../src/authority/port/authority.ts'
import { delivering, packed } from '../authority/support/packages.ts'
import { metadataOf } from '../cfdi/imports/support/imports.ts'
import { contentsOf, newBook } from '../cfdi/support/book.ts'
import { type Plain, plainOf, xmlOf } from '../cfdi/support/documents.ts'
import { restore } from '../support/clock.ts'
import { randomOf } from '../support/random.ts'
import { freshRfc } from '../support/tenants.ts'
import { zipOf } from '../support/zip.ts'
import { bookOf, callOf, cfdiOf, deliver, later, losingMessages, sqlOf, subscriber, work } from './support/downloads.ts'

/** A download says of each file, and of each row of metadata, that it did not keep which one it is and why (issue 13, part 8). */

const random = randomOf(41)
const utf8 = new TextEncoder()
const MAY = cfdiOf(1, { data_source_keys: ['sat_cfdi_issued'] })

beforeEach(() => {
  later(0)
  losingMessages()
  vi.spyOn(console, 'error').mockImplementation(() => {})
})

afterEach(restore)

interface Given {
  metadata: { name: string; bytes: Uint8Array }[]
  xml: { name: string; bytes: Uint8Array }[]
}

/** From here on this is what the authority has of May. */
function authorityHas({ metadata, xml }: Given, ...more: Package[]): void {
  vi.mocked(adapters.authorityOf).mockRestore?.()
  const real = adapters.authorityOf
  vi.spyOn(adapters, 'authorityOf').mockImplementation(async (system) => ({
    ...(await real(system)),
    step: async (request) => delivering(request, packages(request.month)),
  }))
  async function* packages(month: string) {
    if (month !== '2026-05') return
    if (metadata.length > 0) yield packed('metadata', zipOf(metadata))
    yield packed('xml', zipOf(xml))
    yield* more
  }
}

const jobOf = async (one: Awaited<ReturnType<typeof subscriber>>) => {
  const jobs = (await one.jobs()).filter(({ period }) => period === '2026-05')
  return jobs[0]!
}

const storedOf = async (rfc: string) => ((await bookOf(rfc, ['cfdi']))['cfdi'] as { uuid: string; xml_crc: number | null }[]).length
const invoiceOf = (rfc: string, day: string) => ({
  ...plainOf(random, '2026-05', { emisor: rfc, lines: 1 }),
  fecha: `2026-05-${day}T10:00:00`,
})
const fileOf = (document: Plain, more = '') => ({
  name: `${document.uuid}.xml`,
  bytes: utf8.encode(xmlOf(document) + more),
})
const listed = (...documents: Plain[]) => ({
  name: 'lista_01.txt',
  bytes: metadataOf(documents.map((document) => ({ document, isCancelled: false }))),
})

describe('what a download did not keep', () => {
  it('is listed in its job by name and code, beside the count: broken, empty and doubled files, lines and rows of metadata', async () => {
    const rfc = freshRfc()
    const [good, broken, empty, foreign] = ['01', '02', '03', '04'].map((day) => invoiceOf(rfc, day)) as [Plain, Plain, Plain, Plain]
    const rows = [good, broken, { ...foreign, emisor: 'BBB020202BB1', receptor: 'CCC030303CC2' }]
    const list = new TextDecoder().decode(listed(...rows).bytes)
    authorityHas({
      metadata: [
        { name: 'lista_01.txt', bytes: utf8.encode(`${list}no-uuid~${rfc}~A~${rfc}\r\n`) },
        { name: 'vacia_02.txt', bytes: new Uint8Array() },
        { name: 'vacia_tercero.txt', bytes: new Uint8Array() },
      ],
      xml: [
        fileOf(good),
        { ...fileOf(good, '\n'), name: `copia/${good.uuid}.xml` },
        { name: `${broken.uuid}.xml`, bytes: utf8.encode('<broken') },
        { name: `${empty.uuid}.xml`, bytes: new Uint8Array() },
      ],
    })
    const one = await subscriber(rfc, MAY)
    await one.run()
    await work(rfc)
    const job = await jobOf(one)
    // good and broken are stored, the latter from its metadata. The header is line 1, so the foreign row is line 4 and the last is line 5.
    expect(job).toMatchObject({ status: 'succeeded', created_count: 2, rejected_count: 5 })
    expect(job.rejected_files).toEqual([
      { name: `copia/${good.uuid}.xml`, line: null, code: 'cfdi.conflict' },
      { name: `${broken.uuid}.xml`, line: null, code: 'cfdi.malformed' },
      { name: `${empty.uuid}.xml`, line: null, code: 'cfdi.empty' },
      { name: 'lista_01.txt', line: 4, code: 'cfdi.foreign_rfc' },
      { name: 'lista_01.txt', line: 5, code: 'metadata.invalid_uuid' },
    ])
    expect(await storedOf(rfc)).toBe(2)
    // Nothing is left of it when the authority delivers everything.
    authorityHas({ metadata: [listed(good, broken)], xml: [fileOf(good), fileOf(broken)] })
    later(3_600)
    await one.run()
    await work(rfc)
    expect(await jobOf(one)).toMatchObject({ status: 'succeeded', rejected_count: 0, rejected_files: [] })
  })

  it('is null in the row of a job that kept everything, and JSON in the others: by it a month is told from a complete one', async () => {
    const [clean, unclean] = [freshRfc(), freshRfc()]
    for (const rfc of [clean, unclean]) {
      authorityHas({
        metadata: [],
        xml: [fileOf(invoiceOf(rfc, '05')), ...(rfc === clean ? [] : [{ name: 'a.xml', bytes: utf8.encode('<a') }])],
      })
      await (await subscriber(rfc, MAY)).run()
      await work(rfc)
      const { entity } = await callOf(rfc)
      const row = await env.LEDGER_0.prepare("select rejected_files from sync_jobs where entity = ? and month = '2026-05'")
        .bind(entity)
        .first()
      expect(row).toEqual({ rejected_files: rfc === clean ? null : '[{"name":"a.xml","line":null,"code":"cfdi.malformed","uuid":null}]' })
    }
  })

  it('is listed in a job that fails too, when the metadata of a month cannot be read or a package cannot be opened', async () => {
    const good = (rfc: string) => ({ metadata: [listed(invoiceOf(rfc, '05'))], xml: [fileOf(invoiceOf(rfc, '05'))] })
    const damaged = (rfc: string) => {
      const { bytes } = listed(invoiceOf(rfc, '05'))
      const zip = zipOf([{ name: 'lista_01.txt', bytes, level: 'stored' }])
      // The last character of the only row, before the directory of 46 bytes and the name, and the end of 22 bytes.
      zip[zip.length - 22 - 46 - 'lista_01.txt'.length - 1]! ^= 1
      return zip
    }
    for (const [kind, bytesOf, rejected] of [
      ['metadata', damaged, { name: 'lista_01.txt', line: null, code: 'zip.wrong_crc' }],
      ['xml', () => utf8.encode('PK'), { name: 'package.zip', line: null, code: 'zip.no_directory' }],
    ] as const) {
      const rfc = freshRfc()
      authorityHas(good(rfc), packed(kind, bytesOf(rfc)))
      const one = await subscriber(rfc, MAY)
      later(0)
      await one.run()
      for (let attempt = 0; attempt < 12; attempt++) {
        later(1_000 * attempt)
        await deliver([await callOf(rfc)])
      }
      expect(await jobOf(one)).toMatchObject({ status: 'failed', attempts: 12, error_class: 'internal_error', rejected_count: 1 })
      expect((await jobOf(one)).rejected_files).toEqual([rejected])
    }
  })

  it('is listed up to 100, and counted beyond', async () => {
    const rfc = freshRfc()
    authorityHas({ metadata: [], xml: Array.from({ length: 130 }, (_, n) => ({ name: `${n}.xml`, bytes: utf8.encode('<broken') })) })
    const one = await subscriber(rfc, MAY)
    await one.run()
    await work(rfc)
    const job = await jobOf(one)
    expect(job.rejected_count).toBe(130)
    expect(job.rejected_files.map(({ name }) => name)).toEqual(Array.from({ length: 100 }, (_, n) => `${n}.xml`))
  })

  it('is listed once, when the worker dies as the job ends and another attempt does it again', async () => {
    const rfc = freshRfc()
    authorityHas({ metadata: [listed(invoiceOf(rfc, '05'))], xml: [{ name: 'a.xml', bytes: utf8.encode('<broken') }] })
    const one = await subscriber(rfc, MAY)
    await one.run()
    // The batch that ends a job has its event; that of the mandatory source is the first, and that of May is the second.
    const prototype = Object.getPrototypeOf(env.LEDGER_0) as D1Database
    const { batch } = prototype
    let ends = 0
    const dying = vi.spyOn(prototype, 'batch').mockImplementation(function (this: D1Database, statements: D1PreparedStatement[]) {
      const isEnd = statements.some((one) => /finished_after = \?/.test(sqlOf(one)))
      return isEnd && ++ends === 2 ? Promise.reject(new Error('The isolate was evicted here.')) : (batch.call(this, statements) as never)
    })
    await work(rfc)
    dying.mockRestore()
    later(600)
    await work(rfc)
    expect(await jobOf(one)).toMatchObject({
      ...{ status: 'succeeded', attempts: 2, rejected_count: 1 },
      rejected_files: [{ name: 'a.xml', line: null, code: 'cfdi.malformed' }],
    })
  })
})

describe('of what a shared download did not keep, an organization is shown', () => {
  it('what lies in its window, and what has no date', async () => {
    const rfc = freshRfc()
    const [early, late, undated] = [invoiceOf(rfc, '05'), invoiceOf(rfc, '19'), invoiceOf(rfc, '10')]
    const broken = [early, late, undated].map(({ uuid }) => ({ name: `${uuid}.xml`, bytes: utf8.encode('<broken') }))
    authorityHas({ metadata: [listed(early, late)], xml: broken })
    const [wide, narrow] = [await subscriber(rfc, MAY), await subscriber(rfc, MAY)]
    await wide.run()
    await narrow.run()
    await work(rfc)
    const { entity } = await callOf(rfc)
    await env.DB.prepare("update connections set issued_from = '2026-05-15' where entity = ? and organization_id = ?")
      .bind(entity, narrow.id)
      .run()
    const shown = async (one: typeof wide) => (await jobOf(one)).rejected_files.map(({ name }) => name.slice(0, 36))
    expect(await shown(wide)).toEqual([early.uuid, late.uuid, undated.uuid])
    expect(await shown(narrow)).toEqual([late.uuid, undated.uuid])
  })

  it('nothing of a job that ended when its connection was not active', async () => {
    const rfc = freshRfc()
    authorityHas({ metadata: [], xml: [{ name: 'a.xml', bytes: utf8.encode('<broken') }] })
    const [stays, leaves] = [await subscriber(rfc, MAY), await subscriber(rfc, MAY)]
    await stays.run()
    await leaves.run()
    expect((await leaves.ask('PATCH', `/v1/billing/rfcs/${leaves.fiscal_entity_id}`, { active: false })).status).toBe(200)
    later(60)
    await work(rfc)
    expect(await jobOf(stays)).toMatchObject({ rejected_count: 1, rejected_files: [{ name: 'a.xml' }] })
    expect(await jobOf(leaves)).toMatchObject({ rejected_count: 0, rejected_files: [] })
  })
})

describe('large documents', () => {
  it('are kept by a download: invoices of 1 to 3,000 lines, and metadata of 300 rows and more', async () => {
    const rfc = freshRfc()
    const invoices = [1, 100, 200, 440, 840, 1_640, 3_000].map((lines) => ({ ...invoiceOf(rfc, '05'), lines }))
    const others = Array.from({ length: 960 }, () => invoiceOf(rfc, '06'))
    const metadata = [320, 640].map((rows, n) => ({ ...listed(...others.slice(n * 320, n * 320 + rows)), name: `lista_0${n}.txt` }))
    const files = invoices.map((document) => fileOf(document))
    // These sizes were lost: those at which workerd's buffer of 40 KiB, 80 KiB, 160 KiB … had to grow by 40 KiB (test/cfdi/package/sizes).
    const isLost = (size: number) => [1, 2, 4, 8, 16, 32, 64].some((n) => size > n * 40_960 && size < (n + 1) * 40_960)
    expect(files.map(({ bytes }) => isLost(bytes.length))).toEqual([false, true, true, true, true, true, false])
    expect(metadata.every(({ bytes }) => isLost(bytes.length))).toBe(true)
    authorityHas({ metadata: [...metadata, { ...listed(...invoices), name: 'lista_03.txt' }], xml: files })
    const one = await subscriber(rfc, MAY)
    await one.run()
    await work(rfc)
    expect(await jobOf(one)).toMatchObject({
      status: 'succeeded',
      created_count: 967,
      updated_count: 0,
      rejected_count: 0,
      rejected_files: [],
    })
    const contents = await contentsOf({ ...newBook(), entity: (await callOf(rfc)).entity })
    expect(invoices.map(({ uuid }) => contents.get(uuid)!.conceptos.length)).toEqual(invoices.map(({ lines }) => lines))
  })
})
