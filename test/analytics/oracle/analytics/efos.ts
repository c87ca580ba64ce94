import { addBusinessDays } from '../../../../src/authority/port/business-days.ts'
import { type Micros, micros, money, percent, sum, times } from '../amounts.ts'
import type { EfosHeader, EfosRow } from '../analytics-shapes.ts'
import { openInvoices } from '../balances.ts'
import { ivaOf, movementsOf } from '../cash.ts'
import { countedAt, inPesos, netOf, populationOf, signOf } from '../counting.ts'
import { isCleared, isPresumed, publishedOn, stepAt } from '../lists.ts'
import type { Day, Direction, Situacion } from '../shapes.ts'
import { newTally } from '../tally.ts'
import { compare, type Document, dayOf, isCompany, nameOf, type Range, rulesOfYear, type World, within } from '../world.ts'

export interface EfosQuery extends Range {
  as_of?: Day
  direction?: Direction
}

const SITUACIONES: Situacion[] = ['presunto', 'definitivo', 'desvirtuado', 'sentencia_favorable']

/** GET /v1/analytics/efos-exposure: header, rows in their order, and the entries of `<figure>|<rfc>`. */
export function efosOf(world: World, query: EfosQuery) {
  const { as_of: asOf = world.today, direction = 'received' } = query
  const tally = newTally()
  const documents = populationOf(world, query, ['I', 'E'], asOf).filter((one) => one.direction === direction && dayOf(one.fecha) <= asOf)
  const pesos = (one: Document, amount: Micros) => inPesos(world, one, amount) * signOf(one)
  const net = (one: Document) => pesos(one, netOf(one))
  const unpaid = new Map(
    openInvoices(world, direction, asOf)
      .filter(({ invoice }) => within(query, dayOf(invoice.fecha)))
      .map((one) => [one.invoice.uuid, one.pesos ?? 0n]),
  )
  const events = movementsOf(world).events.filter((one) => one.direction === direction && one.day <= asOf)
  const found = [...Map.groupBy(documents, ({ counterparty }) => counterparty.rfc)].flatMap(([rfc, list]) => {
    const entry = world.lists.find((one) => one.source === 'sat_69b' && one.rfc === rfc)
    const situacion = entry && stepAt(entry, asOf)?.situacion
    return entry && situacion ? [{ rfc, list, entry, situacion, amount: sum(list.map(net)) }] : []
  })
  found.sort((a, b) => compare([-a.amount, a.rfc], [-b.amount, b.rfc]))
  for (const one of documents) tally.add(direction === 'received' ? 'total_purchases' : 'total_sales', one.uuid, net(one))
  const rows = found.map(({ rfc, list, entry, situacion, amount }) => {
    // What is published later is not known on the day.
    const until = (day: string | null) => (day !== null && day <= asOf ? day : null)
    const known = entry.history
      .filter((step) => publishedOn(step) <= asOf)
      .map((step) => ({ ...step, sat_at: until(step.sat_at), dof_at: until(step.dof_at) }))
    const step = (of: (one: Situacion | null) => boolean) => known.filter((one) => of(one.situacion)).at(-1)
    const listed = publishedOn(known[0]!)
    const uuids = new Set(list.map(({ uuid }) => uuid))
    for (const one of list) {
      tally.add(`amount|${rfc}`, one.uuid, net(one))
      if (isPresumed(situacion)) tally.add('active_amount', one.uuid, net(one))
      if (one.tipo_comprobante === 'I') tally.add(`invoice_count|${rfc}`, one.uuid, net(one))
      tally.add(`${dayOf(one.fecha) < listed ? 'before_listing_amount' : 'after_listing_amount'}|${rfc}`, one.uuid, net(one))
      const open = unpaid.get(one.uuid) ?? 0n
      if (open !== 0n) tally.add(`unpaid_amount|${rfc}`, one.uuid, open)
      tally.add(`paid_amount|${rfc}`, one.uuid, pesos(one, micros(one.total)) - open)
    }
    const isMeant = ({ refund, document, day }: (typeof events)[number]) =>
      refund === null
        ? uuids.has(document.uuid)
        : uuids.has(refund.note.uuid) && countedAt(world, asOf).has(document.uuid) && within(query, day)
    for (const event of events.filter(isMeant))
      if (ivaOf(event) !== 0n) tally.add(`iva_acreditado|${rfc}`, event.uuid, ivaOf(event), event.applies_to)
    const text = (figure: string) => money(tally.sum(`${figure}|${rfc}`))
    const definitive = step((one) => one === 'definitivo')
    const resolved = step(isCleared)
    const deadline =
      situacion === 'definitivo' && definitive?.dof_at
        ? addBusinessDays(definitive.dof_at, world.rules(definitive.dof_at).correction_days)
        : null
    const row: Omit<EfosRow, 'drilldown'> = {
      ...{ rfc, name: nameOf(list, rfc) ?? entry.name, situacion, presunto_dof_at: step((one) => one === 'presunto')?.dof_at ?? null },
      ...{ definitivo_dof_at: definitive?.dof_at ?? null, resolved_at: (resolved?.dof_at ?? resolved?.sat_at) || null },
      invoice_count: list.filter(({ tipo_comprobante }) => tipo_comprobante === 'I').length,
      ...{
        amount: money(amount),
        iva_acreditado: text('iva_acreditado'),
        isr_effect: direction === 'received' ? isrEffect(world, list) : null,
      },
      ...{ paid_amount: text('paid_amount'), unpaid_amount: text('unpaid_amount') },
      ...{ before_listing_amount: text('before_listing_amount'), after_listing_amount: text('after_listing_amount') },
      correction_deadline: deadline,
      // Vacations are known from 2024-12-23 to 2026-11-30.
      deadline_basis:
        deadline === null ? null : definitive!.dof_at! >= '2024-12-23' && deadline <= '2026-11-30' ? 'published' : 'estimated',
      is_active: isPresumed(situacion),
    }
    return { row, list, amount, iva: tally.sum(`iva_acreditado|${rfc}`) }
  })
  const purchases = sum(documents.map(net))
  const shareOf = (whole: Micros) => percent(sum(rows.filter(({ row }) => row.is_active).map(({ amount }) => amount)), whole)
  const header: EfosHeader = {
    direction,
    active_amount: money(tally.sum('active_amount')),
    by_situacion: SITUACIONES.map((situacion) => {
      const some = rows.filter(({ row }) => row.situacion === situacion)
      const amount = sum(some.map((one) => one.amount))
      return {
        ...{ situacion, counterparty_count: some.length, invoice_count: some.reduce((all, { row }) => all + row.invoice_count, 0) },
        ...{
          amount: money(amount),
          iva_acreditado: money(sum(some.map(({ iva }) => iva))),
          isr_effect:
            direction === 'received'
              ? isrEffect(
                  world,
                  some.flatMap(({ list }) => list),
                )
              : null,
        },
      }
    }),
    ...(direction === 'received'
      ? { total_purchases: money(purchases), share_of_purchases: shareOf(purchases), total_sales: null, share_of_sales: null }
      : { total_purchases: null, share_of_purchases: null, total_sales: money(purchases), share_of_sales: shareOf(purchases) }),
  }
  return { header, rows: rows.map(({ row }) => row), tally }
}

/** The rate of each year × what was bought in the years with that rate. */
function isrEffect(world: World, documents: readonly Document[]): string | null {
  if (!isCompany(world.rfc)) return null
  const rates = Map.groupBy(documents, (one) => rulesOfYear(world, one).isr_rate)
  return money(sum([...rates].map(([rate, list]) => times(sum(list.map((one) => inPesos(world, one, netOf(one)) * signOf(one))), rate))))
}
