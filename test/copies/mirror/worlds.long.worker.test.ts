import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { withCheckDigit } from '../../../src/authority/sandbox/world/taxpayers.ts'
import { post, xmlFile } from '../../cfdi/imports/support/imports.ts'
import { plainOf } from '../../cfdi/support/documents.ts'
import { Messages } from '../../journeys/support/messages.ts'
import { historyOf, join, type Player, perform, type World } from '../../journeys/support/paired-history.ts'
import { at, restore } from '../../support/clock.ts'
import { runs } from '../../support/fuzz.ts'
import { randomOf } from '../../support/random.ts'
import { zipOf } from '../../support/zip.ts'
import { connectorOf, emptied, type ReadBefore, type Shelf, shelves, shownBy, startBackfill, stateOf } from '../support/shelf.ts'

/**
 * Random histories of two organizations that share an RFC: windows for each source, runs that widen them, imports, pauses, cancellations,
 * and extractors that come and go. Each organization has a connector. What is copied is what the API shows it.
 */

afterEach(restore)

interface Mirrored {
  player: Player
  connector: number
  shelf: Shelf
  /** The content of each path, as it was shown at any time. */
  ever: Map<string, Set<string>>
  read: ReadBefore
}

const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
const xmlsOn = ({ shelf }: Mirrored): string[] => shelf.documents().filter((path) => path.endsWith('.xml'))

/** Notes what is shown, and expects it to be copied, and nothing that was never shown. */
async function check(one: Mirrored, notified: string): Promise<void> {
  const shown = await shownBy(one.player, one.player.fiscal_entity_id, one.read)
  for (const [path, bytes] of shown) one.ever.set(path, (one.ever.get(path) ?? new Set()).add(textOf(bytes)))
  const missing = [...shown].filter(([path, bytes]) => textOf(one.shelf.objects.get(path)?.bytes ?? new Uint8Array()) !== textOf(bytes))
  expect(
    missing.map(([path]) => path),
    `${notified}: shown and not copied`,
  ).toEqual([])
  const strange = xmlsOn(one).filter((path) => !one.ever.get(path)?.has(textOf(one.shelf.objects.get(path)!.bytes)))
  expect(strange, `${notified}: copied and never shown`).toEqual([])
}

describe('what a connector copies is what its organization is shown, each document once', () => {
  it.each(Array.from({ length: runs(1, 300) }, (_, seed) => seed))('through history %i', { timeout: 300_000 }, async (seed) => {
    const random = randomOf(seed + 7_001)
    const { steps, rfc } = historyOf(seed + 500, randomOf(seed + 501))
    const checked = withCheckDigit(rfc.slice(0, -1))
    await emptied()
    at(new Date(steps[0]!.at - 3_600_000).toISOString())
    vi.spyOn(env.EGRESS, 'fetch').mockImplementation(async () => new Response('Thank you.'))
    const of = shelves()
    const world: World = { rfc: checked, messages: new Messages(), players: { A: await join('Ana'), B: await join('Beto') } }
    const all: Mirrored[] = []
    for (const player of Object.values(world.players)) {
      const { connector, connector_id } = await connectorOf(player)
      all.push({ player, connector, shelf: of(connector_id), ever: new Map(), read: new Map() })
    }
    const tale: string[] = []
    const settle = async () => {
      // What no event tells, the daily review finds.
      await world.messages.cron('0 10 * * *')
      await world.messages.cron('* * * * *')
    }
    let imports = 0
    for (const step of steps) {
      tale.push(`${new Date(step.at).toISOString()} ${step.who} ${JSON.stringify(step.what)}`)
      await perform(world, step)
      if (random() < 0.35) imports += await importSomething(world, all, random)
      await settle()
      for (const [n, one] of all.entries()) await check(one, `Seed ${seed}, ${'AB'[n]}\n${tale.join('\n')}`)
    }
    for (const one of all) {
      const { copied_count, failures } = await stateOf(one.connector)
      expect([copied_count, failures]).toEqual([one.shelf.puts.filter((path) => !path.startsWith('manifests/')).length, 0])
      // The same path again is another content, of an import that the authority's document has replaced, or another way round.
      const times = Map.groupBy(one.shelf.puts, (path) => path)
      const repeated = [...times].filter(([path, puts]) => puts.length > 1 && path.endsWith('.xml'))
      if (imports === 0)
        expect(
          repeated.map(([path]) => path),
          tale.join('\n'),
        ).toEqual([])
    }
    expect(xmlsOn(all[1]!).length).toBeGreaterThan(10)
    // A backfill brings the same again.
    const [, b] = all
    const before = new Map(b!.shelf.objects)
    b!.shelf.objects.clear()
    await startBackfill(b!.connector)
    await settle()
    await check(b!, 'after a backfill')
    for (const path of xmlsOn(b!)) expect(before.has(path)).toBe(true)
    const { backfill } = await stateOf(b!.connector)
    expect(JSON.parse(backfill!)).toMatchObject({
      status: 'completed',
      total: b!.shelf.documents().length,
      copied: b!.shelf.documents().length,
    })
  })
})

/** A player imports a document of its own, and one that the other player is shown. Returns how many imports there were. */
async function importSomething({ rfc, messages }: World, all: readonly Mirrored[], random: () => number): Promise<number> {
  const [importer, other] = random() < 0.5 ? [all[0]!, all[1]!] : [all[1]!, all[0]!]
  const shown = [...(await shownBy(other.player, other.player.fiscal_entity_id, other.read))]
  const [path, bytes] = shown[Math.floor(random() * shown.length)] ?? []
  const own = plainOf(random, '2018-02', { emisor: rfc })
  const files = [xmlFile(own), ...(path && bytes ? [{ name: path.split('/').at(-1)!, bytes }] : [])]
  const { status } = await post(importer.player, importer.player.fiscal_entity_id, zipOf(files))
  await messages.deliverAll()
  return status === 202 ? 1 : 0
}
