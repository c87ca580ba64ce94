import { applyD1Migrations, env } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import { IsrEntriesQuery, IsrQuery } from '../../src/analytics/isr/contract.ts'
import { getIsrPayment, listIsrEntries } from '../../src/analytics/isr/isr.ts'
import type { Ctx } from '../../src/platform/context.ts'
import { FISCAL_ENTITY } from '../support/context.ts'
import { runs } from '../support/fuzz.ts'
import { type Micros, micros, money, quotient, sum, times } from './oracle/amounts.ts'
import { type CashEvent, countedOn, movementsOf } from './oracle/cash.ts'
import { inPesos, netOf, populationOf } from './oracle/counting.ts'
import { excludedOf } from './oracle/drilldowns/credit.ts'
import { taxSum } from './oracle/taxes.ts'
import { type Document, isCompany, lastDayOf, monthOf, type World } from './oracle/world.ts'
import { keptYear } from './support/kept.ts'

beforeAll(async () => {
  await applyD1Migrations(env.DB, env.CONTROL_MIGRATIONS)
  await applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS)
})

type Rule = { key: string; valid_from: string; valid_to: string | null; value: unknown }
interface Given {
  coefficient: string
  ptu: string
  losses: string
  other_deductions: string
  earlier_payments: string
}
const GIVEN: Given = { coefficient: '0.1875', ptu: '1234.56', losses: '321.09', other_deductions: '77.70', earlier_payments: '45.67' }

const atLeast0 = (amount: Micros): Micros => (amount > 0n ? amount : 0n)
const isAdvance = ({ relacionados }: Document): boolean => relacionados.some(({ tipo_relacion }) => tipo_relacion === '07')

/** The lines of a payment as the law adds them up, from the documents that the API shows. */
function linesOf(world: World, rules: readonly Rule[], rfc: string, period: string, regimen: string, given: Given): Record<string, Micros> {
  const from = isCompany(rfc) || regimen === '612' ? `${period.slice(0, 4)}-01` : period
  const isMeant = (day: string) => monthOf(day) >= from && monthOf(day) <= period
  const month = BigInt(period.slice(5))
  const rule = (key: string) =>
    rules.find((one) => one.key === key && one.valid_from <= lastDayOf(period) && lastDayOf(period) <= (one.valid_to ?? '9999'))!.value
  const cash = movementsOf(world).events.filter(({ day }) => isMeant(day))
  const [collected, paid] = [
    cash.filter(({ direction }) => direction === 'issued'),
    cash.filter(({ direction }) => direction === 'received'),
  ]
  const total = (events: readonly CashEvent[], of: (event: CashEvent) => Micros) => sum(events.map(of))
  const retenido = total(collected, ({ taxes }) => taxSum(taxes, 'retencion', '001'))
  const [ptu, perdidas] = [micros(given.ptu), micros(given.losses)]
  if (regimen === '601') {
    // LISR 14: what was invoiced, of which no credit note is deducted, but for the advance that is income already (17).
    const issued = populationOf(world, null, ['I', 'E']).filter((one) => one.direction === 'issued' && isMeant(countedOn(one)))
    const net = (is: (one: Document) => boolean) => sum(issued.filter(is).map((one) => inPesos(world, one, netOf(one))))
    const ingresos = net((one) => one.tipo_comprobante === 'I')
    const anticipos_aplicados = net((one) => one.tipo_comprobante === 'E' && isAdvance(one))
    const utilidad = times(ingresos - anticipos_aplicados, given.coefficient)
    // The workers' share is subtracted from May on, in eight equal parts.
    const part = month < 5n ? 0n : quotient(ptu * (month - 4n), 8n)
    const base = atLeast0(utilidad - part - perdidas)
    const due = times(base, String(rule('isr.company'))) - micros(given.earlier_payments) - retenido
    return { ingresos, anticipos_aplicados, utilidad, ptu: part, base, retenido, a_pagar: atLeast0(due) }
  }
  const ingresos = total(collected, ({ net }) => net)
  if (regimen === '626' && !isCompany(rfc)) {
    // LISR 113-E: the rate of the row up to which the month reaches, on all of it.
    const row = (rule('isr.resico_pf') as { up_to: string; rate: string }[]).find(({ up_to }) => ingresos <= micros(up_to))!
    return { ingresos, retenido, a_pagar: atLeast0(atLeast0(times(ingresos, row.rate)) - retenido) }
  }
  const business = paid.filter(({ document }) => !document.uso_cfdi?.startsWith('D'))
  const isInvestment = ({ document }: CashEvent) => document.uso_cfdi?.startsWith('I') === true
  const no_deducible = total(business, (one) => (isInvestment(one) ? 0n : excludedOf(world, one, one.net)))
  const deducciones = total(business, (one) => (isInvestment(one) ? 0n : one.net)) - no_deducible
  const inversiones = total(business, (one) => (isInvestment(one) ? one.net : 0n))
  const base = atLeast0(ingresos - deducciones - micros(given.other_deductions) - ptu - perdidas)
  let isr = times(base, String(rule('isr.company')))
  if (regimen === '612') {
    // LISR 96 and 106: limits and fixed parts of a month, times the months.
    isr = 0n
    for (const { lower, fixed, rate } of rule('isr.tariff') as { lower: string; fixed: string; rate: string }[]) {
      const above = (micros(lower) - 10_000n) * month
      if (base > above) isr = micros(fixed) * month + times(atLeast0(base - above - 10_000n), rate)
    }
  }
  const due = isr - micros(given.earlier_payments) - retenido
  return { ingresos, deducciones, no_deducible, inversiones, base, isr, retenido, a_pagar: atLeast0(due) }
}

async function addedUp(ctx: Ctx, asked: object, figure: string): Promise<string> {
  let all = 0n
  for (let cursor: string | undefined; ; ) {
    const page = await listIsrEntries(ctx, IsrEntriesQuery.parse({ ...asked, figure, limit: '100', ...(cursor && { cursor }) }))
    all += sum(page.data.map(({ amount }) => micros(amount)))
    if (!page.has_more) return money(all)
    cursor = page.next_cursor!
  }
}

describe('the payment of ISR is that of the oracle', () => {
  it.each(Array.from({ length: runs(1, 40) }, (_, n) => n + 1))('in seeded years, without windows and within them (%i)', async (seed) => {
    const rules = (await (await env.ASSETS.fetch('https://assets.invalid/rules.json')).json()) as Rule[]
    for (const { ctx, world, year } of await keptYear(seed)) {
      const periods = [year.months[4]!, year.months[9] ?? year.months.at(-1)!].filter((month) => month >= '2018-01')
      for (const period of periods)
        for (const regimen of isCompany(year.rfc) ? ['601', '626'] : ['612', '626']) {
          if (regimen === '626' && period < '2022-01') continue
          const asked = { fiscal_entity_id: FISCAL_ENTITY, period, regimen }
          const answer = await getIsrPayment(ctx, IsrQuery.parse({ ...asked, ...GIVEN }))
          const expected = Object.entries(linesOf(world, rules, year.rfc, period, regimen, GIVEN)).map(([line, amount]) => [
            line,
            money(amount),
          ])
          const found = new Map(answer.data.map(({ line, value }) => [line, value]))
          // A window leaves the last line unknown where it does not show a month.
          const shown = expected.filter(([line]) => line !== 'a_pagar' || answer.a_pagar !== null)
          expect([period, regimen, shown.map(([line]) => [line, found.get(line!)])]).toEqual([period, regimen, shown])
          for (const figure of Object.keys(answer.drilldown))
            expect([figure, await addedUp(ctx, asked, figure)]).toEqual([figure, found.get(figure)])
        }
    }
  })
})
