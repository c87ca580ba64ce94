import { env } from 'cloudflare:workers'
import { expect, it, vi } from 'vitest'
import { LIMITS } from '../../../src/copies/exports/making/output.ts'
import { workOnExport } from '../../../src/copies/exports/making/work.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { api } from '../../support/client.ts'
import { silenceQueues } from '../../support/queues.ts'
import { connect, organization, synced } from '../../support/tenants.ts'
import { begun, contentOf, walked } from './support/world.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})

/** What breaks without it: an export shows what the organization could not see when it began it, or begins with one window and ends with another. */
it('has what the windows showed when it was begun, also when they change before and between its steps', async () => {
  const of = await organization('enterprise_gold')
  await api(of.owner, 'POST', '/v1/extractors', {
    ...{ name: 'Al conectar', trigger_kind: 'connection_created', scope: 'last_n_months', scope_months: 4 },
    data_source_keys: ['sat_cfdi_issued', 'sat_cfdi_received'],
  })
  const { fiscal_entity_id } = await connect(of.owner)
  await synced(of.owner, fiscal_entity_id)
  const all = await walked(of.owner, '/v1/cfdi', { fiscal_entity_id })
  const floor = new Date(Date.now() - 60 * 86_400_000).toISOString().slice(0, 10)
  const narrow = (column: string, value: unknown) =>
    env.DB.prepare(`update connections set ${column} = ? where fiscal_entity_id = ?`).bind(value, fiscal_entity_id).run()
  const { issued_from } = (await env.DB.prepare('select issued_from from connections where fiscal_entity_id = ?')
    .bind(fiscal_entity_id)
    .first<{ issued_from: string }>())!
  silenceQueues()
  const makes = async (change: () => Promise<unknown>, undo: () => Promise<unknown>) => {
    const expected = await walked(of.owner, '/v1/cfdi', { fiscal_entity_id })
    const export_id = await begun(of.owner, { fiscal_entity_id, kind: 'cfdi', format: 'ndjson' })
    const page = { ...LIMITS.page, cfdi: 50 }
    for (let n = 0; n < 20; n++) {
      await (n % 2 === 0 ? change : undo)()
      const system = systemOf(env, new Date(), 'req_test')
      let asked = 0
      vi.spyOn(system.budget, 'allows').mockImplementation(() => ++asked <= 2)
      await workOnExport(system, export_id, { ...LIMITS, page, commit: 1 })
    }
    const rows = new TextDecoder()
      .decode(await contentOf(of.owner, export_id))
      .split('\n')
      .slice(0, -1)
    expect(rows.map((row) => JSON.parse(row))).toEqual(expected)
    return expected.length
  }
  // Both windows narrow and widen; an organization that had extractors has none, and sees everything.
  const isWide = await makes(
    () => narrow('issued_from', floor),
    () => narrow('issued_from', issued_from),
  )
  expect(isWide).toBe(all.length)
  await narrow('issued_from', floor)
  const isNarrow = await makes(
    () => narrow('issued_from', issued_from),
    () => env.DB.prepare('update organizations set extractor_count = 0 where id = ?').bind(of.id).run(),
  )
  expect(isNarrow).toBeLessThan(all.length)
}, 120_000)
