import type { Rules, RuleValues } from '../../authority/rules/dated.ts'
import { type WithholdingClass, withholdingClassOf } from '../../authority/rules/withholding-classes.ts'
import { mainKeyOf } from '../../cfdi/products.ts'
import { publishedOn } from '../../lists/catalog.ts'
import type { Listing } from '../../lists/listings/listing.ts'
import type { Ctx } from '../../platform/context.ts'
import { readAll } from '../../platform/db/statement.ts'
import { decimal, type Micros, micros, ratioOf } from '../../platform/money.ts'
import { type CursorScope, openCursor, paginate } from '../../platform/paging/cursor.ts'
import { offsetText } from '../../platform/time/months.ts'
import { DIRECTION_NAMES } from '../../taxpayers/visibility/window.ts'
import type { Basis, EntriesPage } from '../common/contract.ts'
import { pageOfLeftOut } from '../common/figures.ts'
import { aggregateOf, type Insight, inPesos, linksOf, openInsight, qualityLinks, ratesOf } from '../common/insight.ts'
import { REPSE_NOTE } from '../common/omitted.ts'
import { LEVELS, type Level, type Risk, type RiskEntriesQuery, type RiskQuery, type RiskRow } from './contract.ts'
import { bitOf, FLAG_CODES, type FlagCode, type Related } from './flags.ts'
import { LISTS, type Sets, setsOf } from './sets.ts'
import { type Chosen, padded, type RiskPosition, type RiskyDocument, riskStatements, scoreOf, supplierStatements } from './store.ts'

const part = (of: Micros, { numerator, denominator }: { numerator: number; denominator: number }): Micros | null => {
  const expected = ratioOf(of * BigInt(numerator), String(denominator))
  return expected > 0n ? expected : null
}

/** The withholdings of a class from a net amount and its IVA. Null for none. */
const expectedOf = ({ isr, iva }: WithholdingClass, net: Micros, transferred: Micros) => ({
  isr: isr && part(net, isr),
  iva: iva && part(iva.of === 'net' ? net : transferred, iva),
})

type Evidence = Record<string, unknown>
interface Known extends Pick<Sets, 'listings' | 'lapsed'> {
  rules: Rules
  today: string
}

/** The listing behind a flag: its first publication, that of its situation in the Diario Oficial, and whether the document is older. */
const listed =
  (set: keyof typeof LISTS) =>
  ({ counterparty_rfc, fecha }: RiskyDocument, { listings }: Known): Evidence => {
    const hit = listings.get(counterparty_rfc)?.find((one: Listing) => one.is_active && LISTS[set](one))
    if (!hit) return {}
    const first = hit.history.find(({ situacion }) => situacion === 'presunto' || situacion === 'definitivo') ?? hit.history[0]
    const since = (first && publishedOn(first)) ?? hit.since
    return {
      ...{ source: hit.source, situacion: hit.situacion, listed_at: since, dof_at: hit.published_dof_at },
      issued_before_listing: since === null ? null : fecha.slice(0, 10) < since,
    }
  }

const pick =
  <Name extends keyof RiskyDocument>(...names: Name[]) =>
  (row: RiskyDocument): Evidence =>
    Object.fromEntries(names.map((name) => [name, row[name]]))

/** The UUIDs of other documents. */
const uuids =
  (name: string, column: keyof Related) =>
  (row: RiskyDocument): Evidence => ({ [name]: (JSON.parse(row[column] ?? '[]') as string[]).sort() })

/** The message of each flag, the provision behind it, and its evidence. */
const SAID: Record<FlagCode, readonly [message: string, rule_ref: string, evidence: (row: RiskyDocument, known: Known) => Evidence]> = {
  counterparty_69b_definitivo: ['The counterparty is definitively on the list of article 69-B.', 'CFF 69-B', listed('list_definitivo')],
  counterparty_69b_presunto: ['The counterparty is presumed to invoice operations that do not exist.', 'CFF 69-B', listed('list_presunto')],
  counterparty_69b_bis: ['The counterparty is on the list of article 69-B Bis.', 'CFF 69-B Bis', listed('list_bis')],
  csd_sin_efectos: ['The authority left the counterparty’s seal certificates without effect.', 'CFF 17-H', listed('list_csd')],
  counterparty_69: ['The counterparty is on a list of article 69.', 'CFF 69', listed('list_69')],
  cancelled_after_payment: [
    'The invoice was cancelled although it was paid or counted as income.',
    'CFF 29-A',
    pick('metodo_pago', 'cancelled_at', 'cancellation_reason', 'folio_sustitucion'),
  ],
  cancellation_in_process: ['The receiver has not answered a request for cancellation yet.', 'CFF 29-A', () => ({})],
  sat_not_found: ['The authority does not find the document.', 'CFF 29', pick('certified_at')],
  ppd_missing_complement: [
    'A balance is open, and no complement has paid it in time.',
    'RMF 2.7.1.32',
    ({ fecha }, { today }) => ({ age_days: (Date.parse(today) - Date.parse(fecha.slice(0, 10))) / 86_400_000 }),
  ],
  complement_late: ['The complement was stamped after its due day.', 'RMF 2.7.1.32', pick('first_paid_on', 'certified_at')],
  complement_cancelled: [
    'A complement that paid the invoice was cancelled, and its balance is open again.',
    'RMF 2.7.1.32',
    uuids('cancelled_complements', 'cancelled_complements'),
  ],
  pue_forma_99: ['An invoice that is paid at once must state how.', 'Anexo 20', pick('metodo_pago', 'forma_pago')],
  ppd_forma_not_99: ['An invoice that is paid later must state the form 99.', 'Anexo 20', pick('metodo_pago', 'forma_pago')],
  cash_over_2000: [
    'It was paid in cash, above the limit up to which cash can be deducted.',
    'LISR 27-III',
    ({ fecha, forma_pago, pesos }, { rules }) => ({
      forma_pago,
      total_mxn: decimal(BigInt(pesos)),
      limit: decimal(micros(rules.on(fecha.slice(0, 10)).get('cash.threshold'))!),
    }),
  ],
  cash_in_parts: [
    'Several payments in cash, each within the limit, pay an invoice that is above it.',
    'LISR 27-III',
    ({ fecha, pesos }, { rules }) => ({
      total_mxn: decimal(BigInt(pesos)),
      limit: decimal(micros(rules.on(fecha.slice(0, 10)).get('cash.threshold'))!),
    }),
  ],
  withholding_missing: ['What is withheld differs from what its class requires.', 'LISR 106, 116; RLIVA 3', withheld],
  repse_not_valid_at_payment: [
    'The supplier had no valid REPSE registration when it was paid.',
    'LFT 15; LISR 27-V',
    ({ counterparty_rfc }, { lapsed }) => {
      const one = lapsed.get(counterparty_rfc)
      return { is_registered: one?.is_registered === 1, vigencia_hasta: one?.vigencia_hasta ?? null }
    },
  ],
  duplicate_suspected: [
    'Another invoice of the day has the same parties, total and currency.',
    'LISR 27-XVIII',
    ({ fecha, twin }) => ({ day: fecha.slice(0, 10), uuid: twin }),
  ],
  substituted_not_cancelled: [
    'A newer document substitutes it, but it is not cancelled.',
    'CFF 29-A',
    uuids('substituted_by', 'substitutes'),
  ],
  receptor_regimen_uso_invalid: ['The use is not open to the receiver’s regime.', 'c_UsoCFDI', pick('uso_cfdi', 'receptor_regimen_fiscal')],
  metadata_only: ['Only metadata is known: its XML was not downloaded.', 'CFF 30', pick('estatus', 'certified_at')],
}

/** The expected and the stated withholdings of an invoice, in its currency. */
function withheld(row: RiskyDocument, { rules: all }: Known): Evidence {
  const rules = all.on(row.fecha.slice(0, 10))
  const clave = mainKeyOf(row.products)
  const found = withholdingClassOf(rules, { isPerson: row.emisor_rfc.length === 13, regimen: row.emisor_regimen_fiscal, clave })
  if (found === null) return {}
  const net = (micros(row.subtotal) ?? 0n) - (micros(row.descuento) ?? 0n)
  const { isr, iva } = expectedOf(found, net, BigInt(row.iva_trasladado ?? 0))
  return {
    ...{ concept_class: found.class, expected_isr: isr === null ? null : decimal(isr), expected_iva: iva === null ? null : decimal(iva) },
    ...{ isr_retenido: decimal(row.isr_retenido ?? '0'), iva_retenido: decimal(row.iva_retenido ?? '0') },
  }
}

/** The codes of a mask with what each says. */
const saidOf = (row: RiskyDocument, known: Known) =>
  FLAG_CODES.filter((code) => (row.mask & bitOf(code)) !== 0).map((code) => {
    const [message, rule_ref, evidence] = SAID[code]
    return { code, message, rule_ref, evidence: evidence(row, known) }
  })

const PATH = 'cfdi/risk'

const BASIS: Omit<Basis, 'rules'> = {
  formulas: { score: 'min(most of risk.levels, Σ risk.weights of its flags)', level: 'by the least scores of risk.levels' },
  notes: [
    'Weights and levels are proposed. Lists and the REPSE registry are read as they are today.',
    'Cancelled documents are among the rows: metadata_only is said of them too, while data_quality.without_xml counts valid ones alone.',
    REPSE_NOTE,
    'cancellation_in_process and sat_not_found rest on what the authority last answered to your status checks.',
  ],
}

type Levels = RuleValues['risk.levels']
const leastOf = (levels: Levels, level: Level): number => (level === 'low' ? 0 : levels[level])
const levelOf = (levels: Levels, score: number): Level => LEVELS.findLast((level) => score >= leastOf(levels, level))!

function chosenOf({ level, code, min_total }: RiskQuery, levels: Levels): Chosen {
  const above = (one: Level) => LEVELS[LEVELS.indexOf(one) + 1]
  return {
    scores: level?.map((one) => [leastOf(levels, one), above(one) ? leastOf(levels, above(one)!) : levels.most + 1] as const) ?? null,
    codes: code ?? null,
    min_total: min_total === undefined ? null : micros(min_total)!.toString(),
  }
}

const isBefore = ([score, pesos, uuid]: RiskPosition, [other, others, than]: RiskPosition): boolean =>
  score !== other ? score > other : pesos !== others ? pesos > others : uuid < than
const positionOf = ({ score, pesos, uuid }: RiskyDocument): RiskPosition => [score, pesos, uuid]

const isChosen = ({ score, mask, pesos }: RiskyDocument, { scores, codes, min_total }: Chosen): boolean =>
  mask !== 0 &&
  (scores === null || scores.some(([least, below]) => score >= least && score < below)) &&
  (codes === null || codes.some((code) => (mask & bitOf(code)) !== 0)) &&
  (min_total === null || pesos >= padded(min_total))

/** Gives documents without a stated exchange rate their total at the published one, and the flag of cash that depends on it. */
async function rated({ ctx, rules }: Insight, rows: readonly RiskyDocument[]): Promise<{ rows: RiskyDocument[]; dof_rate: number }> {
  const unrated = rows.filter((one) => one.unrated === 1)
  const rates = await ratesOf(
    ctx,
    unrated.map(({ currency, fecha }) => ({ currency: currency!, day: fecha.slice(0, 10) })),
  )
  const limitOn = (fecha: string) => micros(rules.on(fecha.slice(0, 10)).get('cash.threshold'))!
  let dof_rate = 0
  const found = unrated.map((row, n): RiskyDocument => {
    const pesos = inPesos(BigInt(row.total_micros ?? 0), rates[n] ?? null)
    if (pesos === null) return row
    dof_rate += row.counts
    const isCash =
      row.counts === 1 &&
      row.direction === 1 &&
      row.tipo_comprobante === 'I' &&
      row.metodo_pago !== 'PPD' &&
      row.forma_pago === '01' &&
      pesos > limitOn(row.fecha)
    const mask = row.mask | (isCash ? bitOf('cash_over_2000') : 0)
    return { ...row, mask, pesos: padded(pesos.toString()), score: scoreOf(mask, rules.get('risk.weights'), rules.get('risk.levels').most) }
  })
  return { rows: [...rows.filter((one) => one.unrated === 0), ...found], dof_rate }
}

/**
 * Returns the documents of a range with flags, the worst first. At most six D1 calls with authentication. Throws Failure 404, 422
 * range.invalid and 400 for a foreign cursor.
 */
export async function getRisk(ctx: Ctx, query: RiskQuery): Promise<Risk> {
  const insight = await openInsight(ctx, query)
  const { ledger, rules, today } = insight
  const { limit, cursor, direction } = query
  const scope: CursorScope = { list: PATH, filters: { ...query, fiscal_entity_id: ledger.fiscal_entity_id } }
  const after = (await openCursor(ctx, scope, cursor)) as RiskPosition | undefined
  const { found, envelope } = await aggregateOf(insight, direction === 'issued' ? [] : supplierStatements(ledger, insight.span))
  const suppliers = new Set((found.flat() as { rfc: string }[]).map(({ rfc }) => rfc))
  const sets = await setsOf(insight, [...suppliers])
  const levels = rules.get('risk.levels')
  const chosen = chosenOf(query, levels)
  const read = await readAll<RiskyDocument>(ledger.d1, riskStatements(insight, sets, chosen, after, limit + 1))
  const { rows, dof_rate } = await rated(insight, read)
  const shown = rows
    .filter((one) => one.unrated === 0 || (isChosen(one, chosen) && (after === undefined || isBefore(after, positionOf(one)))))
    .sort((a, b) => (isBefore(positionOf(a), positionOf(b)) ? -1 : 1))
  const known = { ...sets, rules, today }
  const page = await paginate(ctx, scope, limit, shown, positionOf, (row) => rowOf(row, known))
  const links = linksOf(insight, PATH, direction ? { direction } : {})
  return {
    ...envelope(BASIS, rules, {
      dof_rate,
      repse_unknown: direction === 'issued' ? null : sets.repse_unknown,
      drilldown: qualityLinks(links),
    }),
    ...page,
  }
}

function rowOf(row: RiskyDocument, known: Known): RiskRow {
  const [levels, weights] = [known.rules.get('risk.levels'), known.rules.get('risk.weights')]
  const { uuid, direction, tipo_comprobante, issued_at, utc_offset, counterparty_rfc, total, currency, pesos, score } = row
  const local = new Date((issued_at + utc_offset * 60) * 1_000).toISOString().slice(0, 19)
  return {
    ...{ uuid, direction: DIRECTION_NAMES[direction], tipo_comprobante, issued_at: `${local}${offsetText(utc_offset)}`, counterparty_rfc },
    counterparty_name: direction === 0 ? row.receptor_nombre : row.emisor_nombre,
    ...{ total, currency, total_mxn: pesos === '' ? null : decimal(BigInt(pesos)), score, level: levelOf(levels, score) },
    flags: saidOf(row, known).map(({ code, ...said }) => ({
      ...{ code, weight: weights[code], severity: levelOf(levels, weights[code]) },
      ...said,
    })),
  }
}

/** Returns a page of the documents that `data_quality` counts. Throws Failure as `getRisk` does. */
export const getRiskEntries = async (ctx: Ctx, query: RiskEntriesQuery): Promise<EntriesPage> =>
  pageOfLeftOut(await openInsight(ctx, query), PATH, query)
