import { applyD1Migrations } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { at } from '../../support/clock.ts'
import { runs } from '../../support/fuzz.ts'
import { randomOf } from '../../support/random.ts'
import { Changing } from '../support/changing.ts'
import { CUSTOMERS, creditOf, type Plain, paymentOf, plainOf, RFC, substituteOf } from '../support/documents.ts'
import { type Kind, LatestWatch } from '../support/latest-watch.ts'

/**
 * Random histories of windows, downloads of others, cancellations, imports, checks, pauses, commits that are forgotten, and a client that loses
 * answers. A mirror that is kept by the changes equals what is listed, and latest_change_at is the time of the last of them.
 */

const HISTORIES = runs(8, 3_000)
const STEPS = runs(18, 40)
const DAY = 86_400_000
const BEGIN = Date.parse('2026-02-01T00:00:00Z')
const LUGARES = ['06600', '06600', '77500', '22000', '80000'] as const

beforeEach(async () => {
  await applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS)
})
afterEach(() => {
  vi.useRealTimers()
})

/** Documents of 40 days that pay, credit and substitute each other. */
function worldOf(random: () => number): Plain[] {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const dated = (): Partial<Plain> => ({
    fecha: new Date(BEGIN + Math.floor(random() * 40 * DAY)).toISOString().slice(0, 19),
    lugar: pick(LUGARES),
  })
  const parties = (): Partial<Plain> =>
    random() < 0.5 ? { emisor: RFC, receptor: pick(CUSTOMERS) } : { emisor: pick(CUSTOMERS), receptor: RFC }
  const invoices = Array.from({ length: 14 }, () =>
    plainOf(random, '2026-02', { ...parties(), ...dated(), metodo: random() < 0.8 ? 'PPD' : 'PUE' }),
  )
  const of = (one: Plain) => invoices.filter(({ emisor, receptor }) => emisor === one.emisor && receptor === one.receptor)
  const some = (one: Plain) => of(one).filter((other) => other === one || random() < 0.4)
  const others: Plain[] = []
  for (let n = 0; n < 16; n++) {
    const invoice = pick(invoices)
    const kind = random()
    if (kind < 0.5) others.push({ ...paymentOf(random, '2026-02', some(invoice), pick([0.25, 0.5, 1])), ...dated() })
    else if (kind < 0.65) others.push({ ...creditOf(random, '2026-02', some(invoice)), ...dated() })
    else others.push({ ...substituteOf(random, [pick([...others, invoice, pick(invoices)])]), ...dated() })
  }
  // Two that substitute each other.
  const [a, b] = [plainOf(random, '2026-02', { ...parties(), ...dated() }), plainOf(random, '2026-02', dated())]
  others.push({ ...a, sustituye: [b.uuid] }, { ...b, emisor: a.emisor, receptor: a.receptor, sustituye: [a.uuid] })
  return [...invoices, ...others]
}

/** Of which nothing need be told although latest_change_at may say so, or which shows and hides what was stored long before. */
const KINDS: Record<string, Kind> = {
  import: 'loose',
  delete: 'loose',
  check: 'loose',
  unnamed: 'loose',
  extractors: 'anew',
  forget: 'anew',
  thin: 'forgetting',
}

async function live(seed: number): Promise<typeof seen> {
  const random = randomOf(seed + 31_337)
  const int = (least: number, most: number): number => least + Math.floor(random() * (most - least + 1))
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const world = worldOf(random)
  const some = (share: number): Plain[] => world.filter(() => random() < share)
  const one = new Changing()
  const stored = new Set<string>()
  const imported = new Set<string>()
  const ever = new Set<string>()
  const tale: string[] = [`Seed ${seed}`]
  const counted = { removed: 0, changes: 0, latest: 0 }
  const watch = new LatestWatch(one)
  let now = BEGIN + int(0, 20) * DAY
  let instant: number | null = null
  const say = (what: string) => tale.push(`${tale.length} ${what}`)
  const names = (list: readonly Plain[]) => list.map(({ uuid, tipo, fecha }) => `${uuid.slice(0, 4)}${tipo}${fecha.slice(5, 16)}`).join(' ')

  const actions: Record<string, () => Promise<void> | void> = {
    download: async () => {
      const list = some(0.25)
      const cancelled = list.filter(() => random() < 0.1)
      say(`download ${names(list)}; cancelled ${names(cancelled)}`)
      if (list.length > 0) await one.download(list, cancelled)
      for (const { uuid } of list) stored.add(uuid)
    },
    metadata: async () => {
      const list = some(0.2)
      say(`metadata ${names(list)}`)
      await one.list(list, false)
      for (const { uuid } of list) stored.add(uuid)
    },
    cancel: async () => {
      const list = world.filter(({ uuid }) => stored.has(uuid) && random() < 0.1)
      say(`cancel ${names(list)}`)
      await one.list(list, true)
    },
    replace: async () => {
      // A payment is cancelled and another one comes, in one commit.
      const list = world.filter(({ uuid, tipo }) => stored.has(uuid) && tipo === 'P')
      if (list.length === 0) return
      const gone = pick(list)
      const fresh = some(0.1)
      say(`replace ${names([gone])} by ${names(fresh)}`)
      await one.list([gone], true)
      await one.download(fresh)
      for (const { uuid } of fresh) stored.add(uuid)
    },
    run: () => {
      // Without extractors nothing runs.
      if (one.extractor_count === 0) return
      now += int(0, 6) * DAY + int(1, 86_399) * 1_000
      const floor = new Date(BEGIN + int(-3, 30) * DAY).toISOString().slice(0, 10)
      const directions = pick([['issued', 'received'], ['issued', 'received'], ['issued'], ['received']] as const)
      instant = Math.max(now, Date.parse(floor) + DAY)
      // It is dispatched later, such as after an outage.
      now = instant + int(0, 3) * int(0, 10_000_000)
      at(new Date(now).toISOString())
      const ceiling = new Date(instant).toISOString()
      say(`run ${floor} ${ceiling} ${directions}`)
      one.run(floor, ceiling, directions)
    },
    thin: () => {
      for (const kept of [...one.runs.issued, ...one.runs.received]) if (random() < 0.3) one.forgotten.add(kept)
      say(`thin ${one.forgotten.size}`)
    },
    extractors: () => {
      one.extractor_count = one.extractor_count === 0 ? 1 : 0
      say(`extractors ${one.extractor_count}`)
    },
    import: async () => {
      const list = some(0.12).filter(({ uuid }) => !imported.has(uuid))
      if (list.length === 0) return
      say(`import ${names(list)}`)
      await one.import(list)
      for (const { uuid } of list) {
        imported.add(uuid)
        ever.add(uuid)
      }
    },
    delete: async () => {
      const list = [...imported].filter(() => random() < 0.5)
      if (list.length === 0) return
      say(`delete ${list.map((uuid) => uuid.slice(0, 4))}`)
      await one.deleteImported(list)
      for (const uuid of list) imported.delete(uuid)
    },
    check: async () => {
      const [uuid, estatus, by] = [pick([...stored, '']), pick(['vigente', 'cancelado']), pick([undefined, 'fe_other'])]
      if (uuid === '') return
      say(`check ${uuid.slice(0, 4)} ${estatus} ${by}`)
      await one.check(uuid, estatus, one.target.entity, by)
    },
    forget: async () => {
      say('forget commits')
      const { entity } = one.target
      await env.LEDGER_0.prepare(
        'delete from cfdi_commits where entity = ?1 and sequence < (select max(sequence) from cfdi_commits where entity = ?1)',
      )
        .bind(entity)
        .run()
    },
    unnamed: async () => {
      say('a commit names nothing')
      await env.LEDGER_0.prepare(
        'update cfdi_commits set touched = null where entity = ?1 and sequence = (select max(sequence) from cfdi_commits where entity = ?1)',
      )
        .bind(one.target.entity)
        .run()
    },
    pause: () => {
      one.state = one.state === 'active' ? 'paused' : 'active'
      say(one.state)
    },
  }
  const often = ['download', 'download', 'metadata', 'cancel', 'replace', 'run', 'run', 'run', 'extractors', 'import', 'delete', 'check']
  const all = [...often, ...often, 'thin', 'forget', 'unnamed', 'pause']
  try {
    for (let step = 0; step < STEPS; step++) {
      now += int(1, 600) * 1_000
      at(new Date(now).toISOString())
      instant = null
      const action = one.state === 'paused' && random() < 0.5 ? 'pause' : pick(all)
      await actions[action]!()
      if (one.state === 'paused') {
        watch.skip()
        await expect(one.page()).rejects.toMatchObject({ code: 'fiscal_entity.not_active' })
        continue
      }
      const listed = await one.listed()
      for (const uuid of listed.keys()) ever.add(uuid)
      counted.latest += Number(await watch.expectBetween(listed, now, KINDS[action] ?? 'plain', instant))
      const limit = pick([1, 2, 3, 7, 25, 100])
      const isWhole = random() < 0.6
      for (let pages = isWhole ? 2_000 : int(0, 4), isMore = true; pages > 0 && isMore; pages--) {
        const isLost = random() < 0.1
        const { data, has_more } = await one.page(limit, isLost)
        isMore = has_more || isLost
        expect(data.length).toBeLessThanOrEqual(limit)
        for (const { uuid, reasons, cfdi } of data) {
          counted.changes++
          // Nothing is told but what is listed at this moment, and nothing is taken back that nobody could read.
          expect(cfdi, uuid).toEqual(listed.get(uuid) ?? null)
          expect(reasons.length).toBeGreaterThan(0)
          expect(reasons.includes('removed')).toBe(cfdi === null)
          if (cfdi !== null) continue
          counted.removed++
          expect([uuid, ever.has(uuid)]).toEqual([uuid, true])
        }
      }
      if (isWhole) await one.expectSame()
    }
    if (one.state === 'active') {
      await one.follow(7)
      await one.expectSame()
      expect(await one.follow()).toEqual([])
    }
  } catch (error) {
    throw new Error(`${tale.join('\n')}\n${error instanceof Error ? error.message : error}`, { cause: error })
  }
  return counted
}

const seen = { removed: 0, changes: 0, latest: 0 }

describe('a mirror that is kept by the changes is what is listed', () => {
  it.each(Array.from({ length: HISTORIES }, (_, seed) => seed))('through history %i', { timeout: 120_000 }, async (seed) => {
    const { removed, changes, latest } = await live(seed)
    seen.removed += removed
    seen.changes += changes
    seen.latest += latest
  })

  it('and the histories were not idle', () => {
    expect(seen.removed).toBeGreaterThan(HISTORIES)
    expect(seen.changes).toBeGreaterThan(20 * HISTORIES)
    expect(seen.latest).toBeGreaterThan(2 * HISTORIES)
  })
})
