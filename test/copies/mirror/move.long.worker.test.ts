import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { DestinationError } from '../../../src/copies/drivers/port.ts'
import { at, restore } from '../../support/clock.ts'
import { silenceQueues } from '../../support/queues.ts'
import { mirroredTo, uuids } from '../support/mirrored.ts'
import { type Shelf, shelves, startBackfill, stateOf } from '../support/shelf.ts'

let shelfOf: (key: string) => Shelf
let sent: unknown[]

beforeEach(() => {
  at('2026-05-20T09:00:00Z')
  sent = silenceQueues()
  shelfOf = shelves()
})
afterEach(restore)

/** A connector in the middle of a backfill: when so many documents were sent, `change` is asked for, and nothing more is sent before it is noticed. */
async function backfilling(documents: number, sentBefore: number, change: object) {
  const one = await mirroredTo(shelfOf)
  await one.patch({ config: { bucket: 'fiscal-archive', prefix: 'uno' } })
  const all = await one.come(documents)
  await startBackfill(one.connector)
  let count = 0
  let changed: ReturnType<typeof one.patch> | undefined
  let waited: Promise<unknown> | undefined
  one.shelf.before = () => {
    if (++count <= sentBefore) return
    changed ??= one.patch(change)
    // The worker asks every two seconds whether it may go on.
    waited ??= scheduler.wait(300).then(() => at(new Date(Date.now() + 3_000).toISOString()))
    return waited as Promise<void>
  }
  await one.work()
  const reply = await changed!
  one.shelf.before = () => {}
  const below = (prefix: string) =>
    [...one.shelf.objects.keys()]
      .filter((path) => path.startsWith(prefix) && path.endsWith('.xml'))
      .map((path) => path.slice(prefix.length))
  const finish = async () => {
    for (let turn = 0; turn < 4; turn++) await one.work()
  }
  return { ...one, all, reply, below, finish }
}

describe('a connector that moves during a backfill', () => {
  it.each([
    [130, 40],
    [260, 210],
  ])('lists all that was copied to the old place there, and copies everything to the new one (%d, %d)', async (documents, before) => {
    const one = await backfilling(documents, before, { config: { prefix: 'dos' } })
    const old = one.below('uno/')
    expect(old.length).toBeGreaterThan(before)
    expect(old.length).toBeLessThan(documents)
    expect(
      one.shelf
        .lines('uno/manifests/')
        .map(({ path }) => path)
        .sort(),
    ).toEqual(old.sort())
    expect(one.reply.body).toMatchObject({ config: { prefix: 'dos' }, backfill: { status: 'queued', copied: 0 }, last_manifest: null })
    expect(sent).toContainEqual({ shard: 0, connector: one.connector })
    await one.finish()
    expect(one.below('dos/')).toHaveLength(documents)
    expect(one.below('uno/')).toHaveLength(old.length)
    expect(
      one.shelf
        .lines('dos/manifests/')
        .map(({ path }) => path)
        .sort(),
    ).toEqual(one.below('dos/').sort())
    expect(await one.shown()).toMatchObject({
      ...{ pending_count: 0, copied_count: documents + old.length, last_error: null },
      backfill: { status: 'completed', total: documents, copied: documents },
    })
    expect((await env.FILES.list({ prefix: `storage/${one.connector_id}/` })).objects).toEqual([])
  })

  it('begins anew with another template too, and goes on with another name', async () => {
    const one = await backfilling(30, 10, { config: { path_template: 'otro/{rfc}/{uuid}.xml' } })
    await one.finish()
    expect(one.below('uno/otro/')).toHaveLength(30)
    const same = await backfilling(30, 10, { name: 'Otro' })
    await same.finish()
    expect([new Set(uuids(same.shelf)).size, (await same.shown()).copied_count]).toEqual([30, 30])
  })

  it('moves although the old place hangs, or refuses the manifest', { timeout: 30_000 }, async () => {
    const one = await mirroredTo(shelfOf)
    await one.patch({ config: { bucket: 'fiscal-archive', prefix: 'uno' } })
    await one.come(30)
    await startBackfill(one.connector)
    const { promise: opened, resolve: open } = Promise.withResolvers<void>()
    one.shelf.before = (path) => (path.startsWith('uno/') ? opened : undefined)
    const work = one.work()
    await vi.waitUntil(async () => (await stateOf(one.connector)).token !== null)
    const real = performance.now.bind(performance)
    const moving = one.patch({ config: { prefix: 'dos' } })
    await scheduler.wait(100)
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => real() + 10_000)
    expect((await moving).status).toBe(200)
    clock.mockRestore()
    one.shelf.before = (path) => {
      if (path.includes('manifests/')) throw new DestinationError('unavailable', 'Not now.')
    }
    open()
    await work
    // What the worker of the old place did is not counted.
    expect(await stateOf(one.connector)).toMatchObject({ copied_count: 0, token: null })
    await one.mark()
    await one.work()
    expect((await stateOf(one.connector)).parts).toBe(1)
    expect((await one.patch({ config: { prefix: 'tres' } })).body).toMatchObject({ config: { prefix: 'tres' } })
    one.shelf.before = () => {}
    for (let turn = 0; turn < 4; turn++) await one.work()
    expect([...one.shelf.objects.keys()].filter((path) => path.startsWith('tres/') && path.endsWith('.xml'))).toHaveLength(30)
  })

  it('lists what it has copied before it moves while it is paused, and when no backfill runs begins none', async () => {
    const one = await mirroredTo(shelfOf)
    await one.patch({ config: { bucket: 'fiscal-archive', prefix: 'uno' } })
    const all = await one.come(3)
    await one.mark()
    await one.work()
    await one.patch({ connector_status: 'paused' })
    const { body } = await one.patch({ config: { prefix: 'dos' } })
    expect(body).toMatchObject({ connector_status: 'paused', backfill: null, config: { prefix: 'dos' } })
    expect(one.shelf.lines('uno/manifests/').map((line) => line.uuid)).toEqual(expect.arrayContaining(all))
    await one.patch({ connector_status: 'active' })
    for (let turn = 0; turn < 2; turn++) await one.work()
    expect(uuids(one.shelf)).toHaveLength(3)
  })

  it('continues the manifests of a place to which it comes back', async () => {
    const one = await mirroredTo(shelfOf)
    await one.patch({ config: { bucket: 'fiscal-archive', prefix: 'uno' } })
    const manifests: unknown[] = []
    for (const prefix of ['dos', 'uno', 'tres']) {
      await one.come(1)
      await one.mark()
      await one.work()
      manifests.push((await one.patch({ config: { prefix } })).body.last_manifest)
    }
    const ends = [...one.shelf.objects].flatMap(([path, { bytes }]) =>
      path.endsWith('.jsonl')
        ? [[path.replace(one.connector_id, 'stc'), JSON.parse(new TextDecoder().decode(bytes).trimEnd().split('\n').at(-1)!)]]
        : [],
    )
    const first = { path: `manifests/${one.connector_id}/2026-05-20/manifest.jsonl`, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) }
    expect(ends).toEqual([
      ['uno/manifests/stc/2026-05-20/manifest.jsonl', { lines: 1, previous: null }],
      ['dos/manifests/stc/2026-05-20/manifest.jsonl', { lines: 1, previous: null }],
      ['uno/manifests/stc/2026-05-20/manifest-2.jsonl', { lines: 1, previous: first }],
    ])
    expect(manifests).toEqual([null, first, null])
    expect(
      JSON.parse(new TextDecoder().decode(one.shelf.objects.get(`uno/manifests/${one.connector_id}/latest.json`)!.bytes)),
    ).toMatchObject({
      path: `manifests/${one.connector_id}/2026-05-20/manifest-2.jsonl`,
    })
  })
})
