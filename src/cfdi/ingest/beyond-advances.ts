import type { Micros } from '../../platform/money.ts'
import { APPLIED_ADVANCE } from '../cash/credits.ts'
import type { ApplicationRow } from '../columns.ts'
import { creditOf, notCountedReason } from '../totals.ts'
import { type AfterSlice, type AppliedBy, type RelatedInvoice, reachedAmong } from './credit-notes.ts'
import type { SliceWrites } from './writes.ts'

/**
 * What an invoice with relation 07 pays in form 30 moves an advance, which was money before, as far as the advance goes. What is beyond it is
 * money. An advance that is not known covers all; one that is cancelled, or of other parties, nothing.
 */

/** A member of the column `beyond_advances`. */
type Beyond = [source: string, n: number, beyond: string, seen_from: number, seen_until: number | null]

/** How many changes that a ceiling shows are kept, and how many payments of an invoice, the last ones. Real ones have one. */
const MOST_TURNS = 3
const MOST_BEYOND = 100

/** The invoices that these applications pay in form 30. */
export const appliersIn = (applications: readonly Pick<ApplicationRow, 'kind' | 'forma_pago' | 'invoice'>[]): string[] => [
  ...new Set(applications.filter(isInForm30).map(({ invoice }) => invoice)),
]

const isInForm30 = ({ kind, forma_pago }: Pick<ApplicationRow, 'kind' | 'forma_pago'>): boolean =>
  kind === 'P' && forma_pago === APPLIED_ADVANCE

/** Something that takes from an advance, or from those of an invoice. */
interface Taking {
  at: number
  source: string
  n: number
  amount: Micros
  of: RelatedInvoice
  /** A credit note on an advance gives it back; a note (07) and a payment in form 30 apply it. */
  kind: 'returned' | 'note' | 'payment'
}

/**
 * Sets `beyond_advances` of the invoices of a slice, and returns the stored ones of which it changes. Advances serve in the order in which
 * documents are issued. Where both a note and a payment in form 30 say that an invoice applies its advance, it is applied once.
 */
export function beyondAdvances({ documents, stored, advances, substitutions, applied }: AfterSlice): SliceWrites['beyond'] {
  const rows: RelatedInvoice[] = [...stored, ...documents.map(({ row }) => row)]
  const invoices = new Map(rows.map((row) => [row.uuid, row]))
  const named = Map.groupBy(advances, ({ source }) => source)
  const appliers = rows.filter(({ uuid, tipo_comprobante }) => tipo_comprobante === 'I' && named.has(uuid))
  const isMeant = (one: RelatedInvoice): boolean => paysItself(one) || (applied.get(one.uuid) ?? []).some(isInForm30)
  if (!appliers.some((one) => one.beyond_advances !== null || isMeant(one))) return []
  const reached = reachedAmong(invoices, advances, substitutions)
  const groups = groupsAmong(appliers, ({ uuid }) => named.get(uuid)!.flatMap(({ advance }) => [...reached(advance).itself]))
  const changed: SliceWrites['beyond'] = []
  const incoming = new Map(documents.map(({ row }) => [row.uuid, row]))
  for (const group of groups) {
    const beyond = group.some(isMeant)
      ? beyondOf(group, {
          appliedTo: ({ uuid }) => applied.get(uuid) ?? [],
          advancesOf: ({ uuid }) =>
            named.get(uuid)!.map(({ advance }) => [...reached(advance).itself].flatMap((one) => invoices.get(one) ?? [])),
          isOfAdvance: (source) => named.has(source),
        })
      : new Map<string, Beyond[]>()
    for (const { uuid, beyond_advances } of group) {
      const list = beyond.get(uuid)?.slice(-MOST_BEYOND)
      const after = list === undefined ? null : JSON.stringify(list)
      const row = incoming.get(uuid)
      if (row) row.beyond_advances = after
      else if (after !== beyond_advances) changed.push({ uuid, beyond_advances: after })
    }
  }
  return changed
}

/** Invoices that share advances, directly or through others. */
function groupsAmong(appliers: readonly RelatedInvoice[], advancesOf: (one: RelatedInvoice) => readonly string[]): RelatedInvoice[][] {
  const byAdvance = Map.groupBy(
    appliers.flatMap((one) => advancesOf(one).map((advance) => ({ one, advance }))),
    ({ advance }) => advance,
  )
  const seen = new Set<RelatedInvoice>()
  return appliers.flatMap((first) => {
    if (seen.has(first)) return []
    const group = new Set([first])
    const led = new Set<string>()
    for (const one of group)
      for (const advance of new Set(advancesOf(one)).difference(led)) {
        led.add(advance)
        for (const { one: other } of byAdvance.get(advance)!) group.add(other)
      }
    for (const one of group) seen.add(one)
    return [[...group]]
  })
}

/** An invoice that says itself that an advance pays it. */
export const paysItself = ({
  tipo_comprobante,
  metodo_pago,
  forma_pago,
}: Pick<RelatedInvoice, 'tipo_comprobante' | 'metodo_pago' | 'forma_pago'>): boolean =>
  tipo_comprobante === 'I' && metodo_pago === 'PUE' && forma_pago === APPLIED_ADVANCE

interface Known {
  appliedTo: (invoice: RelatedInvoice) => readonly AppliedBy[]
  /** By each advance that an invoice names: that document and what substitutes it, as far as they are known. */
  advancesOf: (applier: RelatedInvoice) => readonly RelatedInvoice[][]
  /** Whether a credit note applies an advance. */
  isOfAdvance: (source: string) => boolean
}

const END = Number.POSITIVE_INFINITY

function beyondOf(group: readonly RelatedInvoice[], known: Known): Map<string, Beyond[]> {
  const { appliedTo, advancesOf } = known
  const members = new Set(group.flatMap(advancesOf).flat())
  const payments = group.flatMap((one) => appliedTo(one).filter(isInForm30))
  const first = Math.min(...group.filter(paysItself).map(({ issued_at }) => issued_at), ...payments.map(({ issued_at }) => issued_at))
  const turns = [
    ...[...members].map(({ issued_at }) => issued_at),
    ...[...members, ...group].map(({ substituted_from }) => substituted_from),
    ...[...members, ...group].flatMap(appliedTo).map(({ substituted_from }) => substituted_from),
    ...group
      .filter(paysItself)
      .flatMap(appliedTo)
      .map(({ issued_at }) => issued_at),
  ]
  const ends = [...new Set(turns.filter((one) => one !== null && one > first) as number[])].sort((a, b) => a - b).slice(-MOST_TURNS)
  const found = new Map<string, Beyond[]>()
  for (const [k, until] of [...ends, END].entries())
    for (const { invoice, source, n, beyond } of beyondAt(group, until === END ? END : until - 1, known)) {
      const list = found.get(invoice) ?? []
      found.set(invoice, list)
      const from = ends[k - 1] ?? 0
      const seen_until = until === END ? null : until
      const last = list.findLast((one) => one[0] === source && one[1] === n)
      if (last?.[2] === String(beyond) && last[4] === from) last[4] = seen_until
      else list.push([source, n, String(beyond), from, seen_until])
    }
  return found
}

/** What payments in form 30 move beyond the advances, as far as a ceiling shows. */
function beyondAt(group: readonly RelatedInvoice[], ceiling: number, { appliedTo, advancesOf, isOfAdvance }: Known) {
  const isShown = ({ issued_at, substituted_from }: Pick<RelatedInvoice, 'issued_at' | 'substituted_from'>): boolean =>
    issued_at <= ceiling && (substituted_from === null || substituted_from > ceiling)
  const isCounted = (one: RelatedInvoice): boolean =>
    one.tipo_comprobante === 'I' && one.version !== null && one.cancelled === 0 && one.total_micros !== null && isShown(one)
  const countedOn = (invoice: RelatedInvoice): AppliedBy[] =>
    appliedTo(invoice).filter((one) => isShown(one) && (notCountedReason(invoice, one) ?? 'substituted') === 'substituted')
  const left = new Map<RelatedInvoice, Micros>()
  const appliers = group.filter(isCounted)
  /** The advances of an invoice that count; null where one is not known, which may cover anything. */
  const pools = new Map(
    appliers.map((applier) => {
      const lists = advancesOf(applier).map((list) => list.filter(({ issued_at }) => issued_at <= ceiling))
      const isKnown = (list: RelatedInvoice[]) =>
        list.length > 0 && !list.some((one) => one.version === null && one.cancelled === 0 && isShown(one))
      const counted = lists
        .flat()
        .filter((one) => isCounted(one) && one.emisor_rfc === applier.emisor_rfc && one.receptor_rfc === applier.receptor_rfc)
      for (const one of counted) left.set(one, one.total_micros!)
      return [applier, lists.every(isKnown) ? [...new Set(counted)].sort(byIssue) : null]
    }),
  )
  const takings: Taking[] = []
  for (const advance of left.keys())
    for (const { kind, source, n, issued_at, ...one } of countedOn(advance))
      if (kind === 'E' && !(pools.has(advance) && isOfAdvance(source)))
        takings.push({ kind: 'returned', at: issued_at, source, n, of: advance, amount: creditOf(advance, one)! })
  for (const applier of appliers) {
    const counted = countedOn(applier)
    for (const { kind, source, n, issued_at, forma_pago, ...one } of counted)
      if (kind === 'E' ? isOfAdvance(source) : isInForm30({ kind, forma_pago }))
        takings.push({
          ...{ kind: kind === 'E' ? 'note' : 'payment', at: issued_at, source, n, of: applier },
          amount: kind === 'E' ? creditOf(applier, one)! : one.amount,
        })
    // A note takes the advance off an invoice that is then money as a whole.
    if (paysItself(applier) && !counted.some(({ kind, source }) => kind === 'P' || isOfAdvance(source)))
      takings.push({ kind: 'payment', at: applier.issued_at, source: applier.uuid, n: 0, of: applier, amount: applier.total_micros! })
  }
  const noted = new Map<RelatedInvoice, Micros>()
  const found: { invoice: string; source: string; n: number; beyond: Micros }[] = []
  for (const { kind, of, amount, source, n } of takings.sort(byTurn)) {
    if (kind === 'returned') {
      left.set(of, atLeast0(left.get(of)! - amount))
      continue
    }
    const taken = take(left, pools.get(of)!, of, amount)
    const again = noted.get(of) ?? 0n
    if (kind === 'note') noted.set(of, again + taken)
    else if (taken < amount) {
      const told = least(amount - taken, again)
      noted.set(of, again - told)
      if (amount > taken + told) found.push({ invoice: of.uuid, source, n, beyond: amount - taken - told })
    }
  }
  return found
}

/** Takes an amount of an invoice from its advances, and returns how much they give. What cannot be converted may cover anything. */
function take(left: Map<RelatedInvoice, Micros>, pools: readonly RelatedInvoice[] | null, invoice: RelatedInvoice, amount: Micros): Micros {
  let rest = atLeast0(amount)
  for (const advance of pools ?? []) {
    const given = left.get(advance)!
    const whole = creditOf(invoice, { ...advance, amount: given })
    if (whole === null) return amount
    const part = least(whole, rest)
    rest -= part
    left.set(advance, part === whole ? 0n : atLeast0(given - creditOf(advance, { ...invoice, amount: part })!))
  }
  return pools === null ? amount : amount - rest
}

const least = (a: Micros, b: Micros): Micros => (a < b ? a : b)
const atLeast0 = (amount: Micros): Micros => (amount > 0n ? amount : 0n)
const byIssue = (a: RelatedInvoice, b: RelatedInvoice): number => a.issued_at - b.issued_at || (a.uuid < b.uuid ? -1 : 1)
const byTurn = (a: Taking, b: Taking): number => a.at - b.at || (a.source === b.source ? a.n - b.n : a.source < b.source ? -1 : 1)
