import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { cancelInSandbox } from '../../src/authority/sandbox/overrides.ts'
import type { CfdiChange } from '../../src/cfdi/changes/contract.ts'
import type { Cfdi } from '../../src/cfdi/contract.ts'
import { connect } from '../../src/platform/db/commit.ts'
import { drainNow } from '../authority/support/authority.ts'
import { created, draft, EXTRACTORS } from '../connections/extractors/support/extractors.ts'
import { connected } from '../platform/outbox/support/outbox-events.ts'
import { at } from '../support/clock.ts'
import { runs } from '../support/fuzz.ts'
import { silenceQueues } from '../support/queues.ts'
import { randomOf } from '../support/random.ts'
import { type Organization, organization } from '../support/tenants.ts'

/**
 * A stranger's integration over random days: two organizations share RFCs and download at random times, far back and not, documents are
 * cancelled, extractors come and go. At each day's end, what is mirrored by the changes equals GET /v1/cfdi row for row, and it took few requests.
 */

const RFCS = runs(2, 10)
const DAYS = runs(3, 60)
const HISTORIES = 1
const DAY = 86_400_000
const BEGIN = Date.parse('2026-05-04T00:00:00-06:00')
const SOURCES = ['sat_cfdi_issued', 'sat_cfdi_received']

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

interface Mirrored {
  rows: Map<string, Cfdi>
  cursor: string | null
}

/** An organization with one mirror for each RFC. */
class Integration {
  readonly mirrors = new Map<string, Mirrored>()
  extractor_id: string | null = null

  readonly of: Organization

  constructor(of: Organization) {
    this.of = of
  }

  async extract(scope_months: number): Promise<void> {
    const made = await created(this.of, { ...draft, scope: 'last_n_months', scope_months, data_source_keys: SOURCES })
    this.extractor_id = made.extractor_id
  }

  async stop(): Promise<void> {
    expect((await this.of.ask('DELETE', `${EXTRACTORS}/${this.extractor_id}`)).status).toBe(204)
    this.extractor_id = null
  }

  /** Follows the changes of every RFC until nothing is left. Returns how many requests it took, and how many changes they told. */
  async follow(): Promise<{ requests: number; changes: number; reasons: Map<string, readonly string[]> }> {
    const notified = { requests: 0, changes: 0, reasons: new Map<string, readonly string[]>() }
    for (const [id, mirror] of this.mirrors)
      for (let isMore = true; isMore; ) {
        const cursor: string = mirror.cursor === null ? '' : `&cursor=${mirror.cursor}`
        const { status, body } = await this.of.ask('GET', `/v1/cfdi/changes?fiscal_entity_id=${id}&limit=100${cursor}`)
        expect(status).toBe(200)
        const { data, has_more, next_cursor } = body as { data: CfdiChange[]; has_more: boolean; next_cursor: string }
        notified.requests++
        notified.changes += data.length
        for (const { uuid, cfdi, reasons } of data) {
          notified.reasons.set(uuid, reasons)
          if (cfdi === null) mirror.rows.delete(uuid)
          else mirror.rows.set(uuid, cfdi)
        }
        mirror.cursor = next_cursor
        isMore = has_more
      }
    return notified
  }

  /** What is listed of an RFC. No page but the last is short. */
  async listed(id: string): Promise<Map<string, Cfdi>> {
    const found = new Map<string, Cfdi>()
    for (let cursor = ''; ; ) {
      const { status, body } = await this.of.ask('GET', `/v1/cfdi?fiscal_entity_id=${id}&limit=100${cursor}`)
      expect(status).toBe(200)
      const page = body as { data: Cfdi[]; has_more: boolean; next_cursor: string }
      for (const one of page.data) found.set(one.uuid, one)
      if (!page.has_more) return found
      expect(page.data).toHaveLength(100)
      cursor = `&cursor=${page.next_cursor}`
    }
  }
}

describe('a mirror of shared RFCs, day by day', () => {
  it.each(Array.from({ length: HISTORIES }, (_, n) => n))(
    'equals what is listed, in at most a request for each hundred changes and RFC: history %i',
    { timeout: 7_200_000 },
    async (seed) => {
      at(new Date(BEGIN).toISOString())
      silenceQueues()
      const random = randomOf(seed + 60_060)
      const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
      const [mine, other] = [new Integration(await organization('enterprise_gold')), new Integration(await organization('enterprise_gold'))]
      await mine.extract(2)
      await other.extract(8)
      const rfcs: { rfc: string; entity: number }[] = []
      for (let n = 0; n < RFCS; n++) {
        // Each of them is the first one to fetch some RFCs.
        const [first, second] = random() < 0.5 ? [mine, other] : [other, mine]
        const { rfc, entity, fiscal_entity_id } = await connected(first.of)
        rfcs.push({ rfc, entity })
        first.mirrors.set(fiscal_entity_id, { rows: new Map(), cursor: null })
        if (random() < 0.5) await drainNow(entity)
        second.mirrors.set((await connected(second.of, rfc)).fiscal_entity_id, { rows: new Map(), cursor: null })
        if (random() < 0.7) await drainNow(entity)
      }
      const counted = { changes: 0, empty: 0 }
      const before = new Map<string, Cfdi>()
      for (let day = 0; day < DAYS; day++) {
        const begin = BEGIN + day * DAY
        const hours = Array.from({ length: 3 }, () => Math.floor(random() * 22 * 3_600_000)).sort((a, b) => a - b)
        for (const hour of hours) {
          const now = Math.max(Date.now() + 660_000, begin + hour)
          at(new Date(now).toISOString())
          const one = pick([mine, mine, other])
          // Only the other one is ever without extractors, sees everything then, and gets one again.
          if (one === other && random() < 0.15) {
            if (other.extractor_id === null) await other.extract(pick([1, 3, 10]))
            else await other.stop()
          } else if (one.extractor_id !== null && random() < 0.85)
            expect((await one.of.ask('POST', `${EXTRACTORS}/${one.extractor_id}/run`)).status).toBe(200)
          for (const { entity } of rfcs) if (random() < 0.8) await drainNow(entity)
          if (random() < 0.4) {
            const { rfc, entity } = pick(rfcs)
            const { results } = await env.LEDGER_0.prepare('select uuid from cfdi where entity = ? and cancelled = 0')
              .bind(entity)
              .all<{ uuid: string }>()
            for (const { uuid } of results.filter(() => random() < 3 / (results.length + 1)))
              await cancelInSandbox(connect(env.DB), rfc, uuid, { cancelled_at: new Date(), cancellation_reason: '02' })
          }
        }
        at(new Date(Math.max(Date.now(), begin + DAY - 60_000)).toISOString())
        for (const one of day % 3 === 0 ? [mine, other] : [mine]) {
          const { requests, changes, reasons } = await one.follow()
          expect(requests, `day ${day}`).toBeLessThanOrEqual(changes / 100 + one.mirrors.size)
          counted.changes += changes
          counted.empty += changes === 0 ? 1 : 0
          for (const [id, { rows }] of one.mirrors) {
            const listed = await one.listed(id)
            expect([...rows.keys()].sort(), `day ${day}`).toEqual([...listed.keys()].sort())
            for (const [uuid, row] of listed) expect(rows.get(uuid), `day ${day} ${uuid}`).toEqual(row)
            // No row says another updated_at without a reason.
            for (const [uuid, row] of listed) {
              const known = before.get(`${id} ${uuid}`)
              if (known !== undefined && known.updated_at !== row.updated_at) expect(reasons.get(uuid), `day ${day} ${uuid}`).toBeDefined()
              before.set(`${id} ${uuid}`, row)
            }
          }
        }
      }
      expect(counted.changes).toBeGreaterThan(RFCS * 20)
    },
  )
})
