import { applyD1Migrations, env } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import { openInsight } from '../../src/analytics/common/insight.ts'
import { IsrEntriesQuery, IsrQuery } from '../../src/analytics/isr/contract.ts'
import { getIsrPayment, listIsrEntries } from '../../src/analytics/isr/isr.ts'
import { type IsrSide, sideRows, sumsOf } from '../../src/analytics/isr/store.ts'
import { exclusionsOf, knownSuppliers } from '../../src/analytics/vat/exclusions.ts'
import { NO_USES } from '../../src/analytics/vat/store.ts'
import { readRows, textOf } from '../../src/platform/db/statement.ts'
import { partitionsToRead } from '../../src/taxpayers/visibility/scoped-ledger.ts'
import { all, newBook } from '../cfdi/support/book.ts'
import { CUSTOMERS, packageOf, plainOf, RFC } from '../cfdi/support/documents.ts'
import { ingestZip } from '../cfdi/support/ingest-zip.ts'
import { contextOf, FISCAL_ENTITY, type GrantedRange, reaching } from '../support/context.ts'
import { costOf } from '../support/meter.ts'
import { randomOf } from '../support/random.ts'

beforeAll(async () => {
  await applyD1Migrations(env.DB, env.CONTROL_MIGRATIONS)
  await applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS)
})

const PAST = { now: new Date('2026-03-31T23:00:00Z'), extractor_count: 1 }
const random = randomOf(7)
const sale = { emisor: RFC, receptor: CUSTOMERS[0], lines: 1 }
const purchase = { emisor: CUSTOMERS[1], receptor: RFC, lines: 1 }
const of100 = { subtotal: '100.00', iva: '16.00', total: '116.00' }
const asked = (period: string, regimen: string, more = {}) => ({ fiscal_entity_id: FISCAL_ENTITY, period, regimen, ...more })
const lines = ({ data }: Awaited<ReturnType<typeof getIsrPayment>>) => Object.fromEntries(data.map(({ line, value }) => [line, value]))

describe('the provisional payment of ISR', () => {
  it('has nothing that the window of the organization does not show', async () => {
    const book = newBook('authority')
    const months = ['2026-01', '2026-02', '2026-03']
    const documents = months.flatMap((month) =>
      [sale, purchase].map((party) => plainOf(random, month, { ...party, ...of100, fecha: `${month}-10T12:00:00` })),
    )
    await all(ingestZip(book, packageOf(documents)))
    const within = (window: GrantedRange) => contextOf({ entity: book.entity, ...reaching(window) }, PAST)
    const payment = (window: GrantedRange, regimen: string) =>
      getIsrPayment(within(window), IsrQuery.parse(asked('2026-03', regimen, { coefficient: '1' })))
    const whole: GrantedRange = ['2025-12-01', '2026-03-31T22:00:00Z']
    const cut: GrantedRange = ['2026-02-01', '2026-03-01T06:00:00Z']
    for (const regimen of ['601', '626']) {
      expect(lines(await payment(whole, regimen))).toMatchObject({ ingresos: '300.00' })
      const part = await payment(cut, regimen)
      expect([lines(part)['ingresos'], lines(part)['a_pagar'], part.a_pagar, part.is_partial]).toEqual(['100.00', null, null, true])
      const entries = await listIsrEntries(within(cut), IsrEntriesQuery.parse(asked('2026-03', regimen, { figure: 'ingresos' })))
      expect(entries.data.map(({ amount }) => amount)).toEqual(['100.000000'])
    }
    expect(lines(await payment(whole, '626'))['deducciones']).toBe('300.00')
    expect(lines(await payment(cut, '626'))['deducciones']).toBe('100.00')
  })

  it('adds up thousands of partial payments', async () => {
    const book = newBook('authority')
    for (const party of [sale, purchase]) {
      const invoices = Array.from({ length: 2_500 }, () => plainOf(random, '2026-01', { ...party, ...of100, metodo: 'PPD' }))
      const payments = [31, 28].flatMap((day, n) =>
        Array.from({ length: 25 }, (_, part) =>
          plainOf(random, `2026-0${n + 1}`, {
            ...{ ...party, tipo: 'P' },
            pagos: [
              {
                fecha: `2026-0${n + 1}-${day}T12:00:00`,
                documentos: invoices.slice(part * 100, part * 100 + 100).map(({ uuid }) => ({ uuid, pagado: '33.33', moneda: 'MXN' })),
              },
            ],
          }),
        ),
      )
      await all(ingestZip(book, packageOf(invoices)))
      await all(ingestZip(book, packageOf(payments)))
    }
    const ctx = contextOf({ entity: book.entity, ...reaching(['2025-12-01', '2026-03-31T22:00:00Z']) }, PAST)
    const query = IsrQuery.parse(asked('2026-02', '626'))
    await getIsrPayment(ctx, query)
    const { cost, result } = await costOf(env.LEDGER_0, env.FILES, () => getIsrPayment(ctx, query))
    expect(cost).toMatchObject({ d1_calls: 3, rows_written: 0 })
    // 33.33 of 116.00, of 100.00 each: 28.732759 before taxes.
    expect(lines(result)).toMatchObject({ ingresos: '143663.80', deducciones: '143663.80', base: '0.00' })
    const insight = await openInsight(ctx, { from: '2026-01', to: '2026-02' })
    const { rules, span, ledger } = insight
    const marks = { rules, days: span, exclusions: exclusionsOf(rules, span), suppliers: await knownSuppliers(insight), uses: NO_USES }
    for (const partition of partitionsToRead(ledger))
      for (const side of ['collected', 'paid'] as const) {
        const results = await readRows<{ exactRows: string }>(env.LEDGER_0, sumsOf(side, sideRows(side, partition, marks)!))
        expect(results.flatMap(({ exactRows }) => JSON.parse(exactRows))).toHaveLength(5_000)
        expect(Math.max(...results.map(({ exactRows }) => exactRows.length))).toBeLessThan(200_000)
      }
  })
})

it('its statements are small for the widest range and both partitions', async () => {
  const windows = reaching(['2018-01-01', '2026-12-31T00:00:00Z'])
  const lengths: Record<string, number> = {}
  for (const year of [2018, 2021, 2022, 2025, 2026]) {
    const ctx = contextOf({ rfc: 'EKU9003173C9', imported_at: 1, ...windows } as never, { extractor_count: 1 })
    const insight = await openInsight(ctx, { from: `${year}-01`, to: `${year}-12` })
    const { rules, span, ledger } = insight
    const marks = { rules, days: span, exclusions: exclusionsOf(rules, span), suppliers: await knownSuppliers(insight), uses: NO_USES }
    for (const partition of partitionsToRead(ledger))
      for (const side of ['accrued', 'collected', 'paid'] satisfies IsrSide[])
        lengths[`${side} ${year}`] = textOf(sumsOf(side, sideRows(side, partition, marks)!)).sql.length
  }
  expect(Math.max(...Object.values(lengths))).toBeLessThan(60_000)
})
