import { describe, expect, it } from 'vitest'
import example from '../../docs/examples/getIsrPayment.json' with { type: 'json' }
import { IsrPayment } from '../../src/analytics/isr/contract.ts'
import { type PrintedPayment, printing, tablesOf } from '../../src/analytics/isr/print.ts'
import { WORDS } from '../../src/analytics/isr/words.ts'
import { inOneGo } from '../../src/platform/work/pause.ts'
import { solid, streamsOf, textOf } from '../cfdi/print/support/read-pdf.ts'
import { sheetsOf } from '../copies/exports/support/readers.ts'

const payment = IsrPayment.parse(example.success['200'])
const uuidOf = (n: number) => `${n.toString(16).toUpperCase().padStart(8, '0')}-0000-4000-8000-000000000000`
const MOST = 400

/** A payment whose income has `count` documents, of which the file has `MOST`. */
function printed(count: number, isSandbox = false): PrintedPayment {
  const entries = Array.from({ length: Math.min(MOST, count) }, (_, n) => ({
    ...{ uuid: uuidOf(n), amount: `${1_000 + n}.250000`, applies_to: n % 2 === 0 ? uuidOf(count + n) : null },
  }))
  const named = entries.map(({ uuid }, n) => ({
    ...{ uuid, fecha: '2026-02-03T10:00:00', serie: 'F', folio: String(n + 1) },
    ...{ counterparty_rfc: 'BBB020202BB1', counterparty_name: 'Niño & Compañía <SA>' },
  }))
  const documents = [{ figure: 'ingresos' as const, entries, isCut: count > MOST, named: new Map(named.map((one) => [one.uuid, one])) }]
  return { payment, documents, most: MOST, rfc: 'DEM050101AB9', now: new Date('2026-03-01T18:00:00Z'), isSandbox }
}

describe('the payment of ISR as a file', () => {
  it.each(['es', 'en'] as const)('has every line, question and document, as a PDF and as a workbook (%s)', async (language) => {
    const t = WORDS[language]
    const of = printed(120)
    const pdf = inOneGo(printing(of, language))
    const text = solid(await textOf(pdf))
    const names = payment.data.map(({ line }) => t.lines[line]!)
    expect(names.filter((name) => name === undefined || !text.includes(solid(name)))).toEqual([])
    const grouped = (value: string) => value.replace(/\B(?=(\d{3})+(?=\.))/g, ',')
    const values = payment.data.flatMap(({ value }) => (value === null ? [] : [grouped(value)]))
    expect(values.filter((value) => !text.includes(value))).toEqual([])
    expect(payment.questions.filter(({ reason }) => !text.includes(solid(t.questions[reason])))).toEqual([])
    const [{ entries }] = of.documents as [PrintedPayment['documents'][number]]
    expect(entries.filter(({ uuid, applies_to }) => !text.includes(uuid) || (applies_to && !text.includes(applies_to)))).toEqual([])
    expect(text).toContain('1,119.25')
    expect(text).toContain(solid('Niño & Compañía <SA>'))
    // What the API answers is inside.
    expect(streamsOf(pdf).map((stream) => Buffer.from(stream, 'latin1').toString())).toContain(JSON.stringify(payment))

    const [lines, documents] = sheetsOf(tablesOf(of, language))
    expect([lines!.name, documents!.name]).toEqual([`ISR ${payment.period}`, t.documents])
    expect(lines!.rows.slice(1).map(([name]) => name)).toEqual(names)
    expect(documents!.rows).toHaveLength(1 + 120)
    expect(documents!.rows.slice(1).map((cells) => cells.includes('BBB020202BB1'))).not.toContain(false)
    expect(documents!.rows.slice(1).map((cells) => Number(cells.at(-1)))).toEqual(entries.map(({ amount }) => Number(amount)))
  })

  it('is in Spanish without a word of English, and says what it leaves out and that a sandbox made it', async () => {
    const of = printed(MOST + 1, true)
    const text = await textOf(inOneGo(printing(of, 'es')))
    expect(text).toContain(WORDS.es.cut(String(MOST)))
    expect(text).toContain(WORDS.es.sandbox)
    // The sources of rules stand as they are.
    expect(text.slice(0, text.indexOf(WORDS.es.documentsOf(WORDS.es.lines['ingresos']!)))).not.toMatch(/\b(of|the|is|are|what)\b/)
    expect(JSON.stringify(sheetsOf(tablesOf(of, 'es'))[1]!.rows.at(-1))).toContain(WORDS.es.cut(String(MOST)))
  })

  it('is the same bytes for the same payment', () => {
    expect(Buffer.compare(inOneGo(printing(printed(3), 'es')), inOneGo(printing(printed(3), 'es')))).toBe(0)
    expect(Buffer.compare(tablesOf(printed(3), 'es'), tablesOf(printed(3), 'es'))).toBe(0)
  })
})
