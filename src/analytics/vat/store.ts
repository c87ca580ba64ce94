import { type SQL, sql } from 'drizzle-orm'
import type { Rules } from '../../authority/rules/dated.ts'
import { cashEvents, creditsOfOthers, creditsOfUnpaid, LARGE, type Named, named } from '../../cfdi/cash/events.ts'
import type { Days } from '../../cfdi/population/population.ts'
import { inlined } from '../../platform/db/statement.ts'
import type { DirectionNumber, Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import { CAPS, FOUND, partIn } from '../common/deductible.ts'
import { EXCLUDED, type Exclusions, type KnownSuppliers, OUTRIGHT } from './exclusions.ts'
import { PROPORTION, proportionFlags, SPLIT, SUMS, splitOf } from './proportion.ts'

/** What cannot be credited of the IVA of an event, and of what was withheld on it; what is out of the proportion of one that is in it. */
export const WITHOUT = ['excluded_iva', 'excluded_retenido', ...SPLIT.map((name) => `fuera_${name}` as const)] as const

/** Columns of the invoice that exclusions depend on. */
const OF_INVOICE = named(
  ...(['uso_cfdi', 'products', 'fecha', 'total_mxn', 'net_mxn', 'total_micros', 'lugar_expedicion', 'receptor_domicilio_fiscal'] as const),
)
export const MORE: Named = (alias) => ({ ...OF_INVOICE(alias), invoice_taxes: `${alias}.taxes` })

/** The IVA that a row of events transfers. */
export const IVA = sql`(iva_16 + iva_8 + iva_otras)`

/**
 * What distinguishes movements. Of what is paid: whether IVA is at risk unless it is excluded, and whether it is used for taxed or for exempt
 * sales alone. Of what is collected: whether it is out of the proportion (`is_excluded`), or may be (`is_presumed`).
 */
export const FLAGS = ['is_excluded', 'is_presumed', 'is_lapsed', 'is_for_taxed', 'is_for_exempt'] as const

/** What purchases are used for: taxed or exempt sales alone, or all by the proportion. Suppliers by use, and the use of all others. */
export interface SupplierUses {
  taxed: readonly string[]
  exempt: readonly string[]
  proportion: readonly string[]
  others: 'taxed' | 'exempt' | 'proportion'
}
export const NO_USES: SupplierUses = { taxed: [], exempt: [], proportion: [], others: 'proportion' }

const list = (values: Iterable<string>): SQL => sql`(select value from json_each(${JSON.stringify([...values])}))`

/** What the flags of movements rest on. Without suppliers, nobody is on a list or without a registration. */
export interface Marks {
  rules: Rules
  days: Days
  exclusions: Exclusions
  suppliers: KnownSuppliers
  uses: SupplierUses
}

function isFor(use: 'taxed' | 'exempt', uses: SupplierUses): SQL {
  if (uses.others !== use) return uses[use].length === 0 ? sql`0` : sql`counterparty in ${list(uses[use])}`
  const others = (['taxed', 'exempt', 'proportion'] as const).filter((one) => one !== use)
  return sql`coalesce(counterparty not in ${list(others.flatMap((one) => uses[one]))}, 1)`
}

/** The conditions of `FLAGS`. */
function flagsOf(direction: DirectionNumber, { rules, days, exclusions, suppliers, uses }: Marks): SQL[] {
  if (direction === 0) return [...proportionFlags(rules, days), sql`0`, sql`0`, sql`0`]
  const { isInScope } = exclusions
  const { presumed, registrations } = suppliers
  const lapsed = [...registrations.values()]
  const active = lapsed.filter((one) => one.has_activities === 1).map(({ rfc }) => rfc)
  const rows = JSON.stringify(lapsed.map((one) => [one.rfc, one.is_registered, one.vigencia_hasta]))
  return [
    sql`0`,
    presumed.size === 0 ? sql`0` : sql`counterparty in ${list(presumed)}`,
    lapsed.length === 0
      ? sql`0`
      : sql`(counterparty in ${list(registrations.keys())} and (${isInScope} or counterparty in ${list(active)}) and exists (
          select 1 from json_each(${rows}) r where r.value->>0 = counterparty and (r.value->>1 = 0 or r.value->>2 < day)))`,
    ...[isFor('taxed', uses), isFor('exempt', uses)],
  ]
}

/** The part of an amount that is not deductible, rounded half up: all of it, or by what is bought and, of a payment in cash, for fuel. */
export const without = (amount: string): string =>
  `case when found & ${OUTRIGHT} then ${amount} when part_of is not null then ${partIn(amount, 'part_out', 'part_of')} else 0 end`

/** Events as movements, with what is found of them and the flags behind the figures. `more` are names of further columns, and `also` what else is measured and told of it. */
export function marked(
  events: SQL,
  partition: Partition,
  direction: DirectionNumber,
  marks: Marks,
  more: readonly string[] = [],
  also = { exact: sql`0`, json: sql`` },
): SQL {
  const { exclusions, suppliers } = marks
  const isIssued = direction === 0
  const flags = flagsOf(direction, marks)
  const isDefinitive = isIssued || suppliers.definitive.size === 0 ? sql`0` : sql`e.counterparty in ${list(suppliers.definitive)}`
  const found = isIssued
    ? sql`0 as form, ${splitOf(marks.rules, marks.days)} as thing`
    : sql`${exclusions.form(partition)} + iif(${isDefinitive}, ${sql.raw(String(EXCLUDED.issuer_69b_definitivo))}, 0) as form, ${exclusions.thing(partition)} as thing`
  // SQL adds amounts of so many digits up without an overflow.
  const names = sql.raw(SUMS.map((name) => `${name} + 0`).join(', '))
  const limit = sql.raw(`1e${LARGE}`)
  // The products of a car's amounts have too many digits.
  const isOpen = sql`(found & ${sql.raw(String(FOUND.unknown_amount | CAPS))} or exists (select 1 from json_each(judged) where value->>0 <> 0))`
  const needsExact = sql`(needs_exact or ${also.exact} or ${isOpen} or coalesce(max(${names}) >= ${limit} or min(${names}) <= -${limit}, 0))`
  // Each is named once, for a part repeats its amount.
  const divided = isIssued ? SPLIT.map((name) => PROPORTION[name].columns.join(' + ')) : [inlined(IVA), 'iva_retenido + 0']
  const amounts = divided.map((amount, n) => `${amount} as amount_${n}`).join(', ')
  const parts = divided.map((_, n) => without(`amount_${n}`))
  const withouts = isIssued ? ['0', '0', ...parts] : [...parts, ...SPLIT.map(() => '0')]
  const json = sql`json_object('uuid', uuid, 'applies_to', applies_to, 'tipo', tipo, 'day', day, 'source', iif(reason is null, source, json_remove(source, '$[12]') || ''), 'sums', json_array(${names}),
    ${sql.raw(FLAGS.map((name) => `'${name}', ${name}`).join(', '))},
    'is_unmatched', reason is not null, 'found', found, 'thing', json(thing), 'judged', json(judged), 'payment_of', json(payment_of)${also.json})`
  return sql`select uuid, applies_to, n, issued_at, day, tipo, reason, is_restated, is_returned, found, ${sql.raw([...SUMS.map((name) => `${name} + 0 as ${name}`), ...more].join(', '))},
      ${sql.raw(withouts.map((amount, n) => `${amount} as ${WITHOUT[n]}`).join(', '))},
      ${sql.raw(FLAGS.join(', '))}, is_exact as needs_exact,
      iif(tipo = 'P' and reason is not null and source->>3 is not null, ${IVA}, 0) as stated,
      case when is_exact then ${json} end as as_json
    from (select *, ${needsExact} as is_exact from (select *, form | coalesce(thing->>2, 0) as found, ${sql.raw(amounts)},
        thing->>0 + iif(form & ${sql.raw(String(FOUND.fuel_not_electronic))}, thing->>3, 0) as part_out, thing->>1 as part_of, ${sql.join([...FLAGS.map((name, n) => sql`${flags[n]!} as ${sql.raw(name)}`)], sql`, `)}
      from (select e.*, ${found} from (${events} limit -1) e where reason is not 'not_counted' limit -1) limit -1))`
}

/** Cash events of a direction, and paid parts that are none, as movements. */
export function movements(
  partition: Partition,
  direction: DirectionNumber,
  marks: Marks,
  more: readonly string[] = ['counterparty'],
): SQL | null {
  const events = cashEvents(partition, direction, marks.days, MORE, direction === 1 ? marks.exclusions.judge : undefined)
  return events && marked(events, partition, direction, marks, more)
}

/**
 * How many credit notes of some days name an invoice of other parties, and how many count as money although the invoice that they credit is
 * not paid.
 */
export interface NotesRow {
  of_others: number
  of_unpaid: number
}

/** The statement that counts these. Null when the window shows nothing of the direction. */
export function notes(partition: Partition, direction: DirectionNumber, days: Days): SQL | null {
  const [others, unpaid] = [creditsOfOthers, creditsOfUnpaid].map((select) => select(partition, direction, days))
  return others && unpaid
    ? sql`select (select count(*) from (${others})) as of_others, (select count(*) from (${unpaid})) as of_unpaid`
    : null
}
