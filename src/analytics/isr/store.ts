import { type SQL, sql } from 'drizzle-orm'
import { accruedEvents, cashEvents, named } from '../../cfdi/cash/events.ts'
import { type ExactAmounts, shareOf } from '../../cfdi/cash/exact-amounts.ts'
import { cfdi, own } from '../../cfdi/population/aliases.ts'
import { sumOf } from '../../cfdi/population/population.ts'
import { inlined } from '../../platform/db/statement.ts'
import type { Micros } from '../../platform/money.ts'
import { isVisible, type Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { Outcome } from '../common/omitted.ts'
import { type ExactRow, type Exclusions, excludedPart } from '../vat/exclusions.ts'
import { type Marks, MORE, marked, without } from '../vat/store.ts'
import type { IsrFigure } from './contract.ts'

/** What is read: income when it is invoiced, income when it is collected, and what is paid. */
export type IsrSide = 'accrued' | 'collected' | 'paid'

export const FIGURES_OF = {
  accrued: ['ingresos', 'anticipos_aplicados', 'notas_de_credito'],
  collected: ['ingresos', 'retenido'],
  paid: ['deducciones', 'no_deducible', 'inversiones'],
} as const satisfies Record<IsrSide, readonly IsrFigure[]>

/** A row to be measured. A row without `source` has its amounts in `net` and `paid`. */
export interface IsrRow extends Omit<ExactRow, 'sums'> {
  side: IsrSide
  is_advance: 0 | 1
  is_investment: 0 | 1
  net: string | null
  paid: string | null
}

const IS_ADVANCE = sql`coalesce(instr(tipo_relacion, '07') > 0, 0)`
const IS_INVESTMENT = sql`coalesce(substr(uso_cfdi, 1, 1) = 'I', 0)`
/** Personal deductions belong to the annual return. */
const IS_BUSINESS = sql`coalesce(substr(uso_cfdi, 1, 1) <> 'D', 1)`

const rowsOf = (columns: Record<string, SQL>, needsExact: SQL, json: SQL, from: SQL, where: SQL): SQL => {
  const amounts = Object.entries(columns).map(([name, value]) => sql`${value} as ${sql.identifier(name)}`)
  return sql`select uuid, applies_to, issued_at, ${sql.join(amounts, sql`, `)}, ${needsExact} as needs_exact, ${json} as as_json
    from (${from}) where reason is null and ${where}`
}

/** Selects the documents of a side with an amount in micros for each of its figures. Null when the window shows nothing of the direction. */
export function sideRows(side: IsrSide, partition: Partition, marks: Marks): SQL | null {
  const { days } = marks
  if (side === 'accrued') {
    const events = accruedEvents(partition, 0, days, named('tipo_relacion'))
    const json = sql`json_object('side', 'accrued', 'tipo', tipo, 'day', day, 'source', source, 'is_advance', ${IS_ADVANCE})`
    const noted = (condition: SQL) => sql`iif(tipo = 'E' and ${condition}, -net, 0)`
    const columns = {
      ingresos: sql`iif(tipo = 'I', net + 0, 0)`,
      anticipos_aplicados: noted(IS_ADVANCE),
      notas_de_credito: noted(sql`not ${IS_ADVANCE}`),
    }
    return events && rowsOf(columns, sql`needs_exact`, json, events, sql`1`)
  }
  if (side === 'collected') {
    const events = cashEvents(partition, 0, days)
    const json = sql`json_object('side', 'collected', 'tipo', tipo, 'day', day, 'source', source)`
    const columns = { ingresos: sql`net + 0`, retenido: sql`isr_retenido + 0` }
    return events && rowsOf(columns, sql`(needs_exact or net is null)`, json, events, sql`1`)
  }
  const events = cashEvents(partition, 1, days, MORE, marks.exclusions.judge)
  if (events === null) return null
  const also = {
    exact: sql`net is null`,
    json: sql`, 'side', 'paid', 'net', cast(net as text), 'paid', cast(paid as text), 'is_investment', ${IS_INVESTMENT}`,
  }
  const more = ['net', 'paid', 'uso_cfdi', `${without('(net + 0)')} as out`]
  const columns = {
    deducciones: sql`iif(${IS_INVESTMENT}, 0, net - out)`,
    no_deducible: sql`iif(${IS_INVESTMENT}, 0, out + 0)`,
    inversiones: sql`iif(${IS_INVESTMENT}, net + 0, 0)`,
  }
  return rowsOf(columns, sql`needs_exact`, sql`as_json`, marked(events, partition, 1, marks, more, also), IS_BUSINESS)
}

/** What a file says of a document. */
export interface IsrDocument {
  uuid: string
  fecha: string
  serie: string | null
  folio: string | null
  counterparty_rfc: string
  counterparty_name: string | null
}

/** Selects what is said of these documents, as far as the partition shows them. */
export const namedDocuments = (partition: Partition, uuids: readonly string[]): SQL<IsrDocument> =>
  sql<IsrDocument>`select ${own.uuid}, ${own.fecha}, ${own.serie}, ${own.folio},
      iif(${own.direction} = 0, ${own.receptor_rfc}, ${own.emisor_rfc}) as counterparty_rfc,
      iif(${own.direction} = 0, ${own.receptor_nombre}, ${own.emisor_nombre}) as counterparty_name
    from json_each(${JSON.stringify(uuids)}) j cross join ${cfdi} own on ${own.entity} = ${partition.number} and ${own.uuid} = j.value
    where ${isVisible(partition, 'own')}`

/** The rows of a figure, for `pageOfPairs`. */
export const amountIn = (rows: SQL, figure: IsrFigure): SQL =>
  sql`select uuid, applies_to, issued_at, cast(${sql.identifier(figure)} as text) as amount, needs_exact, as_json from (${rows})`

/** Adds up the figures of a side, and lists the rows to be measured: in parts, because D1 refuses rows of more than 2 MB. */
export const sumsOf = (side: IsrSide, rows: SQL): SQL => {
  const sums = FIGURES_OF[side].map((name) => sumOf(inlined(sql`iif(needs_exact, null, ${sql.identifier(name)})`)))
  return sql`select json_array(${sql.join(sums, sql`, `)}) as sums, json_group_array(json(as_json)) filter (where needs_exact) as exactRows
    from (${rows}) group by substr(uuid, -2)`
}

/** What a measured row adds to each figure of its side; null when it adds nothing. */
export function amountsOf(
  row: IsrRow,
  outcomeOf: (row: { tipo: string; day: string; source: string }) => Outcome,
  exclusions: Exclusions,
  rateOfDay: (currency: string, day: string) => string | null,
): Partial<Record<IsrFigure, Micros>> | null {
  const { side, tipo, source } = row
  const outcome = source === null ? { net: BigInt(row.net!), paid: BigInt(row.paid!) } : outcomeOf({ ...row, source })
  if (typeof outcome === 'string') return null
  const { net, paid } = outcome
  if (side === 'accrued') return tipo === 'I' ? { ingresos: net } : { [row.is_advance ? 'anticipos_aplicados' : 'notas_de_credito']: -net }
  if (side === 'collected') return { ingresos: net, retenido: (outcome as ExactAmounts).isr_retenido }
  if (row.is_investment) return { inversiones: net }
  const { part } = excludedPart(row as unknown as ExactRow, paid, exclusions, rateOfDay)
  const out = shareOf(net, ...part)
  return { deducciones: net - out, no_deducible: out }
}
