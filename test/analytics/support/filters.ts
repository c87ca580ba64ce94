import { type Random, random } from '../../../src/authority/sandbox/world/seed.ts'
import { conceptsOf } from '../oracle/analytics/concepts.ts'
import { efosOf } from '../oracle/analytics/efos.ts'
import { type FinancingQuery, financingOf } from '../oracle/analytics/financing.ts'
import { fxOf } from '../oracle/analytics/fx.ts'
import { type VatChoices, vatPositionOf } from '../oracle/analytics/vat.ts'
import { concentrationOf } from '../oracle/drilldowns/concentration.ts'
import { type DeductionQuery, deductionsOf } from '../oracle/drilldowns/deductions.ts'
import { type RiskQuery, riskOf } from '../oracle/drilldowns/risk.ts'
import { type WithholdingQuery, withholdingsOf } from '../oracle/drilldowns/withholdings.ts'
import { newTally } from '../oracle/tally.ts'
import { addDays, daysBetween, lastDayOf, monthOf, monthsOf, type Range, type World } from '../oracle/world.ts'
import { type Asked, financingHead } from './surfaces.ts'

/** The members that are there, as a query's text. */
const textOf = (query: object): Record<string, string> =>
  Object.fromEntries(Object.entries(query).map(([name, value]) => [name, Array.isArray(value) ? value.join(',') : String(value)]))

/** Some members of an object, at least one. */
function someOf<T extends object>({ chance, pick }: Random, all: T): Partial<T> {
  const entries = Object.entries(all)
  const some = entries.filter(() => chance(0.35))
  return Object.fromEntries(some.length > 0 ? some : [pick(entries)]) as Partial<T>
}

const DIRECTIONS = ['issued', 'received'] as const

/** What a taxpayer decides of its VAT position, drawn at random. */
function choicesOf({ documents }: World, seed: number): VatChoices {
  const { chance, pick, int } = random(`choices|${seed}`)
  const suppliers = [...new Set(documents.filter((one) => one.direction === 'received').map(({ emisor_rfc }) => emisor_rfc))].sort()
  const meant = (use: number) => suppliers.filter((_, n) => (n + seed) % 4 === use)
  const uses = { prorrateo: 'attributed', taxed_suppliers: meant(0), exempt_suppliers: meant(1) }
  return {
    terceros: pick(['include', 'exclude']),
    ...(chance(0.5) && { no_objeto: pick(['not_taxed', 'left_out'] as const) }),
    ...(chance(0.3) ? { prorrateo: `0.${int(1, 999_999)}` } : meant(0).length > 0 && meant(1).length > 0 ? uses : {}),
  }
}

/** Every surface with parameters of its own, drawn at random. */
export function filteredOf(world: World, range: Range, seed: number): Asked[] {
  const draws = random(`filters|${seed}`)
  const { pick, int } = draws
  const months = { from: monthOf(range.from), to: monthOf(range.to) }
  const days = { from: `${months.from}-01`, to: lastDayOf(months.to) }
  const direction = pick(DIRECTIONS)
  const as_of = addDays(range.from, int(0, Math.max(0, daysBetween(range.from, world.today))))

  const risk: Partial<RiskQuery> = someOf(draws, {
    direction,
    level: [pick(['low', 'medium', 'high', 'critical'] as const), 'high' as const],
    code: [
      pick(Object.keys(world.rules(world.today).risk_weights)),
      pick(Object.keys(world.rules(world.today).risk_weights)),
      'metadata_only',
    ],
    min_total: `${int(1, 20_000)}.${int(10, 99)}`,
  })
  const withheld: Partial<WithholdingQuery> = someOf(draws, {
    role: pick(['withheld_from_us', 'withheld_by_us'] as const),
    impuesto: pick(['ISR', 'IVA', 'IEPS'] as const),
    concept_class: pick([
      'honorarios',
      'arrendamiento',
      'resico_pf',
      'comision',
      'autotransporte',
      'desperdicios',
      'servicios_personal',
      'otros',
      'sueldos',
    ]),
    source: pick(['cfdi', 'pago', 'retencion_cfdi'] as const),
    missing: true,
  })
  const withholdings = withholdingsOf(world, { ...range, ...withheld })
  const claimed: Partial<DeductionQuery> = someOf(draws, {
    profile: pick(['auto', 'personal', 'business'] as const),
    annual_income: `${int(20_000, 900_000)}.${int(10, 99)}`,
  })
  const deductions = deductionsOf(world, { ...days, ...claimed })
  const concentration = concentrationOf(world, { ...range, direction, include_generic: true })
  const level = pick(['family', 'class'] as const)
  const { terceros = 'include', ...chosen } = choicesOf(world, seed)
  const concepts = conceptsOf(world, { ...range, direction, level, terceros })
  const pool: FinancingQuery = {
    ...someOf(draws, { advance_rate: `0.${int(10, 99)}`, max_age_days: int(10, 400), debtor_cap: `0.${int(10, 99)}` }),
    as_of,
  }
  const financing = financingOf(world, pool)
  const period = pick(monthsOf(days).filter((month) => month <= monthOf(world.today)))
  const vat = vatPositionOf(world, { from: `${period}-01`, to: lastDayOf(period) }, { ...chosen, terceros })
  const efos = efosOf(world, { ...range, direction, as_of })
  const fx = fxOf(world, { ...range, as_of })
  return [
    { path: '/cfdi/risk', query: textOf({ ...range, ...risk }), head: {}, rows: riskOf(world, { ...range, ...risk }), tally: newTally() },
    {
      ...{ path: '/cfdi/withholdings', query: textOf({ ...range, ...withheld }), head: { totals: withholdings.totals } },
      ...{ rows: withholdings.rows, tally: withholdings.tally },
    },
    {
      ...{ path: '/cfdi/deductions', query: textOf({ ...months, ...claimed }) },
      head: { totals: deductions.totals, cap_unknown: deductions.cap_unknown },
      ...{ rows: deductions.rows, tally: deductions.tally },
    },
    {
      ...{ path: '/cfdi/concentration', query: textOf({ ...range, direction, include_generic: true }), head: concentration.header },
      ...{ rows: concentration.rows, tally: concentration.tally },
    },
    {
      ...{ path: '/analytics/concepts', query: textOf({ ...range, direction, level, terceros }), head: concepts.header },
      ...{ rows: concepts.rows, tally: concepts.tally },
    },
    {
      ...{ path: '/analytics/financing', query: textOf(pool), head: financingHead(financing), rows: financing.rows },
      tally: financing.tally,
    },
    {
      ...{ path: '/analytics/vat-position', query: { period, ...textOf({ ...chosen, terceros }) }, head: vat.head },
      ...{ rows: vat.rows, tally: vat.tally },
    },
    {
      ...{ path: '/analytics/efos-exposure', query: textOf({ ...range, direction, as_of }), head: efos.header, rows: efos.rows },
      tally: efos.tally,
    },
    {
      ...{ path: '/analytics/fx-exposure', query: textOf({ ...range, as_of }), head: fx.header },
      ...{ rows: fx.rows, tally: fx.tally },
    },
  ]
}
