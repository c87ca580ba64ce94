import { listedAmong } from '../../blacklists/listings/listed-among.ts'
import type { OpenRow } from '../../cfdi/cash/balance-on.ts'
import { openInvoices } from '../../cfdi/cash/open.ts'
import { type ReturnRow, returnsOf } from '../../documents/returns.ts'
import { type Fragment, prepared, withLiterals } from '../../platform/db/fragment.ts'
import { addMonths, lastDayOf } from '../../platform/time/months.ts'
import { type KnownRegistration, registrationsOf } from '../../repse/registrations.ts'
import { partitionsToRead } from '../../visibility/scoped-ledger.ts'
import type { Insight } from '../common/insight.ts'
import { type Exclusions, exclusionsOf } from './exclusions.ts'
import { type PendingRow, pendingGroups } from './pending.ts'
import { type AccruedRow, accrued, expired, type GroupRow, groups, movements, notes, parties } from './store.ts'

/** What the figures of some months are computed of. */
export interface VatReading {
  groups: GroupRow[]
  accrued: AccruedRow[]
  pending: PendingRow[]
  /** Credit notes that name an invoice of other parties. */
  notes: { month: string; n: number }[]
  returns: ReturnRow[]
  exclusions: Exclusions
}

/** The months of a span that have begun, and the end of each: its last day, or today. */
export const monthsOf = ({ span, today }: Pick<Insight, 'span' | 'today'>): { month: string; end: string }[] => {
  const months = []
  for (let month = span.first.slice(0, 7); month <= span.last.slice(0, 7) && month <= today.slice(0, 7); month = addMonths(month, 1))
    months.push({ month, end: [lastDayOf(month), today].sort()[0]! })
  return months
}

const DIRECTIONS = [0, 1] as const

/** What reads the movements of the months and of the one before, what the months issued, and what was open at their ends. */
export function statementsOf(insight: Insight): { statements: Fragment[]; parse: (found: readonly unknown[][]) => VatReading } {
  const { ledger, span, today, rules } = insight
  const exclusions = exclusionsOf(rules)
  const [first, last] = [monthsOf(insight)[0], monthsOf(insight).at(-1)]
  const before = `${addMonths(span.first.slice(0, 7), -1)}-01`
  const reads = partitionsToRead(ledger).flatMap((partition) =>
    DIRECTIONS.flatMap((direction) => {
      const cash = movements(partition, direction, { first: before, last: span.last }, exclusions)
      const own = accrued(partition, direction, span)
      const open = first && openInvoices(partition, direction, first.end, last!.end)
      return [
        { name: 'groups' as const, statement: cash && groups(cash, direction) },
        { name: 'accrued' as const, statement: own },
        { name: 'notes' as const, statement: notes(partition, direction, span) },
        { name: 'pending' as const, statement: open ? pendingGroups(open, direction, today) : null },
      ].flatMap(({ name, statement }) => (statement === null ? [] : [{ name, statement: statement as Fragment }]))
    }),
  )
  const statements = [...reads.map(({ statement }) => statement), returnsOf(ledger, span.first, span.last)].map(withLiterals)
  const parse = (found: readonly unknown[][]): VatReading => {
    const returns = found.at(-1) as ReturnRow[]
    const reading: VatReading = { groups: [], accrued: [], pending: [], notes: [], returns, exclusions }
    for (const [n, { name }] of reads.entries()) (reading[name] as unknown[]).push(...found[n]!)
    return reading
  }
  return { statements, parse }
}

/** What is known of suppliers: those under article 69-B today, and what the registry answered. */
export interface KnownSuppliers {
  presumed: Set<string>
  definitive: Set<string>
  registrations: Map<string, KnownRegistration>
}

/** Looks suppliers up on the list of article 69-B and in the REPSE registry. Two calls, none without suppliers. */
export async function lookUp({ ctx, today, ledger }: Insight, rfcs: readonly string[]): Promise<KnownSuppliers> {
  if (rfcs.length === 0) return { presumed: new Set(), definitive: new Set(), registrations: new Map() }
  const [{ listings }, registrations] = await Promise.all([
    listedAmong({ db: ctx.db, organization_id: ledger.organization_id }, rfcs, today, ['sat_69b']),
    registrationsOf(ctx.db, rfcs),
  ])
  const among = (situacion: string) =>
    new Set([...listings].flatMap(([rfc, list]) => (list.some((one) => one.situacion === situacion) ? [rfc] : [])))
  return { presumed: among('presunto'), definitive: among('definitivo'), registrations }
}

export const parseOpen = (text: string): OpenRow => JSON.parse(text) as OpenRow

/** IVA of suppliers whose registration ended within a month, of the payments after that day. One call, and none without any. */
export async function readExpired(
  { ledger, span }: Insight,
  exclusions: Exclusions,
  { registrations }: KnownSuppliers,
  rows: readonly GroupRow[],
): Promise<{ month: string; iva: string }[]> {
  if (rows.length === 0) return []
  const asked = JSON.stringify(
    rows.map(({ party, month, in_scope }) => [party, month, in_scope, registrations.get(party ?? '')?.vigencia_hasta]),
  )
  const statements = partitionsToRead(ledger).flatMap((partition) => expired(partition, span, exclusions, asked) ?? [])
  const results = await ledger.d1.batch(statements.map((one) => prepared(ledger.d1, withLiterals(one))))
  return results.flatMap(({ results: found }) => found as { month: string; iva: string }[])
}

/** The suppliers that were paid in the range. One call. */
export async function readParties({ ledger, span }: Insight, exclusions: Exclusions): Promise<string[]> {
  const statements = partitionsToRead(ledger).flatMap((partition) => parties(partition, span, exclusions) ?? [])
  const results = statements.length === 0 ? [] : await ledger.d1.batch(statements.map((one) => prepared(ledger.d1, withLiterals(one))))
  return results.flatMap(({ results: found }) => (found as { party: string }[]).map(({ party }) => party))
}
