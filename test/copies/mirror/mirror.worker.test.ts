import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { cfdiOf, subscriber } from '../../downloads/support/downloads.ts'
import { Messages } from '../../journeys/support/messages.ts'
import { at, restore } from '../../support/clock.ts'
import { freshRfc, type Tenant } from '../../support/tenants.ts'
import { connectorOf, shelves, shownBy, startBackfill, stateOf } from '../support/shelf.ts'

let messages: Messages
let shelfOf: ReturnType<typeof shelves>

beforeEach(() => {
  at('2026-05-20T09:00:00Z')
  messages = new Messages()
  shelfOf = shelves()
})
afterEach(restore)

const minute = () => messages.cron('* * * * *')

const expectSame = async (shelf: ReturnType<typeof shelfOf>, tenant: Tenant, fiscal_entity_id: string): Promise<number> => {
  const shown = await shownBy(tenant, fiscal_entity_id)
  expect(shelf.documents().filter((path) => path.endsWith('.xml'))).toEqual([...shown.keys()].sort())
  for (const [path, bytes] of shown) expect(shelf.objects.get(path)!.bytes).toEqual(bytes)
  return shown.size
}

describe('a connector', () => {
  it('copies what is downloaded from its creation on, each document once and byte for byte', async () => {
    const one = await subscriber(freshRfc(), cfdiOf(1))
    const { connector, connector_id } = await connectorOf({ organization_id: one.id })
    await minute()
    expect(await stateOf(connector)).toMatchObject({ is_planned: 1, token: null })
    await one.run()
    await messages.deliverAll()
    await minute()
    const shelf = shelfOf(connector_id)
    const count = await expectSame(shelf, one.owner, one.fiscal_entity_id)
    expect(count).toBeGreaterThan(20)
    expect(new Set(shelf.puts).size).toBe(shelf.puts.length)
    expect(await stateOf(connector)).toMatchObject({
      copied_count: shelf.puts.filter((path) => !path.startsWith('manifests')).length,
      failures: 0,
    })
    const { puts } = shelf
    const before = puts.length
    await minute()
    expect(puts.length).toBe(before)
  })

  it('copies nothing that was there before, and everything after a backfill, with a manifest of it', async () => {
    const one = await subscriber(freshRfc(), cfdiOf(1))
    await one.run()
    await messages.deliverAll()
    at('2026-05-20T10:00:00Z')
    const { connector, connector_id } = await connectorOf({ organization_id: one.id })
    await minute()
    await minute()
    const shelf = shelfOf(connector_id)
    expect(shelf.puts).toEqual([])
    await startBackfill(connector)
    await minute()
    const count = await expectSame(shelf, one.owner, one.fiscal_entity_id)
    const { backfill, copied_count } = await stateOf(connector)
    expect(JSON.parse(backfill!)).toMatchObject({ status: 'completed', copied: shelf.documents().length, total: shelf.documents().length })
    expect(copied_count).toBe(shelf.documents().length)
    expect(count).toBeGreaterThan(20)
    expect(
      shelf
        .lines()
        .map(({ path }) => path)
        .sort(),
    ).toEqual(shelf.documents())
    for (const { path, sha256, size } of shelf.lines()) expect(shelf.objects.get(path)).toMatchObject({ sha256, bytes: { length: size } })
    expect((await env.FILES.list({ prefix: `storage/${connector_id}/` })).objects).toEqual([])
  })
})
