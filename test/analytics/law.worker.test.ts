import { beforeAll, describe, expect, it } from 'vitest'
import { connect, type Organization, organization } from '../support/tenants.ts'
import { importInto } from './support/imported.ts'
import type { Written } from './support/xml.ts'

/** Sets of documents with the values that the law gives, imported as XML. */
const [CLIENT, COMPANY, PERSON] = ['BBB020202BB1', 'DDD040404DD3', 'PEPJ800101AB1'] as const
const uuid = (n: number) => `0000${n.toString(16).toUpperCase().padStart(4, '0')}-1A3B-4000-8000-000000000000`

type Row = Awaited<ReturnType<Organization['ask']>>['body']

async function book(documentsOf: (rfc: string) => readonly Written[]) {
  const of = await organization('enterprise_gold')
  const { fiscal_entity_id, rfc } = await connect(of.owner, undefined, { ciec: 'empty' })
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
