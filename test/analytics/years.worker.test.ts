import { applyD1Migrations, env } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import { Concepto } from '../../src/cfdi/detail/contract.ts'
import { newBook } from '../cfdi/support/book.ts'
import { contextOf, reaching } from '../support/context.ts'
import { runs } from '../support/fuzz.ts'
import { balancesAsOf } from './oracle/as-of.ts'
import { rateTable } from './oracle/rules.ts'
import type { Document, World } from './oracle/world.ts'
import { ingestYear, readDocuments } from './support/service.ts'
import { worldOfYear } from './years/readable.ts'
import { sightsOf } from './years/sights.ts'
import { type Year, yearOf } from './years/year.ts'

/**
 * The oracle and the service agree on what they both already say: what each document is, what counts, and what is paid and owed. So that a
 * difference in a figure of fiscal insight is one of its rule.
 */

beforeAll(async () => {
  await applyD1Migrations(env.DB, env.CONTROL_MIGRATIONS)
  await applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS)
})

const COMPARED = [
  ...([
    'uuid',
    'direction',
    'kind',
    'version',
    'tipo_comprobante',
    'fecha',
    'counterparty',
    'metodo_pago',
    'forma_pago',
    'uso_cfdi',
  ] as const),
  ...(['currency', 'tipo_cambio', 'total', 'subtotal', 'descuento', 'estatus', 'is_substituted', 'relacionados', 'pagos'] as const),
  ...(['emisor_regimen_fiscal', 'receptor_regimen_fiscal', 'retencion', 'condiciones_pago', 'has_xml'] as const),
]
const byUuid = <T extends { uuid: string }>(list: readonly T[]): T[] => [...list].sort((a, b) => (a.uuid < b.uuid ? -1 : 1))
const compared = (list: readonly Document[]) =>
  byUuid(list).map((one) => [
    Object.fromEntries(COMPARED.map((name) => [name, one[name]])),
    one.conceptos.map((line) => Object.fromEntries(Object.keys(Concepto.shape).map((name) => [name, line[name as keyof typeof line]]))),
    one.has_xml ? one.impuestos : null,
  ])

const worldOf = (year: Year, documents: readonly Document[]): World => ({
  ...{ ...worldOfYear({ ...year, documents: [] }), documents, rates: rateTable(year.rates) },
})

function expectBalances(world: World): void {
  const expected = byUuid(balancesAsOf(world, world.today))
  const answered = byUuid(world.documents).map((one) => {
    const { uuid, estatus, is_substituted, payment_status, paid_amount, credited_amount, balance } = one
    return { uuid, estatus, is_substituted, payment_status, paid_amount, credited_amount, balance }
  })
  expect(answered).toEqual(expected)
}

describe('the service and the oracle read the same in a seeded year', () => {
  it.each(Array.from({ length: runs(1, 40) }, (_, n) => n + 1))('without windows, and within them (%i)', async (seed) => {
    const year = yearOf(seed)
    const target = newBook()
    await ingestYear(target, year)
    const connection = { entity: target.entity, connection: target.entity, rfc: year.rfc }
    for (const sight of sightsOf(year)) {
      const windows = sight && reaching(sight.issued, sight.received)
      const documents = await readDocuments(contextOf({ ...connection, ...windows }, { extractor_count: sight === null ? 0 : 1 }))
      if (sight === null) expect(compared(documents)).toEqual(compared(worldOfYear(year).documents))
      expectBalances(worldOf(year, documents))
    }
  })
})
