import { type Micros, micros, money, part, times } from '../amounts.ts'
import { inPesos, isToItself, isTooLarge, netOf, rateOf, signOf } from '../counting.ts'
import { loweredBy } from '../notes.ts'
import type { DeductionRow, DeductionTotals } from '../shapes.ts'
import { newTally, type Tally } from '../tally.ts'
import { compare, type Document, dayOf, isCompany, type Range, rulesOfYear, type World, within } from '../world.ts'
import { type Limit, limitsOf } from './caps.ts'
import { inOrder, invoicesOf, outOf, type Profile, paidPartOf, tuitionOf, verdictOf } from './deduction-reasons.ts'

export interface DeductionQuery extends Range {
  profile?: 'auto' | Profile
  annual_income?: string
}

const QUESTIONS: Record<string, string> = {
  missing_rate: 'Which exchange rate applies to it?',
  payment_form_review: 'Was it paid by cheque, transfer, card or electronic wallet?',
  mortgage_loan: 'Was the loan of at most 750,000 UDIS, and how much of the interest is real?',
  tuition_without_iedu: 'Whose tuition is it, and of which level?',
  uso_undefined: 'What is it used for?',
  unpaid_to_626: 'Must what a company of 626 bills be paid before it is deducted?',
  cash_in_parts: 'Was it one purchase that was divided into payments of at most 2,000 in cash (LISR 27-III)?',
  vehicle_review: 'Is it a car for up to ten passengers, what did each one cost, and does it have an electric motor (LISR 36-II)?',
  car_rental_review: 'Was a car rented, for how many days, and does it have an electric motor (LISR 28-XIII)?',
  possible_travel: 'Was it consumed on a trip of more than 50 km (LISR 28-V)?',
  restaurant_form_unknown: 'Is it paid by card or electronic wallet (LISR 28-XX)?',
  cap_unknown: 'What was the income on which its limit depends?',
}

const isPersonal = (uso: string | null): boolean => /^D(0[1-9]|10)$/.test(uso ?? '')

/** The document whose use decides: the invoice that a credit note credits, when that is shown. */
function decisive(world: World, document: Document): Document {
  if (document.tipo_comprobante !== 'E') return document
  const named = [...loweredBy(world, document).keys()]
  const invoice = world.documents.find(
    (one) =>
      named.includes(one.uuid) && one.origin === document.origin && one.emisor_rfc === document.emisor_rfc && one.tipo_comprobante === 'I',
  )
  return invoice && isPersonal(invoice.uso_cfdi) ? invoice : document
}

function profileOf(world: World, document: Document): Profile {
  return !isCompany(world.rfc) && isPersonal(decisive(world, document).uso_cfdi) ? 'personal' : 'business'
}

function categoryOf(world: World, document: Document, profile: Profile): { category: string | null; cap_group: string | null } {
  if (!document.has_xml) return { category: null, cap_group: null }
  const { uso_cfdi } = decisive(world, document)
  if (profile === 'personal') {
    const { category, cap_group } = rulesOfYear(world, document).personal[uso_cfdi!]!
    return { category, cap_group }
  }
  if (document.tipo_comprobante === 'E' || uso_cfdi === 'G02') return { category: 'returns', cap_group: null }
  return {
    category: rulesOfYear(world, document).investment_rates[uso_cfdi ?? ''] === undefined ? 'expense' : 'investment',
    cap_group: null,
  }
}

/** What the limits allow of a claim: the net of the year up to each, the first one's before the next one's. */
const take = (limits: readonly Limit[], used: Map<string, Micros>, wanted: Micros): Micros => {
  let taken = wanted
  for (const { key, amount } of limits) {
    const before = used.get(`claimed ${key}`) ?? 0n
    const after = before + taken
    used.set(`claimed ${key}`, after)
    if (amount !== null) taken = (after < amount ? after : amount) - (before < amount ? before : amount)
  }
  for (const { key } of limits) used.set(key, (used.get(key) ?? 0n) + taken)
  return taken
}

/** What the limits allow of a claim; of tuition for several students, of each one's part by their lines. */
function allowed(world: World, document: Document, limits: readonly Limit[], used: Map<string, Micros>, claimed: Micros): Micros {
  const isTuition = limits[0]?.key.startsWith('tuition|') ?? false
  if (!isTuition || limits.length === 1) return take(limits, used, claimed)
  const lines = tuitionOf(world, decisive(world, document), document.fecha.slice(0, 4)) ?? []
  const whole = lines.reduce((all, { net }) => all + net, 0n)
  let rest = claimed
  return limits.reduce((all, limit, n) => {
    const own = lines.filter(({ curp }) => limit.key.includes(`|${curp}|`)).reduce((net, one) => net + one.net, 0n)
    const share = n === limits.length - 1 ? rest : part(claimed, own, whole)
    rest -= share
    return all + take([limit], used, share)
  }, 0n)
}

/** The rows of GET /v1/cfdi/deductions in their order, the totals, and their entries (`figure|year|category`). */
export function deductionsOf(world: World, query: DeductionQuery) {
  const { profile: wanted = 'auto', annual_income } = query
  const tally: Tally = newTally()
  const used = new Map<string, Micros>()
  const groups = new Map<string, { cap_group: string | null; limits: Map<string, Limit> }>()
  const documents = world.documents.filter(
    (one) =>
      one.direction === 'received' &&
      ['I', 'E'].includes(one.tipo_comprobante ?? '') &&
      !isToItself(one) &&
      !isTooLarge(world, one) &&
      within({ ...query, from: `${query.from.slice(0, 4)}-01-01` }, dayOf(one.fecha)) &&
      (within(query, dayOf(one.fecha)) || profileOf(world, one) === 'personal') &&
      (wanted === 'auto' || profileOf(world, one) === wanted),
  )
  const rows = documents
    .sort((a, b) => compare([a.fecha, a.uuid], [b.fecha, b.uuid]))
    .map((document): DeductionRow => {
      const profile = profileOf(world, document)
      const { category, cap_group } = categoryOf(world, document, profile)
      const amount = profile === 'personal' ? micros(document.total) : netOf(document)
      const gross = rateOf(world, document) === null ? null : inPesos(world, document, amount) * signOf(document)
      const year = document.fecha.slice(0, 4)
      const limits = profile === 'personal' ? limitsOf(world, decisive(world, document), year, annual_income, documents) : []
      const verdict = verdictOf(world, document, profile)
      const unknown = limits.some((limit) => limit.amount === null && limit.isUnknown)
      const review = [...verdict.review, ...(unknown ? ['cap_unknown'] : [])]
      const paid = paidPartOf(world, document, profile)
      const isAlone = category === 'returns' && document.tipo_comprobante === 'E' && invoicesOf(world, document).length === 0
      const annual_rate =
        category === 'investment' || isAlone ? (rulesOfYear(world, document).investment_rates[document.uso_cfdi!] ?? null) : null
      const key = `${year}|${category}`
      const isShown = within(query, dayOf(document.fecha))
      if (isShown && category !== null && document.estatus !== 'cancelado') {
        const group = groups.get(key) ?? { cap_group, limits: new Map<string, Limit>() }
        for (const limit of limits) group.limits.set(limit.key, limit)
        groups.set(key, group)
        if (gross !== null) tally.add(`gross_amount|${key}`, document.uuid, gross)
      }
      const common = {
        ...{ uuid: document.uuid, issued_at: document.issued_at, uso_cfdi: document.uso_cfdi, category, cap_group },
        ...{ gross_amount: gross === null ? null : money(gross), counterparty_rfc: document.counterparty.rfc },
        annual_rate: annual_rate === null ? null : `${annual_rate}000000`.slice(0, 8),
      }
      const out = profile === 'business' ? outOf(world, document) : null
      const partly = out?.isWhole ? [] : (out?.reasons.filter((reason) => reason !== 'bar') ?? [])
      const notPaid = paid?.isOpen && !verdict.not_deductible.includes('not_paid') ? ['not_paid'] : []
      const row = (status: DeductionRow['status'], deductible: Micros, found: string[], caps: string[] = []): DeductionRow => ({
        ...common,
        ...{ status, deductible_amount: money(deductible), reasons: [...inOrder(found), ...caps, ...notPaid] },
        questions: inOrder(found).flatMap((one) => QUESTIONS[one] ?? []),
      })
      if (verdict.not_deductible.length > 0) return row('not_deductible', 0n, [...verdict.not_deductible, ...partly, ...review])
      if (review.length > 0 || gross === null) {
        if (isShown && gross !== null) tally.add(`review_amount|${key}`, document.uuid, gross)
        return row('review', 0n, [...partly, ...review])
      }
      const total = micros(document.total)
      const counted = document.tipo_comprobante === 'I' ? (paid?.paid ?? total) - (out?.out ?? 0n) : total
      const within_limit = part(part(gross, counted, total), ...(out?.deducted ?? [1n, 1n]))
      const claimed = annual_rate === null ? within_limit : times(within_limit, annual_rate)
      const deductible = allowed(world, document, limits, used, claimed)
      if (isShown) tally.add(`deductible_amount|${key}`, document.uuid, deductible)
      if (out !== null && out.caps.length > 0) return row('capped', deductible, partly, out.caps)
      if (deductible >= claimed) return row('eligible', deductible, partly)
      const cut = limits.find(({ key, amount }) => amount !== null && used.get(`claimed ${key}`)! > amount) ?? limits[0]!
      return row('capped', deductible, [], [`cap_${cut.key.split('|')[0]}`])
    })
  // What came earlier in the year has only used up its limits.
  const shown = rows.filter((_, n) => within(query, dayOf(documents[n]!.fecha)))
  const totals = totalsOf(groups, used, tally)
  return { rows: shown, totals, cap_unknown: totals.some((one) => one.cap_unknown), tally }
}

type Groups = Map<string, { cap_group: string | null; limits: Map<string, Limit> }>

/** What a category used of its own limit; categories of the global limit show what all of them used. */
function totalsOf(groups: Groups, used: ReadonlyMap<string, Micros>, tally: Tally): Omit<DeductionTotals, 'drilldown'>[] {
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, { cap_group, limits }]) => {
      const [year = '', category = ''] = key.split('|')
      const own = [...limits.values()].filter((one) => cap_group !== 'global' || one.key.startsWith('global'))
      const isLimited = own.length > 0 && own.every(({ amount }) => amount !== null)
      const limit = own.reduce((all, { amount }) => all + (amount ?? 0n), 0n)
      const spent = own.length > 0 ? own.reduce((all, one) => all + (used.get(one.key) ?? 0n), 0n) : tally.sum(`deductible_amount|${key}`)
      const sum = (figure: string) => money(tally.sum(`${figure}|${key}`))
      return {
        ...{ year, category, cap_group, gross_amount: sum('gross_amount'), deductible_amount: sum('deductible_amount') },
        ...{ review_amount: sum('review_amount'), limit: isLimited ? money(limit) : null, used: money(spent) },
        ...{
          remaining: isLimited ? money(limit - spent < 0n ? 0n : limit - spent) : null,
          cap_unknown: own.some(({ isUnknown }) => isUnknown),
        },
      }
    })
}
