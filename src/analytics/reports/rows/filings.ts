import { decimal } from '../../../platform/money.ts'
import { quotientText } from '../../common/figures.ts'
import { CASH_FIGURES } from '../parts/statements.ts'
import { nameOf } from './parties.ts'
import { addUp, count, type Of } from './sums.ts'

const TERCEROS: Readonly<Record<string, string>> = { XEXX010101000: '05', XAXX010101000: '15' }
const NATIONAL = '04'

const sorted = <Cell>(groups: Map<string, Cell[]>): [string, Cell[]][] => [...groups].sort(([a], [b]) => (a < b ? -1 : 1))

type DiotAmounts = Record<(typeof CASH_FIGURES)[number], string>

export const diot = (cells: readonly Of<'cash'>[]) =>
  sorted(Map.groupBy(cells, ({ of, rfc, operacion }) => `${of}|${rfc}|${operacion}`)).map(([key, list]) => {
    const [period = '', rfc = '', tipo_operacion = ''] = key.split('|')
    return {
      ...{ period, rfc, name: nameOf(list), tipo_tercero: TERCEROS[rfc] ?? NATIONAL, tipo_operacion },
      ...(Object.fromEntries(CASH_FIGURES.map((name) => [name, decimal(addUp(list, name))])) as DiotAmounts),
    }
  })

export const payroll = (cells: readonly Of<'payroll'>[]) =>
  sorted(Map.groupBy(cells, ({ month }) => String(month))).map(([month, list]) => ({
    ...{ month, headcount: new Set(list.map(({ rfc }) => rfc)).size, receipts: count(list, 'receipts') },
    ...{ percepciones: decimal(addUp(list, 'percepciones')), deducciones: decimal(addUp(list, 'deducciones')) },
    ...{ otros_pagos: decimal(addUp(list, 'otros_pagos')), isr: decimal(addUp(list, 'isr')) },
    average_salario_diario_integrado: quotientText(addUp(list, 'wages'), addUp(list, 'wage_count') * 1_000_000n, 2),
  }))
