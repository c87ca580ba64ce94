import type { ComponentChildren } from 'preact'
import { Link } from 'wouter-preact'
import { day } from '../../../format.ts'
import type { Column } from '../../../parts/table.tsx'
import { documentName, useDocuments } from './documents.ts'
import css from './figures.module.css'
import { PAGE } from './read.ts'
import { Named } from './share.tsx'

/** A row that is about one document. */
interface Documented {
  uuid: string
  counterparty_rfc: string
}

interface Asked<Row> {
  fiscal_entity_id: string
  rows: readonly Row[]
  dayOf: (row: Row) => string
  /** What the columns and the link are called. */
  words: { date: string; party: string; open: (rfc: string, day: string) => string }
  /** What else stands beneath the counterparty. */
  about?: (row: Row) => ComponentChildren
}

/** The first two columns of such rows: the document by its day, which leads to it, and its counterparty. */
export function useDocumentColumns<Row extends Documented>({ fiscal_entity_id, rows, dayOf, words, about }: Asked<Row>): Column<Row>[] {
  const documents = useDocuments(
    fiscal_entity_id,
    rows.map(({ uuid }) => uuid),
    PAGE,
  )
  return [
    {
      name: words.date,
      cell: (row) => (
        <span class={css.two}>
          <Link
            href={`/cfdi/${row.uuid}?fiscal_entity_id=${fiscal_entity_id}`}
            aria-label={words.open(row.counterparty_rfc, day(dayOf(row)))}
            class={css.nowrap}
          >
            {day(dayOf(row))}
          </Link>
          <small class={css.nowrap} title={row.uuid}>
            {documentName(row.uuid, documents.get(row.uuid))}
          </small>
        </span>
      ),
    },
    {
      name: words.party,
      cell: (row) => (
        <Named name={documents.get(row.uuid)?.counterparty.nombre ?? null} code={row.counterparty_rfc}>
          {about?.(row)}
        </Named>
      ),
    },
  ]
}
