import { afterDay } from '../../cfdi/literal-day.ts'
import { isSubstituted, populationOf } from '../../cfdi/population/population.ts'
import { NOT_COUNTED, sumOf } from '../../cfdi/population/sums.ts'
import { all, type Fragment, raw, sql } from '../../platform/db/fragment.ts'
import { boundsOf, type DirectionNumber, type Partition, partitionsToRead } from '../../visibility/scoped-ledger.ts'
import type { Insight } from '../common/insight.ts'
import { IS_UNRATED, unratedJson } from '../common/unrated.ts'
import { repseNotValid } from '../risk/flags.ts'
import { isOpen, isPaidBeyond, leftOf, STORED_OPEN } from '../risk/payments.ts'
import type { Sets } from '../risk/sets.ts'

/** What a counterparty invoiced, or was invoiced, split by what indicators tell apart. Sums are for `parseSum`. */
export interface PartyRow {
  direction: DirectionNumber
  rfc: string
  /** An invoice that was paid in cash; a received one of a supplier without a valid REPSE registration. */
  is_cash: 0 | 1
  is_at_risk: 0 | 1
  is_foreign: 0 | 1
  documents: number
  invoices: number
  income: string
  credit: string
  /** Totals of invoices, including taxes. */
  total: string
  unrated: string | null
}

const INVOICE = "own.tipo_comprobante = 'I'"
export const IS_CASH = `(${INVOICE} and coalesce(own.forma_pago = '01', 0))`
export const IS_FOREIGN = "coalesce(own.currency, 'MXN') not in ('MXN', 'XXX')"
export const isAtRisk = (partition: Partition, direction: DirectionNumber, { rules }: Insight, { sets }: Sets): string => {
  const condition = repseNotValid({ partition, direction, rules, sets })
  return condition === null ? '0' : `(${INVOICE} and own.version is not null and coalesce(${condition}, 0))`
}

const ofType = (tipo: string, amount: string) => sumOf(`case own.tipo_comprobante when '${tipo}' then own.${amount} end`)

/** The statements that group the invoices and credit notes of a range, in one pass. */
export const partyStatements = (insight: Insight, sets: Sets): Fragment[] =>
  partitionsToRead(insight.ledger).flatMap((partition) =>
    ([0, 1] as const).flatMap((direction) => {
      const { first, last } = insight.span
      const population = populationOf(partition, { first, last, direction, types: ['I', 'E'] })
      if (population === null) return []
      const known = 'own.net_mxn is not null'
      return [
        sql`with ${sets.ctes} no_more as (select 1)
          select ${raw(String(direction))} as direction, own.counterparty_rfc as rfc, ${raw(IS_CASH)} as is_cash,
            ${raw(isAtRisk(partition, direction, insight, sets))} as is_at_risk, ${raw(IS_FOREIGN)} as is_foreign,
            count(own.net_mxn) as documents, ${raw(`count(iif(${INVOICE} and ${known}, 1, null))`)} as invoices,
            ${ofType('I', 'net_mxn')} as income, ${ofType('E', 'net_mxn')} as credit, ${ofType('I', 'total_mxn')} as total,
            ${raw(`group_concat(case when ${IS_UNRATED} then ${unratedJson('emisor_nombre')} end)`)} as unrated
          ${population} group by 2, 3, 4, 5`,
      ]
    }),
  )

/** Open invoices that we issued, by day and terms. `others` are those in another currency: `[left, currency, rate]`, separated by commas. */
export interface OpenRow {
  day: string
  condiciones: string | null
  invoices: number
  left: string
  others: string | null
}

/**
 * The statements that group the issued PPD invoices of which something is left to pay today. They read the open ones; the paid ones too if
 * something that the ceiling hides was applied to them.
 */
export const openStatements = ({ ledger, today }: Insight): Fragment[] =>
  partitionsToRead(ledger).flatMap((partition) => {
    const bounds = boundsOf(partition, 0)
    if (!bounds) return []
    const { since, until } = bounds
    const of = (statuses: string, conditions: readonly Fragment[]) => {
      const where = all([
        sql`own.entity = ${partition.number}`,
        raw(`own.direction = 0 and ${statuses} and own.cancelled = 0 and own.kind = 'cfdi' and own.emisor_rfc <> own.receptor_rfc`),
        raw(`own.metodo_pago = 'PPD' and own.tipo_comprobante = 'I' and not ${NOT_COUNTED('own')}`),
        ...(since === null ? [] : [sql`own.issued_at >= ${since}`]),
        ...(until === null ? [] : [sql`own.issued_at <= ${until}`]),
        sql`own.fecha < ${afterDay(today)} and not ${isSubstituted(partition, 'own')}`,
        ...partition.conditions('own'),
        ...conditions,
      ])
      const left = leftOf(partition)
      return sql`select day, condiciones, count(*) as invoices, ${sumOf('iif(is_foreign, null, left)')} as left,
          group_concat(case when is_foreign then json_array(left, currency, tipo_cambio) end) as others
        from (select substr(own.fecha, 1, 10) as day, own.condiciones_pago as condiciones, own.currency, own.tipo_cambio,
            ${raw(IS_FOREIGN)} as is_foreign, cast(${raw(left)} as text) as left
          from cfdi own indexed by cfdi_pay where ${where})
        group by 1, 2`
    }
    const open = of(STORED_OPEN, [raw(isOpen(partition))])
    const isBeyond = isPaidBeyond(partition)
    if (isBeyond === null) return [open]
    const later = sql`exists (select 1 from cfdi later indexed by cfdi_dirc where later.entity = ${partition.number} and later.direction = 0
      and later.cancelled = 0 and later.issued_at > ${until})`
    return [open, of("own.payment_status = 'paid'", [later, raw(`${isBeyond} and ${isOpen(partition)}`)])]
  })
