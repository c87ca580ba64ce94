import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, it } from 'vitest'
import { api } from '../support/client.ts'
import { costOf } from '../support/meter.ts'
import { connect, type Organization, organization } from '../support/tenants.ts'
import { deductionsOf } from './oracle/drilldowns/deductions.ts'
import { expectAddedUp, linksIn } from './support/added-up.ts'
import { worldOf } from './support/documents.ts'
import { importInto } from './support/imported.ts'
import { documentsOf as documentsIn, requesterOf, rulesByDay } from './support/served.ts'
import type { Written } from './support/xml.ts'

/**
 * Tuition that a natural person paid in 2026, by hand (Decree of 2013-12-26, 1.8): a limit for each student and year, that of the higher level.
 *
 * A (kindergarten, 14,200): T1 10,000 and T2 6,000: 10,000 and what is left, 4,200. N1 credits 1,000 of T2 in May, so that T3, 2,000 in June, has
 * 1,000 left. B finished primary school (12,900) and began secondary school (19,900) in the same year, so 19,900: T4 12,000, T5 9,000: 7,900.
 * T6 is one invoice for both: 3,000 for C, primary school, and 1,000 for A, of whom nothing is left: 3,000. T7 has a line without a student, and
 * T8 names a level that the decree does not have: to be reviewed. T9 was paid in cash. In 2027 A has a new limit.
 */
const [A, B, C] = ['AAAA200101HDFXXX01', 'BBBB140101MDFXXX02', 'CCCC160101HDFXXX03'] as const
const [KINDER, PRIMARY, SECONDARY] = ['Preescolar', 'Primaria', 'Secundaria']
const uuid = (n: number) => `0000000${n.toString(16).toUpperCase()}-1ED0-4000-8000-00000000000${n.toString(16).toUpperCase()}`
const [T1, T2, N1, T3, T4, T5, T6, T7, T8, T9, T10, P1] = Array.from({ length: 12 }, (_, n) => uuid(n + 1)) as [string, ...string[]]

const documentsOf = (rfc: string): Written[] => {
  const school = { emisor: 'DDD040404DD3', receptor: rfc, uso: 'D10', regimenReceptor: '605' }
  const line = (importe: number, curp: string | null, nivel?: string) => ({
    importe,
    iva: 'exento' as const,
    ...(curp === null || nivel === undefined ? {} : { iedu: [curp, nivel] as [string, string] }),
  })
  return [
    { ...school, uuid: T1, fecha: '2026-01-10', lines: [line(10_000, A, KINDER)] },
    { ...school, uuid: T2!, fecha: '2026-02-10', lines: [line(6_000, A, KINDER)] },
    { ...school, uuid: T4!, fecha: '2026-03-10', lines: [line(12_000, B, PRIMARY)] },
    { ...school, uuid: T6!, fecha: '2026-04-10', lines: [line(3_000, C, PRIMARY), line(1_000, A, KINDER)] },
    {
      ...school,
      uuid: N1!,
      fecha: '2026-05-10',
      tipo: 'E',
      uso: 'G02',
      regimenReceptor: '612',
      relacion: ['01', T2!],
      lines: [{ importe: 1_000, iva: 'exento' }],
    },
    { ...school, uuid: T3!, fecha: '2026-06-10', lines: [line(2_000, A, KINDER)] },
    { ...school, uuid: T7!, fecha: '2026-07-10', lines: [line(500, C, PRIMARY), line(100, null)] },
    { ...school, uuid: T8!, fecha: '2026-08-10', lines: [line(700, C, 'Licenciatura')] },
    { ...school, uuid: T5!, fecha: '2026-09-10', lines: [line(9_000, B, SECONDARY)] },
    { ...school, uuid: T9!, fecha: '2026-09-11', forma: '01', lines: [line(400, C, PRIMARY)] },
    { ...school, uuid: T10!, fecha: '2025-12-10', lines: [line(5_000, A, KINDER)] },
    // Pays an invoice that nobody knows.
    { ...school, uuid: P1!, fecha: '2026-09-12', tipo: 'P', pago: ['2026-09-12', [{ uuid: uuid(15), pagado: 250 }]] },
  ]
}

let of: Organization
let fiscal_entity_id: string
const query = () => `fiscal_entity_id=${fiscal_entity_id}&from=2025-12&to=2026-11`

beforeAll(async () => {
  of = await organization()
  const connected = await connect(of.owner, 'PEPJ800101AB1', { ciec: 'empty' })
  fiscal_entity_id = connected.fiscal_entity_id
  await importInto(of, fiscal_entity_id, documentsOf(connected.rfc))
})

describe('tuition', () => {
  it('has a limit for each student and year, that of the higher one of their levels', async () => {
    const { status, body } = await api(of.owner, 'GET', `/v1/cfdi/deductions?${query()}&limit=100`)
    expect(status).toBe(200)
    const rows = (body.data as Record<string, unknown>[]).map((row) => [
      row['uuid'],
      row['deductible_amount'],
      row['status'],
      row['reasons'],
    ])
    expect(rows).toEqual([
      [T10, '5000.00', 'eligible', []],
      [T1, '10000.00', 'eligible', []],
      [T2, '4200.00', 'capped', ['cap_tuition']],
      [T4, '12000.00', 'eligible', []],
      [T6, '3000.00', 'capped', ['cap_tuition']],
      [N1, '0.00', 'eligible', []],
      [T3, '0.00', 'capped', ['cap_tuition']],
      [T7, '0.00', 'review', ['tuition_without_iedu']],
      [T8, '0.00', 'review', ['tuition_without_iedu']],
      [T5, '7900.00', 'capped', ['cap_tuition']],
      [T9, '0.00', 'not_deductible', ['not_electronic']],
    ])
    const [before, year] = body.totals as Record<string, unknown>[]
    expect(before).toMatchObject({ year: '2025', category: 'tuition', limit: '14200.00', used: '5000.00', remaining: '9200.00' })
    // 14,200 + 19,900 + 12,900, of which 14,200 + 19,900 + 3,000 are used.
    expect(year).toMatchObject({ year: '2026', limit: '47000.00', used: '37100.00', remaining: '9900.00', review_amount: '1300.00' })
    expect(body.basis.rules.map(({ key }: { key: string }) => key)).toContain('deduction.tuition')
    for (const link of linksIn(body)) await expectAddedUp(requesterOf(of.owner, fiscal_entity_id), link)
  })

  it('is what the oracle adds up', async () => {
    const ask = requesterOf(of.owner, fiscal_entity_id)
    const world = worldOf(await documentsIn(ask), { rfc: 'PEPJ800101AB1', rules: await rulesByDay() })
    const { rows, totals } = deductionsOf(world, { from: '2025-12-01', to: '2026-11-30' })
    expect(await ask('/cfdi/deductions', { from: '2025-12', to: '2026-11', limit: '100' })).toMatchObject({ data: rows, totals })
  })

  it('counts and lists payments that match no invoice', async () => {
    const { body } = await api(of.owner, 'GET', `/v1/cfdi/deductions?${query()}`)
    expect(body.data_quality).toMatchObject({ unreconciled_payments: 1, other_parties: 0 })
    const listed = await api(of.owner, 'GET', body.data_quality.drilldown.unreconciled_payments)
    expect(listed.body.data).toEqual([{ uuid: P1, amount: '250.000000', applies_to: uuid(15) }])
  })

  it('is shown in the lines of a document', async () => {
    const { body } = await api(of.owner, 'GET', `/v1/cfdi/${T6}?fiscal_entity_id=${fiscal_entity_id}`)
    expect(body.conceptos.map(({ iedu }: { iedu: unknown }) => iedu)).toEqual([
      { nombre_alumno: 'ALUMNO DE PRUEBA', curp: C, nivel_educativo: PRIMARY, aut_rvoe: 'RVOE 1', rfc_pago: 'EEEE850505EE4' },
      { nombre_alumno: 'ALUMNO DE PRUEBA', curp: A, nivel_educativo: KINDER, aut_rvoe: 'RVOE 1', rfc_pago: 'EEEE850505EE4' },
    ])
  })

  it('is read in the call that reads the documents', async () => {
    const { cost } = await costOf(env.LEDGER_0, env.FILES, () => api(of.owner, 'GET', `/v1/cfdi/deductions?${query()}`))
    expect(cost).toMatchObject({ d1_calls: 4, rows_written: 0 })
  })
})
