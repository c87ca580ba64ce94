import type { ComplianceOpinion, TaxStatus } from '../authority/port/fields-contract.ts'
import { changesOf } from './changes.ts'
import type { FieldChange } from './contract.ts'
import { type AskedDocuments, type NewsRow, readNews } from './store.ts'

/** The kind of the outbox events of documents whose fields were read after their job. The body names the document. */
export const DOCUMENT_READ = 'document.read'

/** The data sources of whose documents organizations are notified. */
export const NOTIFIED_SOURCES: readonly string[] = ['sat_csf', 'sat_opinion_32d']

interface Head {
  document_id: string
  document_date: string
  version: number
  /** When the organization got the document, in milliseconds. */
  got_at: number
}

/** The news of a document for its organization: a new tax status certificate, or another sense of the compliance opinion. */
export type DocumentNews = Head &
  (
    | { event: 'document.csf.updated'; fields_status: 'read' | 'unreadable'; changes: FieldChange[] }
    | { event: 'document.opinion_32d.changed'; folio: string; from: ComplianceOpinion['sense']; to: ComplianceOpinion['sense'] }
  )

export type { AskedDocuments }

/**
 * Returns the news of each organization about documents that it got, in the same order. Documents whose fields are still to be read have
 * none. One statement.
 */
export async function readDocumentNews(ledger: D1Database, asked: readonly AskedDocuments[]): Promise<DocumentNews[][]> {
  const rows = asked.length === 0 ? [] : await readNews(ledger, ['csf', 'opinion_32d'], asked)
  const notified = Map.groupBy(rows, ({ n }) => n)
  return asked.map((_, n) => (notified.get(n) ?? []).flatMap((row) => newsOf(row) ?? []))
}

function newsOf({ kind, document_id, document_date, version, got_at, fields, before }: NewsRow): DocumentNews | null {
  const head = { document_id, document_date, version, got_at }
  const parsed = <T>(text: string | null): T | null => (text === null ? null : (JSON.parse(text) as T))
  if (kind === 'csf') {
    const after = parsed<TaxStatus>(fields)
    const changes = after ? changesOf(parsed<TaxStatus>(before), after) : []
    return { event: 'document.csf.updated', ...head, fields_status: after ? 'read' : 'unreadable', changes }
  }
  const [from, to] = [parsed<ComplianceOpinion>(before), parsed<ComplianceOpinion>(fields)]
  if (!from || !to || from.sense === to.sense) return null
  return { event: 'document.opinion_32d.changed', ...head, folio: to.folio, from: from.sense, to: to.sense }
}
