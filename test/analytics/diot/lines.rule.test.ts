import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import Big from 'big.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import defaults from '../../../assets/rules.json' with { type: 'json' }
import { DiotSupplierDraft } from '../../../src/analytics/diot/contract.ts'
import {
  columnsOf,
  type DiotLine,
  fileOf,
  GROUPS,
  isFiled,
  ivaFields,
  lineOf,
  NOTHING_SET,
  OPERATIONS,
  type SupplierSettings,
  USES,
  type UsedRow,
} from '../../../src/analytics/diot/lines.ts'
import { type RuleRow, Rules } from '../../../src/authority/rules/dated.ts'
import { runs } from '../../support/fuzz.ts'

const october = Rules.of([], defaults as RuleRow[], '2026-10-31')
const rulesWith = (proportion: string) => ({
  ...{ file: october.get('diot.file'), general: '0.16', border: '0.08' },
  proportion: BigInt(new Big(proportion).times(1_000_000).toFixed(0)),
})
const RULES = rulesWith('0.75')
const SUPPLIER = 'EKU9003173C9'

const ZEROS = Object.fromEntries(
  [
    ...['base_16', 'devuelto_base_16', 'acreditable_iva_16', 'no_acreditable_iva_16', 'base_8', 'base_0', 'base_exento', 'base_otras'],
    ...['base_no_objeto', 'base_sin_traslado', 'iva_retenido'],
    ...['norte', 'sur'].flatMap((one) =>
      ['base_8', 'devuelto_base_8', 'acreditable_iva_8', 'no_acreditable_iva_8'].map((name) => `${name}_${one}`),
    ),
  ].map((name) => [name, '0.00']),
)
const HEAD = { rfc: SUPPLIER, name: 'Proveedora', tipo_tercero: '04', tipo_operacion: '85', use: 'taxed' } as const
const row = (amounts: Partial<UsedRow>): UsedRow => ({ ...HEAD, ...ZEROS, ...amounts })
const line = (amounts: Partial<UsedRow>, settings: Partial<SupplierSettings> = {}): DiotLine =>
  lineOf([row(amounts)], { ...NOTHING_SET, ...settings }, false, RULES)
/** The fields that are not empty, by number. */
const filled = ({ fields }: DiotLine) => Object.fromEntries(fields.flatMap((text, n) => (text === '' ? [] : [[n + 1, text]])))
const codes = ({ findings }: DiotLine) => findings.map(({ code, field }) => [code, field])

describe('a line of the DIOT', () => {
  it('has 54 fields between 53 pipes, whole pesos, and CRLF', () => {
    const one = line({
      base_16: '1234.50',
      devuelto_base_16: '34.49',
      acreditable_iva_16: '192.00',
      base_exento: '0.49',
      iva_retenido: '8.51',
    })
    expect(fileOf([one])).toBe(`04|85|${SUPPLIER}|||||||||1235|34|||||||||192||||||||||||||||||||||||||9||||||01\r\n`)
    expect(filled(one)).toEqual({ 1: '04', 2: '85', 3: SUPPLIER, 12: '1235', 13: '34', 22: '192', 48: '9', 54: '01' })
    expect(one.supposed).toEqual(['tipo_operacion', 'use', 'manifest'])
  })

  it('has the IVA where the purchase is used', () => {
    const bought = { base_16: '1000.00', acreditable_iva_16: '120.00', no_acreditable_iva_16: '40.00' }
    const iva = (use: UsedRow['use']) => {
      const { 1: _, 2: __, 3: ___, 12: ____, 54: _____, ...rest } = filled(line({ ...bought, use }))
      return rest
    }
    expect(iva('taxed')).toEqual({ 22: '120', 37: '40' })
    expect(iva('proportion')).toEqual({ 23: '90', 36: '30', 37: '40' })
    expect(iva('exempt')).toEqual({ 37: '40', 38: '120' })
    expect(iva('no_object')).toEqual({ 37: '40', 39: '120' })
  })

  it('tells the border regions apart, and says what is of none', () => {
    const one = line({
      ...{ base_8: '600.00', base_8_norte: '100.00', acreditable_iva_8_norte: '8.00' },
      ...{ base_8_sur: '200.00', devuelto_base_8_sur: '50.00', acreditable_iva_8_sur: '12.00' },
    })
    expect(filled(one)).toMatchObject({ 8: '100', 18: '8', 10: '200', 11: '50', 20: '12' })
    expect(one.findings).toEqual([{ code: 'region_unknown', field: null, amount: 300_000_000n, figure: 'pagado.base_8' }])
  })

  it('has the identity of a foreign supplier as it is set, and says what lacks', () => {
    const foreign = { tipo_tercero: '05', tax_id: 'US12', name: 'Acme', country: 'USA' } as const
    expect(filled(line({ base_no_objeto: '10.00' }, foreign))).toEqual({
      1: '05',
      2: '85',
      4: 'US12',
      5: 'Acme',
      6: 'USA',
      53: '10',
      54: '01',
    })
    expect(codes(line({ base_0: '1.00' }, { tipo_tercero: '05', country: 'ZZZ' }))).toEqual(
      [4, 5, 7].map((n) => ['foreign_data_missing', n]),
    )
    expect(codes(line({ base_0: '1.00', rfc: 'XEXX010101000', tipo_tercero: '05' }))).toEqual(
      [4, 5, 6].map((n) => ['foreign_data_missing', n]),
    )
  })

  it('has imports in the fields of their operation, which are to be checked', () => {
    const bought = { base_16: '100.00', acreditable_iva_16: '16.00', base_exento: '5.00', tipo_operacion: '07' }
    const one = line(bought, { tipo_tercero: '05', tipo_operacion: '07', tax_id: 'A', name: 'B', country: 'USA', manifest: '02' })
    expect(filled(one)).toMatchObject({ 2: '07', 16: '100', 26: '16', 49: '5', 54: '02' })
    expect(codes(one)).toEqual([['import_field', 16]])
    expect(one.supposed).toEqual(['use'])
  })

  it('says which pairs are not allowed, and which RFC is none', () => {
    expect(codes(line({ base_0: '1.00', tipo_operacion: '07' }))).toEqual([
      ['pair_not_allowed', 2],
      ['import_field', 16],
    ])
    expect(codes(line({ base_0: '1.00', rfc: 'ABC' }))).toEqual([['rfc_malformed', 3]])
    expect(codes(line({ base_0: '1.00', rfc: null, tipo_tercero: '15', tipo_operacion: '87' }))).toEqual([])
    expect(line({ base_0: '1.00', rfc: null, tipo_tercero: '15', tipo_operacion: '87' }).fields[2]).toBe('XAXX010101000')
  })

  it('has nothing below zero, no more returned than paid, and no IVA above the rate, and says what it leaves out', () => {
    const one = line({ base_16: '100.00', devuelto_base_16: '150.00', acreditable_iva_16: '-8.00', base_0: '-3.00' })
    expect(filled(one)).toEqual({ 1: '04', 2: '85', 3: SUPPLIER, 12: '100', 13: '100', 54: '01' })
    expect(one.findings.map(({ code, field, amount }) => [code, field, amount])).toEqual([
      ['returns_exceed_paid', 13, 50_000_000n],
      ['negative_amount', 22, -8_000_000n],
      ['negative_amount', 51, -3_000_000n],
    ])
    const much = line({ base_16: '100.00', acreditable_iva_16: '30.00', no_acreditable_iva_16: '5.00' })
    expect(filled(much)).toMatchObject({ 22: '11', 37: '5' })
    expect(much.findings.map(({ code, field, amount }) => [code, field, amount])).toEqual([['iva_above_rate', 22, 19_000_000n]])
    expect(codes(line({ base_otras: '7.00', base_sin_traslado: '9.00' }))).toEqual([
      ['other_rate', null],
      ['sin_traslado', 52],
    ])
    expect(isFiled(line({ base_otras: '7.00' }))).toBe(false)
  })

  it('settings refuse what no line could have', () => {
    const faults = (draft: object) => DiotSupplierDraft.safeParse(draft).error?.issues.map(({ path }) => path.join('.')) ?? []
    expect(faults({ tipo_tercero: '05', tax_id: 'A', name: 'B', country: 'ZZZ', jurisdiction: 'C' })).toEqual([])
    expect(faults({ tax_id: 'A' })).toEqual(['tax_id'])
    expect(faults({ tipo_tercero: '05', name: 'A|B' })).toEqual(['name'])
    expect(faults({ tipo_tercero: '05', country: 'USA', jurisdiction: 'C' })).toEqual(['jurisdiction'])
    expect(faults({ tipo_tercero: '15', tipo_operacion: '85' })).toEqual(['tipo_operacion'])
  })
})

const cents = (most: number) => fc.integer({ min: 0, max: most }).map((n) => new Big(n).div(100).toFixed(2))
/** Purchases at a rate: what was paid and returned, and the IVA of what remains, of which a part is excluded. Lines round their IVA to cents. */
const taxedArb = (rate: string) =>
  fc
    .tuple(
      fc.oneof(cents(999), cents(99_999_999)),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.integer({ min: -3, max: 3 }),
    )
    .map(([paid, part, lost, noise]) => {
      const returned = new Big(paid).times(part < 0.5 ? 0 : part - 0.5).round(2)
      const iva = new Big(paid).minus(returned).times(rate).plus(new Big(noise).div(100)).round(2)
      const [whole, excluded] = [iva.lt(0) ? new Big(0) : iva, lost < 0.6 ? 0 : lost - 0.5]
      const no = whole.times(excluded).round(2)
      return { paid, returned: returned.toFixed(2), iva: whole.minus(no).toFixed(2), no: no.toFixed(2) }
    })
const rowArb = fc
  .record({
    ...{
      general: taxedArb('0.16'),
      norte: taxedArb('0.08'),
      sur: taxedArb('0.08'),
      use: fc.constantFrom(...USES),
      rest: fc.array(cents(9_999_999), { minLength: 4, maxLength: 4 }),
    },
    has: fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
  })
  .map(({ general, norte, sur, use, rest, has }): UsedRow => {
    const [hasGeneral, hasNorte, hasSur, hasRest] = has
    const [exempt, zero, no_object, withheld] = rest
    return row({
      use,
      ...(hasGeneral && {
        base_16: general.paid,
        devuelto_base_16: general.returned,
        acreditable_iva_16: general.iva,
        no_acreditable_iva_16: general.no,
      }),
      ...Object.fromEntries(
        [...(hasNorte ? [['norte', norte] as const] : []), ...(hasSur ? [['sur', sur] as const] : [])].flatMap(([region, of]) => [
          [`base_8_${region}`, of.paid],
          [`devuelto_base_8_${region}`, of.returned],
          [`acreditable_iva_8_${region}`, of.iva],
          [`no_acreditable_iva_8_${region}`, of.no],
        ]),
      ),
      base_8: new Big(hasNorte ? norte.paid : 0).plus(hasSur ? sur.paid : 0).toFixed(2),
      ...(hasRest && { base_exento: exempt!, base_0: zero!, base_no_objeto: no_object!, iva_retenido: withheld! }),
    })
  })
const monthArb = fc.record({
  proportion: fc.constantFrom('0', '0.333333', '0.5', '0.75', '1'),
  lines: fc.array(fc.tuple(fc.array(rowArb, { minLength: 1, maxLength: 2 }), fc.constantFrom(...OPERATIONS.slice(0, 3), '85' as const)), {
    minLength: 1,
    maxLength: 12,
  }),
})
const linesIn = ({
  proportion,
  lines,
}: (typeof monthArb)['generate'] extends (...of: never[]) => { value: infer T } ? T : never): DiotLine[] =>
  lines.map(([rows, tipo_operacion]) =>
    lineOf(
      rows.map((one) => ({ ...one, tipo_operacion })),
      NOTHING_SET,
      true,
      rulesWith(proportion),
    ),
  )
const peso = (text: string | undefined) => BigInt(text || 0)

describe('the file of a random month', () => {
  it('has the form that the portal takes, and no IVA above the rate of what remains', () => {
    fc.assert(
      fc.property(monthArb, (month) => {
        const text = fileOf(linesIn(month))
        expect(text.endsWith('\r\n')).toBe(true)
        for (const one of text.slice(0, -2).split('\r\n')) {
          const fields = one.split('|')
          expect(fields).toHaveLength(54)
          expect(fields.slice(7, 53).every((field) => /^([1-9]\d*)?$/.test(field))).toBe(true)
          for (const [name, group] of Object.entries(GROUPS)) {
            const [paid, returned] = [peso(fields[group.paid - 1]), peso(fields[group.returned - 1])]
            const iva = ivaFields(group).reduce((sum, field) => sum + peso(fields[field - 1]), 0n)
            const rate = name === 'norte' || name === 'sur' ? 8n : 16n
            expect(returned <= paid).toBe(true)
            expect(iva * 100n <= rate * (paid - returned) + 100n).toBe(true)
          }
        }
      }),
      { numRuns: runs(300, 10_000) },
    )
  })

  it('has in each column the exact figure, but for half a peso a line, and half a peso more where the rate lowers the IVA', () => {
    fc.assert(
      fc.property(monthArb, (month) => {
        const lines = linesIn(month)
        expect(lines.flatMap(({ findings }) => findings)).toEqual([])
        for (let field = 8; field <= 53; field++) {
          const { file, exact } = columnsOf(lines, [[1, field]])
          const lowered = lines.filter((one) => peso(one.fields[field - 1]) * 1_000_000n < (one.exact.get(field) ?? 0n) - 500_000n).length
          const difference = file > exact ? file - exact : exact - file
          expect(difference <= BigInt(lines.length + lowered) * 500_000n).toBe(true)
          if (field < 18 || field > 47) expect(lowered).toBe(0)
        }
        // All that is known of the month is in some field.
        const all = (name: string) => month.lines.flatMap(([rows]) => rows).reduce((sum, one) => sum.plus(one[name]!), new Big(0))
        const inFile = (...fields: number[]) =>
          new Big(
            columnsOf(
              lines,
              fields.map((field) => [1, field] as const),
            ).exact.toString(),
          ).div(1_000_000)
        expect(inFile(12).eq(all('base_16'))).toBe(true)
        expect(inFile(13).eq(all('devuelto_base_16'))).toBe(true)
        expect(inFile(22, 23, 36, 38, 39).eq(all('acreditable_iva_16'))).toBe(true)
        expect(inFile(37).eq(all('no_acreditable_iva_16'))).toBe(true)
        expect(inFile(18, 19, 28, 30, 31).eq(all('acreditable_iva_8_norte'))).toBe(true)
        expect(inFile(33).eq(all('no_acreditable_iva_8_sur'))).toBe(true)
        expect(inFile(48).eq(all('iva_retenido'))).toBe(true)
      }),
      { numRuns: runs(300, 10_000) },
    )
  })
})

/** What the writer of satcfdi (diotV2) knows of a line. */
const known = fc
  .record({
    ...{ paid: cents(99_999_999), part: fc.double({ min: 0, max: 0.4, noNaN: true }) },
    lost: fc.boolean(),
    rest: fc.array(cents(999_999), { minLength: 3, maxLength: 3 }),
  })
  .map(({ part, lost, rest, ...one }) => {
    // It lowers no IVA that is not creditable, nor by what was returned, so that these are of whole bases.
    const isWhole = lost || part >= 0.2
    const paid = isWhole ? new Big(one.paid).div(100).round().times(100) : new Big(one.paid)
    const returned = new Big(part < 0.2 || lost ? 0 : paid.times(part)).round()
    const iva = paid.minus(returned).times('0.16').round(2)
    return { paid: paid.toFixed(2), returned: returned.toFixed(2), iva: iva.toFixed(2), lost, rest }
  })
type Known = typeof known extends fc.Arbitrary<infer T> ? T : never

const asLine = ({ paid, returned, iva, lost, rest: [exempt, zero, no_object] }: Known): DiotLine =>
  line({
    ...{ base_16: paid, devuelto_base_16: returned, base_exento: exempt!, base_0: zero!, base_no_objeto: no_object! },
    ...(lost ? { no_acreditable_iva_16: iva } : { acreditable_iva_16: iva }),
  })

const SCRIPT = `
import json, sys
from decimal import Decimal, ROUND_HALF_UP
from satcfdi.diotV2 import DIOT, ProveedorTercero
half = lambda text: int(Decimal(text).quantize(Decimal(1), ROUND_HALF_UP))
lines = [ProveedorTercero('04', '85', '${SUPPLIER}', iva16base=half(one['paid']), iva16descuento=half(one['returned']),
  iva16acreditable=0 if one['lost'] else half(one['iva']), iva16noacreditable=half(one['iva']) if one['lost'] else 0,
  actividadesExentos=half(one['rest'][0]), iva0base=half(one['rest'][1]), actividadesNoObjeto=half(one['rest'][2])) for one in json.load(sys.stdin)]
DIOT(dict(enumerate(lines))).export(sys.stdout.buffer)
`
/** The Python that has satcfdi: \`pip install satcfdi\`. */
const python = (process.env['PATH'] ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'satcfdi'))
  .find(existsSync)

/** What satcfdi 26.10.1 writes of these, with its order of fields. */
const GIVEN: Known[] = [
  { paid: '1234.50', returned: '0.00', iva: '197.52', lost: false, rest: ['0.00', '0.00', '0.00'] },
  { paid: '103.49', returned: '0.00', iva: '16.56', lost: false, rest: ['12.40', '7.60', '99.99'] },
  { paid: '5800.00', returned: '800.00', iva: '800.00', lost: false, rest: ['0.00', '250.00', '0.00'] },
  { paid: '9999.99', returned: '0.00', iva: '1600.00', lost: true, rest: ['0.00', '0.00', '31.50'] },
]

describe('the writer of satcfdi', () => {
  it('writes the same bytes of the fields that it knows', () => {
    expect(fileOf(GIVEN.map(asLine))).toBe(readFileSync(join(import.meta.dirname, 'satcfdi.txt'), 'utf8'))
  })

  it.skipIf(python === undefined)('writes the same bytes of random lines', () => {
    const given = fc.sample(known, { numRuns: runs(200, 5_000), seed: 38 }).filter((one) => isFiled(asLine(one)))
    const input = JSON.stringify(given)
    const written = execFileSync(join(dirname(python!), 'python'), ['-c', SCRIPT], { input, encoding: 'utf8', maxBuffer: 1 << 26 })
    expect(fileOf(given.map(asLine))).toBe(written)
  })
})
