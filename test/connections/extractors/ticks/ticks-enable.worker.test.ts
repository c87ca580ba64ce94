import { expect, it } from 'vitest'
import { at } from '../../../support/clock.ts'
import { organization } from '../../../support/tenants.ts'
import { created, EXTRACTORS, weekly } from '../support/extractors.ts'
import { Clockwork, datesOf, forget } from '../support/ticks.ts'

it('an extractor that is enabled again does not run for a date on which it was disabled, however late that tick comes', async () => {
  await forget()
  at('2026-11-02T18:00:00Z')
  const acme = await organization()
  const { extractor_id } = await created(acme, weekly)
  const path = `${EXTRACTORS}/${extractor_id}`
  const clockwork = new Clockwork()
  at('2026-11-05T18:00:00Z')
  await acme.ask('PATCH', path, { is_enabled: false })
  await clockwork.pass('2026-11-15T06:00:00Z')
  at('2026-11-17T18:00:00Z')
  expect((await acme.ask('PATCH', path, { is_enabled: true })).body.next_run_at).toBe('2026-11-23T06:00:00.000Z')
  expect((await acme.ask('PATCH', path, { name: 'Otra' })).body.next_run_at).toBe('2026-11-23T06:00:00.000Z')
  await clockwork.pass('2026-11-17T18:15:00Z')
  expect(await datesOf(acme, extractor_id)).toEqual([])
  await clockwork.pass('2026-11-23T06:00:00Z')
  expect(await datesOf(acme, extractor_id)).toEqual(['2026-11-23'])
})
