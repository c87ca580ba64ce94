import { afterEach, beforeEach, expect, it } from 'vitest'
import { Clockwork, forget } from '../../connections/extractors/support/ticks.ts'
import { losingMessages } from '../../downloads/support/downloads.ts'
import { at, restore } from '../../support/clock.ts'
import { freshRfc } from '../../support/tenants.ts'
import { billed, forgetBilled } from './support/billing.ts'

beforeEach(async () => {
  await forget()
  await forgetBilled()
  losingMessages()
})
afterEach(restore)

it('an invoice of a day for which crons were fired by hand pauses nothing of today', async () => {
  at('2027-03-10T18:00:00Z')
  const of = await billed('starter')
  await of.connect(freshRfc())
  await of.invoice('2027-04-01')
  const clockwork = new Clockwork()
  await clockwork.pass('2027-04-05T06:00:00Z')
  expect(await of.states()).toEqual(['paused active payment'])
  // The next cron of the real time.
  await clockwork.pass('2027-03-10T18:15:00Z')
  expect(await of.states()).toEqual(['active'])
  // The grace period of what is due on 1 April ends with 3 April.
  await clockwork.pass('2027-04-04T05:45:00Z')
  expect(await of.states()).toEqual(['active'])
  await clockwork.pass('2027-04-04T06:00:00Z')
  expect(await of.states()).toEqual(['paused active payment'])
  await clockwork.pass('2027-04-04T06:15:00Z')
  expect(await of.states()).toEqual(['paused active payment'])
})
