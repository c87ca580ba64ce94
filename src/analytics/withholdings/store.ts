import { type SQL, sql } from 'drizzle-orm'
import type { Rules } from '../../authority/rules/dated.ts'
import { cashEvents, named, withheldDocuments } from '../../cfdi/cash/events.ts'
import { type Days, sumOf } from '../../cfdi/population/population.ts'
import { mainKey } from '../../cfdi/products.ts'
import { inlined } from '../../platform/db/statement.ts'
import type { DirectionNumber, Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import { composedByDay } from '../risk/flags.ts'
import { expectationSql } from './expectation.ts'

const MORE = named('emisor_rfc', 'receptor_rfc', 'emisor_regimen_fiscal', 'products')

/** An event, a payroll receipt or a CFDI de retenciones that withholds, or should. Amounts are micros of MXN as text. */
export interface WithheldRow {
  direction: DirectionNumber
  uuid: string
  applies_to: string | null
  n: number
  day: string
  /** I, E, P, N, or R for retenciones. */
  tipo: string
  counterparty: string
  reason: string | null
  needs_exact: 0 | 1
  emisor_rfc: string
  receptor_rfc: string
  emisor_regimen_fiscal: string | null
  clave: string | null
  net: string | null
  iva: string
  isr_retenido: string
  iva_retenido: string
  ieps_retenido: string
  /** For `exactAmounts`, in an event that needs exact arithmetic. In N and R, their `taxes`. */
  source: string | null
}

/** Whether the withholding of each tax in a row is missing, in SQL. */
export const MISSING = {
  ISR: sql`iif(coalesce(abs(isr_retenido - due_isr) > tolerated_isr, 0), 1, 0)`,
  IVA: sql`iif(coalesce(abs(iva_retenido - due_iva) > tolerated_iva, 0), 1, 0)`,
}

const ANY = sql`isr_retenido <> 0 or iva_retenido <> 0 or ieps_retenido <> 0 or due_isr is not null or due_iva is not null`

/** Selects the rows that withhold, or should, in a partition and direction on some days of cash, and the paid parts that are no events. */
export function withheld(partition: Partition, direction: DirectionNumber, days: Days, rules: Rules): SQL | null {
  const expected = (which: 'name' | 'isr' | 'iva') => composedByDay(rules, sql`day`, days, (on) => expectationSql(on)[which])
  const [name, isr, iva] = [expected('name'), expected('isr'), expected('iva')]
  const tolerance = composedByDay(rules, sql`day`, days, (on) => sql`${Math.round(Number(on.get('withholding.tolerance')) * 1_000_000)}`)
  const tolerated = (due: SQL) => sql`(${due} * ${tolerance} * 2 + 1000000) / 2000000`
  const cash = cashEvents(partition, direction, days, MORE)
  const documents = withheldDocuments(partition, direction, days)
  // Materialized, because SQLite would write the key anew in each of the many conditions that compare it, and run out of memory.
  const events =
    cash &&
    sql`select uuid, applies_to, n, issued_at, day, tipo, counterparty, reason,
        iif(needs_exact = 1 or (net is null and is_billed), 1, 0) as needs_exact, paid, net, iva, isr_retenido, iva_retenido, ieps_retenido,
        emisor_rfc, receptor_rfc, emisor_regimen_fiscal, clave, class, is_billed, source,
        iif(needs_exact = 1 or net is null, null, ${isr}) as due_isr, iif(needs_exact = 1 or net is null, null, ${iva}) as due_iva
      from (with keyed as materialized (
          select *, iva_16 + iva_8 + iva_otras as iva, ${mainKey(sql`products`)} as clave from (${cash}) where reason is not 'not_counted')
        select *, class is not null and tipo <> 'E' as is_billed from (select *, ${name} as class from keyed))`
  const others =
    documents &&
    sql`select uuid, null as applies_to, 0 as n, issued_at, day, tipo, counterparty, null as reason,
        coalesce(instr(taxes, '"'), 0) > 0 as needs_exact, '0' as paid, taxes->>0 as net, 0 as iva, coalesce(taxes->>1, 0) as isr_retenido,
        coalesce(taxes->>3, 0) as iva_retenido, coalesce(taxes->>5, 0) as ieps_retenido, '' as emisor_rfc, '' as receptor_rfc,
        null as emisor_regimen_fiscal, null as clave, null as class, 0 as is_billed, taxes as source, null as due_isr, null as due_iva
      from (${documents})`
  const both = [events, others].flatMap((one) => one ?? [])
  if (both.length === 0) return null
  const union = both.length === 2 ? sql`${both[0]!} union all ${both[1]!}` : both[0]!
  return sql`select ${sql.raw(String(direction))} as direction, *, ${tolerated(sql`due_isr`)} as tolerated_isr, ${tolerated(sql`due_iva`)} as tolerated_iva
    from (${union})
    where reason is not null or (needs_exact = 0 and (${ANY}))
      or (needs_exact = 1 and (is_billed or tipo in ('N', 'R') or coalesce(source->>3, source->>9) is not null or (tipo = 'P' and paid is null)))`
}

export const JSON_ROW = sql`json_object('direction', direction, 'uuid', uuid, 'applies_to', applies_to, 'n', n, 'day', day, 'tipo', tipo, 'counterparty', counterparty,
  'reason', reason, 'needs_exact', needs_exact, 'emisor_rfc', emisor_rfc, 'receptor_rfc', receptor_rfc, 'emisor_regimen_fiscal', emisor_regimen_fiscal,
  'clave', clave, 'net', cast(net as text), 'iva', cast(iva as text), 'isr_retenido', cast(isr_retenido as text),
  'iva_retenido', cast(iva_retenido as text), 'ieps_retenido', cast(ieps_retenido as text), 'source', source)`

/** A month and role, added up. */
export interface WithheldGroup {
  month: string
  is_ours: 0 | 1
  /** Why paid parts are no events; null for events. */
  reason: string | null
  pairs: number
  isr: string
  iva: string
  missing: number
  missing_amount: string
}

/** Whether the RFC itself withholds: from what it receives, and from those to whom it issues payroll and retenciones. */
export const IS_OURS = sql`(direction = 1) <> (tipo in ('N', 'R'))`

/** The missing amount of a row, in micros. */
export const MISSING_AMOUNT = sql`iif(${MISSING.ISR}, max(due_isr - isr_retenido, 0), 0) + iif(${MISSING.IVA}, max(due_iva - iva_retenido, 0), 0)`

/**
 * Reads everything in one pass: groups of months and roles, single rows that are to be measured, and the first rows of the page after a
 * position (`kind`, `row` as JSON).
 */
export const readWithheld = (rows: SQL, page: SQL, limit: number): SQL => sql`
  with e as materialized (${rows})
  select 'group' as kind, json_object('month', substr(day, 1, 7), 'is_ours', ${IS_OURS}, 'reason', reason,
    'pairs', count(distinct uuid || coalesce(applies_to, '')), 'isr', ${sumOf('isr_retenido')},
    'iva', ${sumOf('iva_retenido')}, 'missing', sum(${MISSING.ISR} + ${MISSING.IVA}),
    'missing_amount', ${sumOf(inlined(sql`(${MISSING_AMOUNT})`))}) as row
  from e where needs_exact = 0 or reason is not null group by substr(day, 1, 7), ${IS_OURS}, reason
  union all select 'exactRow', ${JSON_ROW} from e where needs_exact = 1 and reason is null
  union all select 'page', row from (select ${JSON_ROW} as row from e where needs_exact = 0 and reason is null and ${page}
    order by day desc, uuid desc, coalesce(applies_to, ''), n limit ${sql.raw(String(limit))})`
