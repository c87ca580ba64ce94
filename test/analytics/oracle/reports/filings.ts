import { micros, money, ratio, sum } from '../amounts.ts'
import { figuresOf, movementsOf } from '../cash.ts'
import { inPesos, populationOf } from '../counting.ts'
import { operationOf } from '../drilldowns/expectation.ts'
import type { Month } from '../shapes.ts'
import { newTally } from '../tally.ts'
import { IVA, IVA_FIGURES, taxSum } from '../taxes.ts'
import { type Document, dayOf, lastDayOf, monthOf, nameOf, type World } from '../world.ts'

const TERCEROS: Record<string, string> = { XEXX010101000: '05' }

/** `diot`: a row for each month, supplier and kind of operation. */
export function diot(world: World) {
  const tally = newTally()
  const rows = new Map<string, { period: Month; rfc: string; tipo_operacion: string; documents: Document[] }>()
  for (const event of movementsOf(world).events.filter(({ direction }) => direction === 'received')) {
    const rfc = event.document.emisor_rfc
    const tipo_operacion = operationOf(world, event.document, lastDayOf(monthOf(event.day)))
    const key = `${monthOf(event.day)}|${rfc}|${tipo_operacion}`
    const row = rows.get(key) ?? { period: monthOf(event.day), rfc, tipo_operacion, documents: [] }
    row.documents.push(event.document)
    rows.set(key, row)
    for (const [figure, amount] of figuresOf(event)) tally.add(`${figure}|${key}`, event.uuid, amount, event.applies_to)
    tally.add(`iva_retenido|${key}`, event.uuid, taxSum(event.taxes, 'retencion', IVA), event.applies_to)
  }
  return [...rows]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, { period, rfc, tipo_operacion, documents }]) => ({
      ...{ period, rfc, name: nameOf(documents, rfc), tipo_tercero: TERCEROS[rfc] ?? '04', tipo_operacion },
      ...Object.fromEntries([...IVA_FIGURES, 'iva_retenido'].map((figure) => [figure, money(tally.sum(`${figure}|${key}`))])),
    }))
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
