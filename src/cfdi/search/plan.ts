import { type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { all } from '../../platform/db/statement.ts'
import { micros } from '../../platform/money.ts'
import { boundsOf, type DirectionNumber, hasCeiling, isAfterCeiling, type Partition } from '../../taxpayers/visibility/scoped-ledger.ts'
import { centralStartOf, earliestOf, latestOf } from '../../taxpayers/visibility/window.ts'
import { isSubstitutedOn, isValidOn } from '../applied/applied.ts'
import { cfdiAs } from '../columns.ts'
import { afterDay, isDay } from '../literal-day.ts'
import { cfdi } from '../tables.ts'
import { asRfc, isRfc } from '../xml/document.ts'
import type { Filters } from './contract.ts'

/** The letters that a search takes for the same one. SQLite's `lower` knows only those without a mark. */
const SAME: readonly (readonly [letter: string, variants: string])[] = [
  ['a', 'ÀÁÂÃÄÅàáâãäå'],
  ['c', 'Çç'],
  ['e', 'ÈÉÊËèéêë'],
  ['i', 'ÌÍÎÏìíîï'],
  ['n', 'Ññ'],
  ['o', 'ÒÓÔÕÖòóôõö'],
  ['u', 'ÙÚÛÜùúûü'],
  ['y', 'Ýýÿ'],
  ['ø', 'Ø'],
  ['æ', 'Æ'],
  // Marks that stand apart from their letter.
  ['', '\u0300\u0301\u0302\u0303\u0308\u030a\u0327'],
]

const REPLACED = new Map(SAME.flatMap(([letter, variants]) => [...variants].map((one) => [one, letter] as const)))

/** Text without case and accents. */
export const folded = (text: string): string =>
  [...text.replace(/[A-Z]/g, (one) => one.toLowerCase())].map((one) => REPLACED.get(one) ?? one).join('')

/** D1 allows a depth of 100, the conditions around included: as many letters are replaced in one expression. */
const REPLACED_AT_ONCE = 16

/** Selects the same in SQL as `folded`, as far as it matters for finding a folded text. D1 allows few bytes in a pattern of LIKE or GLOB. */
function foldedFor(searched: string, text: SQL): SQL {
  const meant = [...REPLACED].filter(([, letter]) => letter === '' || searched.includes(letter))
  let select = sql`select lower(text) as folded, length(text) <> length(cast(text as blob)) as is_marked from (select ${text} as text limit 1)`
  for (let n = 0; n < meant.length; n += REPLACED_AT_ONCE) {
    const some = meant.slice(n, n + REPLACED_AT_ONCE)
    const replaced = some.reduce((inner, [one, letter]) => `replace(${inner}, '${one}', '${letter}')`, 'folded')
    // With a limit, SQLite replaces once, and not once for each place that names the text.
    select = sql`select case when is_marked then ${sql.raw(replaced)} else folded end as folded, is_marked from (${select} limit 1)`
  }
  return select
}

const { uuid, emisor_rfc, emisor_nombre, receptor_rfc, receptor_nombre, serie, folio } = cfdiAs('page')
const TEXT = sql`coalesce(${emisor_nombre}, '') || char(10) || coalesce(${receptor_nombre}, '') || char(10) || coalesce(${serie}, '') || coalesce(${folio}, '')
  || char(10) || coalesce(${serie} || ' ' || ${folio}, '')`

/**
 * The condition that a text is in the names of the parties or in series and folio, with or without a space between them, or that each of its
 * words is in one of the names, or that the UUID begins with it, or that it is the RFC of a party, on a row of the alias `page`.
 */
function hasText(q: string): SQL {
  const searched = folded(q)
  const words = JSON.stringify([...new Set(searched.split(/\s+/))])
  const hasWords = (name: SQL) => sql`not exists (select 1 from json_each(${words}) where instr(${name}, value) = 0)`
  const firstLine = (text: SQL) => sql`substr(${text}, 1, instr(${text}, char(10)) - 1)`
  const [text, rest] = [sql.raw('folded'), sql.raw('substr(folded, instr(folded, char(10)) + 1)')]
  const found = sql`instr(${text}, ${searched}) > 0 or ${hasWords(firstLine(text))} or ${hasWords(firstLine(rest))}`
  const conditions = [sql`exists (select 1 from (${foldedFor(searched, TEXT)} limit 1) where ${found})`]
  if (/^[\da-f-]{2,36}$/.test(searched)) conditions.push(sql`substr(${uuid}, 1, ${searched.length}) = ${searched.toUpperCase()}`)
  const rfc = asRfc(q)
  if (isRfc(rfc)) conditions.push(sql`${rfc} in (${emisor_rfc}, ${receptor_rfc})`)
  return sql`(${sql.join([...conditions], sql.raw(' or '))})`
}

const page = cfdiAs('page')
const IS_KNOWN_INVOICE = sql`${page.tipo_comprobante} = 'I' and ${page.version} is not null`

/** The filters that some index can serve, as a plan names them. */
type IndexedFilter = 'direction' | 'estatus' | 'tipo_comprobante' | 'payment_status' | 'party' | 'uuid'

/** The condition that a column has one of these values. A JSON list takes one placeholder, however long it is. */
const among = (column: SQLiteColumn, values: readonly string[]): SQL =>
  sql`${column} in (select value from json_each(${JSON.stringify(values)}))`

const seconds = (instant: string): number => Math.floor(Date.parse(instant) / 1_000)
const number = (text: string): SQL => sql`(${micros(text)!.toString()} + 0)`

/** The condition that the total is at least, or at most, an amount. Micros are text, of which the longer is the larger one. */
const ofTotal = (operator: '>=' | '<=', bound: string): SQL => {
  const limit = micros(bound)!.toString()
  const compared = sql`(length(${page.total_micros}), ${page.total_micros}) ${sql.raw(operator)} (${limit.length}, ${limit})`
  return operator === '>=' ? sql`(${page.total_micros} >= '0' and ${compared})` : sql`(${page.total_micros} < '0' or ${compared})`
}

const paymentStatus = (statuses: readonly string[]): SQL => {
  const stored = statuses.filter((status) => status !== 'not_applicable')
  if (stored.length === statuses.length) return among(page.payment_status, stored)
  return sql`(${page.payment_status} is null or ${among(page.payment_status, stored)})`
}

// A row that may have a different visible balance passes here. search.ts compares it when it has been read.
const ofBalance = (condition: SQL, partition: Partition): SQL => {
  const isBeyond = isAfterCeiling(partition, 'page', 'applied_until')
  return isBeyond === null ? condition : sql`(${condition} or ${isBeyond})`
}

/** The conditions of the filters that some index can serve, on a row of the alias `page`. */
function indexedConditions(filters: Filters, partition: Partition): Map<IndexedFilter, SQL[]> {
  const { direction, estatus, tipo_comprobante, payment_status, counterparty_rfc, emisor_rfc, receptor_rfc } = filters
  const conditions = new Map<IndexedFilter, SQL[]>()
  const put = (name: IndexedFilter, condition: SQL) => conditions.set(name, [...(conditions.get(name) ?? []), condition])
  if (direction) put('direction', sql`${page.direction} = ${direction === 'issued' ? 0 : 1}`)
  if (estatus && !filters.past) put('estatus', sql`${page.estatus} = ${estatus}`)
  if (tipo_comprobante) put('tipo_comprobante', among(page.tipo_comprobante, tipo_comprobante))
  if (payment_status && !filters.past) put('payment_status', ofBalance(paymentStatus(payment_status), partition))
  if (counterparty_rfc) put('party', sql`${page.counterparty_rfc} = ${counterparty_rfc}`)
  if (emisor_rfc) put('party', sql`${page.emisor_rfc} = ${emisor_rfc}`)
  if (receptor_rfc) put('party', sql`${page.receptor_rfc} = ${receptor_rfc}`)
  return conditions
}

/**
 * Whether the index of counterparties serves these few: then each has a stream of its own in each direction, and there are at most four. When
 * the search names a counterparty itself, that one is sought.
 */
const areIndexed = ({ counterparties, direction, counterparty_rfc, emisor_rfc, receptor_rfc, uuid }: Filters): boolean =>
  counterparties !== undefined &&
  counterparties.length <= (direction === undefined ? 2 : 4) &&
  [counterparty_rfc, emisor_rfc, receptor_rfc, uuid].every((one) => one === undefined)

const EQUAL = ['metodo_pago', 'forma_pago', 'uso_cfdi', 'currency', 'serie', 'folio', 'version'] as const

/** The conditions of the filters that no index serves, on a row of the alias `page`. */
function scannedConditions(filters: Filters, partition: Partition): SQL[] {
  const { cancelled_from, cancelled_to, paid_from, paid_to, total_min, total_max, balance_min, has_xml, has_pdf } = filters
  const conditions: SQL[] = EQUAL.flatMap((name) => (filters[name] === undefined ? [] : [sql`${page[name]} = ${filters[name]}`]))
  const cancelled = (operator: string, bound: string) =>
    isDay(bound)
      ? sql`substr(${page.cancelled_at}, 1, 10) ${sql.raw(operator)} ${bound}`
      : sql`unixepoch(${page.cancelled_at}) ${sql.raw(operator)} ${seconds(bound)}`
  if (cancelled_from) conditions.push(cancelled('>=', cancelled_from))
  if (cancelled_to) conditions.push(cancelled('<=', cancelled_to))
  if (total_min) conditions.push(ofTotal('>=', total_min))
  if (total_max) conditions.push(ofTotal('<=', total_max))
  if (filters.past) conditions.push(...ofPast(filters, filters.past, partition))
  if (balance_min && !filters.past)
    conditions.push(
      ofBalance(
        sql`${IS_KNOWN_INVOICE} and max(${page.total_micros} - ${page.paid} - ${page.credited}, 0) >= ${number(balance_min)}`,
        partition,
      ),
    )
  if (paid_from && !filters.past) conditions.push(ofBalance(sql`${page.last_payment_at} >= ${paid_from}`, partition))
  if (paid_to && !filters.past) conditions.push(ofBalance(sql`${page.last_payment_at} < ${afterDay(paid_to)}`, partition))
  if (filters.kind) conditions.push(sql`${page.kind} = ${filters.kind}`)
  if (filters.to_itself) conditions.push(sql`${page.emisor_rfc} ${sql.raw(filters.to_itself === 'true' ? '=' : '<>')} ${page.receptor_rfc}`)
  if (filters.is_substituted && !filters.past) {
    const isBeyond = isAfterCeiling(partition, 'page', 'substituted_from')
    const isUnknown = isBeyond === null ? sql`${page.substituted_from} is null` : sql`(${page.substituted_from} is null or ${isBeyond})`
    conditions.push(filters.is_substituted === 'true' ? sql`not ${isUnknown}` : isUnknown)
  }
  if (filters.counterparties && !areIndexed(filters)) conditions.push(among(page.counterparty_rfc, filters.counterparties))
  if (filters.tipo_relacion) {
    const isRelated = filters.tipo_relacion.map((one) => sql`instr(',' || ${page.tipo_relacion} || ',', ${`,${one},`}) > 0`)
    conditions.push(sql`(${sql.join([...isRelated], sql` or `)})`)
  }
  if (filters.due_to && filters.terms) {
    const terms = sql`coalesce(${page.terms_days}, ${sql.raw(filters.terms('page.fecha'))})`
    conditions.push(sql`${IS_KNOWN_INVOICE} and date(substr(${page.fecha}, 1, 10), '+' || ${terms} || ' days') <= ${filters.due_to}`)
  }
  if (filters.q) conditions.push(hasText(filters.q))
  // A PDF is made of the XML.
  for (const has of [has_xml, has_pdf]) if (has) conditions.push(sql`${page}.has_xml = ${has === 'true' ? 1 : 0}`)
  return conditions
}

/**
 * The conditions of status and substitution as of a past day, and those that a balance of that day needs. search.ts compares the balances.
 */
function ofPast({ estatus, is_substituted, payment_status, balance_min, paid_from, paid_to }: Filters, day: string, partition: Partition) {
  const isValid = isValidOn('page', day)
  const isSubstituted = sql`(${isValid} and ${isSubstitutedOn(partition, 'page', day)})`
  return [
    ...(estatus ? [estatus === 'vigente' ? isValid : sql`not coalesce(${isValid}, 0)`] : []),
    ...(is_substituted ? [is_substituted === 'true' ? isSubstituted : sql`not coalesce(${isSubstituted}, 0)`] : []),
    ...(payment_status && !payment_status.includes('not_applicable')
      ? [sql`${page.tipo_comprobante} = 'I' and ${page.metodo_pago} in ('PUE', 'PPD')`]
      : []),
    ...(balance_min ? [sql`${IS_KNOWN_INVOICE} and ${page.total_micros} + 0 >= ${number(balance_min)}`] : []),
    ...(paid_from || paid_to ? [sql`${page.tipo_comprobante} = 'I' and ${page.metodo_pago} = 'PPD'`] : []),
  ]
}

/** The conditions of a document's literal day, `fecha`. Instants need none, because the bounds of issued_at are exact for them. */
const literalDays = ({ issued_from, issued_to, last_day }: Filters, fecha: SQLiteColumn): SQL[] => [
  ...(issued_from && isDay(issued_from) ? [sql`${fecha} >= ${issued_from}`] : []),
  ...(issued_to && isDay(issued_to) ? [sql`${fecha} < ${afterDay(issued_to)}`] : []),
  ...(last_day ? [sql`${fecha} < ${afterDay(last_day)}`] : []),
]

/** Rows read along an index in the order of the page: its leading columns are fixed. */
interface IndexRange {
  index: 'cfdi_dirc' | 'cfdi_cpd' | 'cfdi_tipoc' | 'cfdi_pay'
  direction: DirectionNumber
  fixed: SQL
}

/** An index range between bounds of issued_at in seconds, both inclusive. */
export interface Stream extends IndexRange {
  since: number | null
  until: number | null
}

/** How a page is read: at most four streams, which are merged, and the conditions that are checked row by row. */
export interface SearchPlan {
  streams: Stream[]
  /**
   * When the streams select stored payment statuses, the search without them. With a ceiling it may find other documents: visible balances
   * count only what was issued up to the ceiling.
   */
  invoices?: SearchPlan
  /** Whether SQL passes rows that `isMatch` may refuse: those whose visible balance is another than the stored one. */
  isCompared: boolean
  /** Conditions that the streams leave open. Without any, every row that is read belongs to the page. */
  rest: SQL[]
  /** The conditions of the literal days, to which the bounds of the streams are exact to the hour only. */
  days: SQL[]
  /** The first second of the first, and the last second of the last literal day in UTC−6. Null without these days. */
  central: { from: number | null; to: number | null }
}

/** A direction and a counterparty, as the indexes have them. A search is the union of its branches. */
interface Branch {
  direction?: DirectionNumber
  counterparty?: string
}

// D1 accepts five terms in a compound SELECT, of which strays may take one, and a page may read limit + 9 rows in all.
const MAX_STREAMS = 4

/** Plans a search over a partition of an RFC. */
export function planSearch(rfc: string, requested: Filters, partition: Partition): SearchPlan {
  const isOfCancelled = requested.cancelled_from !== undefined || requested.cancelled_to !== undefined
  const filters = isOfCancelled ? { ...requested, estatus: requested.estatus ?? ('cancelado' as const) } : requested
  const isNobody = filters.counterparties?.length === 0
  const branches = isNobody ? [] : branchesOf(rfc, filters)
  const conditions = indexedConditions(filters, partition)
  const scanned = scannedConditions(filters, partition)
  const { payment_status, balance_min, paid_from, paid_to } = filters
  const planOf = (chosen: readonly Candidate[]): SearchPlan => {
    const left = new Set(chosen.flatMap(({ serves }) => [...conditions.keys()].filter((name) => !serves.includes(name))))
    return {
      streams: chosen.flatMap(({ ranges }) => ranges).flatMap((range) => streamOf(range, filters, partition)),
      isCompared:
        (hasCeiling(partition) || filters.past !== undefined) &&
        [payment_status, balance_min, paid_from, paid_to].some((one) => one !== undefined),
      rest: [...[...left].flatMap((name) => conditions.get(name)!), ...scanned],
      days: literalDays(filters, cfdi.fecha),
      central: {
        from: filters.issued_from && isDay(filters.issued_from) ? centralStartOf(filters.issued_from) : null,
        to: filters.issued_to && isDay(filters.issued_to) ? centralStartOf(filters.issued_to) + 86_399 : null,
      },
    }
  }
  // A past status is no column of an index.
  const chosen = chosenOf(branches, filters.past ? { ...filters, estatus: undefined, payment_status: undefined } : filters)
  const plan = planOf(chosen)
  if (!hasCeiling(partition) || !chosen.some(({ serves }) => serves.includes('payment_status'))) return plan
  // A scan reports where it stops, so that a stored payment status must not decide it. Only invoices have such a status.
  const invoices = planOf(
    chosenOf(branches, { ...filters, payment_status: undefined, tipo_comprobante: filters.tipo_comprobante ?? ['I'] }),
  )
  return plan.rest.length > 0 ? invoices : { ...plan, invoices }
}

function chosenOf(branches: readonly Branch[], filters: Filters): Candidate[] {
  const best = branches.map((branch) => candidatesOf(branch, filters)[0]!)
  if (best.flatMap(({ ranges }) => ranges).length <= MAX_STREAMS) return best
  return branches.map((branch) => candidatesOf(branch, { ...filters, tipo_comprobante: undefined, payment_status: undefined })[0]!)
}

/** Every condition of a search, for rows of the alias `page` that are found by their UUIDs. */
export function conditionsOf(filters: Filters, partition: Partition): SQL[] {
  const { since, until } = issuedBounds(filters)
  return [
    ...[...indexedConditions(filters, partition).values()].flat(),
    ...scannedConditions(filters, partition),
    ...literalDays(filters, page.fecha),
    ...(since === null ? [] : [sql`${page.issued_at} >= ${since}`]),
    ...(until === null ? [] : [sql`${page.issued_at} <= ${until}`]),
  ]
}

const issuedBounds = ({ issued_from, issued_to, last_day }: Filters): { since: number | null; until: number | null } => ({
  since: issued_from === undefined ? null : isDay(issued_from) ? earliestOf(issued_from) : Math.ceil(Date.parse(issued_from) / 1_000),
  until: least(
    issued_to === undefined ? null : isDay(issued_to) ? latestOf(issued_to) : Math.floor(Date.parse(issued_to) / 1_000),
    last_day === undefined ? null : latestOf(last_day),
  ),
})

export const least = (a: number | null, b: number | null): number | null => (a === null ? b : b === null ? a : Math.min(a, b))
export const greatest = (a: number | null, b: number | null): number | null => (a === null ? b : b === null ? a : Math.max(a, b))

/** The stream of an index range as far as both the search and the window reach; none when the window shows nothing of its direction. */
function streamOf(range: IndexRange, filters: Filters, partition: Partition): Stream[] {
  const bounds = boundsOf(partition, range.direction)
  if (!bounds) return []
  const { since, until } = issuedBounds(filters)
  return [{ ...range, since: greatest(since, bounds.since), until: least(until, bounds.until) }]
}

function branchesOf(rfc: string, filters: Filters): Branch[] {
  const { direction, counterparty_rfc, emisor_rfc, receptor_rfc, counterparties } = filters
  let branches: Branch[] = [{}]
  const narrow = (...alternatives: Branch[]) => {
    branches = branches.flatMap((one) => alternatives.flatMap((other) => both(one, other)))
  }
  if (direction) narrow({ direction: direction === 'issued' ? 0 : 1 })
  if (counterparties && areIndexed(filters)) narrow(...counterparties.map((counterparty) => ({ counterparty })))
  if (counterparty_rfc) narrow({ counterparty: counterparty_rfc })
  if (emisor_rfc) narrow(emisor_rfc === rfc ? { direction: 0 } : { direction: 1, counterparty: emisor_rfc })
  // A document that the RFC issued to itself is stored as issued, and the RFC is its receiver too.
  if (receptor_rfc)
    narrow(
      ...(receptor_rfc === rfc
        ? [{ direction: 1 as const }, { direction: 0 as const, counterparty: rfc }]
        : [{ direction: 0 as const, counterparty: receptor_rfc }]),
    )
  return branches
}

function both(one: Branch, other: Branch): Branch[] {
  const apart = (name: keyof Branch) => one[name] !== undefined && other[name] !== undefined && one[name] !== other[name]
  return apart('direction') || apart('counterparty') ? [] : [{ ...one, ...other }]
}

interface Candidate {
  ranges: IndexRange[]
  serves: IndexedFilter[]
}

/** The ways to read a branch in at most four streams, the most selective first. The last way always exists. */
function candidatesOf({ direction, counterparty }: Branch, { estatus, tipo_comprobante, payment_status }: Filters): Candidate[] {
  const directions: DirectionNumber[] = direction === undefined ? [0, 1] : [direction]
  const states = (estatus === undefined ? [0, 1] : [estatus === 'vigente' ? 0 : 1]).map(
    (one) => sql`${cfdi.cancelled} = ${sql.raw(String(one))}`,
  )
  const isOfInvoices = payment_status !== undefined && !payment_status.includes('not_applicable')
  const statuses = isOfInvoices ? payment_status.map((one) => sql`${cfdi.payment_status} = ${one}`) : undefined
  const tipos = tipo_comprobante?.map((one) => sql`${cfdi.tipo_comprobante} = ${one}`)
  const parties = counterparty === undefined ? undefined : [sql`${cfdi.counterparty_rfc} = ${counterparty}`]
  const along = (index: IndexRange['index'], serves: IndexedFilter[], ...columns: (SQL[] | undefined)[]): Candidate[] => {
    if (columns.includes(undefined)) return []
    const fixed = (columns as SQL[][]).reduce<SQL[][]>(
      (some, column) => some.flatMap((one) => column.map((value) => [...one, value])),
      [[]],
    )
    const ranges = directions.flatMap((one) =>
      fixed.map((values) => ({ index, direction: one, fixed: all([sql`${cfdi.direction} = ${sql.raw(String(one))}`, ...values]) })),
    )
    return ranges.length > MAX_STREAMS ? [] : [{ serves, ranges }]
  }
  const known: IndexedFilter[] = counterparty === undefined ? ['direction', 'party'] : ['direction']
  return [
    ...along('cfdi_cpd', ['direction', 'party'], parties),
    ...along('cfdi_pay', [...known, 'payment_status'], statuses),
    ...along('cfdi_tipoc', [...known, 'tipo_comprobante', 'estatus'], tipos, states),
    ...along('cfdi_dirc', [...known, 'estatus'], states),
  ]
}
