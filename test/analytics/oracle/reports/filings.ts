import { type Micros, micros, money, ratio, sum } from '../amounts.ts'
import { appliesAdvance, figuresOf, movementsOf } from '../cash.ts'
import { inPesos, populationOf } from '../counting.ts'
import { excludedOf } from '../drilldowns/credit.ts'
import { operationOf } from '../drilldowns/expectation.ts'
import type { Month } from '../shapes.ts'
import { newTally } from '../tally.ts'
import { IVA, ivaFigures, taxesOf, taxSum } from '../taxes.ts'
import { type Document, dayOf, lastDayOf, monthOf, nameOf, type World } from '../world.ts'

const WITH_IVA = ['base_16', 'iva_16', 'base_8', 'iva_8', 'base_otras', 'iva_otras'] as const
const CREDITED = ['iva_16', 'iva_8', 'iva_otras', 'iva_8_norte', 'iva_8_sur'] as const
const REGIONS = ['norte', 'sur'] as const
const WITHOUT_IVA = ['base_0', 'base_exento', 'base_no_objeto', 'base_sin_traslado'] as const

/** The border region whose rate of 8 % an invoice has, by the place where it was issued. */
function regionOf(world: World, document: Document, day: string): (typeof REGIONS)[number] | undefined {
  const hasRate = taxesOf(document)
    .flatMap(ivaFigures)
    .some(([name, amount]) => name === 'base_8' && amount !== 0n)
  const place = document.lugar_expedicion?.slice(0, 2) ?? ''
  return hasRate ? REGIONS.find((region) => world.rules(day).border_regions[region].includes(place)) : undefined
}

/**
 * `diot`: a row for each month, supplier and kind of operation. Suppliers in `global` are one third party without a name. What is taxed is as it
 * was paid, with what was returned apart; what is not taxed is less what was returned.
 */
export function diot(world: World, global: readonly string[] = []) {
  const tally = newTally()
  const rows = new Map<string, { period: Month; rfc: string; tipo_operacion: string; documents: Document[] }>()
  for (const event of movementsOf(world).events.filter(({ direction }) => direction === 'received')) {
    const [period, supplier] = [monthOf(event.day), event.document.emisor_rfc]
    const isGlobal = global.includes(supplier)
    const globally = period < '2025-01' ? '85' : '87'
    const [rfc, tipo_operacion] = isGlobal ? ['', globally] : [supplier, operationOf(world, event.document, lastDayOf(period))]
    const key = `${period}|${rfc}|${tipo_operacion}`
    const row = rows.get(key) ?? { period, rfc, tipo_operacion, documents: [] }
    row.documents.push(event.document)
    rows.set(key, row)
    const region = regionOf(world, event.document, lastDayOf(period))
    const add = (figure: string, amount: Micros) => {
      tally.add(`${figure}|${key}`, event.uuid, amount, event.applies_to)
      if (region && figure.endsWith('_8')) tally.add(`${figure}_${region}|${key}`, event.uuid, amount, event.applies_to)
    }
    const isRefund = event.refund !== null && !appliesAdvance(event.refund.note, event.document)
    for (const [figure, amount] of figuresOf(event)) {
      const isReturned = isRefund && (WITH_IVA as readonly string[]).includes(figure)
      add(isReturned ? `devuelto_${figure}` : figure, isReturned ? -amount : amount)
      if (figure.startsWith('iva_')) add(`no_acreditable_${figure}`, excludedOf(world, event, amount))
    }
    add('iva_retenido', taxSum(event.taxes, 'retencion', IVA))
  }
  return [...rows]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, { period, rfc, tipo_operacion, documents }]) => {
      const of = (figure: string) => tally.sum(`${figure}|${key}`)
      const texts = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, money(of(name))]))
      return {
        ...{ period, rfc: rfc || null, name: rfc === '' ? null : nameOf(documents, rfc) },
        ...{ tipo_tercero: rfc === '' ? '15' : rfc === 'XEXX010101000' ? '05' : '04', tipo_operacion },
        ...texts([...WITH_IVA, ...WITHOUT_IVA, ...WITH_IVA.map((name) => `devuelto_${name}`), 'iva_retenido']),
        ...texts(REGIONS.flatMap((region) => ['base_8', 'iva_8', 'devuelto_base_8', 'devuelto_iva_8'].map((name) => `${name}_${region}`))),
        ...texts(CREDITED.map((name) => `no_acreditable_${name}`)),
        ...Object.fromEntries(
          CREDITED.map((name) => [`acreditable_${name}`, money(of(name) - of(`devuelto_${name}`) - of(`no_acreditable_${name}`))]),
        ),
      }
    })
}

/** `payroll`: a row for each month in which somebody was paid. */
export function payroll(world: World) {
  const documents = populationOf(world, null, ['N']).filter(({ direction }) => direction === 'issued')
  const paidOn = (one: Document) => dayOf(one.nominas[0]?.fecha_pago ?? one.fecha)
  return [...Map.groupBy(documents, (one) => monthOf(paidOn(one)))]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([month, list]) => {
      const of = (text: (nomina: Document['nominas'][number]) => string | null) =>
        money(sum(list.map((one) => inPesos(world, one, sum(one.nominas.map((nomina) => micros(text(nomina))))))))
      const wages = list.flatMap(({ nominas }) =>
        nominas.flatMap(({ salario_diario_integrado: wage }) => (wage === null ? [] : [micros(wage)])),
      )
      return {
        ...{ month, headcount: new Set(list.map(({ receptor_rfc }) => receptor_rfc)).size, receipts: list.length },
        ...{ percepciones: of((one) => one.total_percepciones), deducciones: of((one) => one.total_deducciones) },
        ...{ otros_pagos: of((one) => one.total_otros_pagos), isr: of((one) => one.isr_retenido) },
        average_salario_diario_integrado: wages.length === 0 ? null : ratio(sum(wages), BigInt(wages.length) * 1_000_000n, 2),
      }
    })
}
