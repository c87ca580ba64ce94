import type { DocumentFile } from '../authority/port/authority.ts'
import type { System } from '../platform/context.ts'
import { log } from '../platform/log.ts'
import type { DocumentRow } from './store.ts'

/** What is known of the fields of a document. */
export type Reading = Pick<DocumentRow, 'fields_status' | 'fields' | 'fields_reason'>

/** Kinds whose fields are in the text of their PDFs. */
const PDF_KINDS: readonly DocumentFile['kind'][] = ['csf', 'opinion_32d']
/** How long a PDF may take, and the largest one that is read, in bytes. */
const READ_WITHIN_MS = 8_000
const MAX_PDF_BYTES = 5_000_000

export const PENDING: Reading = { fields_status: 'pending', fields: null, fields_reason: null }
const NONE: Reading = { fields_status: 'none', fields: null, fields_reason: null }

export const unreadable = (fields_reason: string): Reading => ({ fields_status: 'unreadable', fields: null, fields_reason })

/**
 * Returns the fields of a document: what the authority delivered as data, or what its PDF says. Pending when the reader of PDFs
 * does not answer.
 */
export async function readFields(
  system: System,
  file: Pick<DocumentFile, 'kind' | 'content_type' | 'size' | 'read' | 'fields'>,
): Promise<Reading> {
  if (file.fields !== null) return { fields_status: 'read', fields: JSON.stringify(file.fields), fields_reason: null }
  if (!PDF_KINDS.includes(file.kind)) return NONE
  if (file.content_type !== 'application/pdf') return unreadable('The document is not a PDF.')
  if (file.size > MAX_PDF_BYTES) return unreadable('The PDF is too large to be read.')
  try {
    const answer = await system.env.PDF.fetch(`https://pdf/${file.kind}`, {
      method: 'POST',
      body: await file.read(),
      signal: AbortSignal.timeout(READ_WITHIN_MS),
    })
    const { fields, reason } = await answer.json<{ fields?: unknown; reason?: string }>()
    if (answer.status === 200) return { fields_status: 'read', fields: JSON.stringify(fields), fields_reason: null }
    if (answer.status === 422) return unreadable(reason ?? 'The PDF cannot be read.')
    throw new Error(`The reader of PDFs answered ${answer.status}.`)
  } catch (error) {
    log.error(system, 'A PDF could not be read. It is tried again.', { kind: file.kind, bytes: file.size }, error)
    return PENDING
  }
}
