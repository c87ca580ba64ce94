import { describe, expect, it } from 'vitest'
import { micros, sum } from './oracle/amounts.ts'
import { conceptsOf } from './oracle/analytics/concepts.ts'
import { efosOf } from './oracle/analytics/efos.ts'
import { financingOf } from './oracle/analytics/financing.ts'
import { fxOf } from './oracle/analytics/fx.ts'
import { indicatorsOf } from './oracle/analytics/indicators.ts'
import { vatPositionOf } from './oracle/analytics/vat.ts'
import { balancesAsOf } from './oracle/as-of.ts'
import { movementsOf } from './oracle/cash.ts'
import { concentrationOf } from './oracle/drilldowns/concentration.ts'
import { deductionsOf } from './oracle/drilldowns/deductions.ts'
import { riskOf } from './oracle/drilldowns/risk.ts'
import { withholdingsOf } from './oracle/drilldowns/withholdings.ts'
import { qualityOf } from './oracle/quality.ts'
import { diot } from './oracle/reports/filings.ts'
import { counterpartyNetwork, paymentBehavior } from './oracle/reports/parties.ts'
import { fiscalSummary, revenueExpenses } from './oracle/reports/sums.ts'
import type { World } from './oracle/world.ts'
import { worldOfYear } from './years/readable.ts'
import { type Year, yearOf } from './years/year.ts'

const SEEDS = [1, 2, 3, 4, 5, 6]
const years = new Map<number, { year: Year; world: World }>()
const lived = (seed: number) => {
  const year = years.get(seed)?.year ?? yearOf(seed)
  const known = years.get(seed) ?? { year, world: worldOfYear(year) }
  years.set(seed, known)
  return { ...known, range: { from: `${known.year.months[0]}-01`, to: known.world.today } }
}
const total = <T>(rows: readonly T[], of: (row: T) => string | null): bigint => rows.reduce((all, row) => all + micros(of(row)), 0n)
/** Figures are rounded to cents each, so their sum may be off by half a cent for each of them. */
const isNear = (one: bigint, other: bigint, figures: number) =>
  expect(Number(one - other < 0n ? other - one : one - other)).toBeLessThanOrEqual(5_000 * figures)

describe('what different surfaces say of the same year agrees', () => {
  it.each(SEEDS)('in year %i: sales, purchases and payroll', (seed) => {
    const { world, range } = lived(seed)
    const [byYear, byMonth] = [fiscalSummary(world), revenueExpenses(world)]
    const issued = concentrationOf(world, { ...range, direction: 'issued' })
    const received = concentrationOf(world, { ...range, direction: 'received' })
    isNear(
      total(byYear, (one) => one.ingresos),
      total(byMonth, (one) => one.net_revenue),
      byYear.length + byMonth.length,
    )
    isNear(
      total(byYear, (one) => one.ingresos),
      micros(issued.header.total),
      byYear.length + 1,
    )
    isNear(
      total(byYear, (one) => one.egresos),
      micros(received.header.total),
      byYear.length + 1,
    )
    isNear(
      total(byYear, (one) => one.nomina),
      total(byMonth, (one) => one.payroll),
      byYear.length + byMonth.length,
    )
    const network = counterpartyNetwork(world)
    isNear(
      total(network, (one) => one.issued),
      micros(issued.header.total),
      network.length + 1,
    )
    expect(received.rows.length).toBeGreaterThan(3)
  })

  it.each(SEEDS)('in year %i: cash, its taxes and what is withheld', (seed) => {
    const { world, range } = lived(seed)
    const position = vatPositionOf(world, range).rows
    const suppliers = diot(world) as unknown as Record<string, string>[]
    const { totals } = withholdingsOf(world, range)
    const ofImports = withholdingsOf(world, { ...range, source: 'retencion_cfdi', impuesto: 'IVA', role: 'withheld_by_us' }).rows
    for (const { period, pagado, no_deducible_excluded } of position) {
      const mine = suppliers.filter((one) => one['period'] === period)
      const of = (figure: string) => total(mine, (one) => one[figure] ?? '0')
      for (const figure of ['iva_16', 'base_16', 'base_0', 'iva_8', 'base_no_objeto'] as const)
        isNear(of(figure) - of(`devuelto_${figure}`), micros(pagado[figure]), 2 * mine.length + 1)
      const lost = ['iva_16', 'iva_8', 'iva_otras'].map((figure) => of(`no_acreditable_${figure}`))
      isNear(sum(lost), micros(no_deducible_excluded), 3 * mine.length + 1)
      const retenciones = total(
        ofImports.filter((one) => one.period === period),
        ({ amount }) => amount,
      )
      const owed = micros(totals.find((one) => one.period === period)?.iva_por_enterar)
      isNear(owed - retenciones, micros(pagado.retenido_a_terceros), 3)
    }
  })

  it.each(SEEDS)('in year %i: what is open, by debtor, age, month and document', (seed) => {
    const { world } = lived(seed)
    for (const as_of of [world.today, `${world.today.slice(0, 8)}01`]) {
      const { receivables, pool, rows } = financingOf(world, { as_of })
      isNear(
        total(rows, (one) => one.outstanding),
        micros(receivables.outstanding),
        rows.length + 1,
      )
      isNear(
        total(Object.values(receivables.aging), (one) => one),
        micros(receivables.outstanding),
        6,
      )
      isNear(
        total(receivables.expected, (one) => one.amount),
        micros(receivables.outstanding),
        receivables.expected.length + 1,
      )
      const ineligible = total(pool.ineligible, (one) => one.amount)
      isNear(micros(pool.eligible_amount) + ineligible, micros(receivables.outstanding), pool.ineligible.length + 2)
      const open = balancesAsOf(world, as_of).filter(
        (one) => one.estatus === 'vigente' && !one.is_substituted && micros(one.balance) >= 5_000n,
      )
      const issued = new Set(
        world.documents.filter((one) => one.direction === 'issued' && one.emisor_rfc !== one.receptor_rfc).map(({ uuid }) => uuid),
      )
      const withRate = receivables.invoice_count + (pool.ineligible.find(({ reason }) => reason === 'missing_rate')?.count ?? 0)
      expect(open.filter(({ uuid }) => issued.has(uuid)).length).toBeGreaterThanOrEqual(withRate)
    }
    const owed = paymentBehavior(world).filter(({ direction }) => direction === 'issued')
    isNear(
      total(owed, (one) => one.outstanding),
      micros(financingOf(world, {}).receivables.outstanding),
      owed.length + 1,
    )
  })

  it.each(SEEDS)('in year %i: 69-B and limits', (seed) => {
    const { world, range } = lived(seed)
    for (const row of efosOf(world, range).rows) {
      isNear(micros(row.before_listing_amount) + micros(row.after_listing_amount), micros(row.amount), 3)
      expect(row.is_active).toBe(row.situacion === 'presunto' || row.situacion === 'definitivo')
    }
    for (const { limit, used } of deductionsOf(world, range).totals)
      if (limit !== null) expect(micros(used)).toBeLessThanOrEqual(micros(limit))
    for (const { share } of conceptsOf(world, range).rows) expect(Number(share)).toBeLessThanOrEqual(1_000)
    expect(indicatorsOf(world, range)).toHaveLength(12)
  })

  it('is the same in every run', () => {
    expect(yearOf(7)).toEqual(yearOf(7))
    expect(yearOf(7).rfc).not.toBe(yearOf(8).rfc)
  })
})

/** How often something was there to be told. */
function notifiedIn(seeds: readonly number[]): Map<string, number> {
  const notified = new Map<string, number>()
  const notify = (what: string, times = 1) => notified.set(what, (notified.get(what) ?? 0) + times)
  for (const seed of seeds) {
    const { world, range, year } = lived(seed)
    for (const { flags } of riskOf(world, range)) for (const { code } of flags) notify(code)
    for (const { reason } of movementsOf(world).unreconciled) notify(`unreconciled.${reason}`)
    for (const { reasons, status, category } of deductionsOf(world, { ...range, annual_income: '20000' }).rows)
      for (const what of [...reasons, status, category ?? 'none']) notify(`deductions.${what}`)
    for (const { concept_class, source, impuesto, missing } of withholdingsOf(world, range).rows)
      for (const what of [concept_class ?? source, impuesto, ...(missing ? ['missing'] : [])]) notify(`withholdings.${what}`)
    for (const [name, count] of Object.entries(qualityOf(world, range).counts)) notify(`quality.${name}`, count)
    for (const { reason } of financingOf(world, {}).pool.ineligible) notify(`pool.${reason}`)
    for (const { currency, realized_gain_loss } of fxOf(world, range).rows) if (realized_gain_loss !== '0.00') notify(`fx.${currency}`)
    for (const { situacion } of efosOf(world, range).rows) notify(`efos.${situacion}`)
    for (const { version, kind } of world.documents) notify(`version.${kind}.${version}`)
    for (const row of vatPositionOf(world, range).rows)
      for (const figure of ['no_deducible_excluded', 'at_risk_69b', 'at_risk_repse', 'pendiente_por_cobrar_iva'] as const)
        if (row[figure] !== '0.00') notify(`vat.${figure}`)
    notify('outliers', conceptsOf(world, range).header.outlier_count)
    notify('people', year.rfc.length === 13 ? 1 : 0)
  }
  return notified
}

const NOTIFIED = [
  ...['counterparty_69b_definitivo', 'counterparty_69b_presunto', 'counterparty_69', 'cancelled_after_payment', 'ppd_missing_complement'],
  ...['complement_late', 'complement_cancelled', 'pue_forma_99', 'ppd_forma_not_99', 'cash_over_2000', 'withholding_missing'],
  ...['repse_not_valid_at_payment', 'substituted_not_cancelled', 'receptor_regimen_uso_invalid', 'metadata_only'],
  ...['unknown', 'cancelled', 'substituted', 'other_parties', 'currency_mismatch'].map((what) => `unreconciled.${what}`),
  ...['cancelled', 'substituted', 'missing_xml', 'uso_s01', 'cash_over_2000', 'fuel_not_electronic', 'not_paid'].map(
    (what) => `deductions.${what}`,
  ),
  ...['eligible', 'capped', 'not_deductible', 'review', 'health', 'expense', 'investment', 'returns'].map((what) => `deductions.${what}`),
  ...['honorarios', 'arrendamiento', 'autotransporte', 'resico_pf', 'sueldos', 'retencion_cfdi', 'missing'].map(
    (what) => `withholdings.${what}`,
  ),
  ...['missing_rate', 'dof_rate', 'without_xml', 'other_parties', 'substituted', 'unreconciled_payments'].map((what) => `quality.${what}`),
  ...['too_old', 'overdue_30', 'generic_debtor'].map((what) => `pool.${what}`),
  ...['presunto', 'definitivo', 'desvirtuado'].map((what) => `efos.${what}`),
  ...['cfdi.3.2', 'cfdi.3.3', 'cfdi.4.0', 'cfdi.null', 'retenciones.1.0', 'retenciones.2.0'].map((what) => `version.${what}`),
  ...['no_deducible_excluded', 'at_risk_69b', 'at_risk_repse', 'pendiente_por_cobrar_iva'].map((what) => `vat.${what}`),
  ...['fx.USD', 'fx.EUR', 'people'],
]

describe('the seeded years', () => {
  it('have something to say about each rule', () => {
    const notified = notifiedIn(SEEDS)
    expect(NOTIFIED.filter((what) => !(notified.get(what)! > 0))).toEqual([])
  })
})
