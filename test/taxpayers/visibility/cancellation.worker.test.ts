import { applyD1Migrations, env } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import { getCfdi } from '../../../src/cfdi/detail/detail.ts'
import { CfdiSearch } from '../../../src/cfdi/search/contract.ts'
import { searchCfdi } from '../../../src/cfdi/search/search.ts'
import type { Ctx } from '../../../src/platform/context.ts'
import type { Failure } from '../../../src/platform/failures.ts'
import { insertCfdi, rowOf } from '../../cfdi/support/ledger.ts'
import { contextOf, FISCAL_ENTITY, reaching } from '../../support/context.ts'
import { randomOf, uuidFrom } from '../../support/random.ts'

const ENTITY = 7_168
const random = randomOf(8)
const [CANCELLED, SUBSTITUTE, UNKNOWN] = [uuidFrom(random), uuidFrom(random), uuidFrom(random)]
/** One reads up to March, the other up to June. The run of the latter found that the invoice of January was cancelled for one of May. */
const [early, late] = ['2026-03-01T12:00:00Z', '2026-06-15T12:00:00Z'].map((ceiling) =>
  contextOf({ entity: ENTITY, ...reaching(['2026-01-01', ceiling]) }, { extractor_count: 1 }),
) as [Ctx, Ctx]

beforeAll(async () => {
  await applyD1Migrations(env.DB, env.CONTROL_MIGRATIONS)
  await applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS)
  const cancelled = {
    estatus: 'cancelado' as const,
    cancelled_at: '2026-05-20T10:00:00-06:00',
    cancellation_reason: '01',
    folio_sustitucion: SUBSTITUTE,
  }
  await insertCfdi(env.LEDGER_0, [
    rowOf({ entity: ENTITY, uuid: CANCELLED, fecha: '2026-01-10T10:00:00', ...cancelled }),
    rowOf({ entity: ENTITY, uuid: SUBSTITUTE, fecha: '2026-05-20T09:00:00' }),
  ])
})

const found = async (ctx: Ctx, uuid: string) => (await searchCfdi(ctx, CfdiSearch.parse({ fiscal_entity_id: FISCAL_ENTITY, uuid }))).data
const refusalOf = (ctx: Ctx, uuid: string): Promise<Pick<Failure, 'code' | 'message'>> =>
  getCfdi(ctx, uuid).then(
    () => expect.unreachable(),
    ({ code, message }: Failure) => ({ code, message }),
  )

describe('the cancellation of a document that a window shows', () => {
  it('is told whole, whoever’s run found it: with the reason and the UUID that the authority names', async () => {
    const notified = { estatus: 'cancelado', cancellation_reason: '01', folio_sustitucion: SUBSTITUTE }
    for (const ctx of [early, late]) {
      expect(await found(ctx, CANCELLED)).toMatchObject([notified])
      expect(await getCfdi(ctx, CANCELLED)).toMatchObject(notified)
    }
  })

  it('tells nothing else of the document that replaces it: outside the window that is like one that nobody knows', async () => {
    expect(await found(early, SUBSTITUTE)).toEqual([])
    expect(await refusalOf(early, SUBSTITUTE)).toEqual(await refusalOf(early, UNKNOWN))
    expect(await found(late, SUBSTITUTE)).toMatchObject([{ uuid: SUBSTITUTE }])
  })
})
