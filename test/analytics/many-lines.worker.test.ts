import { beforeAll, expect, it, vi } from 'vitest'
import { importsOf, post, zipWith } from '../cfdi/imports/support/imports.ts'
import { plainOf } from '../cfdi/support/documents.ts'
import { randomOf } from '../support/random.ts'
import { connect, type Organization, organization } from '../support/tenants.ts'

const LINES = 10_001
let of: Organization
let fiscal_entity_id: string

beforeAll(async () => {
  of = await organization()
  const connected = await connect(of.owner, undefined, { ciec: 'empty' })
  fiscal_entity_id = connected.fiscal_entity_id
  const book = ['2026-04-10', '2026-04-11', '2026-04-12', '2026-04-13', '2026-05-10'].map((day) =>
    plainOf(randomOf(4), day.slice(0, 7), {
      ...{ tipo: 'I', metodo: 'PUE', fecha: `${day}T10:00:00`, emisor: connected.rfc, receptor: 'BBB020202BB1', lines: LINES },
      ...{ uuid: `${day.replaceAll('-', '')}-11E5-4000-8000-000000000001`, subtotal: '700.00', iva: '112.00', total: '812.00' },
    }),
  )
  const { body } = await post(of.owner, fiscal_entity_id, zipWith(book))
  await vi.waitUntil(async () => (await of.ask('GET', `${importsOf(fiscal_entity_id)}/${body.import_id}`)).body.status === 'completed', {
    timeout: 50_000,
    interval: 100,
  })
})

it('the lines of a few documents with very many are not read, and their amounts are added up all the same', async () => {
  const concepts = async (from: string) =>
    (await of.ask('GET', `/v1/analytics/concepts?fiscal_entity_id=${fiscal_entity_id}&direction=issued&from=${from}&to=2026-05`)).body
  expect(await concepts('2026-05')).toMatchObject({ total: '7000700.00', has_line_figures: true, line_count: LINES })
  expect(await concepts('2026-04')).toMatchObject({ total: '35003500.00', has_line_figures: false, line_count: null })
})
