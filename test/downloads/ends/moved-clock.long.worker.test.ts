import { afterEach, beforeEach, expect, it } from 'vitest'
import { created } from '../../connections/extractors/support/extractors.ts'
import { Messages } from '../../journeys/support/messages.ts'
import { restore } from '../../support/clock.ts'
import { freshRfc } from '../../support/tenants.ts'
import { cfdiOf, later, subscriber } from '../support/downloads.ts'
import { countedIn, readableCfdis } from '../support/ends.ts'

beforeEach(() => {
  later(0)
})
afterEach(restore)

/** What breaks without it: who tries the service day by day, with crons of later days, is told of each new CFDI twice. */
it('readable_count is right when the crons of later days are fired by hand', async () => {
  const messages = new Messages()
  const one = await subscriber(freshRfc(), cfdiOf(1))
  await created(one, cfdiOf(1, { name: 'Diario', trigger_kind: 'schedule', schedule_kind: 'daily' }))
  const days = Array.from({ length: 15 }, (_, n) => new Date(Date.UTC(2026, 4, 21 + n, 6)))
  const seen: [counted: number, readable: number][] = []
  for (const [n, day] of days.entries()) {
    later(60 * (n + 1))
    await messages.cronAt('*/15 * * * *', day)
    // Counts wait for a moment of the real clock.
    for (let n = 0; n < 3; n++) await messages.cron('* * * * *')
    seen.push([await countedIn(one, 'readable_count'), await readableCfdis(one)])
  }
  expect(seen.at(-1)![1]).toBeGreaterThan(seen[0]![1])
  for (const [counted, readable] of seen) expect(counted).toBe(readable)
})
