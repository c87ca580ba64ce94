import { decimal } from '../../../cfdi/money.ts'
import { quotientText } from '../../common/figures.ts'
import { CASH_FIGURES } from '../parts/statements.ts'
import { nameOf } from './parties.ts'
import { count, type Of, sum } from './sums.ts'

const TERCEROS: Readonly<Record<string, string>> = { XEXX010101000: '05', XAXX010101000: '15' }
const NATIONAL = '04'

const sorted = <Cell>(groups: Map<string, Cell[]>): [string, Cell[]][] => [...groups].sort(([a], [b]) => (a < b ? -1 : 1))

type DiotAmounts = Record<(typeof CASH_FIGURES)[number], string>

export const diot = (cells: readonly Of<'cash'>[]) =>
  sorted(Map.groupBy(cells, ({ of, rfc, operacion }) => `${of}|${rfc}|${operacion}`)).map(([key, list]) => {
    const [period = '', rfc = '', tipo_operacion = ''] = key.split('|')
    return {
      ...{ period, rfc, name: nameOf(list), tipo_tercero: TERCEROS[rfc] ?? NATIONAL, tipo_operacion },
      ...(Object.fromEntries(CASH_FIGURES.map((name) => [name, decimal(sum(list, name))])) as DiotAmounts),
    }
  })

export const payroll = (cells: readonly Of<'payroll'>[]) =>
  sorted(Map.groupBy(cells, ({ month }) => String(month))).map(([month, list]) => ({
    ...{ month, headcount: new Set(list.map(({ rfc }) => rfc)).size, receipts: count(list, 'receipts') },
    ...{ percepciones: decimal(sum(list, 'percepciones')), deducciones: decimal(sum(list, 'deducciones')) },
    ...{ otros_pagos: decimal(sum(list, 'otros_pagos')), isr: decimal(sum(list, 'isr')) },
    average_salario_diario_integrado: quotientText(sum(list, 'wages'), sum(list, 'wage_count') * 1_000_000n, 2),
  }))
