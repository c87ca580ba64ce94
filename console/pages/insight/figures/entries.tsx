import { Link, useLocation } from 'wouter-preact'
import type { InsightEntriesPage, InsightEntry } from '../../../api/routes.d.ts'
import { count, day, decimal, exact, money, month as monthName } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { ButtonLink } from '../../../parts/button.tsx'
import { useEntity } from '../../../parts/entity.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { type Endless, More } from '../../../parts/more.tsx'
import { Call, Figures, Panel, Title } from '../../../parts/page.tsx'
import { Empty, Failed, Skeleton } from '../../../parts/states.tsx'
import { Table } from '../../../parts/table.tsx'
import { isUnreadable, Unreadable } from '../../../parts/unreadable.tsx'
import { FilterWords } from '../../../parts/wrong.tsx'
import { dayIn } from '../../account/days.ts'
import { useSentence } from '../sentences/sentences.ts'
import { documentName, useDocuments } from './documents.ts'
import css from './figures.module.css'
import { formulasOf } from './formulas.ts'
import { type Own, usePages } from './read.ts'
import { Named } from './share.tsx'
import { surfaceOf, useSum } from './sum.ts'
import { words } from './words.ts'

/** An address may say any text for a month. */
const sayMonth = (text: string, style: 'short' | 'long' = 'short'): string =>
  /^\d{4}-(0[1-9]|1[0-2])$/.test(text) ? monthName(text, style) : text

/** Each entry names two documents at most, and a search takes a hundred. */
const PAGE = 50
/** In the currency of the row. The others are in MXN, but for those in the currency of each document. */
const OWN_CURRENCY = ['issued_amount', 'received_amount', 'open_receivable', 'open_payable']
const IN_OWN_CURRENCY = ['missing_rate', 'dof_rate', 'not_counted', 'unreconciled_payments', 'other_parties']

/** What an address without a figure shows. */
const FIRST: Record<string, Own> = {
  '/cfdi/concentration': { direction: 'issued', figure: 'total' },
  '/cfdi/risk': { figure: 'missing_rate' },
  '/analytics/risk': { figure: 'foreign_exchange_share' },
  '/analytics/concepts': { figure: 'total' },
  '/analytics/efos-exposure': { figure: 'total_purchases' },
  '/analytics/fx-exposure': { figure: 'total_sales' },
  '/analytics/isr-provisional': { figure: 'ingresos' },
  '/analytics/vat-position': { figure: 'cobrado.iva_16' },
  '/analytics/financing': { figure: 'receivables.outstanding' },
  '/cfdi/withholdings': { figure: 'isr_por_enterar' },
  '/cfdi/deductions': { figure: 'unreconciled_payments' },
}

/** The zone whose days figures are of. */
export const CENTRAL = 'America/Mexico_City'

/** What a figure of a past day is made of is shown as it stood then; that of today as it stands. */
const dayOf = ({ as_of }: Own): Own => (as_of && as_of < dayIn(new Date().toISOString(), CENTRAL) ? { as_of } : {})

interface RowsProps {
  label?: string
  own: Own
  rows: readonly InsightEntry[]
  list?: Endless
  isLast?: boolean
  loaded?: number
}

/** Entries, with what is known of their documents. */
export function Rows({ label, own, rows, list, isLast = true, loaded = rows.length }: RowsProps) {
  const t = useWords(words)
  const { fiscal_entity_id = '', figure = '', currency } = own
  const documents = useDocuments(
    fiscal_entity_id,
    rows.flatMap(({ uuid, applies_to }) => (applies_to ? [uuid, applies_to] : [uuid])),
  )
  const linkOf = (uuid: string) => {
    const name = documentName(uuid, documents.get(uuid))
    return (
      <Link href={`/cfdi/${uuid}?${new URLSearchParams({ fiscal_entity_id, ...dayOf(own) })}`} aria-label={t.open(name)} title={uuid}>
        {name}
      </Link>
    )
  }
  const shown = ({ uuid, amount }: InsightEntry) => {
    const isOwn = IN_OWN_CURRENCY.includes(figure)
    const known = documents.get(uuid)?.currency
    if (isOwn && !known) return decimal(amount)
    const text = isOwn ? money(amount, known) : money(amount, OWN_CURRENCY.includes(figure) ? currency : 'MXN')
    // Parts can have fractions of cents, which the sum counts.
    return (
      <data value={amount} title={/\.\d\d0*$/.test(amount) ? undefined : exact(amount)}>
        {text}
      </data>
    )
  }
  return (
    <Table<InsightEntry>
      label={label ?? t.entries}
      rows={rows}
      keyOf={({ uuid, applies_to }) => `${uuid} ${applies_to}`}
      {...(list && { list })}
      isLast={isLast}
      loaded={loaded}
      columns={[
        { name: t.document, cell: ({ uuid }) => linkOf(uuid) },
        { name: t.date, cell: ({ uuid }) => day(documents.get(uuid)?.fecha) },
        {
          name: t.counterparty,
          cell: ({ uuid }) => {
            const known = documents.get(uuid)?.counterparty
            return known?.rfc ? <Named name={known.nombre} code={known.rfc} /> : null
          },
        },
        ...(rows.some(({ applies_to }) => applies_to)
          ? [{ name: t.appliesTo, cell: ({ applies_to }: InsightEntry) => applies_to && linkOf(applies_to) }]
          : []),
        { name: t.amount, end: true, cell: (one) => shown(one) },
      ]}
    />
  )
}

function Whole({ path, own, isExplained }: { path: string; own: Own; isExplained: boolean }) {
  const t = useWords(words)
  const say = useSentence()
  const sum = useSum(path, own)
  const { figure = '', currency } = own
  if (!sum) return null
  const formulas = isExplained ? formulasOf(figure, sum.formulas) : []
  const text = typeof sum.value === 'number' ? count(sum.value) : money(sum.value, OWN_CURRENCY.includes(figure) ? currency : 'MXN')
  return (
    <Panel>
      <Figures figures={[{ name: typeof sum.value === 'number' ? t.documents : t.sum, value: text }]} />
      {formulas.map(([name, formula]) => (
        <p key={name}>
          <small>{say(formula)}</small>
        </p>
      ))}
    </Panel>
  )
}

function List({ path, own }: { path: string; own: Own }) {
  const t = useWords(words)
  const list = usePages<InsightEntriesPage>(path, own, PAGE)
  return (
    <>
      <Loaded query={list} rows={6}>
        {({ pages }) =>
          pages.every(({ data }) => data.length === 0) ? (
            <Empty title={t.noEntries} lead={t.noEntriesLead} />
          ) : (
            pages.map(({ data }, n) => (
              <Panel flush key={n}>
                <Rows
                  own={own}
                  rows={data}
                  list={list}
                  isLast={n === pages.length - 1}
                  loaded={pages.flatMap((page) => page.data).length}
                />
              </Panel>
            ))
          )
        }
      </Loaded>
      <div class={css.bar}>
        <More list={list} />
      </div>
      <Call call={`GET ${path}?${new URLSearchParams(own)}`} />
    </>
  )
}

interface Props {
  /** What figures are called on the page of the surface. */
  names?: Record<string, string>
  /** What else says which figure it is, such as a category. */
  about?: (own: Own) => readonly (string | undefined)[]
  /** Whether the formula of the API stands beside the sum. */
  isExplained?: boolean
  /** What the page of the surface was given beside what the address of a figure says. */
  backTo?: (own: Own) => Own
}

/** The documents behind a figure of a surface: `/cfdi/concentration/entries` shows what `GET /v1/cfdi/concentration/entries` answers. */
export default function Entries({ names = {}, about, isExplained = false, backTo }: Props) {
  const t = useWords(words)
  const [path] = useLocation()
  const { entity, entities, error, refetch, params } = useEntity()
  if (error && !entities) return <Failed isPage error={error} retry={refetch} />
  if (!entities) return <Skeleton rows={6} />
  if (!entity) return <Empty isPage title={t.unknownRfc} action={{ label: t.connect, href: '/connect' }} />
  if (isUnreadable(entity)) return <Unreadable isPage entity={entity} />
  const surface = path.replace(/\/entries$/, '')
  const own: Own = {
    ...(!params.has('figure') && FIRST[surface]),
    ...Object.fromEntries(params),
    fiscal_entity_id: entity.fiscal_entity_id,
  }
  const { figure = '', rfc, key, month, currency, period, from, to } = own
  const name = names[figure] ?? t.figure[figure] ?? t.entries
  const when = month ?? period
  const ends = [from, to].filter((end) => end !== undefined).map((end) => sayMonth(end.slice(0, 7)))
  const months = when ? [sayMonth(when, 'long')] : [ends.join(' – ')]
  const of = [...(about?.(own) ?? []), rfc, key, currency, ...months].filter(Boolean)
  return (
    <>
      <Title isThing of={entity.rfc} text={[name, ...of].join(' · ')} lead={`${entity.rfc} · ${t.entriesLead}`}>
        <ButtonLink href={`${surface}?${new URLSearchParams({ ...surfaceOf(surface, own), ...backTo?.(own) })}`}>{t.back}</ButtonLink>
      </Title>
      <Whole path={surface} own={own} isExplained={isExplained} />
      <FilterWords.Provider value={(one, value) => ({ label: t.names[one] ?? one, value })}>
        <List path={`/v1${path}`} own={own} />
      </FilterWords.Provider>
    </>
  )
}
