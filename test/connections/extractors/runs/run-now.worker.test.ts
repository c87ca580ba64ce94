import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { at } from '../../../support/clock.ts'
import { connect, freshRfc, type Organization, organization } from '../../../support/tenants.ts'
import { created, draft, EXTRACTORS, listed, scheduled, weekly } from '../support/extractors.ts'

afterEach(() => {
  vi.useRealTimers()
})

const runs = (of: Organization) => env.DB.prepare('select count(*) as n from runs where organization_id = ?').bind(of.id).first<number>('n')

describe('running now', () => {
  const run = (of: Organization, { extractor_id }: { extractor_id: string }) => of.ask('POST', `${EXTRACTORS}/${extractor_id}/run`)

  it('of two hundred at once starts one', async () => {
    const acme = await organization()
    await connect(acme.owner)
    const extractor = await created(acme)
    const replies = await Promise.all(Array.from({ length: 200 }, () => run(acme, extractor)))
    const counts = Object.groupBy(replies, ({ status }) => String(status))
    expect([counts['200']?.length, counts['429']?.length]).toEqual([1, 199])
    expect(counts['200']![0]!.body).toEqual({ run_id: expect.stringMatching(/^run_/), status: 'dispatched', connections: 1, dispatched: 1 })
    expect(await runs(acme)).toBe(1)
  })

  it('tells in body and header when to come back, never zero, and lets the next one through then', async () => {
    at('2026-11-18T18:00:00Z')
    const acme = await organization()
    await connect(acme.owner)
    const extractor = await created(acme)
    expect((await run(acme, extractor)).status).toBe(200)
    for (const [later, seconds] of [
      [0, 600],
      [1, 600],
      [1_000, 599],
      [599_001, 1],
      [599_999, 1],
    ] as const) {
      vi.setSystemTime(Date.parse('2026-11-18T18:00:00Z') + later)
      const { status, headers, body } = await run(acme, extractor)
      expect(status).toBe(429)
      expect(headers.get('retry-after')).toBe(String(seconds))
      expect(body).toEqual(
        expect.objectContaining({ code: 'extractor.cooldown', detail: { message: expect.any(String), retry_after_seconds: seconds } }),
      )
    }
    at('2026-11-18T18:10:00Z')
    expect((await run(acme, extractor)).status).toBe(200)
  })

  it('does not move the schedule', async () => {
    at('2026-11-18T18:00:00Z')
    const acme = await organization()
    await connect(acme.owner)
    const extractor = await created(acme, weekly)
    await run(acme, extractor)
    const [after] = await listed(acme)
    expect(after).toEqual({ ...extractor, last_run_at: '2026-11-18T18:00:00.000Z' })
  })

  it('pauses each extractor by itself', async () => {
    const acme = await organization()
    await connect(acme.owner)
    const [one, two] = [await created(acme), await created(acme)]
    expect([(await run(acme, one)).status, (await run(acme, two)).status, (await run(acme, one)).status]).toEqual([200, 200, 429])
  })

  it('without an active RFC answers no_connections and starts no pause', async () => {
    const acme = await organization()
    await acme.ask('POST', '/v1/fiscal-entities', { rfc: freshRfc() })
    const extractor = await created(acme)
    const replies = await Promise.all(Array.from({ length: 10 }, () => run(acme, extractor)))
    for (const { status, body } of replies)
      expect([status, body]).toEqual([200, { run_id: null, status: 'no_connections', connections: 0, dispatched: 0 }])
    await connect(acme.owner)
    expect((await run(acme, extractor)).body.status).toBe('dispatched')
  })

  it('refuses a disabled extractor, and starts no pause', async () => {
    const acme = await organization()
    await connect(acme.owner)
    const extractor = await created(acme, { ...draft, is_enabled: false })
    const refused = await run(acme, extractor)
    expect([refused.status, refused.body.code]).toEqual([409, 'extractor.disabled'])
    await acme.ask('PATCH', `${EXTRACTORS}/${extractor.extractor_id}`, { is_enabled: true })
    expect((await run(acme, extractor)).status).toBe(200)
    await acme.ask('PATCH', `${EXTRACTORS}/${extractor.extractor_id}`, { is_enabled: false })
    expect((await run(acme, extractor)).status).toBe(409)
  })

  it('is what downloads: saving does not', async () => {
    const acme = await organization()
    await connect(acme.owner)
    await created(acme, scheduled)
    expect(await runs(acme)).toBe(0)
  })
})
