import type { Ctx } from '../../platform/context.ts'
import { Failure, invalid } from '../../platform/failures.ts'
import { limitReadings } from '../../platform/locks/readings.ts'
import { micros, decimal as money, shifted } from '../../platform/money.ts'
import { openCursor, sealCursor } from '../../platform/paging/cursor.ts'
import { dayOfEpoch, epochDayOf } from '../../platform/time/calendar.ts'
import { addMonths, centralDayOf } from '../../platform/time/months.ts'
import { DIRECTION_NAMES } from '../../taxpayers/visibility/window.ts'
import type { Basis } from '../common/contract.ts'
import { type Insight, openInsight } from '../common/insight.ts'
import { readCash } from '../reports/parts/month.ts'
import { CREDITS_OF_UNPAID, type VatMonth } from '../vat/contract.ts'
import { shownIn } from '../vat/position.ts'
import { vatPositionOf } from '../vat/vat.ts'
import type { DiotCheck, DiotCheckQuery, DiotFileQuery } from './contract.ts'
import {
  columnsOf,
  type DiotLine,
  exactIn,
  fileOf,
  GROUPS,
  isFiled,
  ivaFields,
  type LineFinding,
  lineOf,
  NOTHING_SET,
  type PurchaseUse,
  USES,
  type UsedRow,
} from './lines.ts'
import { definitiveAmong, diot } from './rows.ts'
import { readSettings, usesIn } from './settings.ts'

/** What the file is made of. */
interface Reading {
  insight: Insight
  month: string
  position: VatMonth
  data_quality: DiotCheck['data_quality']
  proportion: DiotCheck['proportion']
  lines: DiotLine[]
  incomplete: DiotCheck['incomplete']
}

const keyOf = ({ rfc, tipo_operacion }: Pick<DiotLine, 'rfc' | 'tipo_operacion'>): string => `${rfc ?? ''}|${tipo_operacion}`

/**
 * Reads the operations of a month, its VAT position and the settings. At most twelve D1 calls with authentication. Throws Failure 404 without
 * a readable connection, and 422 range.invalid before the first month of the file and for one that has not begun.
 */
async function readMonth(ctx: Ctx, month: string): Promise<Reading> {
  const insight = await openInsight(ctx, { from: month, to: month })
  const { ledger, today } = insight
  const dated = insight.rules.in('month', `${month}-01`)
  const file = dated.get('diot.file')
  assertMonth(month, file.first_month, today.slice(0, 7))
  const settings = await readSettings(ctx)
  const choices = { terceros: 'include', no_objeto: 'not_taxed', prorrateo: settings.proportion ?? undefined } as const
  const { data, data_quality: quality } = await vatPositionOf(insight, choices, usesIn(settings))
  const [position] = data as [VatMonth]
  const { [CREDITS_OF_UNPAID]: _, ...data_quality } = quality
  const value = settings.proportion ?? position.prorrateo ?? '1'
  const source = settings.proportion === null ? (position.prorrateo === null ? 'unknown' : 'computed') : 'set'
  const supposed = shifted(value, 6) === shifted('1', 6) ? 'taxed' : 'proportion'

  const own = (rfc: string) => settings.suppliers.get(rfc) ?? NOTHING_SET
  const cells = (await limitReadings(ctx, () => readCash({ system: ctx, ...insight }, month))).map((cell) => {
    const { tipo_operacion, region } = own(String(cell.rfc))
    return { ...cell, of: month, operacion: tipo_operacion ?? cell.operacion, region: cell.region || (region ?? '') }
  })
  const setUse = (rfc: string) => own(rfc).use ?? settings.default_use
  const global = [...settings.suppliers].flatMap(([rfc, { tipo_tercero }]) => (tipo_tercero === '15' ? [rfc] : []))
  const definitive = await definitiveAmong(ctx, cells, today)
  const rowsFor = (use: PurchaseUse) =>
    diot(
      cells.filter(({ rfc }) => (setUse(String(rfc)) ?? supposed) === use),
      definitive,
      global,
    ).map((row): UsedRow => ({ ...row, use }))
  const rules = { file, general: dated.get('vat.general'), border: dated.get('vat.border'), proportion: shifted(value, 6) }
  const isUseSet = (rfc: string | null) => (rfc === null ? global.every((one) => setUse(one) !== null) : setUse(rfc) !== null)
  const lines = [...Map.groupBy(USES.flatMap(rowsFor), keyOf)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, rows]) => {
      const [{ rfc }] = rows as [UsedRow]
      return lineOf(rows, rfc === null ? NOTHING_SET : own(rfc), isUseSet(rfc), rules)
    })
    .filter((line) => isFiled(line) || line.findings.length > 0)
  const isByProportion = [...settings.suppliers.values(), { use: settings.default_use ?? 'proportion' }].some(
    (one) => one.use === 'proportion',
  )
  const needed = source === 'set' || !isByProportion ? ['received' as const] : DIRECTION_NAMES
  const incomplete = needed.flatMap((direction) => {
    const data_status = position.data_status[direction]
    const { isPartial } = shownIn(ledger.windows[direction], month, ctx.now.getTime())
    const isWhole = month < today.slice(0, 7) && (data_status === 'imported' || (data_status === 'complete' && !isPartial))
    return isWhole ? [] : [{ month, direction, data_status }]
  })
  return { insight, month, position, data_quality, proportion: { value, source }, lines, incomplete }
}

function assertMonth(month: string, first: string, last: string): void {
  const fault = (message: string) => invalid('range.invalid', [{ path: 'month', message }])
  if (month < first) throw fault(`Must not be before ${first}: the file of earlier months had another layout.`)
  if (month > last) throw fault(`Must not be after the current month, ${last}.`)
}

const nameOf = ({ ledger: { rfc } }: Insight, month: string): string =>
  `DIOT_${rfc.replace(/[^A-Z\d]/g, '_')}_${month.replace('-', '')}.txt`

/** Returns the file of a month. Throws Failure 409 diot.month_incomplete, unless it is asked for all the same. */
export async function getDiotFile(ctx: Ctx, { month, incomplete }: DiotFileQuery): Promise<{ text: string; name: string }> {
  const reading = await readMonth(ctx, month)
  if (incomplete === 'refuse' && reading.incomplete.length > 0) throw notComplete(reading)
  return { text: fileOf(reading.lines.filter(isFiled)), name: nameOf(reading.insight, month) }
}

const STATES = {
  complete: 'are not shown whole, or the month is not over',
  imported: 'are those of a month that is not over',
  downloading: 'are being downloaded',
  missing: 'are missing',
} as const

function notComplete({ incomplete }: Reading): Failure {
  const months = incomplete.map(({ month, direction, data_status }) => `${direction} CFDIs of ${month} ${STATES[data_status]}`)
  return new Failure(
    'conflict',
    'diot.month_incomplete',
    `The file would lack operations: ${months.join(', and ')}. Wait for the downloads, or send incomplete=allow to have the file of what is known.`,
  )
}

type Signed = readonly (readonly [1 | -1, number])[]
const plus = (...fields: number[]): Signed => fields.map((field) => [1, field] as const)
const { norte, sur, general, tangibles, intangibles } = GROUPS
const [AT_GENERAL, AT_BORDER] = [
  [general, tangibles, intangibles],
  [norte, sur],
]
const based = (groups: readonly (typeof GROUPS)[keyof typeof GROUPS][]): Signed =>
  groups.flatMap(
    ({ paid, returned }): Signed => [
      [1, paid],
      [-1, returned],
    ],
  )

/** The fields that hold a figure of the VAT position. */
const TIES: readonly (readonly [figure: string, of: (row: VatMonth) => string, fields: Signed])[] = [
  ['pagado.base_16', ({ pagado }) => pagado.base_16, based(AT_GENERAL)],
  ['pagado.iva_16', ({ pagado }) => pagado.iva_16, plus(...AT_GENERAL.flatMap(ivaFields))],
  ['pagado.base_8', ({ pagado }) => pagado.base_8, based(AT_BORDER)],
  ['pagado.iva_8', ({ pagado }) => pagado.iva_8, plus(...AT_BORDER.flatMap(ivaFields))],
  ['pagado.base_0', ({ pagado }) => pagado.base_0, plus(51)],
  ['pagado.base_exento', ({ pagado }) => pagado.base_exento, plus(49, 50)],
  ['pagado.base_no_objeto', ({ pagado }) => pagado.base_no_objeto, plus(52, 53)],
  ['pagado.base_sin_traslado', ({ pagado }) => pagado.base_sin_traslado, []],
  ['pagado.base_otras', ({ pagado }) => pagado.base_otras, []],
  ['pagado.iva_otras', ({ pagado }) => pagado.iva_otras, []],
  ['pagado.retenido_a_terceros', ({ pagado }) => pagado.retenido_a_terceros, plus(48)],
  ['no_deducible_excluded', (row) => row.no_deducible_excluded, plus(...Object.values(GROUPS).map(({ requirements }) => requirements))],
]

/** Amounts of lines are rounded to cents. */
const CENT = 10_000n

function tiesOf({ position, lines }: Reading): DiotCheck['ties'] {
  return TIES.map(([figure, of, fields]) => {
    const { file, exact } = columnsOf(lines, fields)
    const left = micros(of(position))! - exact
    const is_tied = (left < 0n ? -left : left) <= CENT * BigInt(lines.length + 1)
    return {
      ...{ figure, vat_position: of(position), file: money(file), rounding: money(file - exact), left_out: money(left), is_tied },
      drilldown: is_tied ? null : position.drilldown[figure]!,
    }
  })
}

function fileFindings({ insight, month, position, proportion, incomplete }: Reading): DiotCheck['findings'] {
  const { ctx, ledger, rules } = insight
  const { pagos_sin_conciliar: unreconciled, por_revisar, drilldown } = position
  const due = rules.in('month', `${month}-01`).get('rep.due_day')
  // Complements of the last days may be certified up to the end of that day.
  const lastDay = dayOfEpoch(epochDayOf(`${addMonths(month, 1)}-01`) + due - 1)
  const isEarly = centralDayOf(ledger.windows.received.ceiling ?? ctx.now.getTime()) <= lastDay
  const nothing = { amount: null, drilldown: null }
  return [
    ...(incomplete.length > 0 ? [{ code: 'month_incomplete' as const, ...nothing }] : []),
    ...(unreconciled.iva_pagado === '0.00'
      ? []
      : [
          {
            code: 'unreconciled_payments' as const,
            amount: unreconciled.iva_pagado,
            drilldown: drilldown['pagos_sin_conciliar.iva_pagado']!,
          },
        ]),
    ...(proportion.source === 'unknown' ? [{ code: 'proportion_unknown' as const, ...nothing }] : []),
    ...(por_revisar === '0.00' ? [] : [{ code: 'under_review' as const, amount: por_revisar, drilldown: drilldown['por_revisar']! }]),
    ...(isEarly ? [{ code: 'complements_to_come' as const, ...nothing }] : []),
    { code: 'customs_not_covered' as const, ...nothing },
  ]
}

const BASIS: Omit<Basis, 'rules'> = {
  formulas: {
    fields:
      'The figures of the report diot by supplier and kind of operation. IVA that is not excluded: whole where the purchase is for taxed sales, × proportion and the rest not creditable where it is for all, not creditable where it is for exempt sales or for what is not subject to IVA',
    pesos:
      'Each field is rounded to whole pesos, half a peso up; then IVA is lowered to the rate × (what was paid − what was returned) of the line, rounded: diot.file',
    left_out: 'vat_position − (file − rounding)',
  },
  notes: [
    'Imports by customs are in no CFDI of a supplier, nor are purchases from suppliers abroad: add fields 14, 24 and 40 to 43, and lines of foreign suppliers, yourself.',
    'The pairs of third party and operation, the fields of imports, the RFC of global suppliers and half pesos are the dated rule diot.file, which no official text settled: check them with the instructions of the SAT.',
    'What is not subject to IVA (ObjetoImp 01) is in field 52, of foreign suppliers in 53. What is subject and transfers none (02 to 08) is in no field: decide it yourself.',
    'Whether the DIOT is normal or complementary is chosen in the portal of the SAT, and not in the file.',
  ],
}

/** Returns the lines of the file with what is wrong or supposed, and how they tie to the VAT position. Throws what the file throws, but for 409. */
export async function checkDiot(ctx: Ctx, { month, limit, cursor }: DiotCheckQuery): Promise<DiotCheck> {
  const reading = await readMonth(ctx, month)
  const { insight, lines, proportion, incomplete, data_quality } = reading
  const { fiscal_entity_id } = insight.ledger
  const scope = { list: 'reports/diot/check', filters: { fiscal_entity_id, month } }
  const [after] = (await openCursor(ctx, scope, cursor)) ?? []
  const numbers = new Map(lines.filter(isFiled).map((line, n) => [line, n + 1]))
  const rest = after === undefined ? lines : lines.filter((line) => keyOf(line) > String(after))
  const page = rest.slice(0, limit)
  const has_more = rest.length > limit
  const linkOf = (rfc: string | null, { code, figure }: LineFinding) =>
    figure &&
    `/v1/analytics/vat-position/entries?${new URLSearchParams({
      ...{ fiscal_entity_id, period: month, figure, ...(rfc !== null && { rfc }) },
      ...(code === 'region_unknown' && { border_region: 'unknown', returned: 'false' }),
    })}`
  return {
    ...{ fiscal_entity_id, month, file_name: nameOf(insight, month), basis: { rules: insight.rules.basis(), ...BASIS }, data_quality },
    ...{ incomplete, proportion, line_count: numbers.size, findings: fileFindings(reading), ties: tiesOf(reading) },
    data: page.map((line) => {
      const { tipo_tercero, tipo_operacion, rfc, name, fields, supposed, findings } = line
      return {
        ...{ line: numbers.get(line) ?? null, tipo_tercero, tipo_operacion, rfc, name, fields: [...fields] },
        ...{ exact: exactIn(line), supposed: [...supposed] },
        findings: findings.map((one) => ({
          ...{ code: one.code, field: one.field, amount: one.amount === null ? null : money(one.amount), drilldown: linkOf(rfc, one) },
        })),
      }
    }),
    has_more,
    next_cursor: has_more ? await sealCursor(ctx, scope, [keyOf(page.at(-1)!)]) : null,
  }
}
