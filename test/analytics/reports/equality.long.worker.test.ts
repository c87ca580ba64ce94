import { applyD1Migrations, env } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import defaults from '../../../assets/rules.json' with { type: 'json' }
import { worstOf } from '../../../src/analytics/common/omitted.ts'
import { diot } from '../../../src/analytics/diot/rows.ts'
import { KINDS, parseCells, type ReportCells, readMonth, writeCells } from '../../../src/analytics/reports/parts/month.ts'
import { payroll } from '../../../src/analytics/reports/reports.ts'
import {
  annualComparison,
  cancellations,
  counterpartyNetwork,
  fiscalSummary,
  type Of,
  paymentBehavior,
  revenueExpenses,
} from '../../../src/analytics/reports/rows/sums.ts'
import { type RuleRow, Rules } from '../../../src/authority/rules/dated.ts'
import { listedAmong } from '../../../src/lists/listings/listing.ts'
import { openLedger } from '../../../src/taxpayers/visibility/scoped-ledger.ts'
import { runs } from '../../support/fuzz.ts'
import { situacionAt } from '../oracle/lists.ts'
import * as filings from '../oracle/reports/filings.ts'
import * as parties from '../oracle/reports/parties.ts'
import * as sums from '../oracle/reports/sums.ts'
import { rulesFrom } from '../support/rules.ts'
import { seenOf } from '../support/seeded.ts'
import { yearOf } from '../years/year.ts'

beforeAll(async () => {
  await applyD1Migrations(env.DB, env.CONTROL_MIGRATIONS)
  await applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS)
})

/** The cells of all months, as they are stored. */
type Stored = { [Kind in keyof ReportCells]: Of<Kind>[] }

describe('reports are what the oracle adds up', () => {
  it.each(Array.from({ length: runs(1, 100) }, (_, n) => n + 1))('of the whole history of a seeded year (%i)', async (seed) => {
    const year = yearOf(seed)
    const [seen] = await seenOf(year, [null])
    const { ctx } = seen!
    const world = { ...seen!.world, rules: rulesFrom(defaults as RuleRow[], year.rules) }
    const { today } = world
    const reading = { system: ctx, ledger: openLedger(ctx), rules: Rules.of(year.rules, defaults as RuleRow[], today), today }
    const months = new Set(
      world.documents.flatMap(({ fecha, pagos }) => [fecha, ...pagos.map(({ fecha_pago }) => fecha_pago)]).map((day) => day.slice(0, 7)),
    )
    const stored = Object.fromEntries(KINDS.map((kind) => [kind, []])) as unknown as Record<string, object[]>
    for (const month of [...months].sort())
      for (const [kind, , data] of writeCells(await readMonth(reading, month)))
        stored[kind]!.push(...parseCells(kind, data).map((cell) => ({ ...cell, of: month })))
    const cells = stored as unknown as Stored
    expect(fiscalSummary(cells.sums)).toEqual(sums.fiscalSummary(world))
    expect(revenueExpenses(cells.sums)).toEqual(sums.revenueExpenses(world))
    expect(annualComparison(cells.sums)).toEqual(sums.annualComparison(world))
    expect(cancellations(cells.sums)).toEqual(parties.cancellations(world))
    const rfcs = [...new Set(cells.documents.map(({ rfc }) => String(rfc)))]
    const { listings } = await listedAmong({ db: ctx.db, organization_id: ctx.organization.id }, rfcs, today)
    expect(counterpartyNetwork(cells.documents, (rfc) => worstOf(listings.get(rfc)))).toEqual(parties.counterpartyNetwork(world))
    expect(paymentBehavior(cells.payments, today)).toEqual(parties.paymentBehavior(world))
    const definitive = new Set(world.lists.map(({ rfc }) => rfc).filter((rfc) => situacionAt(world, rfc, today) === 'definitivo'))
    const suppliers = [...new Set(cells.cash.map(({ rfc }) => String(rfc)))].sort()
    for (const global of [[], suppliers.filter((_, n) => n % 3 === seed % 3)])
      expect(diot(cells.cash, definitive, global)).toEqual(filings.diot(world, global))
    expect(payroll(cells.payroll)).toEqual(filings.payroll(world))
  })
})
