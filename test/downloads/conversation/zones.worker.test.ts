import { afterEach, expect, it } from 'vitest'
import { uuidOf } from '../../../tools/stand-in/truth/markup.ts'
import { sale, withVat } from '../../../tools/stand-in/truth/xml.ts'
import { restore } from '../../support/clock.ts'
import { freshRfc } from '../../support/tenants.ts'
import { cfdiOf, losingMessages } from '../support/downloads.ts'
import { asWithAuthority, SatWorld } from './support/sat-world.ts'

afterEach(restore)

const DAY = 86_400_000
const CANCUN = '77500'
const TIJUANA = '22000'

/** A taxpayer who issues invoices far from the centre of Mexico, whose times the authority has. */
async function taxpayer(now: string) {
  const world = new SatWorld(freshRfc(), { months: 1, from: '2026-05', counts: { issued: 2, received: 0, payroll: 0, retenciones: 0 } })
  world.pass(Date.parse(now) - world.now)
  asWithAuthority(world)
  losingMessages()
  let days = 0
  const one = await world.subscriber(cfdiOf(2, { data_source_keys: ['sat_cfdi_issued'] }))
  return {
    world,
    /** Issues an invoice at a local time, which is certified at a time of the centre. */
    issue(postcode: string, fecha: string, stamped: string): string {
      const uuid = uuidOf(`${world.rfc} ${fecha}`)
      const [emisor, receptor] = [
        { rfc: world.rfc, name: 'PRUEBAS & ASOCIADOS' },
        { rfc: 'XIA190128J61', name: 'XENON INDUSTRIAL ARTICLES' },
      ]
      const draft = { uuid, emisor, receptor, fecha, stamped, subtotal: 100_00, folio: '1' }
      const xml = () => sale(draft, {}).replace('LugarExpedicion="06000"', `LugarExpedicion="${postcode}"`)
      const total = (withVat(draft.subtotal) / 100).toFixed(2)
      world.truth.add({ ...{ uuid, family: 'cfdi', type: 'I', emisor, receptor, fecha, stamped, total, cancelled: null }, xml })
      return uuid
    },
    async run() {
      await one.run()
      await world.call()
      await world.work(DAY / 4)
    },
    async nextDay() {
      world.pass(Date.parse(now) + ++days * DAY - world.now)
      await this.run()
    },
    missing: async () =>
      (await world.differences()).filter((line) => line.startsWith('sat_cfdi_issued')).map((line) => line.split(' ').slice(2).join(' ')),
    async statusOf(month: string): Promise<string | undefined> {
      const query = `source=sat_cfdi_issued&from=${month}&to=${month}`
      return (await one.ask('GET', `/v1/fiscal-entities/${one.fiscal_entity_id}/coverage?${query}`)).body.data[0]?.status
    },
  }
}

it('what is issued in Cancún within the last hour is later than the time of the authority, and comes with the next run', async () => {
  // Noon in the centre, one o'clock in Cancún.
  const one = await taxpayer('2026-05-20T18:00:00Z')
  one.issue(CANCUN, '2026-05-20T11:50:00', '2026-05-20T10:51:00')
  const last = one.issue(CANCUN, '2026-05-20T12:40:00', '2026-05-20T11:41:00')
  await one.run()
  expect(await one.missing()).toEqual([`${last} is missing.`])
  await one.nextDay()
  expect(await one.missing()).toEqual([])
  expect(one.world.authority.log.violations).toEqual([])
})

it('a month that has begun in Cancún only is not complete, and the end of a month in Tijuana comes up to three days late', async () => {
  // Half an hour before midnight in the centre, and after it in Cancún.
  const one = await taxpayer('2026-06-01T05:30:00Z')
  const old = one.issue(CANCUN, '2026-05-31T23:50:00', '2026-05-31T22:51:00')
  const fresh = one.issue(CANCUN, '2026-06-01T00:20:00', '2026-05-31T23:21:00')
  await one.run()
  expect((await one.missing()).sort()).toEqual([`${old} is missing.`, `${fresh} is missing.`].sort())
  expect(one.world.authority.log.entries.filter(({ parameters }) => (parameters['FechaFinal'] ?? '') >= '2026-06-01')).toEqual([])
  expect(await one.statusOf('2026-06')).not.toBe('complete')
  await one.nextDay()
  expect(await one.missing()).toEqual([])
  expect(await one.statusOf('2026-06')).toBe('complete')
  // A quarter to midnight in Tijuana is a quarter to one in the centre; it is certified 72 hours later.
  one.issue(TIJUANA, '2026-05-31T23:45:00', '2026-06-04T00:45:00')
  for (let day = 2; day <= 4; day++) {
    await one.nextDay()
    expect([day, await one.missing()]).toEqual([day, []])
  }
  expect([await one.statusOf('2026-05'), await one.statusOf('2026-06')]).toEqual(['complete', 'complete'])
  expect(one.world.authority.log.violations).toEqual([])
})
