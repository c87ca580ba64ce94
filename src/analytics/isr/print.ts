import { Buffer } from 'node:buffer'
import { CODES } from '../../cfdi/codes.ts'
import type { Language } from '../../cfdi/print/print.ts'
import { type Block, drawing, type PrintedCell, type Row } from '../../platform/pdf/drawing.ts'
import { centralDayOf } from '../../platform/time/months.ts'
import type { Steps } from '../../platform/work/pause.ts'
import { type ColumnType, type ExportColumn, workbookOf } from '../../platform/workbook.ts'
import type { EntriesPage } from '../common/contract.ts'
import type { IsrFigure, IsrLine, IsrPayment } from './contract.ts'
import type { IsrDocument } from './store.ts'
import { SPANISH, WORDS } from './words.ts'

/** The documents of a line, and whether it has more of them. */
export interface FigureDocuments {
  figure: IsrFigure
  entries: EntriesPage['data']
  isCut: boolean
  named: ReadonlyMap<string, IsrDocument>
}

export interface PrintedPayment {
  payment: IsrPayment
  documents: readonly FigureDocuments[]
  /** Of how many documents of a line the file has at most. */
  most: number
  rfc: string
  now: Date
  isSandbox: boolean
}

type Words = (typeof WORDS)['es']

const NOTHING = '—'
/** An amount with its cents, and further decimals where there are any. */
const plain = (amount: string): string => amount.replace(/(\.\d\d\d*?)0+$/, '$1')
const shown = (amount: string | null): string => (amount === null ? NOTHING : plain(amount).replace(/\B(?=(\d{3})+(?!\d)(?=\.))/g, ','))
/** Lines that are no amount. */
const FACTORS = ['tasa', 'coeficiente']

const nameOf = (t: Words, line: string): string => t.lines[line] ?? line
const sourceOf = (t: Words, { source, value }: IsrLine): string => (value === null ? t.missing : t.sources[source])
const amountOf = ({ line, value }: IsrLine): string => (FACTORS.includes(line) ? (value ?? NOTHING) : shown(value))
const said = (sentence: string, language: Language): string => (language === 'es' ? (SPANISH[sentence] ?? sentence) : sentence)
const titleOf = (uuid: string, named: FigureDocuments['named']): string =>
  [named.get(uuid)?.serie, named.get(uuid)?.folio].filter(Boolean).join(' ') || uuid.slice(0, 8)

const cell = (name: string, label: string, value: string): PrintedCell => ({ name, label, value })
const row = (cells: PrintedCell[], ...details: string[]): Row => ({ cells, details })
const ROWS_AT_ONCE = 50
const table = (label: string, rows: readonly Row[]): Block => ({
  kind: 'table',
  label,
  *each(take) {
    for (const [n, one] of rows.entries()) {
      take(one)
      if (n % ROWS_AT_ONCE === 0) yield
    }
  },
})

function* blocksOf({ payment, documents, most, rfc, now, isSandbox }: PrintedPayment, language: Language): Generator<Block> {
  const t = WORDS[language]
  const { period, regimen, a_pagar, declarado, diferencia, data, basis, questions, is_partial, data_quality } = payment
  const heading = (level: number, text: string): Block => ({ kind: 'heading', level, text })
  const text = (value: string, look?: 'strong' | 'small'): Block => ({ kind: 'text', text: value, ...(look && { look }) })
  yield heading(1, `${t.title} ${period}`)
  if (isSandbox) yield text(t.sandbox, 'strong')
  const regime = (CODES[language].regimen_fiscal as Record<string, string>)[regimen]
  yield {
    kind: 'fields',
    fields: [
      ...[
        { label: t.rfc, value: rfc },
        { label: t.regimen, value: `${regimen} – ${regime}` },
        { label: t.month, value: period },
        { label: t.made, value: centralDayOf(now.getTime()) },
      ],
      ...[
        { label: t.due, value: shown(a_pagar) },
        { label: t.declared, value: declarado ? shown(declarado.isr_a_cargo) : t.notDeclared },
        { label: t.difference, value: shown(diferencia) },
      ],
    ],
  }
  if (is_partial) yield text(t.partial, 'strong')
  for (const side of ['issued', 'received'] as const)
    if (data_quality.missing_months[side].length > 0) yield text(t.lacking(t[side], data_quality.missing_months[side].join(', ')), 'strong')
  yield heading(2, t.computation)
  yield table(
    t.computation,
    data.map((line) => {
      const formula = basis.formulas[line.line]
      const cells = [cell('renglon', t.line, nameOf(t, line.line)), cell('fuente', t.source, sourceOf(t, line))]
      return row([...cells, cell('importe', t.amount, amountOf(line))], ...(formula ? [said(formula, language)] : []))
    }),
  )
  if (questions.length > 0) yield heading(2, t.toDecide)
  for (const { reason } of questions) yield text(t.questions[reason])
  for (const { figure, entries, isCut, named } of documents) {
    const label = t.documentsOf(nameOf(t, figure))
    yield heading(2, label)
    if (isCut) yield text(t.cut(String(most)), 'strong')
    yield table(
      label,
      entries.map(({ uuid, applies_to, amount }) => {
        const { fecha = '', counterparty_rfc = '', counterparty_name = null } = named.get(uuid) ?? {}
        const applied = applies_to ? ` · ${t.applies} ${titleOf(applies_to, named)} ${applies_to}` : ''
        return row(
          [
            cell('fecha', t.date, fecha.slice(0, 10)),
            cell('documento', t.document, titleOf(uuid, named)),
            cell('contraparte', t.counterparty, [counterparty_rfc, counterparty_name].filter(Boolean).join(' ')),
            cell('importe', t.amount, shown(amount)),
          ],
          `UUID ${uuid}${applied}`,
        )
      }),
    )
  }
  yield heading(2, t.rules)
  yield table(
    t.rules,
    basis.rules.map(({ key, rule_ref, source }) =>
      row([cell('regla', t.rule, key), cell('fundamento', t.provision, rule_ref), cell('fuente', t.origin, source)]),
    ),
  )
  yield heading(2, t.notes)
  for (const note of basis.notes) if (language === 'en' || SPANISH[note]) yield text(said(note, language), 'small')
}

/** A PDF of a payment with its documents, which carries the computation as JSON. */
export function* printing(of: PrintedPayment, language: Language): Steps<Uint8Array<ArrayBuffer>> {
  const t = WORDS[language]
  const { payment, rfc, isSandbox } = of
  const title = `${t.title} ${payment.period} ${rfc}`
  return yield* drawing([...blocksOf(of, language)], {
    ...{ title, language: language === 'es' ? 'es-MX' : 'en', watermark: null },
    source: {
      ...{ name: `isr-${payment.period}.json`, type: 'application/json', description: t.attached, modified: null },
      bytes: Buffer.from(JSON.stringify(payment)),
    },
    footer: (page, pages) => ({ left: [title, isSandbox && t.sandbox].filter(Boolean).join(' · '), right: t.page(page, pages) }),
  })
}

/** A workbook of a payment: its lines, and its documents. */
export function tablesOf({ payment, documents, most, now }: PrintedPayment, language: Language): Uint8Array<ArrayBuffer> {
  const t = WORDS[language]
  const column = <T>(heading: string, type: ColumnType, value: (one: T) => unknown): ExportColumn => ({
    ...{ heading, type },
    value: value as (one: unknown) => unknown,
  })
  const lines = [
    column<IsrLine>(t.line, 'text', ({ line }) => nameOf(t, line)),
    column<IsrLine>(t.amount, 'number', ({ value }) => value),
    column<IsrLine>(t.source, 'text', (one) => sourceOf(t, one)),
    column<IsrLine>(t.formula, 'text', ({ line }) => said(payment.basis.formulas[line] ?? '', language)),
  ]
  const rows = documents.flatMap(({ figure, entries, named, isCut }) => [
    ...entries.map((entry) => ({ ...entry, ...named.get(entry.uuid), figure: nameOf(t, figure) })),
    ...(isCut ? [{ figure: `${nameOf(t, figure)}: ${t.cut(String(most))}` }] : []),
  ])
  type Entry = Partial<EntriesPage['data'][number] & IsrDocument> & { figure: string }
  const entries = [
    column<Entry>(t.line, 'text', ({ figure }) => figure),
    column<Entry>(t.date, 'time', ({ fecha }) => fecha),
    column<Entry>(t.document, 'text', ({ serie, folio }) => [serie, folio].filter(Boolean).join(' ')),
    column<Entry>(t.rfc, 'text', ({ counterparty_rfc }) => counterparty_rfc),
    column<Entry>(t.counterparty, 'text', ({ counterparty_name }) => counterparty_name),
    column<Entry>('UUID', 'text', ({ uuid }) => uuid),
    column<Entry>(`${t.applies} (UUID)`, 'text', ({ applies_to }) => applies_to),
    column<Entry>(t.amount, 'number', ({ amount }) => amount && plain(amount)),
  ]
  const tables = [
    { name: `ISR ${payment.period}`, columns: lines, rows: payment.data },
    { name: t.documents, columns: entries, rows },
  ]
  return workbookOf(tables, now)
}
