import { env } from 'cloudflare:workers'
import { beforeEach, expect, it, vi } from 'vitest'
import { ownerOf, patched } from '../../support/meter.ts'
import { silenceQueues } from '../../support/queues.ts'
import { randomOf, uuidFrom } from '../../support/random.ts'
import { freshRfc, organization } from '../../support/tenants.ts'
import { plainOf } from '../support/documents.ts'
import { consumeAll, importsOf, post, zipWith } from './support/imports.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})

let kept: unknown[]
beforeEach(() => {
  vi.restoreAllMocks()
  kept = silenceQueues()
})

const random = randomOf(37)

/** The most rows that one statement in the ledger reads while `work` runs. */
async function mostRowsRead(work: () => Promise<unknown>): Promise<number> {
  let most = 0
  const session = (env.LEDGER_0 as unknown as { alwaysPrimarySession: object }).alwaysPrimarySession
  const undo = patched(
    ownerOf(session, '_send'),
    '_send',
    (send) =>
      async function (this: unknown, ...args) {
        const answer = (await send.apply(this, args)) as { meta?: { rows_read?: number } }
        for (const { meta } of [answer].flat()) most = Math.max(most, meta?.rows_read ?? 0)
        return answer
      },
  )
  await work().finally(undo)
  return most
}

/** What breaks without it: deleting one import of 60 payments holds up every request of a ledger for minutes. */
it('an import whose payments all pay the same invoices is deleted in steps, of which none reads more than an ingest', async () => {
  const of = await organization('api')
  const rfc = freshRfc()
  const { fiscal_entity_id } = (await of.ask('POST', '/v1/fiscal-entities', { rfc })).body
  const payments = [1, 2].flatMap(() => {
    const documentos = Array.from({ length: 1_000 }, () => ({ uuid: uuidFrom(random), pagado: '10.00', moneda: 'MXN' }))
    return Array.from({ length: 25 }, () =>
      plainOf(random, '2026-01', { emisor: rfc, tipo: 'P', pagos: [{ fecha: '2026-01-05T12:00:00', documentos }] }),
    )
  })
  const { import_id } = (await post(of.owner, fiscal_entity_id, zipWith(payments))).body
  const ingesting = await mostRowsRead(() => consumeAll(kept))
  const path = `${importsOf(fiscal_entity_id)}/${import_id}`
  expect((await of.ask('GET', path)).body).toMatchObject({ status: 'completed', documents: 50 })
  expect(await env.LEDGER_0.prepare('select count(*) as n from cfdi_payments').first('n')).toBe(50_000)
  await of.ask('DELETE', path)
  const deleting = await mostRowsRead(() => consumeAll(kept))
  expect((await of.ask('GET', path)).status).toBe(404)
  expect(await env.LEDGER_0.prepare('select count(*) as n from cfdi_payments').first('n')).toBe(0)
  console.info(`most rows: ${ingesting} ${deleting}`)
  expect(deleting).toBeLessThan(130_000)
})
