import { describe, expect, it } from 'vitest'
import { vatPositionOf } from './oracle/analytics/vat.ts'
import { complementOf, documentOf, PERSON, SUPPLIER, worldOf } from './support/documents.ts'

/**
 * May 2026 of a company, by hand.
 *
 * Collected: S1 is PUE, 10,000 + 1,600. S2 is PPD, 5,000 at 16 % and 2,000 at 0 %: 7,800; half is paid in May, so half of each: 2,500 +
 * 400, and 1,000. S3 is PUE and exempt, 1,500. N1 credits 1,000 + 160 of S1.
 *   base_16 = 10,000 + 2,500 − 1,000 = 11,500; iva_16 = 1,600 + 400 − 160 = 1,840; base_0 = 1,000; base_exento = 1,500.
 * Paid: R1 is PUE, 4,000 + 640. R2 is a person's fee of April, PPD, 3,000 + 480 − 300 ISR − 320 IVA = 2,860, paid in May as a whole.
 * R3 is fuel paid in cash, 500 + 80. R4 is in USD, 100 + 16, paid with pesos at 19: 1,900 + 304.
 *   base_16 = 4,000 + 3,000 + 500 + 1,900 = 9,400; iva_16 = 640 + 480 + 80 + 304 = 1,504; retenido = 320; excluded = 80.
 * In April, R0, a fee of 1,000 + 160 − 100 − 106.67, was PUE: 106.67 was withheld and is paid in May.
 *   prorrateo = (11,500 + 1,000) ÷ (12,500 + 1,500) = 0.892857
 *   acreditable = (1,504 − 80 − 320) × 0.892857 + 106.67 × 1 = 985.714128 + 106.67 = 1,092.384128 (nothing exempt in April)
 *   saldo = 1,840 − 1,092.384128 − 0 = 747.615872
 * Still to be collected of S2: 800 × 3,900 ÷ 7,800 = 400. Accrued: S1 + S2 + S3 − N1 = 1,600 + 800 − 160 = 2,240, and of what was
 * received in May R1, R3 and R4 at 18.5: 640 + 80 + 296 = 1,016.
 * P9 pays an invoice that nobody shows: 50 of IVA are told, and in no sum.
 */
const fee = { direction: 'received', party: PERSON, emisor_regimen_fiscal: '612' } as const
const s1 = documentOf('S1', '2026-05-04', { lines: [{ importe: '10000' }] })
const s2 = documentOf('S2', '2026-05-05', {
  metodo_pago: 'PPD',
  forma_pago: '99',
  lines: [{ importe: '5000' }, { importe: '2000', iva: '0' }],
})
const s3 = documentOf('S3', '2026-05-06', { lines: [{ importe: '1500', iva: 'exento' }] })
const n1 = documentOf('N1', '2026-05-20', {
  ...{ tipo_comprobante: 'E', lines: [{ importe: '1000' }] },
  relacionados: [{ tipo_relacion: '01', uuid: 'S1' }],
})
const r0 = documentOf('R0', '2026-04-10', {
  ...fee,
  lines: [{ clave: '84111500', importe: '1000', isr: '0.10', iva_retenido: '0.106667' }],
})
const r1 = documentOf('R1', '2026-05-07', { direction: 'received', party: SUPPLIER, lines: [{ importe: '4000' }] })
const r2 = documentOf('R2', '2026-04-15', {
  ...{ ...fee, metodo_pago: 'PPD', forma_pago: '99' },
  lines: [{ clave: '84111500', importe: '3000', isr: '0.10', iva_retenido: '0.1066666667' }],
})
const r3 = documentOf('R3', '2026-05-09', {
  ...{ direction: 'received', party: SUPPLIER, forma_pago: '01' },
  lines: [{ clave: '15101514', importe: '500' }],
})
const r4 = documentOf('R4', '2026-05-10', {
  ...{ direction: 'received', party: SUPPLIER, metodo_pago: 'PPD', forma_pago: '99', currency: 'USD', tipo_cambio: '18.5' },
  lines: [{ importe: '100' }],
})
const p2 = complementOf('P2', '2026-05-28', [[s2, '3900']])
const p3 = complementOf('P3', '2026-05-15', [[r2, '2860']])
const p4 = complementOf('P4', '2026-05-30', [[r4, '116', { equivalencia_dr: '0.05' }]], { tipo_cambio_p: '1' })
const unseen = documentOf('X1', '2026-01-01', { lines: [{ importe: '312.50' }] })
const p9 = complementOf('P9', '2026-05-31', [[unseen, '362.50', { impuestos_dr: unseen.impuestos! }]])

const rate = (pesos: string) =>
  complementOf('P4', '2026-05-30', [[r4, '116', { equivalencia_dr: '1' }]], { moneda_p: 'USD', tipo_cambio_p: pesos })

describe('the VAT position of May 2026, by hand', () => {
  const documents = [s1, s2, s3, n1, r0, r1, r2, r3, r4, p2, p3, rate('19'), p9]
  const { rows, tally } = vatPositionOf(worldOf(documents), { from: '2026-05-01', to: '2026-05-31' })
  const [may] = rows

  it('is what was collected, paid, withheld and excluded', () => {
    expect(may).toMatchObject({
      cobrado: { base_16: '11500.00', iva_16: '1840.00', base_0: '1000.00', base_exento: '1500.00', base_8: '0.00' },
      pagado: { base_16: '9400.00', iva_16: '1504.00', retenido_a_terceros: '320.00' },
      ...{ no_deducible_excluded: '80.00', prorrateo: '0.892857', acreditable: '1092.38', saldo: '747.62', resultado: 'a_cargo' },
      ...{ pendiente_por_cobrar_iva: '400.00', pendiente_por_acreditar_iva: '0.00' },
      devengado: { trasladado: '2240.00', acreditable: '1016.00' },
      pagos_sin_conciliar: { count: 1, iva: '50.00', iva_cobrado: '50.00', iva_pagado: '0.00' },
      ...{ declarado: null, diferencia: null },
    })
  })

  it('lists what each figure is made of', () => {
    expect(tally.entries('cobrado.iva_16|2026-05')).toEqual(
      expect.arrayContaining([
        { uuid: 'S1', amount: '1600.000000', applies_to: null },
        { uuid: 'P2', amount: '400.000000', applies_to: 'S2' },
        { uuid: 'N1', amount: '-160.000000', applies_to: 'S1' },
      ]),
    )
    expect(tally.entries('no_deducible_excluded|2026-05')).toEqual([{ uuid: 'R3', amount: '80.000000', applies_to: null }])
  })

  it('converts what is paid in pesos by the equivalence, and compares with the return', () => {
    // 116 ÷ 0.05 = 2,320 pesos, of which 320 are IVA.
    const returns = [
      { document_id: 'doc_1', version: 1, period_end: '2026-05-31', attributes: { impuesto: 'IVA', iva_a_cargo: '700', iva_a_favor: '0' } },
    ]
    const [row] = vatPositionOf(worldOf([r4, p4], { returns }), { from: '2026-05-01', to: '2026-05-31' }).rows
    expect(row).toMatchObject({
      pagado: { base_16: '2000.00', iva_16: '320.00' },
      saldo: '-320.00',
      resultado: 'a_favor',
      diferencia: '-1020.00',
    })
  })
})
