import { Link } from 'wouter-preact'
import type { Withholding } from '../../../api/routes.d.ts'
import { day, money, NOTHING, rate as rateText } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge } from '../../../parts/badge.tsx'
import { Panel } from '../../../parts/page.tsx'
import { Table } from '../../../parts/table.tsx'
import { documentName, useDocuments } from '../figures/documents.ts'
import css from '../figures/figures.module.css'
import { PAGE } from '../figures/read.ts'
import { Named } from '../figures/share.tsx'
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
  const documents = useDocuments(
    fiscal_entity_id,
    rows.map(({ uuid }) => uuid),
    PAGE,
  )
  return (
    <Panel flush title={t.rows} lead={t.rowsLead}>
      <Table<Withholding>
        label={t.rows}
        rows={rows}
        keyOf={({ uuid, applies_to, impuesto, role, concept_class }) => [uuid, applies_to, impuesto, role, concept_class].join()}
        columns={[
          {
            name: t.date,
            cell: ({ uuid, date, counterparty_rfc }) => (
              <span class={css.two}>
                <Link
                  href={`/cfdi/${uuid}?fiscal_entity_id=${fiscal_entity_id}`}
                  aria-label={t.open(counterparty_rfc, day(date))}
                  class={css.nowrap}
                >
                  {day(date)}
                </Link>
                <small class={css.nowrap} title={uuid}>
                  {documentName(uuid, documents.get(uuid))}
                </small>
              </span>
            ),
          },
          {
            name: t.party,
            cell: ({ uuid, counterparty_rfc, role }) => (
              <Named name={documents.get(uuid)?.counterparty.nombre ?? null} code={counterparty_rfc}>
                <small>{t.role[role]}</small>
              </Named>
            ),
          },
          {
            name: t.concept_class,
            cell: ({ concept_class, source }) => (
              <span class={css.two}>
                {concept_class ? t.classOf[concept_class] : t.sourceOf[source]}
                {concept_class && <small>{t.sourceOf[source]}</small>}
              </span>
            ),
          },
          { name: t.impuesto, cell: ({ impuesto }) => impuesto },
          { name: t.base, end: true, cell: ({ base }) => money(base) },
          { name: t.withheld, end: true, cell: ({ amount, rate }) => <Rated amount={amount} rate={rate} /> },
          {
            name: t.expected,
            end: true,
            cell: ({ expected_amount, expected_rate }) => <Rated amount={expected_amount} rate={expected_rate} />,
          },
          { name: t.difference, end: true, cell: ({ difference }) => money(difference) },
          { name: t.due, cell: ({ due_date }) => <span class={css.nowrap}>{due_date ? day(due_date) : NOTHING}</span> },
          { name: t.state, cell: (row) => <State row={row} /> },
        ]}
      />
    </Panel>
  )
}
