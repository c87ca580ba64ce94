import { describe, expect, it } from 'vitest'
import { EMPTY_ROW } from '../../../src/cfdi/columns.ts'
import { beyondAdvances } from '../../../src/cfdi/ingest/beyond-advances.ts'
import type { AppliedBy } from '../../../src/cfdi/ingest/credit-notes.ts'

type Documents = Parameters<typeof beyondAdvances>[0]['documents']
type Row = Documents[number]['row']

const pesos = (amount: number): bigint => BigInt(amount) * 1_000_000n
const PARTIES = { emisor_rfc: 'AAA010101AAA', receptor_rfc: 'BBB020202BB1' }

const invoice = (uuid: string, issued_at: number, total: number, more: Partial<Row> = {}): Row => ({
  ...(EMPTY_ROW as unknown as Row),
  ...({ uuid, issued_at, ...PARTIES, tipo_comprobante: 'I', version: '4.0', cancelled: 0, metodo_pago: 'PPD', currency: 'MXN' } as const),
  ...{ total_micros: pesos(total), beyond_advances: null, ...more },
})
const applied = (source: string, issued_at: number, amount: number, more: Partial<AppliedBy> = {}): AppliedBy => ({
  ...({ source, n: 1, kind: 'P', forma_pago: '30', amount: pesos(amount), currency: 'MXN', tipo_cambio: null } as const),
  fecha_pago: '2026-01-01',
  ...{ ...PARTIES, issued_at, cancelled: false, substituted_from: null, ...more },
})

/** What is beyond, by invoice, as rows of `[source, n, pesos, from, until]`. Each invoice names the advance A, unless it is A. */
function beyond(rows: readonly Row[], payments: Record<string, AppliedBy[]>, notes: readonly string[] = []) {
  const names = [...rows.filter(({ uuid }) => uuid > 'B').map(({ uuid }) => uuid), ...notes]
  beyondAdvances({
    documents: rows.map((row) => ({ row, applications: [], advances: [] })),
    ...{ stored: [], applications: [], substitutions: [], applied: new Map(Object.entries(payments)) },
    advances: names.map((source) => ({ advance: 'A', source })),
  })
  return Object.fromEntries(
    rows.flatMap(({ uuid, beyond_advances }) =>
      beyond_advances === null
        ? []
        : [
            [
              uuid,
              (JSON.parse(beyond_advances) as [string, number, string][]).map(([of, n, part, ...seen]) => [
                of,
                n,
                Number(part) / 1e6,
                ...seen,
              ]),
            ],
          ],
    ),
  )
}

describe('what a payment in form 30 moves beyond the advance', () => {
  it('is what is left once the advance has served, in the order of issue', () => {
    const rows = [invoice('A', 1, 100), invoice('F', 2, 80), invoice('G', 3, 80)]
    expect(beyond(rows, { F: [applied('P', 5, 80)], G: [applied('Q', 4, 80)] })).toEqual({ F: [['P', 1, 60, 0, null]] })
  })

  it('is nothing while the advance is not known, and all of it where the advance is cancelled or of others', () => {
    const paid = { F: [applied('P', 5, 80)] }
    expect(beyond([invoice('F', 2, 80)], paid)).toEqual({})
    expect(beyond([invoice('A', 1, 100, { version: null }), invoice('F', 2, 80)], paid)).toEqual({})
    for (const more of [{ cancelled: 1 }, { receptor_rfc: 'CCC030303CC2' }] as const)
      expect(beyond([invoice('A', 1, 100, more), invoice('F', 2, 80)], paid)).toEqual({ F: [['P', 1, 80, 0, null]] })
  })

  it('is measured in the currency of the invoice, and nothing where a rate is not known', () => {
    const dollars = (tipo_cambio: string | null) => invoice('A', 1, 100, { currency: 'USD', tipo_cambio })
    const paid = { F: [applied('P', 5, 3_000)] }
    expect(beyond([dollars('20'), invoice('F', 2, 3_000)], paid)).toEqual({ F: [['P', 1, 1_000, 0, null]] })
    expect(beyond([dollars(null), invoice('F', 2, 3_000)], paid)).toEqual({})
  })

  it('is not what a note applies too, nor what a note of another invoice has left', () => {
    const rows = [invoice('A', 1, 100), invoice('F', 2, 100), invoice('G', 3, 100)]
    const note = applied('N', 4, 100, { kind: 'E', forma_pago: '30' })
    expect(beyond(rows, { F: [note, applied('P', 5, 100)] }, ['N'])).toEqual({})
    const again = rows.map((row) => ({ ...row, beyond_advances: null }))
    expect(beyond(again, { F: [note], G: [applied('Q', 5, 100)] }, ['N'])).toEqual({ G: [['Q', 1, 100, 0, null]] })
  })

  it('changes with the ceiling that shows that a payment is substituted', () => {
    const rows = [invoice('A', 1, 100), invoice('F', 2, 100)]
    const paid = [applied('P', 3, 100, { substituted_from: 9 }), applied('Q', 4, 100), applied('R', 9, 100)]
    expect(beyond(rows, { F: paid })).toEqual({
      F: [
        ['Q', 1, 100, 0, 9],
        ['R', 1, 100, 9, null],
      ],
    })
  })
})
