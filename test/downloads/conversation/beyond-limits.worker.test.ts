import { afterEach, expect, it, vi } from 'vitest'
import { restore } from '../../support/clock.ts'
import { freshRfc } from '../../support/tenants.ts'
import { cfdiOf, losingMessages } from '../support/downloads.ts'
import { asWithAuthority, SatWorld } from './support/sat-world.ts'

afterEach(restore)

/** What breaks without it: every day the XML of the month is asked for again, from the first document that can never be kept to the last one. */
it('XML that can never be kept is asked for once, its rows say so, and nothing between is asked for again', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {})
  const world = new SatWorld(freshRfc(), { months: 1, from: '2026-04' })
  asWithAuthority(world)
  losingMessages()
  const own = world.truth.documents.filter(({ emisor, type, cancelled }) => emisor.rfc === world.rfc && type === 'I' && cancelled === null)
  const [first, last] = [own[0]!, own.at(-1)!]
  for (const document of [first, last]) {
    const xml = document
      .xml()
      .replace('</cfdi:Comprobante>', `<cfdi:Addenda>${'x'.repeat(11 * 1024 * 1024)}</cfdi:Addenda></cfdi:Comprobante>`)
    world.truth.add({ ...document, xml: () => xml })
  }
  const one = await world.subscriber(cfdiOf(2, { data_source_keys: ['sat_cfdi_issued'] }))
  const run = async () => {
    await one.run()
    await world.call()
    await world.work(21_600_000)
  }
  const xml = async () => (await world.requests()).filter(({ kind, family }) => kind === 'xml' && family === 'cfdi').length
  await run()
  const asked = await xml()
  expect(asked).toBe(1)
  const rowOf = async (uuid: string) => (await one.ask('GET', `/v1/cfdi/${uuid}?fiscal_entity_id=${one.fiscal_entity_id}`)).body
  for (const { uuid } of [first, last]) expect(await rowOf(uuid)).toMatchObject({ has_xml: false, beyond_limits: 'xml' })
  expect(await rowOf(own[1]!.uuid)).toMatchObject({ has_xml: true, beyond_limits: null })
  for (let day = 0; day < 2; day++) {
    world.pass(86_400_000)
    await run()
    expect(await xml()).toBe(asked)
    const missing = (await one.ask('GET', `${one.path}/coverage/sat_cfdi_issued/2026-04`)).body.data
    expect(missing.map(({ uuid, why, code }: Record<string, string>) => [uuid, why, code]).sort()).toEqual(
      [first, last].map(({ uuid }) => [uuid, 'rejected', 'cfdi.too_large']).sort(),
    )
  }
  expect(world.authority.log.violations).toEqual([])
})
