import type { DeductionRow, Deductions, DeductionTotals } from '../../../api/routes.d.ts'
import { sizeOf } from '../../../charts/scale.ts'
import { useCodes } from '../../../codes/codes.ts'
import { money, NOTHING, rate } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge, type Tone } from '../../../parts/badge.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { type Endless, More } from '../../../parts/more.tsx'
import { Panel } from '../../../parts/page.tsx'
import { Empty } from '../../../parts/states.tsx'
import { Switch } from '../../../parts/switch.tsx'
import { Table } from '../../../parts/table.tsx'
import { Basis } from '../figures/basis.tsx'
import { useDocumentColumns } from '../figures/documented.tsx'
import { Drill } from '../figures/drill.tsx'
import css from '../figures/figures.module.css'
import { type Own, usePages } from '../figures/read.ts'
import { State } from '../figures/state.tsx'
import { type Asked, Surface } from '../figures/surface.tsx'
import { words } from './words.ts'

const PATH = '/v1/cfdi/deductions'
const TONES: Record<DeductionRow['status'], Tone> = { eligible: 'good', capped: 'wait', review: 'going', not_deductible: 'bad' }
const FIGURES = ['gross_amount', 'deductible_amount', 'review_amount'] as const
const INCOME = /^\d{1,12}(\.\d{1,6})?$/

function Limit({ row: { limit, used }, name }: { row: DeductionTotals; name: string }) {
  const t = useWords(words)
  if (limit === null) return <small>{t.noLimit}</small>
  return (
    <span class={css.end}>
      {t.usedOf(money(used), money(limit))}
      <progress aria-label={`${t.used}: ${name}`} value={sizeOf(used)} max={sizeOf(limit) || 1} />
    </span>
  )
}

function Totals({ rows }: { rows: readonly DeductionTotals[] }) {
  const t = useWords(words)
  const nameOf = ({ year, category }: DeductionTotals) => `${t.categories[category] ?? category} ${year}`
  return (
    <Panel flush title={t.totals} lead={t.totalsLead}>
      <Table<DeductionTotals>
        label={t.totals}
        rows={rows}
        keyOf={({ year, category }) => year + category}
        columns={[
          {
            name: t.category,
            by: ({ category }) => t.categories[category] ?? category,
            cell: ({ category }) => <b>{t.categories[category] ?? category}</b>,
          },
          { name: t.year, by: ({ year }) => year, cell: ({ year }) => year },
          ...FIGURES.map((figure) => ({
            name: t.figure[figure],
            end: true,
            by: (row: DeductionTotals) => row[figure],
            cell: (row: DeductionTotals) => (
              <Drill to={row.drilldown[figure]} label={`${t.figure[figure]}, ${nameOf(row)}`} text={money(row[figure])} />
            ),
          })),
          { name: t.used, end: true, cell: (row) => <Limit row={row} name={nameOf(row)} /> },
          { name: t.remaining, end: true, by: ({ remaining }) => remaining, cell: ({ remaining }) => money(remaining) },
        ]}
      />
    </Panel>
  )
}

function Rows({ rows, fiscal_entity_id, list }: { rows: readonly DeductionRow[]; fiscal_entity_id: string; list: Endless }) {
  const t = useWords(words)
  const { said } = useCodes()
  const columns = useDocumentColumns({ fiscal_entity_id, rows, words: t, dayOf: ({ issued_at }) => issued_at })
  return (
    <Panel flush title={t.rows}>
      <Table<DeductionRow>
        label={t.rows}
        rows={rows}
        keyOf={({ uuid }) => uuid}
        list={list}
        columns={[
          ...columns,
          {
            name: t.category,
            by: ({ category }) => category && (t.categories[category] ?? category),
            cell: ({ category, uso_cfdi }) => (
              <span class={css.two}>
                {category === null ? t.noCategory : (t.categories[category] ?? category)}
                {uso_cfdi && <small>{`${t.use} ${said('uso_cfdi', uso_cfdi)}`}</small>}
              </span>
            ),
          },
          {
            name: t.figure.gross_amount,
            end: true,
            by: ({ gross_amount }) => gross_amount,
            cell: ({ gross_amount }) => money(gross_amount),
          },
          {
            name: t.figure.deductible_amount,
            end: true,
            by: ({ deductible_amount }) => deductible_amount,
            cell: ({ deductible_amount, annual_rate }) => (
              <span class={css.end}>
                {money(deductible_amount)}
                {annual_rate !== null && <small>{t.rate(rate(annual_rate))}</small>}
              </span>
            ),
          },
          {
            name: t.state,
            by: ({ status }) => t.status[status],
            cell: ({ status }) => <Badge tone={TONES[status]}>{t.status[status]}</Badge>,
          },
          {
            name: t.why,
            cell: ({ reasons, status }) =>
              reasons.length > 0 ? (
                <span class={css.two}>
                  <small>{reasons.map((one) => t.reason[one] ?? one).join(' · ')}</small>
                  {status === 'review' && reasons.map((one) => t.question[one] && <small key={one}>{t.question[one]}</small>)}
                </span>
              ) : (
                NOTHING
              ),
          },
        ]}
      />
    </Panel>
  )
}

function All({ own }: { own: Own }) {
  const t = useWords(words)
  const list = usePages<Deductions>(PATH, own)
  return (
    <Loaded query={list} rows={8}>
      {({ pages }) => {
        const first = pages[0]!
        const rows = pages.flatMap(({ data }) => data)
        return (
          <State of={first}>
            {first.cap_unknown && <p class={css.note}>{t.capUnknown}</p>}
            {first.totals.length > 0 && <Totals rows={first.totals} />}
            {rows.length > 0 ? (
              <Rows rows={rows} fiscal_entity_id={first.fiscal_entity_id} list={list} />
            ) : (
              <Empty title={t.none} lead={t.noneLead} />
            )}
            <div class={css.bar}>
              <More list={list} />
            </div>
            <Basis of={first} labels={t.formulas} />
          </State>
        )
      }}
    </Loaded>
  )
}

function Controls({ said, change }: Asked) {
  const t = useWords(words)
  return (
    <>
      <label>
        {t.income}
        <input
          inputMode="decimal"
          size={12}
          placeholder={t.incomeHint}
          value={said('annual_income')}
          onChange={({ currentTarget: { value } }) => (value === '' || INCOME.test(value)) && change({ annual_income: value })}
        />
      </label>
      <Switch
        label={t.profile}
        value={said('profile') || 'auto'}
        choices={(['auto', 'personal', 'business'] as const).map((one) => [one, t.profiles[one]] as const)}
        choose={(profile) => change({ profile: profile === 'auto' ? '' : profile })}
      />
    </>
  )
}

export default function DeductionsPage() {
  const t = useWords(words)
  return (
    <Surface
      title={t.title}
      lead={t.lead}
      path={PATH}
      names={['from', 'to', 'profile', 'annual_income']}
      controls={(asked) => <Controls {...asked} />}
    >
      {({ own }) => <All own={own} />}
    </Surface>
  )
}
