import { sql } from 'drizzle-orm'
import type { Measurable } from '../../cfdi/cash/measure.ts'
import { rateWanted } from '../../cfdi/open/measure-open.ts'
import { own } from '../../cfdi/population/aliases.ts'
import { listedOf } from '../../lists/listed/counterparties.ts'
import { listedAs } from '../../lists/listed/listed.ts'
import type { Ctx } from '../../platform/context.ts'
import { prepared } from '../../platform/db/statement.ts'
import type { Micros } from '../../platform/money.ts'
import { partitionsToRead } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { EntriesPage } from '../common/contract.ts'
import { type AmountRow, amountsOfDocuments, documentsAfter, pageOfDocuments } from '../common/document-entries.ts'
import { type EntryRow, pageOfEntries } from '../common/entries.ts'
import type { Insight } from '../common/insight.ts'
import { isLeftOut, pageOfLeftOut } from '../common/left-out.ts'
import { ivaOf, measurer } from '../common/measured.ts'
import { isUnmatched, pageOfUnmatched } from '../common/omitted.ts'
import { EFOS_TOTALS, type EfosEntriesQuery } from './contract.ts'
import { listedOn, openEfos, PATH, SOURCE } from './efos.ts'
import { openPesos } from './exposure.ts'
import { type EfosReading, eventsOf, ODD_EVENT, openOf } from './store.ts'

const NONE: EntriesPage = { data: [], has_more: false, next_cursor: null }
const dayBefore = (day: string): string => new Date(Date.parse(`${day}T00:00:00Z`) - 1).toISOString().slice(0, 10)

/** Returns a page of the documents behind a figure. At most four D1 calls beside authentication. Throws Failure as `getEfosExposure` does. */
export async function getEfosEntries(ctx: Ctx, query: EfosEntriesQuery): Promise<EntriesPage> {
  const { insight, reading } = await openEfos(ctx, query)
  const { figure, rfc = '' } = query
  if (isLeftOut(figure)) return pageOfLeftOut(insight, PATH, { ...query, figure })
  if (isUnmatched(figure)) return pageOfUnmatched(insight, PATH, { ...query, figure })
  const { first, last, direction, past } = reading
  const isTotal = (EFOS_TOTALS as readonly string[]).includes(figure)
  if (isTotal && figure !== 'active_amount')
    return figure === (direction === 0 ? 'total_sales' : 'total_purchases')
      ? pageOfDocuments(insight, PATH, query, { first, last, direction, past })
      : NONE
  if (isTotal) {
    const { listings } = await listedOn(ctx, listedAs(await listedOf(ctx), [SOURCE]), reading.day)
    const active = [...listings].flatMap(([one, { is_active }]) => (is_active ? [one] : []))
    return pageOfDocuments(insight, PATH, query, { first, last, direction, past, counterparty: active })
  }
  const { days } = await listedOn(ctx, [rfc], reading.day)
  const [listed] = days
  if (listed === undefined) return NONE
  const population = { first, last, direction, past, counterparty: rfc, conditions: [] }
  if (figure === 'iva_acreditado') return pageOfIva(insight, query, reading, rfc)
  if (figure === 'paid_amount' || figure === 'unpaid_amount') {
    return pageOfEntries<AmountRow>(insight, PATH, query, documentsAfter({ ...population }, 'total'), async (rows) => {
      const totals = await amountsOfDocuments(ctx, rows, 'total')
      const open = await balancesOf(
        insight,
        reading,
        rfc,
        rows.map(({ uuid }) => uuid),
      )
      return rows.map(({ uuid }, n) => {
        const [total, balance] = [totals[n] ?? null, open.get(uuid) ?? 0n]
        if (total === null) return null
        return figure === 'paid_amount' ? total - balance : balance === 0n ? null : balance
      })
    })
  }
  const [, since] = listed
  const invoices = figure === 'invoice_count' ? [sql`${own.tipo_comprobante} = 'I'`] : []
  if (figure === 'before_listing_amount' && since === '') return NONE
  const cut =
    figure === 'before_listing_amount'
      ? { last: dayBefore(since) < last ? dayBefore(since) : last }
      : figure === 'after_listing_amount'
        ? { first: since > first ? since : first }
        : {}
  return pageOfDocuments(insight, PATH, query, { ...population, conditions: invoices, ...cut })
}

/** The open balances of some documents in MXN. */
async function balancesOf(
  { ctx, ledger }: Insight,
  reading: EfosReading,
  rfc: string,
  uuids: readonly string[],
): Promise<Map<string, Micros>> {
  const meant = sql`${own.uuid} in (select value from json_each(${JSON.stringify(uuids)}))`
  const statements = partitionsToRead(ledger).flatMap((partition) => openOf(partition, reading, [rfc], [meant]) ?? [])
  if (statements.length === 0 || uuids.length === 0) return new Map()
  const found = await ledger.d1.batch<{ uuid: string; pesos: string | number | null; odd: string | null }>(
    statements.map((one) => prepared(ledger.d1, one)),
  )
  const rows = found.flatMap(({ results }) => results)
  const { rateOfDay } = await measurer(
    ctx,
    [],
    rows.flatMap(({ odd }) => (odd === null ? [] : (rateWanted(odd) ?? []))),
  )
  return new Map(rows.map(({ uuid, pesos, odd }) => [uuid, odd === null ? BigInt(pesos ?? 0) : (openPesos(odd, rateOfDay) ?? 0n)]))
}

interface IvaEntry extends EntryRow {
  /** Members of a JSON list: amounts in micros, or what is measured. */
  parts: string
}

/** A page of the cash events of a counterparty, with their IVA. */
function pageOfIva(insight: Insight, query: EfosEntriesQuery, reading: EfosReading, rfc: string): Promise<EntriesPage> {
  const part = sql`case when e.is_odd then ${ODD_EVENT} else json_array(cast(e.iva_16 as text), cast(e.iva_8 as text), cast(e.iva_otras as text)) end`
  return pageOfEntries<IvaEntry>(
    insight,
    PATH,
    query,
    (partition, after, take) => {
      const events = eventsOf(partition, reading, [[rfc, '']])
      const later = after ? sql`and (e.issued_at, e.uuid, coalesce(e.applies_to, '')) < (${after[0]}, ${after[1]}, ${after[2]})` : sql``
      return (
        events &&
        sql`select e.uuid, e.applies_to, e.issued_at, group_concat(${part}) as parts ${events} ${later} group by e.uuid, e.applies_to
          order by e.issued_at desc, e.uuid desc, coalesce(e.applies_to, '') desc limit ${sql.raw(String(take))}`
      )
    },
    async (rows) => {
      const parts = rows.map((row) => JSON.parse(`[${row.parts}]`) as (string[] | Measurable)[])
      const isOdd = (one: string[] | Measurable): one is Measurable => !Array.isArray(one)
      const { outcomeOf } = await measurer(insight.ctx, parts.flat().filter(isOdd))
      return parts.map((some) => {
        let sum = 0n
        for (const one of some) {
          if (!isOdd(one)) sum += one.reduce((all, micros) => all + BigInt(micros), 0n)
          else {
            const outcome = outcomeOf(one)
            if (typeof outcome !== 'string') sum += ivaOf(outcome)
          }
        }
        return sum === 0n ? null : sum
      })
    },
  )
}
