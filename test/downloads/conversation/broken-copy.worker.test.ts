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
