import { applyD1Migrations, env } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import { insertCfdi, rowOf } from '../cfdi/support/ledger.ts'
import { contextOf } from '../support/context.ts'
import { randomOf, uuidFrom } from '../support/random.ts'
import { requester } from './support/seeded.ts'

const ENTITY = 7_016
const COUNT = 5_001
const RANGE = { from: '2025-01', to: '2025-12', direction: 'issued' }
const ctx = contextOf({ entity: ENTITY })

beforeAll(async () => {
  await applyD1Migrations(env.DB, env.CONTROL_MIGRATIONS)
  await applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS)
  const random = randomOf(5_001)
  // Each of 100.00 pesos before taxes.
  const rows = Array.from({ length: COUNT }, (_, n) =>
    rowOf({
      ...{
        entity: ENTITY,
        uuid: uuidFrom(random),
        fecha: `2025-0${1 + (n % 9)}-10T10:00:00`,
        counterparty_rfc: `BBB0202${10 + (n % 80)}BB1`,
      },
      ...{ total: '116.00', net_mxn: 100_000_000, products: '84111506' },
    }),
  )
  await insertCfdi(env.LEDGER_0, rows)
})

describe('concepts of more documents than lines are read of', () => {
  it('adds product keys up exactly and says that it has no figures of lines', async () => {
    const answer = await requester(ctx)('/analytics/concepts', { ...RANGE, level: 'family' })
    expect(answer).toMatchObject({ total: `${COUNT}00.00`, has_line_figures: false, line_count: null, outlier_count: null })
    expect(answer.data).toMatchObject([
      { key: '8411', amount: `${COUNT}00.00`, share: '100.00', invoice_count: COUNT, quantity: null, avg_unit_price: null, iva_mix: null },
    ])
  })

  it('refuses what needs the lines', async () => {
    const refused = { code: 'concepts.too_many' }
    await expect(requester(ctx)('/analytics/concepts', { ...RANGE, level: 'description' })).rejects.toMatchObject(refused)
    await expect(requester(ctx)('/analytics/concepts/entries', { ...RANGE, figure: 'outliers' })).rejects.toMatchObject(refused)
    expect((await requester(ctx)('/analytics/concepts/entries', { ...RANGE, figure: 'amount', key: '84111506' })).data).toHaveLength(100)
  })
})
