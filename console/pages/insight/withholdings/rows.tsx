import type { Withholding } from '../../../api/routes.d.ts'
import { day, money, NOTHING, rate as rateText } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge } from '../../../parts/badge.tsx'
import { Panel } from '../../../parts/page.tsx'
import { Table } from '../../../parts/table.tsx'
import { useDocumentColumns } from '../figures/documented.tsx'
import css from '../figures/figures.module.css'
import { words } from './words.ts'

/** An amount with the rate that it is of the base. */
const Rated = ({ amount, rate }: { amount: string | null; rate: string | null }) => (
  <span class={css.end}>
    {money(amount)}
    {rate !== null && <small>{rateText(rate)}</small>}
  </span>
)

function State({ row: { missing, expected_amount } }: { row: Withholding }) {
  const t = useWords(words)
  if (missing) return <Badge tone="bad">{t.missing}</Badge>
  return expected_amount === null ? <Badge tone="idle">{t.notExpected}</Badge> : <Badge tone="good">{t.fine}</Badge>
}

export function Rows({ rows, fiscal_entity_id }: { rows: readonly Withholding[]; fiscal_entity_id: string }) {
  const t = useWords(words)
  const columns = useDocumentColumns({
    ...{ fiscal_entity_id, rows, words: t, dayOf: ({ date }: Withholding) => date },
    about: ({ role }) => <small>{t.role[role]}</small>,
  })
  return (
    <Panel flush title={t.rows} lead={t.rowsLead}>
      <Table<Withholding>
        label={t.rows}
        rows={rows}
        keyOf={({ uuid, applies_to, impuesto, role, concept_class }) => [uuid, applies_to, impuesto, role, concept_class].join()}
        columns={[
          ...columns,
          {
            name: t.concept_class,
            cell: ({ concept_class, source }) => (
              <span class={css.two}>
                {concept_class ? t.classOf[concept_class] : t.sourceOf[source]}
                {concept_class && <small>{t.sourceOf[source]}</small>}
              </span>
            ),
          },
          { name: t.impuesto, by: ({ impuesto }) => impuesto, cell: ({ impuesto }) => impuesto },
          { name: t.base, end: true, by: ({ base }) => base, cell: ({ base }) => money(base) },
          { name: t.withheld, end: true, by: ({ amount }) => amount, cell: ({ amount, rate }) => <Rated amount={amount} rate={rate} /> },
          {
            name: t.expected,
            end: true,
            by: ({ expected_amount }) => expected_amount,
            cell: ({ expected_amount, expected_rate }) => <Rated amount={expected_amount} rate={expected_rate} />,
          },
          { name: t.difference, end: true, by: ({ difference }) => difference, cell: ({ difference }) => money(difference) },
          {
            name: t.due,
            by: ({ due_date }) => due_date,
            cell: ({ due_date }) => <span class={css.nowrap}>{due_date ? day(due_date) : NOTHING}</span>,
          },
          { name: t.state, cell: (row) => <State row={row} /> },
        ]}
      />
    </Panel>
  )
}
