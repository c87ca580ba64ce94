import { afterEach, expect, it, vi } from 'vitest'
import { restore } from '../../support/clock.ts'
import { freshRfc } from '../../support/tenants.ts'
import { cfdiOf, losingMessages } from '../support/downloads.ts'
import { asWithAuthority, SatWorld } from './support/sat-world.ts'

afterEach(restore)

const SIGNATURE = Buffer.from('PK\x03\x04', 'latin1')

/** Fills the data of a file of a ZIP with something else; its directory stays as it is. */
function damaged(zip: Buffer, nth: number): Buffer {
  const bytes = Buffer.from(zip)
  let at = 0
  for (let n = 0; n < nth; n++) at = bytes.indexOf(SIGNATURE, at + 4)
  bytes.fill(0x55, at + 120, at + 140)
  return bytes
}

/** What breaks without it: the month is partial, although everything that the authority announces is held with its XML. */
it('a file that came broken, and whole in the same download, leaves nothing of its month to be asked for', async () => {
  const world = new SatWorld(freshRfc(), { months: 1, from: '2026-04' }, { quirks: ['duplicated'] })
  asWithAuthority(world)
  losingMessages()
  const one = await world.subscriber(cfdiOf(2, { data_source_keys: ['sat_cfdi_issued'] }))
  const { requests } = world.authority
  const real = requests.download.bind(requests)
  vi.spyOn(requests, 'download').mockImplementation((family, rfc, id) => {
    const bytes = real(family, rfc, id)
    const of = requests.all.find(({ packages }) => packages.some((part) => part.id === id))!
    // The first document is in its package twice.
    return Buffer.isBuffer(bytes) && of.kind === 'CFDI' && family === 'cfdi' ? damaged(bytes as Buffer, 0) : bytes
  })
  await one.run()
  await world.call()
  await world.work()
  const [month] = (await one.ask('GET', `${one.path}/coverage?source=sat_cfdi_issued&from=2026-04&to=2026-04`)).body.data
  expect(month.with_xml_count).toBe(month.announced_count)
  expect(month).toMatchObject({ status: 'complete', rejected_count: 1 })
})

/** How a package comes. Where an entry is missing, the ZIP is made without its first document. */
const FAULTS: Record<string, (zip: Buffer) => Buffer> = {
  'a file is damaged': (zip) => damaged(zip, 0),
  'a file whose name says no UUID is damaged': (zip) => damaged(zip, 3),
  'the directory is missing': (zip) => zip.subarray(0, zip.lastIndexOf(Buffer.from('PK\x01\x02', 'latin1'))),
  'half is missing': (zip) => zip.subarray(0, zip.length / 2),
  'an entry is missing': (zip) => zip,
}

/** What breaks without it: a month is partial, although everything that the authority announces is held with its XML. */
it.each([
  ...Object.keys(FAULTS).flatMap((fault) => [1, 2].map((times) => ['CFDI', fault, times] as const)),
  ...['a file is damaged', 'half is missing'].map((fault) => ['Metadata', fault, 1] as const),
])('a package (%s) of which %s, %i times, leaves its month partial only until it has come whole', async (kind, fault, times) => {
  // The fourth file of a package is its first document again.
  const world = new SatWorld(freshRfc(), { months: 1, from: '2026-04' }, { quirks: ['names', 'duplicated'], packageSize: 3 })
  asWithAuthority(world)
  losingMessages()
  const one = await world.subscriber(cfdiOf(2, { data_source_keys: ['sat_cfdi_issued'] }))
  const { requests } = world.authority
  const real = requests.download.bind(requests)
  let broken = 0
  vi.spyOn(requests, 'download').mockImplementation((family, rfc, id) => {
    const of = requests.all.find(({ packages }) => packages.some((part) => part.id === id))!
    const part = of.packages.find((part) => part.id === id)!
    const isBroken = of.kind === kind && family === 'cfdi' && broken++ < times
    const { documents } = part
    if (isBroken && fault === 'an entry is missing') part.documents = documents.filter((document) => document !== documents[0])
    const bytes = real(family, rfc, id)
    part.documents = documents
    return isBroken && Buffer.isBuffer(bytes) ? FAULTS[fault]!(bytes as Buffer) : bytes
  })
  const seen = []
  for (let run = 0; run < 3 && !seen.at(-1)?.startsWith('complete'); run++) {
    await one.run()
    await world.call()
    await world.work()
    const [month] = (await one.ask('GET', `${one.path}/coverage?source=sat_cfdi_issued&from=2026-04&to=2026-04`)).body.data
    const { status, with_xml_count, announced_count } = month
    seen.push(with_xml_count === announced_count ? status : `${status} with ${with_xml_count} of ${announced_count}`)
    world.pass(86_400_000)
  }
  expect(seen.at(-1)).toBe('complete')
  expect(seen.slice(0, -1)).not.toContain('partial')
  expect((await world.differences()).filter((line) => line.startsWith('sat_cfdi_issued'))).toEqual([])
})
