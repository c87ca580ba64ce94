import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Customer, randomRfc, type Sync } from '../../scripts/customer.ts'
import { makeEfirma } from '../../tools/stand-in/certificates.ts'
import { type StandIn, startStandIn } from '../../tools/stand-in/stand-in.ts'
import { generate } from '../../tools/stand-in/truth/generate.ts'
import { zip } from '../../tools/stand-in/zip.ts'
import { all, wantFewMonths } from './support/books.ts'
import { INSPECTED, Memory } from './support/memory.ts'
import { discard, freePort, freshState, Started, until } from './support/runner.ts'
import { exportOf, filled, importFile } from './support/uploads.ts'

const MB = 1_000_000
const isLong = process.env['FUZZ'] === 'full'
const WITHIN = 3_000_000
/** How much more memory a large package may take than a small one: of 84,000 usual documents the index of their UUIDs comes on top. */
const MOST_RATIO = { large: 1.1, usual: 1.2 }
/** How many bytes are put into most documents of a package that has large ones. */
const PADDING = 80_000
const LARGE = isLong ? 200 * MB : 30 * MB
const SMALL = LARGE / 10
/** Pages that are read all the time beside other work. */
const READERS = 50

const now = new Date()
const MONTH = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1)).toISOString().slice(0, 7)

let stateDir: string
let service: Started
let standIn: StandIn
let customer: Customer
let memory: Memory
/** How large the packages were, in bytes. */
const sizes: number[] = []

beforeAll(async () => {
  standIn = await startStandIn({ packageSize: 200_000 })
  const { requests } = standIn.authority
  const download = requests.download.bind(requests)
  requests.download = (...asked) => {
    const found = download(...asked)
    if (!('code' in found)) sizes.push(found.length)
    return found
  }
  stateDir = freshState()
  service = await new Started(stateDir, await freePort(), {
    ...{ TAX_AUTHORITY: 'sat', SAT_STAND_IN: standIn.url, AUTHORITY_WAIT_FACTOR: '0.02', ...INSPECTED },
  }).ready()
  customer = await Customer.signUp(service.url, 'Memoria')
  await wantFewMonths(customer)
  memory = await Memory.of(service)
})
afterAll(async () => {
  memory?.close()
  await discard(stateDir, [service])
  await standIn.close()
})

/** Prepares a month whose CFDIs come in one package of about so many bytes, and returns what connects and downloads it. */
function packed(padding: number, bytes: number): () => Promise<string> {
  const rfc = randomRfc()
  const of = (issued: number) =>
    generate({ rfc, from: MONTH, months: 1, counts: { issued, received: 0, payroll: 0, retenciones: 0 }, padding }).documents
  const sample = of(60).map((one) => ({ name: `${one.uuid}.xml`, bytes: Buffer.from(one.xml()) }))
  const documents = of(Math.ceil((60 * bytes) / zip(sample).length))
  for (const one of documents) standIn.truth.add(one)
  const { certificate, private_key, password } = makeEfirma(rfc)
  return async () => {
    sizes.splice(0)
    const { fiscal_entity_id } = await customer.ask<{ fiscal_entity_id: string }>('POST', '/v1/fiscal-entities', {
      ...{ rfc, efirma: { certificate, private_key, password } },
      data_source_keys: ['sat_cfdi_issued'],
    })
    const sync = () => customer.ask<Sync>('GET', `/v1/fiscal-entities/${fiscal_entity_id}/sync`)
    await until('the months are downloaded', WITHIN, async () => (await sync().catch(() => null))?.status === 'idle', 500)
    const { jobs } = await sync()
    expect(jobs).toMatchObject({ failed: 0, succeeded: jobs.total })
    const ended = await all<{ created_count: number }>(customer, `/v1/fiscal-entities/${fiscal_entity_id}/sync-jobs?limit=100`)
    expect(ended.reduce((sum, { created_count }) => sum + created_count, 0)).toBe(documents.length)
    const size = Math.max(...sizes)
    expect([size > 0.95 * bytes, size < 1.05 * bytes]).toEqual([true, true])
    return fiscal_entity_id
  }
}

/** What breaks without it: the platform ends the Worker that ingests a large package, again and again, and its month never comes. */
describe('the memory of the isolate stays within its limit', { timeout: 4 * WITHIN }, () => {
  it(`with a package of ${LARGE / MB} MB`, async () => {
    await memory.measured(packed(PADDING, LARGE))
  })

  it(`with a package of ${LARGE / MB} MB, an upload of 25 MiB, an export and 50 readers at once`, async () => {
    const read = await packed(0, LARGE / 20)()
    const rfc = randomRfc()
    const { fiscal_entity_id } = await customer.ask<{ fiscal_entity_id: string }>('POST', '/v1/fiscal-entities', { rfc })
    const download = packed(PADDING, LARGE)
    const { files, count } = filled(rfc, 20_000, 25 * 1024 * 1024)
    // The connection of the last request has been closed since.
    await sleep(1_000)
    await memory.measured(async () => {
      let isOver = false
      const readers = Promise.all(
        Array.from({ length: READERS }, async () => {
          for (; !isOver; await sleep(1_000)) await customer.ask('GET', `/v1/cfdi?fiscal_entity_id=${read}`)
        }),
      )
      const work = Promise.all([
        download(),
        importFile(customer, fiscal_entity_id, files),
        exportOf(customer, { fiscal_entity_id: read, kind: 'cfdi', format: 'xlsx' }),
      ])
      const [, { created }, exported] = await work.finally(() => {
        isOver = true
      })
      expect([created, exported > 0]).toEqual([count, true])
      await readers
    })
  })

  it.runIf(isLong)(`with a package of ${LARGE / MB} MB of usual documents`, async () => {
    await memory.measured(packed(0, LARGE))
  })

  const shapes = isLong
    ? ([
        ['large', PADDING],
        ['usual', 0],
      ] as const)
    : []
  it.each(shapes)('and a package of %s documents needs hardly more than one with a tenth of it', async (documents, padding) => {
    // Small packages before and after it, because a Worker that has worked for long has more of its code in memory; two each time, so that they
    // are looked at about as often.
    const smalls = () =>
      memory.needed(async () => {
        for (const download of [packed(padding, SMALL), packed(padding, SMALL)]) await download()
      })
    const before = await smalls()
    const large = await memory.needed(packed(padding, LARGE))
    expect(large / Math.max(before, await smalls())).toBeLessThan(MOST_RATIO[documents])
  })

  // Garbage grows with the work until the engine collects it, and then no more: the same work has the same share of it, in packages of any size.
  it.runIf(isLong)('and with garbage as much as its documents in ten packages need', async () => {
    const small = await memory.used(async () => {
      for (const download of Array.from({ length: 10 }, () => packed(0, SMALL))) await download()
    })
    expect((await memory.used(packed(0, LARGE))) / small).toBeLessThan(1.2)
  })
})
