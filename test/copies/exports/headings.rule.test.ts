import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { Cfdi } from '../../../src/cfdi/contract.ts'
import { COLUMNS_OF, columnsFor, HEADINGS, WORDS } from '../../../src/copies/exports/making/columns.ts'
import { columnsOf } from '../../../src/platform/csv.ts'

const KINDS = ['cfdi', 'conceptos', 'pagos', 'nominas', 'complementos'] as const

/** The member of a shape that a column shows. */
function memberAt(shape: z.ZodType, path: readonly string[]): z.ZodType {
  const inner = shape instanceof z.ZodNullable || shape instanceof z.ZodOptional ? (shape.unwrap() as z.ZodType) : shape
  if (inner !== shape) return memberAt(inner, path)
  const [name, ...rest] = path
  return name === undefined ? inner : memberAt((inner as z.ZodObject).shape[name] as z.ZodType, rest)
}

/** What breaks without it: a new column comes out under its name in the API, in a file that is Spanish otherwise. */
describe('Spanish headings', () => {
  it.each(KINDS)('every column of %s has one, of its own, in the same order', (kind) => {
    const names = COLUMNS_OF[kind].map(({ heading }) => heading)
    expect(names.filter((name) => HEADINGS[name] === undefined)).toEqual([])
    const headings = columnsFor(kind, 'es').map(({ heading }) => heading)
    expect(headings).toEqual(names.map((name) => HEADINGS[name]))
    expect(new Set(headings).size).toBe(headings.length)
    expect(columnsFor(kind, 'es').map(({ type }) => type)).toEqual(COLUMNS_OF[kind].map(({ type }) => type))
    expect(columnsFor(kind, 'api')).toBe(COLUMNS_OF[kind])
  })

  it('no heading is of a column that does not exist', () => {
    const names = new Set(KINDS.flatMap((kind) => COLUMNS_OF[kind].map(({ heading }) => heading)))
    expect(Object.keys(HEADINGS).filter((name) => !names.has(name))).toEqual([])
  })

  it('every value of every enumeration has a word, and no other', () => {
    const enumerations = columnsOf(Cfdi).flatMap(({ heading, path }) => {
      const member = memberAt(Cfdi, path)
      const isCode = member instanceof z.ZodEnum && member.options.every((value) => /^\d+$/.test(String(value)))
      return member instanceof z.ZodEnum && !isCode ? [[heading, member.options.map(String).sort()] as const] : []
    })
    expect(enumerations.length).toBeGreaterThan(8)
    expect(Object.fromEntries(Object.entries(WORDS).map(([name, words]) => [name, Object.keys(words).sort()]))).toEqual(
      Object.fromEntries(enumerations),
    )
  })

  it('a value says itself in Spanish, a code and a number as they are', () => {
    const row = {
      ...{ direction: 'issued', estatus: 'vigente', payment_status: 'paid', origin: 'authority', has_xml: true, is_substituted: false },
      ...{ forma_pago: '03', tipo_comprobante: 'I', total: '116.00', status_answer: null },
      counterparty: { blacklist: { source: 'sat_69b', situacion: 'definitivo' } },
    }
    const own = { counterparty: { blacklist: { source: 'custom:morosos', situacion: null } } }
    const said = (one: unknown) => Object.fromEntries(columnsFor('cfdi', 'es').map(({ heading, value }) => [heading, value(one)]))
    expect(said(row)).toMatchObject({
      ...{ Sentido: 'Emitido', Estado: 'Vigente', 'Estado de pago': 'Pagada', Origen: 'SAT', 'Con XML': 'Sí', Sustituido: 'No' },
      ...{ 'Forma de pago': '03', 'Tipo de comprobante': 'I', Total: '116.00', 'Última respuesta del SAT sobre su estado': null },
      ...{ 'Lista en la que está la contraparte': 'Art. 69-B (EFOS)', 'Situación en esa lista': 'Definitivo' },
    })
    expect(said(own)).toMatchObject({ 'Lista en la que está la contraparte': 'custom:morosos', 'Situación en esa lista': null })
  })
})

it('amounts are numbers, and times and days are dates, by what their names say', () => {
  for (const { heading, type } of COLUMNS_OF.cfdi) {
    const isTime = /(_at|_date)$|^fecha$/.test(heading)
    const isNumber = /^(iva|isr|ieps)_|^(sub)?total|_amount$|^balance|^descuento$|^tipo_cambio$/.test(heading)
    expect([heading, type]).toEqual([heading, isTime ? 'time' : isNumber ? 'number' : 'text'])
  }
})
