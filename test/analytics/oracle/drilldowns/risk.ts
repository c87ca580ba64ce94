import { micros, money, times } from '../amounts.ts'
import { balanceOf, LEAST_OPEN } from '../balances.ts'
import { countedAt, inPesos, isToItself, rateOf } from '../counting.ts'
import { hitsAt, isRepseInvalid } from '../lists.ts'
import type { Direction, Level, RiskRow } from '../shapes.ts'
import {
  addMonths,
  compare,
  type Document,
  dayOf,
  daysBetween,
  lastDayOf,
  monthOf,
  type Range,
  rulesOf,
  type World,
  within,
} from '../world.ts'
import { isInParts, paymentsOf, wrongsOf } from './deduction-reasons.ts'
import { expectationOf } from './expectation.ts'

type Flag = (world: World, document: Document) => boolean

const counts: Flag = (world, document) => countedAt(world, null).has(document.uuid)
const isInvoice: Flag = (world, document) => document.tipo_comprobante === 'I' && counts(world, document)
const isPpd: Flag = (world, document) => isInvoice(world, document) && document.metodo_pago === 'PPD' && document.has_xml

const onList =
  (isIt: (hit: { source: string; situacion: string | null }) => boolean): Flag =>
  (world, document) =>
    ['I', 'E'].includes(document.tipo_comprobante ?? '') &&
    document.estatus !== 'cancelado' &&
    hitsAt(world, document.counterparty.rfc, world.today).some(isIt)

/** The day in Mexico City of an instant. */
const mexicanDay = (instant: string): string =>
  new Intl.DateTimeFormat('sv-SE', { timeZone: 'America/Mexico_City', dateStyle: 'short' }).format(new Date(instant))

/** An invoice of which only metadata is known is taken to be in MXN. */
const currencyOf = (currency: string | null): string => currency ?? 'MXN'

const paysInvoice = (source: Document, invoice: Document): boolean =>
  source.tipo_comprobante === 'P' &&
  source.origin === invoice.origin &&
  source.emisor_rfc === invoice.emisor_rfc &&
  source.pagos.some(({ documentos }) =>
    documentos.some((one) => one.uuid === invoice.uuid && currencyOf(one.moneda_dr ?? invoice.currency) === currencyOf(invoice.currency)),
  )

export const cancelledAfterPayment: Flag = (world, document) => {
  if (document.estatus !== 'cancelado' || document.tipo_comprobante !== 'I') return false
  if (document.metodo_pago === 'PUE') return true
  if (world.documents.some((source) => counts(world, source) && paysInvoice(source, document))) return true
  const month = monthOf(mexicanDay(document.cancelled_at ?? document.updated_at))
  return document.direction === 'issued' && month > monthOf(document.fecha)
}

export const satNotFound: Flag = (_, { estatus, status_answer, status_checked_at, certified_at }) =>
  estatus !== 'cancelado' &&
  status_answer === 'no_encontrado' &&
  certified_at !== null &&
  Date.parse(status_checked_at!) > Date.parse(`${certified_at}-06:00`) + 72 * 3_600_000

export const ppdMissingComplement: Flag = (world, document) =>
  isPpd(world, document) &&
  balanceOf(world, document, null).isOpen &&
  daysBetween(dayOf(document.fecha), world.today) > rulesOf(world, document).rep_grace_days

export const complementLate: Flag = (world, document) =>
  document.tipo_comprobante === 'P' &&
  document.estatus !== 'cancelado' &&
  document.certified_at !== null &&
  document.pagos.some(({ fecha_pago }) => {
    const due = `${addMonths(monthOf(fecha_pago), 1)}-${String(world.rules(lastDayOf(monthOf(fecha_pago))).rep_due_day).padStart(2, '0')}`
    return dayOf(document.certified_at!) > due
  })

export const complementCancelled: Flag = (world, document) =>
  isPpd(world, document) &&
  balanceOf(world, document, null).balance >= LEAST_OPEN &&
  world.documents.some((source) => source.estatus === 'cancelado' && source.has_xml && paysInvoice(source, document))

export const cashOver: Flag = (world, document) =>
  isInvoice(world, document) &&
  document.direction === 'received' &&
  paymentsOf(world, document).some((one) => wrongsOf(world, document, one, one.day).includes('cash_over_2000'))

const cashInParts: Flag = (world, document) =>
  isInvoice(world, document) &&
  document.direction === 'received' &&
  paymentsOf(world, document).some((one, _, all) => isInParts(world, document, one, one.day, all))

export const withholdingMissing: Flag = (world, document) => {
  if (!isInvoice(world, document) || !document.has_xml) return false
  return expectationOf(world, document).some(({ expected, amount }) => {
    const tolerance = times(expected, rulesOf(world, document).withholding_tolerance)
    return amount - expected > tolerance || expected - amount > tolerance
  })
}

export const repseNotValid: Flag = (world, document) =>
  isInvoice(world, document) &&
  document.direction === 'received' &&
  document.has_xml &&
  paymentsOf(world, document).some(({ day }) => isRepseInvalid(world, document, day))

const sameKey = (one: Document): string =>
  [one.emisor_rfc, one.receptor_rfc, one.currency, String(micros(one.total)), dayOf(one.fecha)].join('|')

export const duplicateSuspected =
  (world: World, range: Range): ((document: Document) => boolean) =>
  (document) =>
    isInvoice(world, document) &&
    world.documents.some(
      (other) =>
        other.uuid !== document.uuid &&
        isInvoice(world, other) &&
        within(range, dayOf(other.fecha)) &&
        sameKey(other) === sameKey(document),
    )

export const usoInvalid: Flag = (world, document) => {
  const regimes = document.uso_cfdi === null ? undefined : rulesOf(world, document).uso_regimes[document.uso_cfdi]
  const regime = document.receptor_regimen_fiscal
  return isInvoice(world, document) && regimes !== undefined && regime !== null && !regimes.includes(regime)
}

const is69 = ({ source }: { source: string }) => ['sat_69_no_localizados', 'sat_69_firmes', 'sat_69_exigibles'].includes(source)

/** Each flag as a question about a document. */
export const FLAGS: Record<string, Flag> = {
  counterparty_69b_definitivo: onList(({ source, situacion }) => source === 'sat_69b' && situacion === 'definitivo'),
  counterparty_69b_presunto: onList(({ source, situacion }) => source === 'sat_69b' && situacion === 'presunto'),
  counterparty_69b_bis: onList(({ source }) => source === 'sat_69b_bis'),
  csd_sin_efectos: onList(({ source }) => source === 'sat_csd_sin_efectos'),
  counterparty_69: onList(is69),
  cancelled_after_payment: cancelledAfterPayment,
  cancellation_in_process: (_, { estatus, estatus_cancelacion }) => estatus !== 'cancelado' && estatus_cancelacion === 'en_proceso',
  sat_not_found: satNotFound,
  ppd_missing_complement: ppdMissingComplement,
  complement_late: complementLate,
  complement_cancelled: complementCancelled,
  pue_forma_99: (world, one) => isInvoice(world, one) && one.metodo_pago === 'PUE' && one.forma_pago === '99',
  ppd_forma_not_99: (world, one) =>
    isInvoice(world, one) && one.metodo_pago === 'PPD' && one.forma_pago !== null && one.forma_pago !== '99',
  cash_over_2000: cashOver,
  cash_in_parts: cashInParts,
  withholding_missing: withholdingMissing,
  repse_not_valid_at_payment: repseNotValid,
  substituted_not_cancelled: (_, { is_substituted }) => is_substituted,
  receptor_regimen_uso_invalid: usoInvalid,
  metadata_only: (_, { has_xml }) => !has_xml,
}

export function levelOf(world: World, score: number): Level {
  const { risk_levels } = world.rules(world.today)
  if (score >= risk_levels.critical) return 'critical'
  if (score >= risk_levels.high) return 'high'
  return score >= risk_levels.medium ? 'medium' : 'low'
}

export interface RiskQuery extends Range {
  direction?: Direction
  level?: Level[]
  code?: string[]
  min_total?: string
}

type Row = Pick<RiskRow, 'uuid' | 'score' | 'level' | 'total_mxn'> & {
  flags: Pick<RiskRow['flags'][number], 'code' | 'weight' | 'severity'>[]
}

/** All rows of GET /v1/cfdi/risk, in their order. */
export function riskOf(world: World, query: RiskQuery): Row[] {
  const isDuplicate = duplicateSuspected(world, query)
  const rows = world.documents
    .filter(
      (one) =>
        one.kind === 'cfdi' &&
        !isToItself(one) &&
        within(query, dayOf(one.fecha)) &&
        (query.direction === undefined || one.direction === query.direction),
    )
    .map((one) => {
      const codes = Object.keys(world.rules(world.today).risk_weights).filter((code) =>
        code === 'duplicate_suspected' ? isDuplicate(one) : FLAGS[code]!(world, one),
      )
      const weight = (code: string) => world.rules(world.today).risk_weights[code]!
      const score = Math.min(
        100,
        codes.map(weight).reduce((all, points) => all + points, 0),
      )
      const rate = rateOf(world, one)
      const pesos = rate === null ? null : inPesos(world, one, micros(one.total))
      const flags = codes.map((code) => ({ code, weight: weight(code), severity: levelOf(world, weight(code)) }))
      return { uuid: one.uuid, score, level: levelOf(world, score), pesos, flags }
    })
    .filter(
      ({ flags, level, pesos }) =>
        flags.length > 0 &&
        (query.level === undefined || query.level.includes(level)) &&
        (query.code === undefined || flags.some(({ code }) => query.code!.includes(code))) &&
        (query.min_total === undefined || (pesos !== null && pesos >= micros(query.min_total))),
    )
  const key = ({ score, pesos, uuid }: (typeof rows)[number]) => [-score, pesos === null ? 1 : 0, -(pesos ?? 0n), uuid]
  return rows
    .sort((a, b) => compare(key(a), key(b)))
    .map(({ pesos, ...row }) => ({ ...row, total_mxn: pesos === null ? null : money(pesos) }))
}
