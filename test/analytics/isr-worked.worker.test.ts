import { exports } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { tariffOn } from '../../src/analytics/isr/isr.ts'
import { WORDS } from '../../src/analytics/isr/words.ts'
import { sheetsOf } from '../copies/exports/support/readers.ts'
import { basic, request } from '../support/client.ts'
import { connect, type Organization, organization } from '../support/tenants.ts'
import { micros, money } from './oracle/amounts.ts'
import { importInto } from './support/imported.ts'
import type { Written } from './support/xml.ts'

/**
 * January and February 2026 of a company and of a person, by hand. Amounts are before IVA.
 *
 * Invoiced: S1 10,000 and S2 6,000 (PPD) in January; in February S3 8,000 less a discount of 1,000, S4 1,250 of which 15.63 of ISR is withheld,
 * the advance A1 2,000, and F1 5,000 that applies it; N2 takes the advance off, and N1 credits 1,000 of S1.
 *   ingresos of 601 = 10,000 + 6,000 + 7,000 + 1,250 + 2,000 + 5,000 = 31,250; − 2,000 = 29,250; N1 is no part of it.
 *   29,250 × 0.2 − 850 = 5,000; × 30 % = 1,500; − 400 − 15.63 = 1,084.37.
 * Collected: half of S2 in February. In January 10,000; in February 3,000 + 7,000 + 1,250 + 2,000 + 5,000 − 2,000 − 1,000 = 15,250.
 * Paid: R1 4,000 in January and half of R3 (2,000) in February. R2, 3,000 in cash, is not deductible. R4, 1,500, is an investment.
 *   25,250 − 5,000 − 250 = 20,000. Company of 626: × 30 % = 6,000; − 15.63 = 5,984.37.
 *   612, tariff of two months: 2 × 420.95 + (20,000 − 14,337.03) × 10.88 % = 841.90 + 616.131136; − 15.63 = 1,442.401136.
 * Person of 626, February alone: 15,250 × 1 % = 152.50; − 15.63 = 136.87.
 */
const [CUSTOMER, SUPPLIER] = ['BBB020202BB1', 'DDD040404DD3']
const uuidOf = (n: number) => `0000000${n.toString(16).toUpperCase()}-0000-4000-8000-00000000000${n.toString(16).toUpperCase()}`
const [S1, S2, S3, S4, A1, F1, N1, N2, P2, R1, R2, R3, R4, P3] = Array.from({ length: 14 }, (_, n) => uuidOf(n)) as [string, ...string[]]

const documentsOf = (rfc: string): Written[] => {
  const sale = { emisor: rfc, receptor: CUSTOMER }
  const purchase = { emisor: SUPPLIER, receptor: rfc }
  return [
    { ...sale, uuid: S1, fecha: '2026-01-10', lines: [{ importe: 10_000 }] },
    { ...sale, uuid: S2!, fecha: '2026-01-15', metodo: 'PPD', lines: [{ importe: 6_000 }] },
    { ...sale, uuid: S3!, fecha: '2026-02-05', lines: [{ importe: 8_000, descuento: 1_000 }] },
    { ...sale, uuid: S4!, fecha: '2026-02-07', lines: [{ importe: 1_250, isr: 15.63 }] },
    { ...sale, uuid: A1!, fecha: '2026-02-08', lines: [{ importe: 2_000 }] },
    { ...sale, uuid: F1!, fecha: '2026-02-09', forma: '30', relacion: ['07', A1!], lines: [{ importe: 5_000 }] },
    { ...sale, uuid: N1!, fecha: '2026-02-20', tipo: 'E', relacion: ['01', S1], lines: [{ importe: 1_000 }] },
    { ...sale, uuid: N2!, fecha: '2026-02-09', tipo: 'E', forma: '30', relacion: ['07', F1!], lines: [{ importe: 2_000 }] },
    { ...sale, uuid: P2!, fecha: '2026-02-10', tipo: 'P', pago: ['2026-02-10', [{ uuid: S2!, pagado: 3_480 }]] },
    { ...purchase, uuid: R1!, fecha: '2026-01-12', lines: [{ importe: 4_000 }] },
    { ...purchase, uuid: R2!, fecha: '2026-02-12', forma: '01', lines: [{ importe: 3_000 }] },
    { ...purchase, uuid: R3!, fecha: '2026-02-01', metodo: 'PPD', lines: [{ importe: 2_000 }] },
    { ...purchase, uuid: R4!, fecha: '2026-02-14', uso: 'I04', lines: [{ importe: 1_500 }] },
    { ...purchase, uuid: P3!, fecha: '2026-02-25', tipo: 'P', pago: ['2026-02-25', [{ uuid: R3!, pagado: 1_160 }]] },
  ]
}

async function imported(rfc?: string) {
  const of = await organization('enterprise_gold')
  const connected = await connect(of.owner, rfc)
  await importInto(of, connected.fiscal_entity_id, documentsOf(connected.rfc))
  return { of, ...connected }
}

async function addedUp(of: Organization, drilldown: string): Promise<string> {
  let sum = 0n
  for (let cursor = ''; ; ) {
    const { body, status } = await of.ask('GET', `${drilldown}&limit=2${cursor}`)
    expect([status, body.detail]).toEqual([200, undefined])
    for (const { amount } of body.data) sum += micros(amount)
    if (!body.has_more) return money(sum)
    cursor = `&cursor=${encodeURIComponent(body.next_cursor)}`
  }
}

describe('the provisional payment of ISR of February 2026, by hand', async () => {
  const company = await imported()
  const person = await imported('EEEE850505EE4')
  const ask = ({ of, fiscal_entity_id }: typeof company, query: string) =>
    of.ask('GET', `/v1/analytics/isr-provisional?fiscal_entity_id=${fiscal_entity_id}&${query}`)
  /** Expects these lines, and that documents add up to each line of theirs. */
  const expectLines = async (who: typeof company, query: string, lines: Record<string, string>) => {
    const { body, status } = await ask(who, `period=2026-02&${query}`)
    expect([status, body.detail]).toEqual([200, undefined])
    expect(Object.fromEntries(body.data.map(({ line, value }: { line: string; value: string }) => [line, value]))).toEqual(lines)
    expect(body.a_pagar).toBe(lines['a_pagar'])
    for (const [figure, drilldown] of Object.entries<string>(body.drilldown))
      expect([figure, await addedUp(who.of, drilldown)]).toEqual([figure, lines[figure]])
    return body
  }
  const flow = {
    ingresos: '25250.00',
    deducciones: '5000.00',
    no_deducible: '3000.00',
    inversiones: '1500.00',
    otras_deducciones: '250.00',
  }
  const none = { ptu: '0.00', perdidas: '0.00', pagos_anteriores: '0.00', retenido: '15.63' }

  it('is that of a company of 601 by its coefficient, and asks for one', async () => {
    const { questions } = await expectLines(company, 'regimen=601&coefficient=0.2&losses=850&earlier_payments=400', {
      ...{ ingresos: '31250.00', anticipos_aplicados: '2000.00', ingresos_nominales: '29250.00', notas_de_credito: '1000.00' },
      ...{ coeficiente: '0.2', utilidad: '5850.00', ptu: '0.00', perdidas: '850.00', base: '5000.00', tasa: '0.30', isr: '1500.00' },
      ...{ pagos_anteriores: '400.00', retenido: '15.63', a_pagar: '1084.37' },
    })
    expect(questions.map(({ reason }: { reason: string }) => reason)).toEqual(['notas_de_credito'])
    const { body } = await ask(company, 'period=2026-02&regimen=601')
    expect(body).toMatchObject({ a_pagar: null, diferencia: null, declarado: null })
    expect(body.questions.map(({ reason }: { reason: string }) => reason)).toContain('coefficient')
  })

  it('is that of a company of 626 by what was collected and paid', async () => {
    await expectLines(company, 'regimen=626&other_deductions=250', {
      ...{ ...flow, ...none, base: '20000.00', tasa: '0.30', isr: '6000.00', a_pagar: '5984.37' },
    })
  })

  it('is that of a person of 612 by the tariff of two months', async () => {
    await expectLines(person, 'regimen=612&other_deductions=250', {
      ...{ ...flow, ...none, base: '20000.00', isr: '1458.03', a_pagar: '1442.40' },
    })
  })

  it('is that of a person of 626 by the table, on the month alone', async () => {
    await expectLines(person, 'regimen=626', { ingresos: '15250.00', tasa: '0.01', isr: '152.50', retenido: '15.63', a_pagar: '136.87' })
  })

  it('is a table for who accepts text/csv, and so are the documents of a line', async () => {
    const headers = { authorization: basic(company.of.owner), accept: 'text/csv' }
    const query = `fiscal_entity_id=${company.fiscal_entity_id}&period=2026-02&regimen=626`
    for (const path of [`?${query}`, `/entries?${query}&figure=ingresos`])
      expect((await request('GET', `/v1/analytics/isr-provisional${path}`, { headers })).status).toBe(200)
  })

  it('is a file with the same lines and documents, as a PDF and as a workbook', async () => {
    const { of, fiscal_entity_id } = company
    const asked = `fiscal_entity_id=${fiscal_entity_id}&period=2026-02&regimen=626&other_deductions=250`
    const download = async (format: string) => {
      const response = await exports.default.fetch(`https://api.test/v1/analytics/isr-provisional/file?${asked}&format=${format}`, {
        headers: { authorization: basic(of.owner) },
      })
      expect(response.status).toBe(200)
      expect(response.headers.get('content-disposition')).toContain(`_202602.${format}"`)
      return new Uint8Array(await response.arrayBuffer())
    }
    const pdf = Buffer.from(await download('pdf')).toString('latin1')
    expect([pdf.slice(0, 5), pdf.trimEnd().slice(-5)]).toEqual(['%PDF-', '%%EOF'])
    const { body } = await of.ask('GET', `/v1/analytics/isr-provisional?${asked}`)
    const [lines, documents] = sheetsOf(await download('xlsx'))
    expect(lines!.rows.slice(1).map((cells) => Number(cells[1]))).toEqual(body.data.map(({ value }: { value: string }) => Number(value)))
    // Each line of documents is the sum of its rows.
    for (const figure of Object.keys(body.drilldown)) {
      const rows = documents!.rows.filter(([name]) => name === WORDS.es.lines[figure])
      const { value } = body.data.find(({ line }: { line: string }) => line === figure)
      expect([figure, rows.reduce((sum, cells) => sum + Number(cells.at(-1)), 0).toFixed(2)]).toEqual([figure, value])
    }
    const [stranger] = [await organization('enterprise_gold')]
    expect((await stranger.ask('GET', `/v1/analytics/isr-provisional/file?${asked}&format=pdf`)).status).toBe(404)
    expect((await of.ask('GET', `/v1/analytics/isr-provisional/file?${asked}&format=doc`)).status).toBe(422)
  })

  it('says that a month without documents is not known, and refuses months without a tariff and other regimes', async () => {
    const of = await organization('enterprise_gold')
    const unknown = { of, ...(await connect(of.owner)) }
    expect((await ask(unknown, 'period=2026-02&regimen=626')).body).toMatchObject({ a_pagar: null, diferencia: null })
    for (const query of [
      'period=2017-12&regimen=601',
      'period=2021-12&regimen=626',
      'period=2026-02&regimen=612',
      'period=2026-02&regimen=606',
    ])
      expect((await ask(company, query)).status).toBe(422)
  })
})

describe('the tariff of several months', () => {
  const tariff = [
    { lower: '0.01', fixed: '0', rate: '0.1' },
    { lower: '100.01', fixed: '10', rate: '0.5' },
  ]
  it.each([
    [0, 1, '0.00'],
    [100, 1, '10.00'],
    [200, 2, '20.00'],
    [200.02, 2, '20.01'],
    [300.01, 2, '70.00'],
  ])('of %d in %d months is %s', (base, months, due) => {
    expect(money(tariffOn(micros(base.toFixed(2)), months, tariff))).toBe(due)
  })
})
