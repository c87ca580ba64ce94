import { beforeAll, describe, expect, it } from 'vitest'
import { connect, type Organization, organization } from '../support/tenants.ts'
import { importInto } from './support/imported.ts'
import type { Written } from './support/xml.ts'

/** Sets of documents with the values that the law gives, imported as XML. */
const [CLIENT, COMPANY, PERSON] = ['BBB020202BB1', 'DDD040404DD3', 'PEPJ800101AB1'] as const
const uuid = (n: number) => `0000${n.toString(16).toUpperCase().padStart(4, '0')}-1A3B-4000-8000-000000000000`

type Row = Awaited<ReturnType<Organization['ask']>>['body']

async function book(documentsOf: (rfc: string) => readonly Written[], own?: string) {
  const of = await organization('enterprise_gold')
  const { fiscal_entity_id, rfc } = await connect(of.owner, own, { ciec: 'empty' })
  await importInto(of, fiscal_entity_id, documentsOf(rfc))
  return async (path: string): Promise<Row> => {
    const { status, body } = await of.ask('GET', `/v1/${path}${path.includes('?') ? '&' : '?'}fiscal_entity_id=${fiscal_entity_id}`)
    expect([path, status, body.detail]).toEqual([path, 200, undefined])
    return body
  }
}

describe('what a company withholds of 1,000 and 160 of IVA (LISR 106, 113-J, 116; LIVA 1-A; RLIVA 3)', () => {
  /** Issuer, regime, key, then the class, and the ISR and IVA that should be withheld. */
  const CASES = [
    [PERSON, '612', '84111500', 'honorarios', '100.00', '106.67'],
    [PERSON, '612', '90101500', null],
    [PERSON, '612', '90111500', null],
    [PERSON, '612', '78181500', null],
    [PERSON, '612', '78111804', null],
    [PERSON, '612', '83101800', null],
    [PERSON, '612', '80141601', 'comision', null, '106.67'],
    [PERSON, '612', '84131500', 'honorarios', '100.00', '106.67'],
    [PERSON, '606', '80131502', 'arrendamiento', '100.00', '106.67'],
    [PERSON, '626', '43211503', 'resico_pf', '12.50', null],
    [PERSON, '626', '84111500', 'resico_pf', '12.50', '106.67'],
    [PERSON, '626', '80141601', 'resico_pf', '12.50', '106.67'],
    [PERSON, '626', '78101802', 'resico_pf', '12.50', '40.00'],
    [PERSON, '626', '90101500', 'resico_pf', '12.50', null],
    [PERSON, '626', '50301500', null],
    [COMPANY, '626', '84111500', null],
    [COMPANY, '601', '78101802', 'autotransporte', null, '40.00'],
    [COMPANY, '601', '11191600', 'desperdicios', null, '160.00'],
    [COMPANY, '601', '80111600', null],
  ] as const
  const LIFE = uuid(50)
  let ask: Awaited<ReturnType<typeof book>>

  beforeAll(async () => {
    ask = await book((receptor) => [
      ...CASES.map(([emisor, regimen, clave], n): Written => {
        return { uuid: uuid(n + 1), fecha: '2025-03-10', emisor, receptor, regimen, lines: [{ clave, importe: 1_000 }] }
      }),
      // Commissions of life insurance are exempt of IVA.
      {
        ...{ uuid: LIFE, fecha: '2025-03-11', emisor: PERSON, receptor, regimen: '612' },
        lines: [{ clave: '84131600', importe: 1_000, iva: 'exento' as const }],
      },
      ...['2019-12-31', '2020-01-15', '2021-03-15', '2021-10-15'].map((fecha, n): Written => {
        return { uuid: uuid(60 + n), fecha, emisor: COMPANY, receptor, regimen: '601', lines: [{ clave: '80111600', importe: 1_000 }] }
      }),
    ])
  })

  it('is by what is billed, and by whom', async () => {
    const { data } = await ask('cfdi/withholdings?from=2025-03&to=2025-03&limit=100')
    const found = CASES.map(([emisor, regimen, clave], n) => {
      const rows = data.filter((row: Row) => row.uuid === uuid(n + 1))
      const of = (impuesto: string) => rows.find((row: Row) => row.impuesto === impuesto)?.expected_amount ?? null
      return rows.length === 0 ? [emisor, regimen, clave, null] : [emisor, regimen, clave, rows[0].concept_class, of('ISR'), of('IVA')]
    })
    expect(found).toEqual(CASES)
    expect(data.filter((row: Row) => row.uuid === LIFE)).toMatchObject([{ impuesto: 'ISR', expected_amount: '100.00' }])
  })

  it('of personnel services is 6 % from 2020 until its repeal', async () => {
    const { data } = await ask('cfdi/withholdings?from=2019-12&to=2021-12')
    expect(data.map((row: Row) => [row.date, row.concept_class, row.expected_amount])).toEqual([
      ['2021-03-15', 'servicios_personal', '60.00'],
      ['2020-01-15', 'servicios_personal', '60.00'],
    ])
  })

  it('is the same in the flags, whose evidence has the amounts', async () => {
    const { data } = await ask('cfdi/risk?from=2025-03&to=2025-03&limit=100')
    const found = CASES.map(([emisor, regimen, clave], n) => {
      const flags = data.find((row: Row) => row.uuid === uuid(n + 1))?.flags ?? []
      const evidence = flags.find(({ code }: Row) => code === 'withholding_missing')?.evidence
      if (!evidence) return [emisor, regimen, clave, null]
      const { concept_class, expected_isr, expected_iva } = evidence
      return [emisor, regimen, clave, concept_class, expected_isr, expected_iva]
    })
    expect(found).toEqual(CASES)
  })
})

it('complements are due on the 10th until payments of December 2021, and on the 5th since', async () => {
  const ask = await book((emisor) => {
    const paid = (n: number, fecha: string, on: string, day: string): Written[] => [
      { uuid: uuid(n), fecha, emisor, receptor: CLIENT, metodo: 'PPD', lines: [{ importe: 1_000 }] },
      { uuid: uuid(n + 1), tipo: 'P', fecha: day, emisor, receptor: CLIENT, pago: [on, [{ uuid: uuid(n), pagado: 1_160 }]] },
    ]
    return [
      ...paid(1, '2021-05-01', '2021-05-20', '2021-06-10'),
      ...paid(11, '2021-05-01', '2021-05-20', '2021-06-11'),
      ...paid(21, '2021-12-01', '2021-12-20', '2022-01-10'),
      ...paid(31, '2021-12-01', '2021-12-20', '2022-01-11'),
      ...paid(41, '2022-01-01', '2022-01-20', '2022-02-05'),
      ...paid(51, '2022-01-01', '2022-01-20', '2022-02-06'),
    ]
  })
  const { data } = await ask('cfdi/risk?from=2021-05&to=2022-02&code=complement_late')
  expect(data.map((row: Row) => row.uuid).sort()).toEqual([uuid(12), uuid(32), uuid(52)])
})

describe('deductions (LISR 27-VIII, 113-E, 151)', () => {
  const rowsOf = async (documentsOf: (rfc: string) => readonly Written[], query: string, rfc?: string) => {
    const ask = await book(documentsOf, rfc)
    const { data, totals } = await ask(`cfdi/deductions?limit=100&${query}`)
    const byUuid = new Map<string, Row>(data.map((row: Row) => [row.uuid, row]))
    const states = documentsOf('').flatMap(({ uuid: id }) => {
      const row = byUuid.get(id)
      return row ? [[row.status, row.deductible_amount, row.reasons]] : []
    })
    return { states, totals, data }
  }

  it('donations lie within the global limit since 2022, and within 7 % of the income of the year before', async () => {
    const given =
      (n: number, fecha: string, uso: string) =>
      (receptor: string): Written => ({
        ...{ uuid: uuid(n), fecha, emisor: COMPANY, receptor, uso, regimenReceptor: '612' },
        lines: [{ importe: 200_000, iva: 'exento' }],
      })
    const ask = (documents: ReturnType<typeof given>[], year: string) =>
      rowsOf((rfc) => documents.map((one) => one(rfc)), `from=${year}-01&to=${year}-12&annual_income=3000000`, PERSON)
    // 5 × 41,273.52 = 206,367.60.
    expect((await ask([given(1, '2025-02-01', 'D04'), given(2, '2025-03-01', 'D01')], '2025')).states).toEqual([
      ['eligible', '200000.00', []],
      ['capped', '6367.60', ['cap_global']],
    ])
    expect((await ask([given(1, '2025-02-01', 'D01'), given(2, '2025-03-01', 'D04')], '2025')).states).toEqual([
      ['eligible', '200000.00', []],
      ['capped', '6367.60', ['cap_global']],
    ])
    // 7 % of 3,000,000 = 210,000; in 2021 the global limit was 5 × 32,693.40 = 163,467 of the other one alone.
    expect((await ask([given(1, '2021-02-01', 'D04'), given(2, '2021-03-01', 'D01')], '2021')).states).toEqual([
      ['eligible', '200000.00', []],
      ['capped', '163467.00', ['cap_global']],
    ])
  })

  it('a credit note of an investment takes back what was deducted of it: the annual rate of its purchase', async () => {
    const written =
      (n: number, importe: number, more: Partial<Written>, clave = '43211503') =>
      (receptor: string): Written => ({
        ...{ uuid: uuid(n), fecha: '2025-02-01', emisor: COMPANY, receptor, lines: [{ clave, importe }] },
        ...more,
      })
    const back = (...names: number[]): Partial<Written> => ({
      ...{ tipo: 'E', fecha: '2025-03-01', uso: 'G02', relacion: ['01', ...names.map(uuid)] },
    })
    const documents = [
      // Computers 30 %, furniture 10 %, a car of 400,000 that counts up to 175,000 at 25 %, and paper.
      ...[written(1, 10_000, { uso: 'I04' }), written(2, 5_000, { uso: 'I02' }), written(4, 1_000, { uso: 'G03' })],
      written(3, 400_000, { uso: 'I03' }, '25101503'),
      ...[written(11, 1_000, back(1)), written(12, 5_500, back(1, 4)), written(13, 40_000, back(3))],
      written(14, 500, { ...back(9), uso: 'I02' }),
    ]
    const { states, totals } = await rowsOf((rfc) => documents.map((one) => one(rfc)), 'from=2025-02&to=2025-03')
    expect(states.map(([status, amount]) => [status, amount])).toEqual([
      ...[
        ['eligible', '3000.00'],
        ['eligible', '500.00'],
        ['eligible', '1000.00'],
        ['capped', '43750.00'],
      ],
      // By the totals, 5,000 are of computers and 500 of paper.
      ...[
        ['eligible', '-300.00'],
        ['eligible', '-2000.00'],
        // What it takes off was beyond the limit.
        ['capped', '0.00'],
        ['eligible', '-50.00'],
      ],
    ])
    expect(totals).toMatchObject([
      ...[{ category: 'expense' }, { category: 'investment', deductible_amount: '47250.00' }],
      { category: 'returns', gross_amount: '-47000.00', deductible_amount: '-2350.00' },
    ])
  })

  it('a natural person of 626 deducts nothing, and its IVA stays creditable', async () => {
    const bought = (receptor: string): Written[] => [
      { uuid: uuid(1), fecha: '2025-02-01', emisor: COMPANY, receptor, regimenReceptor: '626', lines: [{ importe: 1_000 }] },
      {
        ...{ uuid: uuid(2), tipo: 'E', fecha: '2025-02-03', emisor: COMPANY, receptor, regimenReceptor: '626', uso: 'G02' },
        ...{ relacion: ['01', uuid(1)] as [string, string], lines: [{ importe: 100 }] },
      },
    ]
    const { states } = await rowsOf(bought, 'from=2025-02&to=2025-02', PERSON)
    expect(states).toEqual([
      ['not_deductible', '0.00', ['regimen_without_deductions']],
      ['not_deductible', '0.00', ['regimen_without_deductions']],
    ])
    const ask = await book(bought, PERSON)
    expect((await ask('analytics/vat-position?period=2025-02')).data[0]).toMatchObject({
      pagado: { iva_16: '144.00' },
      no_deducible_excluded: '0.00',
    })
    // A company of 626 deducts.
    const company = (receptor: string): Written[] => bought(receptor).slice(0, 1)
    expect((await rowsOf(company, 'from=2025-02&to=2025-02')).states).toEqual([['eligible', '1000.00', []]])
  })

  it('a natural person deducts only what is paid, whatever regime the supplier states (LISR 105-I, 147-IX)', async () => {
    const bought = (receptor: string): Written[] => [
      ...['612', '621', '625', '601'].map((regimenReceptor, n): Written => {
        return {
          uuid: uuid(n + 1),
          fecha: '2025-02-01',
          emisor: COMPANY,
          receptor,
          regimenReceptor,
          metodo: 'PPD',
          lines: [{ importe: 1_000 }],
        }
      }),
      {
        ...{ uuid: uuid(11), tipo: 'P', fecha: '2025-02-20', emisor: COMPANY, receptor },
        pago: ['2025-02-20', [1, 2, 3, 4].map((n) => ({ uuid: uuid(n), pagado: 580 }))],
      },
    ]
    const { states } = await rowsOf(bought, 'from=2025-02&to=2025-02', PERSON)
    expect(states).toEqual(Array.from({ length: 4 }, () => ['eligible', '500.00', ['not_paid']]))
  })

  it('a company deducts only what is paid to natural persons, payers of LISR 72 to 74 and civil societies', async () => {
    const owed =
      (n: number, emisor: string, regimen: string, more: Partial<Written> = {}) =>
      (receptor: string): Written => ({
        ...{ uuid: uuid(n), fecha: '2025-02-01', emisor, receptor, regimen, metodo: 'PPD', lines: [{ importe: 1_000 }] },
        ...more,
      })
    const documents = [
      owed(1, PERSON, '612'),
      owed(2, COMPANY, '624'),
      owed(3, COMPANY, '601'),
      owed(4, COMPANY, '626'),
      owed(5, COMPANY, '601', { nombre: 'ABOGADOS DE PRUEBA SC' }),
    ]
    const half =
      (n: number, of: number, emisor: string) =>
      (receptor: string): Written => ({
        ...{ uuid: uuid(n), tipo: 'P', fecha: '2025-02-20', emisor, receptor, pago: ['2025-02-20', [{ uuid: uuid(of), pagado: 580 }]] },
      })
    const { states, data } = await rowsOf(
      (rfc) => [...documents, half(11, 1, PERSON), half(12, 2, COMPANY), half(13, 4, COMPANY)].map((one) => one(rfc)),
      'from=2025-02&to=2025-02',
    )
    expect(states).toEqual([
      ['eligible', '500.00', ['not_paid']],
      ['eligible', '500.00', ['not_paid']],
      ['eligible', '1000.00', []],
      ['review', '0.00', ['unpaid_to_626']],
      ['not_deductible', '0.00', ['not_paid']],
    ])
    expect(data.flatMap(({ questions }: Row) => questions)).toEqual(['Must what a company of 626 bills be paid before it is deducted?'])
  })

  it('of restaurants 8.5 % if they are paid by card or wallet, of bars nothing, and what may be of a trip is a question', async () => {
    const ate =
      (n: number, forma: string, more: Partial<Written> = {}, clave = '90101501') =>
      (receptor: string): Written => ({
        ...{ uuid: uuid(n), fecha: '2025-02-01', emisor: COMPANY, receptor, forma, lines: [{ clave, importe: 1_000 }] },
        ...more,
      })
    const documents = [
      ate(1, '04'),
      ate(2, '28'),
      ate(3, '03'),
      ate(4, '01'),
      ate(5, '04', {}, '90101502'),
      ate(6, '04', { lugar: '64000' }),
      ate(7, '04', { tipo: 'E', uso: 'G02', relacion: ['01', uuid(1)], lines: [{ clave: '90101501', importe: 100 }] }),
      ate(8, '04', { metodo: 'PPD', regimenReceptor: '626' }),
    ]
    const part = (receptor: string): Written => ({
      ...{ uuid: uuid(11), tipo: 'P', fecha: '2025-02-20', emisor: COMPANY, receptor },
      pago: ['2025-02-20', [{ uuid: uuid(8), pagado: 580 }]],
    })
    const { states, totals } = await rowsOf((rfc) => [...documents, part].map((one) => one(rfc)), 'from=2025-02&to=2025-02')
    expect(states).toEqual([
      ['eligible', '85.00', []],
      ['eligible', '85.00', []],
      ['not_deductible', '0.00', ['restaurant_not_by_card']],
      ['not_deductible', '0.00', ['restaurant_not_by_card']],
      ['not_deductible', '0.00', ['bar']],
      ['review', '0.00', ['possible_travel']],
      ['eligible', '-8.50', []],
      // Its complement is in form 03.
      ['not_deductible', '0.00', ['restaurant_not_by_card', 'not_paid']],
    ])
    expect(totals).toMatchObject([
      { category: 'expense', deductible_amount: '170.00', review_amount: '1000.00' },
      { category: 'returns', deductible_amount: '-8.50' },
    ])
  })
})

/** What breaks without it: D1 refuses statements of more than 100,000 bytes, and each rule that changes within the range makes them longer. */
describe('the widest range', () => {
  it.each([COMPANY, PERSON])('is answered for %s, with documents of both partitions', async (rfc) => {
    const get = await book(() => [{ uuid: uuid(1), fecha: '2026-03-02', emisor: CLIENT, receptor: rfc, base: '1000.00' }], rfc)
    for (const path of [
      'cfdi/deductions',
      'cfdi/risk',
      'cfdi/withholdings',
      'analytics/vat-position',
      'analytics/risk',
      'cfdi/concentration?direction=received',
    ])
      await get(`${path}${path.includes('?') ? '&' : '?'}from=2018-01&to=2026-11`)
  })
})
