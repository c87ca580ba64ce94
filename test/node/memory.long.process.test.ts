import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { scheduledPath } from '../../scripts/crons.ts'
import { Customer, randomRfc } from '../../scripts/customer.ts'
import { wrangler } from '../../scripts/wrangler.ts'
import { objectOf } from '../../src/lists/catalog.ts'
import { rfcOf } from '../lists/support/list-csv.ts'
import { zipOf } from '../support/zip.ts'
import { wantFewMonths } from './support/books.ts'
import { INSPECTED, Memory } from './support/memory.ts'
import { discard, freePort, freshState, Started, until } from './support/runner.ts'
import { type Counts, exportOf, filled, importFile, invoiceOf, metadataOf } from './support/uploads.ts'

/** The largest list, with the texts that are not collected yet: 342 MB before it was loaded in parts. */
const MOST_OF_LIST = 128_000_000
const MOST_UPLOAD = 100_000_000
const isLong = process.env['FUZZ'] === 'full'
const WITHIN = 900_000
/** How much more memory a large file may take than a small one. */
const MOST_RATIO = 1.1
/** What the documents of a large file are like, and how many bytes each has that hardly compress. */
const SHAPES: readonly (readonly [name: string, ballast: number])[] = [
  ['large documents', 60_000],
  ...(isLong ? [['usual documents', 1_500] as const] : []),
]

let stateDir: string
let service: Started
let customer: Customer
let memory: Memory
let rfc: string
/** A taxpayer of whom months of many documents are downloaded. */
let busy: string
/** A connection without a login. */
let draft: string

beforeAll(async () => {
  stateDir = freshState()
  service = await new Started(stateDir, await freePort(), INSPECTED).ready()
  customer = await Customer.signUp(service.url, 'Memoria')
  await wantFewMonths(customer)
  rfc = randomRfc()
  draft = (await customer.ask<{ fiscal_entity_id: string }>('POST', '/v1/fiscal-entities', { rfc })).fiscal_entity_id
  memory = await Memory.of(service)
})
afterAll(async () => {
  memory?.close()
  await discard(stateDir, [service])
})

/** Imports files, all at once, and holds the memory that this takes against the limit. */
const imported = (...files: Uint8Array[]): Promise<Counts[]> =>
  memory.measured(() => Promise.all(files.map((one) => importFile(customer, draft, one))))

const created = (count: number) => ({ created: count, updated: 0, unchanged: 0, rejected: 0 })
const rejected = (count: number) => ({ ...created(0), rejected: count })

/** A ZIP of about so many MiB of invoices that hardly compress. */
const heavy = (mebibytes: number) => zipOf(Array.from({ length: mebibytes * 16 }, () => invoiceOf(rfc, 2, 60_000)))
const long = (documents: number, lines: number) => zipOf(Array.from({ length: documents }, () => invoiceOf(rfc, lines)))

const LISTED = 264_000

/** The taxpayers of the authority's largest list, as it writes them (20 MB), the first `moved` of which are in the list's other version only. */
function largestList(moved: number): Buffer {
  const rows = Array.from({ length: LISTED }, (_, n) => {
    const rfc = rfcOf(n < moved ? n + LISTED : n)
    return `${rfc},"PEÑA ${rfc}, S.A. DE C.V.",M,FIRMES,01/01/20${10 + (n % 10)},JALISCO\r\n`
  })
  return Buffer.from(`RFC,RAZON SOCIAL,TIPO PERSONA,SUPUESTO,FECHA DE PRIMERA PUBLICACION,ENTIDAD FEDERATIVA\r\n${rows.join('')}`, 'latin1')
}

/** Brings the list as an operator does, and waits until it is loaded. */
async function bringList(file: Buffer): Promise<void> {
  const path = join(stateDir, 'list.csv')
  writeFileSync(path, file)
  const key = `fiscal-local-files/${objectOf('sat_69_firmes')}`
  await wrangler('r2', 'object', 'put', key, '--file', path, '--local', '--persist-to', stateDir)
  const loads = () => service.said.split('A list was loaded.').length
  const before = loads()
  await memory.measured(async () => {
    await fetch(service.url + scheduledPath('0 10 * * *', Date.now()))
    await until('the list is loaded', WITHIN, () => loads() > before)
  }, MOST_OF_LIST)
}

describe('the memory of the isolate stays within its limit', { timeout: WITHIN }, () => {
  it('with 100,000 lines in five CFDIs', async () => {
    expect(await imported(long(5, 20_000))).toEqual([created(5)])
  })

  it('with the most lines that are kept of a CFDI, and with more', async () => {
    const bare = (lines: number) => {
      const { name, bytes } = invoiceOf(rfc, 1)
      const text = new TextDecoder()
        .decode(bytes)
        .replace(/<cfdi:Concepto .*?\/>/, '<cfdi:Concepto Descripcion="x" Importe="1"/>'.repeat(lines))
      return { name, bytes: new TextEncoder().encode(text) }
    }
    expect(await imported(zipOf([bare(30_000), bare(90_000)]))).toEqual([created(2)])
  })

  it('with several uploads at once', async () => {
    const files = Array.from({ length: 4 }, (_, i) => (i % 2 === 0 ? long(2, 20_000) : heavy(6)))
    expect(await imported(...files)).toEqual([created(2), created(96), created(2), created(96)])
  })

  it('with metadata as a TXT', async () => {
    const rows = isLong ? 140_000 : 10_000
    expect(await imported(metadataOf(rfc, rows))).toEqual([created(1)])
  })

  it.runIf(isLong)('with metadata of 200,000 rows in a ZIP', async () => {
    expect(await imported(zipOf([{ name: 'lista.txt', bytes: metadataOf(rfc, 200_000) }]))).toEqual([created(1)])
  })

  it.each(SHAPES)(
    `with the largest upload that there may be, of %s${isLong ? ', and with hardly more than with a fifth of it' : ''}`,
    async (_, ballast) => {
      const sent = (bytes: number) => {
        const { files, count } = filled(rfc, ballast, bytes)
        expect([files.length > 0.99 * bytes, files.length <= bytes]).toEqual([true, true])
        return async () => expect(await importFile(customer, draft, files)).toEqual(created(count))
      }
      await memory.measured(sent(MOST_UPLOAD))
      if (!isLong) return
      // Small uploads before and after it, as long as it takes together: what is looked at longer shows more, and so does a Worker that has worked.
      const smalls = () =>
        memory.needed(async () => {
          for (const one of Array.from({ length: 3 }, () => sent(MOST_UPLOAD / 5))) await one()
        })
      const before = await smalls()
      const large = await memory.needed(sent(MOST_UPLOAD))
      expect(large / Math.max(before, await smalls())).toBeLessThan(MOST_RATIO)
    },
  )

  it.runIf(isLong)('with the largest text and directory, six times at once', async () => {
    const blank = new Uint8Array(MOST_UPLOAD).fill(32)
    expect(await imported(...Array.from({ length: 6 }, () => blank))).toEqual(Array.from({ length: 6 }, () => rejected(1)))
    const tiny = new TextEncoder().encode('<a/>')
    const names = Array.from({ length: 30_000 }, (_, i) => ({ name: `${'x'.repeat(250)}${i}.xml`, bytes: tiny }))
    expect(await imported(zipOf(names))).toEqual([rejected(30_000)])
  })

  it('with the largest list of the authority, and with its next version', async () => {
    await bringList(largestList(0))
    await bringList(largestList(2_640))
    const hitsOf = async (n: number) =>
      (await customer.ask<{ hits: { source: string }[] }>('GET', `/v1/blacklists/lookup?rfc=${rfcOf(n)}`)).hits.map(({ source }) => source)
    expect([await hitsOf(0), await hitsOf(LISTED), await hitsOf(LISTED - 1)]).toEqual([[], ['sat_69_firmes'], ['sat_69_firmes']])
  })

  it('with months of a busy taxpayer', async () => {
    const documents = isLong ? 20_000 : 500
    await memory.measured(async () => {
      const { fiscal_entity_id } = await customer.ask<{ fiscal_entity_id: string }>('POST', '/v1/fiscal-entities', {
        rfc: randomRfc(),
        ciec: `busy${documents}`,
        data_source_keys: ['sat_cfdi_issued', 'sat_cfdi_received'],
      })
      await until('the months are downloaded', WITHIN, async () => (await customer.sync(fiscal_entity_id)).status === 'idle', 500)
      const { jobs } = await customer.sync(fiscal_entity_id)
      expect(jobs).toMatchObject({ failed: 0, succeeded: jobs.total })
      expect(jobs.total).toBeGreaterThanOrEqual(6)
      busy = fiscal_entity_id
    })
  })

  it.each([
    ['cfdi', 'xlsx'],
    ['conceptos', 'csv'],
    ['xml', 'zip'],
  ])('with exports of all that it has, two at once: %s as %s', async (kind, format) => {
    await memory.measured(async () => {
      const asked = { fiscal_entity_id: busy, kind, format }
      for (const documents of await Promise.all([exportOf(customer, asked), exportOf(customer, asked)]))
        expect(documents).toBeGreaterThan(isLong ? 100_000 : 2_000)
    })
  })
})
