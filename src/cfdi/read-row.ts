import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { type ListedParties, severest } from '../lists/listed/listed.ts'
import { rendered } from '../platform/db/statement.ts'
import { decimal, fits, type Micros } from '../platform/money.ts'
import { dayOfEpoch, epochDayOf } from '../platform/time/calendar.ts'
import { offsetText } from '../platform/time/months.ts'
import { boundsOf, type Partition } from '../taxpayers/visibility/scoped-ledger.ts'
import { checkOf } from './checks/checks.ts'
import { type CfdiRow, COLUMNS, cfdiAs, isIn, listOf, MICROS, type MicrosColumn } from './columns.ts'
import { Cfdi } from './contract.ts'
import { namesOf, nulls, picker } from './pick.ts'
import { cfdi } from './tables.ts'
import {
  type Applied,
  type Balance,
  balanceOf,
  inMxn,
  isDeferred,
  isSubstituted,
  isSubstitutedNotCancelled,
  type Payable,
  rateOf,
} from './totals.ts'

const NOT_READ = [
  ...(['cancelled', 'xml_object', 'xml_offset', 'xml_length', 'xml_method', 'xml_size', 'xml_crc', 'related', 'products'] as const),
  ...(['chunk', 'chunk_at', 'chunk_parts', 'stored_by', 'stored', 'net_mxn', 'taxes', 'first_paid_on', 'last_paid_on'] as const),
]

type AsRead<Value> = Value extends Micros ? string : Value

/** A row of `cfdi` as pages and details select it. Micros are text. */
export type ReadRow = { [Name in Exclude<keyof CfdiRow, (typeof NOT_READ)[number]>]: AsRead<CfdiRow[Name]> } & { has_xml: 0 | 1 }

const READ = COLUMNS.filter((name) => !isIn(NOT_READ, name))
const own = cfdiAs('own')
const page = cfdiAs('page')

/** The columns of a ReadRow as they are stored, so that the conditions of an outer select can compare them. */
export const storedColumns = (alias: string): SQL => {
  const row = cfdiAs(alias)
  return rendered(listOf([row.entity, ...READ.map((name) => row[name]), sql`${row.xml_object} is not null as has_xml`]))
}

/** The same for the table itself. */
export const STORED_COLUMNS = storedColumns('cfdi')

const HAS_XML = sql`${page}.has_xml`

/** The columns of a ReadRow, out of a select of `storedColumns` with the alias `page`. */
export const READ_COLUMNS = rendered(listOf([...READ.map((name) => page[name]), HAS_XML]))

const NAMES = [...READ, 'has_xml'] as (keyof ReadRow)[]
const EMPTY = nulls(NAMES)

// D1's functions take 32 arguments.
const HALF = 30
const jsonOf = (expressions: readonly SQLWrapper[]): SQL =>
  rendered(sql`json_array(json_array(${listOf(expressions.slice(0, HALF))}), json_array(${listOf(expressions.slice(HALF))}))`)

/** A ReadRow of `cfdi` without an alias, as one text for `parseRow`: the fifty columns would take five times as long on their way. */
export const ROW_JSON = jsonOf([...READ.map((name) => cfdi[name]), sql`${cfdi.xml_object} is not null`])

/** The same out of a select of `storedColumns` with the alias `page`. */
export const READ_ROW_JSON = jsonOf([...READ.map((name) => page[name]), HAS_XML])

/** Parses a row that was selected as JSON. */
export function parseRow(text: string): ReadRow {
  const row: Record<string, unknown> = { ...EMPTY }
  const [first, second] = JSON.parse(text) as [unknown[], unknown[]]
  for (let n = 0; n < NAMES.length; n++) row[NAMES[n]!] = n < HALF ? first[n] : second[n - HALF]
  return row as ReadRow
}

const COUNTABLE = [
  ...(['kind', 'version', 'direction', 'fecha', 'tipo_comprobante', 'metodo_pago', 'estatus', 'emisor_rfc', 'receptor_rfc'] as const),
  ...(['substituted_from', 'currency', 'tipo_cambio', 'subtotal', 'descuento', 'total'] as const),
  ...(['iva_trasladado', 'iva_retenido', 'isr_retenido', 'ieps_trasladado'] as const),
]

/** The columns that totals are computed from. */
export type CountableRow = Pick<ReadRow, (typeof COUNTABLE)[number]>

/** The columns of a CountableRow, of a row with the alias `own`. */
export const COUNTABLE_COLUMNS = rendered(listOf(COUNTABLE.map((name) => own[name])))

/** Where a row was read, and how much of its balance the organization may know. */
export interface RowContext {
  fiscal_entity_id: string
  partition: Pick<Partition, 'origin' | 'changesFrom' | 'bounds'>
  /** The visible applications to this document; undefined when the stored balance counts nothing else. */
  applied?: readonly Applied[] | undefined
}

/** No counterparty is on a list. */
const NOBODY: ListedParties = new Map()

const instant = (milliseconds: number): string => new Date(milliseconds).toISOString()

const localTime = (seconds: number, offset: number): string =>
  `${new Date((seconds + offset * 60) * 1_000).toISOString().slice(0, 19)}${offsetText(offset)}`

/** The balance that the organization may know. The stored balance counts every document that anybody downloaded. */
export function visibleBalance(row: ReadRow, applied: readonly Applied[] | undefined): Balance {
  const { payment_status, last_payment_at, fully_paid_at, applied_until } = row
  if (applied === undefined || !isDeferred(row))
    return { paid: BigInt(row.paid), credited: BigInt(row.credited), payment_status, last_payment_at, fully_paid_at, applied_until }
  return balanceOf(payableOf(row), applied)
}

/** The facts behind the balance of a row. */
export const payableOf = (row: ReadRow): Payable => ({ ...row, total_micros: row.total_micros === null ? null : BigInt(row.total_micros) })

/** The unpaid amount of an invoice, in micros of its currency, never below zero. */
export const leftOf = ({ total_micros }: ReadRow, { paid, credited }: Balance): Micros => {
  const left = BigInt(total_micros ?? 0) - paid - credited
  return left > 0n ? left : 0n
}

const pesosOf = ({ currency, tipo_cambio }: ReadRow, amount: Micros): string | null => {
  const pesos = inMxn(amount, rateOf(currency, tipo_cambio))
  return pesos === null || !fits(pesos) ? null : decimal(pesos)
}

/** The day on which an invoice is due, as its conditions of payment state it. */
const dueOn = ({ fecha, terms_days }: ReadRow): string | null =>
  terms_days === null ? null : dayOfEpoch(epochDayOf(fecha.slice(0, 10)) + terms_days)

type Copied = Pick<ReadRow, keyof ReadRow & keyof Cfdi>

const MEMBERS = namesOf(Cfdi.shape)
const COPIED = COLUMNS.filter((name) => isIn(MEMBERS, name)) as (keyof Copied)[]
const AMOUNTS = MICROS.filter((name) => isIn(MEMBERS, name)) as (MicrosColumn & keyof Copied)[]
const pickMembers = picker(COPIED, MEMBERS)

/** The columns that the contract has under the same names, micros as decimal text. */
function copiedMembers(row: ReadRow): Copied {
  const members: Copied = pickMembers(row)
  for (const name of AMOUNTS) members[name] = members[name] && decimal(members[name])
  return members
}

/**
 * The authority's last answer to the organization. A document that it called cancelled is shown so at once, although the cancellation is
 * committed, counted and reported in the background.
 */
function checkMembers({ estatus, status_checks }: ReadRow, fiscal_entity_id: string) {
  const check = checkOf(status_checks, fiscal_entity_id)
  const [at = null, status_answer = null, es_cancelable = null, estatus_cancelacion = null, , validacion_efos = null] = check ?? []
  return {
    estatus: status_answer === 'cancelado' ? status_answer : estatus,
    status_answer,
    es_cancelable,
    estatus_cancelacion,
    validacion_efos,
    status_checked_at: at === null ? null : instant(at),
  } as Pick<Cfdi, 'estatus' | 'status_answer' | 'es_cancelable' | 'estatus_cancelacion' | 'validacion_efos' | 'status_checked_at'>
}

/** A row as it crosses the wire, with its members in the order of the contract. `listed` are the counterparties that are on a list. */
export function view(row: ReadRow, { fiscal_entity_id, partition, applied }: RowContext, listed = NOBODY): Cfdi {
  const balance = visibleBalance(row, applied)
  // Metadata does not state the metodo_pago, so nobody knows what is paid.
  const hasBalance = row.tipo_comprobante === 'I' && row.version !== null
  const isIssued = row.direction === 0
  const until = boundsOf(partition, row.direction)?.until ?? null
  const [rfc, nombre] = isIssued ? [row.receptor_rfc, row.receptor_nombre] : [row.emisor_rfc, row.emisor_nombre]
  return {
    ...copiedMembers(row),
    fiscal_entity_id,
    direction: isIssued ? 'issued' : 'received',
    issued_at: localTime(row.issued_at, row.utc_offset),
    counterparty: { rfc, nombre, blacklist: severest(listed.get(rfc)) },
    moneda: row.currency,
    ...checkMembers(row, fiscal_entity_id),
    is_substituted: isSubstituted(row, until),
    substituted_not_cancelled: isSubstitutedNotCancelled(row, until),
    payment_status: balance.payment_status ?? 'not_applicable',
    paid_amount: hasBalance ? decimal(balance.paid) : null,
    credited_amount: hasBalance ? decimal(balance.credited) : null,
    balance: hasBalance ? decimal(leftOf(row, balance)) : null,
    balance_mxn: hasBalance ? pesosOf(row, leftOf(row, balance)) : null,
    due_date: dueOn(row),
    last_payment_at: balance.last_payment_at,
    fully_paid_at: balance.fully_paid_at,
    has_xml: row.has_xml === 1,
    has_pdf: row.has_xml === 1,
    origin: partition.origin,
    updated_at: instant(Math.max(row.updated_at, partition.changesFrom(row))),
  }
}
