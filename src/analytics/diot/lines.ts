import type { RuleValues } from '../../authority/rules/dated.ts'
import { type Micros, micros, decimal as money, product, quotient, sumAll } from '../../platform/money.ts'
import { isRfc } from '../../taxpayers/rfc.ts'

/** What a purchase is used for: taxed sales, all sales by the proportion, exempt ones, or what is not subject to IVA. */
export const USES = ['taxed', 'proportion', 'exempt', 'no_object'] as const
export type PurchaseUse = (typeof USES)[number]

/** The kinds of operation of suppliers that are not grouped. */
export const OPERATIONS = ['02', '03', '06', '07', '08', '85'] as const

/** What CFDIs cannot tell of a supplier. Null: nobody has said it. */
export interface SupplierSettings {
  tipo_tercero: '04' | '05' | '15' | null
  tipo_operacion: (typeof OPERATIONS)[number] | null
  use: PurchaseUse | null
  region: 'norte' | 'sur' | null
  tax_id: string | null
  name: string | null
  country: string | null
  jurisdiction: string | null
  manifest: '01' | '02' | null
}
export const NOTHING_SET: SupplierSettings = {
  ...{ tipo_tercero: null, tipo_operacion: null, use: null, region: null, tax_id: null, name: null },
  ...{ country: null, jurisdiction: null, manifest: null },
}

/** What is wrong with a line, or not known of it, the gravest first. */
export const LINE_FINDINGS = [
  ...(['rfc_malformed', 'foreign_data_missing', 'pair_not_allowed', 'returns_exceed_paid', 'negative_amount', 'iva_above_rate'] as const),
  ...(['region_unknown', 'other_rate', 'sin_traslado', 'import_field'] as const),
]

/** What the file does not have of an exact figure, or has as a guess. */
export interface LineFinding {
  code: (typeof LINE_FINDINGS)[number]
  field: number | null
  /** What the field leaves out of its exact figure, in micros; null where it leaves out nothing. */
  amount: Micros | null
  /** The figure of the VAT position that has the documents. */
  figure: string | null
}

/** A line of the file: a third party and a kind of operation. */
export interface DiotLine {
  tipo_tercero: '04' | '05' | '15'
  tipo_operacion: string
  rfc: string | null
  name: string | null
  /** The 54 fields as the file has them. */
  fields: readonly string[]
  /** The exact amount of each field that has one, before it is rounded, in micros. */
  exact: ReadonlyMap<number, Micros>
  findings: readonly LineFinding[]
  /** What nobody has said, and is supposed. */
  supposed: readonly ('tipo_operacion' | 'use' | 'manifest')[]
}

/** The first and the last of the fields with amounts. */
export const AMOUNTS = { first: 8, last: 53 } as const
const PESO = 1_000_000n

/** The fields of a group of acts: what was paid and returned; the IVA that is credited, and that is not, by the use of the purchase. */
const group = (paid: number, credited: number, lost: number) => ({
  ...{ paid, returned: paid + 1, taxed: credited, proportion: credited + 1 },
  ...{ lost: lost, requirements: lost + 1, exempt: lost + 2, no_object: lost + 3 },
})
export const GROUPS = {
  norte: group(8, 18, 28),
  sur: group(10, 20, 32),
  general: group(12, 22, 36),
  tangibles: group(14, 24, 40),
  intangibles: group(16, 26, 44),
} as const
type Group = (typeof GROUPS)[keyof typeof GROUPS]

/** The fields of a group that have IVA. */
export const ivaFields = ({ taxed, proportion, lost, requirements, exempt, no_object }: Group): number[] => [
  ...[taxed, proportion, lost, requirements, exempt, no_object],
]

/** A row of the DIOT, with its figures by name, and the use of what was bought. */
export interface UsedRow {
  readonly [figure: string]: string | null
  rfc: string | null
  name: string | null
  tipo_tercero: '04' | '05' | '15'
  tipo_operacion: string
  use: PurchaseUse
}

export interface LineRules {
  file: RuleValues['diot.file']
  general: string
  border: string
  /** The proportion of LIVA 5-V, in millionths. */
  proportion: Micros
}

/** An amount in whole pesos. */
const whole = (amount: Micros, half: 'up' | 'down'): bigint => (half === 'up' ? quotient(amount, PESO) : quotient(amount - 1n, PESO))

/** A line while it is made. */
class LineDraft {
  readonly exact = new Map<number, Micros>()
  readonly pesos = new Map<number, bigint>()
  readonly findings: LineFinding[] = []
  readonly #rules: LineRules

  constructor(rules: LineRules) {
    this.#rules = rules
  }

  find(code: LineFinding['code'], field: number | null, amount: Micros | null = null, figure: string | null = null): void {
    this.findings.push({ code, field, amount, figure })
  }

  /** Writes an amount into a field. The file has none below zero. */
  write(field: number, amount: Micros, figure: string): void {
    if (amount < 0n) this.find('negative_amount', field, amount, figure)
    if (amount <= 0n) return
    this.exact.set(field, amount)
    this.pesos.set(field, whole(amount, this.#rules.file.half))
  }

  /** Writes a group of acts at a rate: no more is returned than was paid, and there is no more IVA than the rate of what remains. */
  writeGroup(of: Group, paid: Micros, returned: Micros, iva: ReadonlyMap<number, Micros>, rate: string, suffix: string): void {
    const [base, tax] = [`pagado.base_${suffix}`, `pagado.iva_${suffix}`]
    const most = paid < 0n ? 0n : paid
    if (returned > most) this.find('returns_exceed_paid', of.returned, returned - most, base)
    this.write(of.paid, paid, base)
    this.write(of.returned, returned < most ? returned : most, base)
    for (const [field, amount] of iva) this.write(field, amount, tax)
    this.#limit(of, rate, tax)
  }

  #limit(of: Group, rate: string, figure: string): void {
    const pesos = (field: number) => this.pesos.get(field) ?? 0n
    const fields = ivaFields(of).filter((field) => this.pesos.has(field))
    let over = sumAll(fields.map(pesos)) - product(pesos(of.paid) - pesos(of.returned), rate)
    const take = (field: number, many: bigint): void => {
      this.pesos.set(field, pesos(field) - many)
      over -= many
    }
    // Rounding alone can exceed the limit by the pesos that were rounded up.
    const raised = (field: number) => pesos(field) * PESO - this.exact.get(field)!
    for (const field of fields.toSorted((a, b) => (raised(a) > raised(b) ? -1 : 1))) if (over > 0n && raised(field) > 0n) take(field, 1n)
    for (const field of fields.toSorted((a, b) => (pesos(a) > pesos(b) ? -1 : 1))) {
      const many = over < pesos(field) ? over : pesos(field)
      if (many <= 0n) continue
      take(field, many)
      this.find('iva_above_rate', field, many * PESO, figure)
    }
  }
}

const amountIn = (rows: readonly UsedRow[], name: string): Micros => sumAll(rows.map((row) => micros(row[name] ?? null)!))

/** The IVA of a rate by the fields of a group. `suffix` names its figures. */
function ivaIn(rows: readonly UsedRow[], of: Group, suffix: string, proportion: Micros): Map<number, Micros> {
  const found = new Map<number, Micros>()
  const add = (field: number, amount: Micros) => void found.set(field, (found.get(field) ?? 0n) + amount)
  for (const row of rows) {
    const iva = amountIn([row], `acreditable_iva_${suffix}`)
    const credited = row.use === 'proportion' ? quotient(iva * proportion, PESO) : iva
    add(of[row.use], credited)
    add(of.lost, iva - credited)
    add(of.requirements, amountIn([row], `no_acreditable_iva_${suffix}`))
  }
  return found
}

/** Makes the line of a third party and kind of operation. */
export function lineOf(rows: readonly UsedRow[], settings: SupplierSettings, isUseSet: boolean, rules: LineRules): DiotLine {
  const { file, general, border, proportion } = rules
  const [row] = rows as [UsedRow]
  const tipo_tercero = settings.tipo_tercero ?? row.tipo_tercero
  const { tipo_operacion, rfc } = row
  const draft = new LineDraft(rules)
  const amount = (name: string) => amountIn(rows, name)
  const isForeign = tipo_tercero === '05'
  const imported = file.imports[tipo_operacion]

  const of = GROUPS[imported ?? 'general']
  draft.writeGroup(of, amount('base_16'), amount('devuelto_base_16'), ivaIn(rows, of, '16', proportion), general, '16')
  if (imported !== undefined) draft.find('import_field', of.paid)
  for (const region of ['norte', 'sur'] as const) {
    const [group, suffix] = [GROUPS[region], `8_${region}`]
    const iva = ivaIn(rows, group, suffix, proportion)
    draft.writeGroup(group, amount(`base_${suffix}`), amount(`devuelto_base_${suffix}`), iva, border, '8')
  }
  draft.write(48, amount('iva_retenido'), 'pagado.retenido_a_terceros')
  draft.write(imported === undefined ? 50 : 49, amount('base_exento'), 'pagado.base_exento')
  draft.write(51, amount('base_0'), 'pagado.base_0')
  draft.write(isForeign ? 53 : 52, amount('base_no_objeto'), 'pagado.base_no_objeto')

  const leaveOut = (code: LineFinding['code'], left: Micros, figure: string, field: number | null = null) => {
    if (left !== 0n) draft.find(code, field, left, figure)
  }
  leaveOut('region_unknown', amount('base_8') - amount('base_8_norte') - amount('base_8_sur'), 'pagado.base_8')
  leaveOut('other_rate', amount('base_otras'), 'pagado.base_otras')
  leaveOut('sin_traslado', amount('base_sin_traslado'), 'pagado.base_sin_traslado', 52)

  if (!file.operaciones[tipo_tercero].includes(tipo_operacion)) draft.find('pair_not_allowed', 2)
  if (tipo_tercero === '04' && !isRfc(rfc ?? '')) draft.find('rfc_malformed', 3)
  const { tax_id, name, country, jurisdiction } = isForeign ? settings : NOTHING_SET
  const identity = [tax_id, name, country, country === 'ZZZ' ? jurisdiction : ''] as const
  if (isForeign) for (const [n, value] of identity.entries()) if (value === null) draft.find('foreign_data_missing', 4 + n)

  const filer = tipo_tercero === '15' ? file.global_rfc : isForeign ? '' : (rfc ?? '')
  const amounts = Array.from({ length: AMOUNTS.last - AMOUNTS.first + 1 }, (_, n) => draft.pesos.get(AMOUNTS.first + n) ?? 0n)
  const supposed = [
    ...(settings.tipo_operacion === null && tipo_tercero !== '15' ? ['tipo_operacion' as const] : []),
    ...(isUseSet ? [] : ['use' as const]),
    ...(settings.manifest === null ? ['manifest' as const] : []),
  ]
  return {
    ...{ tipo_tercero, tipo_operacion, rfc, name: row.name, supposed, exact: draft.exact },
    fields: [
      ...[tipo_tercero, tipo_operacion, filer, ...identity.map((value) => value ?? '')],
      ...amounts.map((pesos) => (pesos === 0n ? '' : String(pesos))),
      settings.manifest ?? file.manifest,
    ],
    findings: draft.findings.toSorted((a, b) => LINE_FINDINGS.indexOf(a.code) - LINE_FINDINGS.indexOf(b.code)),
  }
}

/** Whether the file has the line: one without amounts says nothing. */
export const isFiled = ({ fields }: DiotLine): boolean => fields.slice(AMOUNTS.first - 1, AMOUNTS.last).some((text) => text !== '')

/** The file: a line for each third party and kind of operation. */
export const fileOf = (lines: readonly DiotLine[]): string => lines.map(({ fields }) => `${fields.join('|')}\r\n`).join('')

/** The sum of some fields of the file in pesos, with the sign of each, and of the exact amounts behind them. */
export function columnsOf(lines: readonly DiotLine[], signed: readonly (readonly [sign: 1 | -1, field: number])[]) {
  const sum = (of: (line: DiotLine, field: number) => Micros): Micros =>
    sumAll(lines.flatMap((line) => signed.map(([sign, field]) => BigInt(sign) * of(line, field))))
  return {
    file: sum(({ fields }, field) => BigInt(fields[field - 1] || 0) * PESO),
    exact: sum(({ exact }, field) => exact.get(field) ?? 0n),
  }
}

/** Formats the exact amounts of a line by field. */
export const exactIn = ({ exact }: DiotLine): Record<string, string> =>
  Object.fromEntries([...exact].sort(([a], [b]) => a - b).map(([field, amount]) => [field, money(amount)]))
