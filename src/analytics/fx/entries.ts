import { type SQL, sql } from 'drizzle-orm'
import { measureOpen, rateWanted } from '../../cfdi/open/measure-open.ts'
import { measurePaidPart, ratesOfPaidPart } from '../../cfdi/open/measure-paid-part.ts'
import { openInvoices } from '../../cfdi/open/open-invoices.ts'
import { paidParts } from '../../cfdi/open/paid-parts.ts'
import { own } from '../../cfdi/population/aliases.ts'
import { parseSum, sumOf } from '../../cfdi/population/sums.ts'
import type { Ctx } from '../../platform/context.ts'
import type { Micros } from '../../platform/money.ts'
import { inPesos } from '../../platform/money.ts'
import type { DirectionNumber, Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { EntriesPage } from '../common/contract.ts'
import { pageOfDocuments } from '../common/document-entries.ts'
import { type EntryPosition, type EntryRow, pageOfEntries } from '../common/entries.ts'
import { isLeftOut, newestOf, pageOfLeftOut } from '../common/left-out.ts'
import { isUnmatched } from '../common/omitted.ts'
import { ratesFor } from '../common/rates-for.ts'
import { IS_UNRATED } from '../common/unrated.ts'
import { pageOfUnreconciled, pairs } from '../common/unreconciled.ts'
import type { FxEntriesQuery } from './contract.ts'
import { PATH } from './fx.ts'
import { type FxAsOf, openFx, ownNet } from './reading.ts'
import { IS_FOREIGN } from './store.ts'

type Asked = FxEntriesQuery & { as_of: string }

/** Returns a page of the documents behind a figure. At most four D1 calls with authentication. Throws Failure as `getFxExposure` does. */
export async function getFxEntries(ctx: Ctx, query: FxEntriesQuery): Promise<EntriesPage> {
  const opened = await openFx(ctx, query)
  const { insight, at, days } = opened
  const { figure } = query
  const asked = { ...query, as_of: at.day }
  if (isLeftOut(figure)) return pageOfLeftOut(insight, PATH, { ...asked, figure })
  const until = { ...insight, span: { ...insight.span, ...days } }
  if (isUnmatched(figure)) return pageOfUnreconciled(until, PATH, { ...asked, figure }, null, true)
  if (figure === 'issued_amount' || figure === 'received_amount') return pageOfInvoiced(opened, asked, figure === 'issued_amount' ? 0 : 1)
  const side = IN_MXN[figure]
  if (side !== undefined) {
    const conditions = figure.startsWith('total') ? [] : ofCurrency(asked)
    return pageOfDocuments(insight, PATH, asked, { ...days, direction: side, past: at.past, conditions })
  }
  return figure === 'realized_gain_loss' ? pageOfRealized(opened, asked) : pageOfOpen(opened, asked, figure as OpenFigure)
}

/** The direction of the figures that are net amounts in MXN. */
const IN_MXN: Partial<Record<string, DirectionNumber>> = { issued_mxn: 0, total_sales: 0, received_mxn: 1, total_purchases: 1 }

const ofCurrency = ({ currency }: Asked): SQL[] => [IS_FOREIGN, ...(currency === undefined ? [] : [sql`${own.currency} = ${currency}`])]

function pageOfInvoiced({ insight, at, days }: FxAsOf, query: Asked, direction: DirectionNumber): Promise<EntriesPage> {
  const conditions = [sql`${own.version} is not null and (${own.net_mxn} is not null or ${IS_UNRATED})`, ...ofCurrency(query)]
  const population = { ...days, direction, types: ['I', 'E'] as const, past: at.past, conditions }
  const columns = sql`${own.tipo_comprobante} as tipo, ${own.subtotal}, ${own.descuento}`
  return pageOfEntries<EntryRow & { tipo: string; subtotal: string | null; descuento: string | null }>(
    insight,
    PATH,
    query,
    (partition, after, take) => newestOf(partition, columns, population, after, take),
    (rows) => rows.map(({ tipo, subtotal, descuento }) => ownNet([tipo, subtotal, descuento])),
  )
}

type OpenFigure = 'open_receivable' | 'open_payable' | 'booked_mxn'

interface OpenEntry extends EntryRow {
  direction: DirectionNumber
  balance: string | null
  pesos: string | null
  odd: string | null
}

function pageOfOpen({ insight, at }: FxAsOf, query: Asked, figure: OpenFigure): Promise<EntriesPage> {
  const directions = figure === 'booked_mxn' ? ([0, 1] as const) : figure === 'open_receivable' ? ([0] as const) : ([1] as const)
  const select = (partition: Partition, after: EntryPosition | undefined, take: number): SQL | null => {
    const sides = directions.flatMap((direction) => {
      const open = openInvoices(partition, direction, at, ofCurrency(query))
      return open ? [sql`select uuid, issued_at, ${sql.raw(String(direction))} as direction, balance, pesos, odd from (${open})`] : []
    })
    if (sides.length === 0) return null
    return sql`select uuid, issued_at, direction, cast(balance as text) as balance, cast(pesos as text) as pesos, odd from (${sql.join([...sides], sql` union all `)})
      ${after ? sql`where (issued_at, uuid) < (${after[0]}, ${after[1]})` : sql``} order by issued_at desc, uuid desc limit ${sql.raw(String(take))}`
  }
  return pageOfEntries<OpenEntry>(insight, PATH, query, select, async (rows) => {
    const rateOfDay = await ratesFor(insight.ctx, (want) => {
      for (const { odd } of rows) if (odd !== null) want(rateWanted(odd))
    })
    return rows.map(({ direction, balance, pesos, odd }): Micros | null => {
      const wanted = odd === null ? null : rateWanted(odd)
      const measured =
        odd === null
          ? { balance: BigInt(balance!), pesos: BigInt(pesos!) }
          : measureOpen(odd, wanted && rateOfDay(wanted.currency, wanted.day))
      if (measured === null) return null
      if (figure !== 'booked_mxn') return measured.balance
      return measured.pesos === null ? null : direction === 0 ? measured.pesos : -measured.pesos
    })
  })
}

interface RealizedEntry extends EntryRow {
  direction: DirectionNumber
  booked: string
  paid: string
  odds: string | null
}

function pageOfRealized({ insight, days }: FxAsOf, query: Asked): Promise<EntriesPage> {
  const select = (partition: Partition, after: EntryPosition | undefined, take: number): SQL | null => {
    const sides = ([0, 1] as const).flatMap((direction) => {
      const parts = paidParts(partition, direction, days, null)
      return parts ? [sql`select *, ${sql.raw(String(direction))} as direction from (${parts})`] : []
    })
    const columns = sql`max(direction) as direction, ${sumOf('booked')} as booked, ${sumOf('paid')} as paid,
      json_group_array(odd) filter (where odd is not null) as odds`
    const isMeant = query.currency === undefined ? sql.raw(`not ${inPesos('currency')}`) : sql`currency = ${query.currency}`
    return pairs(columns, sides, sql`reason is null and ${isMeant}`, after, take)
  }
  return pageOfEntries<RealizedEntry>(insight, PATH, query, select, async (rows) => {
    const parsed = rows.map((row) => ({ ...row, odds: JSON.parse(row.odds ?? '[]') as string[] }))
    const rateOfDay = await ratesFor(insight.ctx, (want) => {
      for (const { odds } of parsed) for (const odd of odds) ratesOfPaidPart(odd).forEach(want)
    })
    return parsed.map(({ direction, booked, paid, odds }) => {
      let gain = parseSum(paid) - parseSum(booked)
      for (const odd of odds) {
        const measured = measurePaidPart(odd, rateOfDay)
        if (measured.paid !== null && measured.booked !== null) gain += measured.paid - measured.booked
      }
      return direction === 0 ? gain : -gain
    })
  })
}
