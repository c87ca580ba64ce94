import type { DocumentFile } from '../authority/port/authority.ts'
import type { CertificateList } from '../authority/port/fields-contract.ts'
import type { System } from '../platform/context.ts'
import { idOfUuid } from '../platform/db/id.ts'
import { insertCertificates } from './certificates-store.ts'
import { keptFields } from './changes.ts'
import { insertObligationRules, type KeptRow, knownDocuments, retireStatement, tellRead, upsertDocuments } from './keep-store.ts'
import { PENDING, readFields } from './reading.ts'
import { basesOf } from './store.ts'

export const objectOf = (sha256: string): string => `documents/${sha256}`

interface DocumentJob {
  entity: number
  rfc: string
  source: string
  job_id: string
}

/**
 * Stores the new files and reads their fields, each after `beforeFile`. Returns the statements that store their rows, to be committed with the end of the job, and
 * how many are new. A PDF that could not be read when it came is tried again.
 */
export async function keepDocuments(
  system: System,
  ledger: D1Database,
  job: DocumentJob,
  delivered: readonly DocumentFile[],
  beforeFile: () => Promise<void>,
): Promise<{ statements: D1PreparedStatement[]; created: number }> {
  const now = Date.now()
  const rows = await Promise.all(delivered.map((file) => rowOf(job, file, now)))
  if (rows.length === 0) return { statements: [], created: 0 }
  const known = await knownDocuments(
    ledger,
    job.entity,
    rows.map(({ document_id }) => document_id),
  )
  let created = 0
  const certificates: CertificateList['certificates'] = []
  const [late, obliging]: [string[], string[]] = [[], []]
  for (const [n, row] of rows.entries()) {
    const file = delivered[n]!
    const status = known.get(row.document_id)
    if (status !== undefined && status !== 'pending') continue
    await beforeFile()
    if (status === undefined) {
      created++
      await system.env.FILES.put(objectOf(row.sha256), await file.read())
      if (file.fields && 'certificates' in file.fields) certificates.push(...file.fields.certificates)
    }
    Object.assign(row, await readFields(system, file))
    if (namesObligations(row)) obliging.push(row.document_id)
    if (status === 'pending' && row.fields_status !== 'pending') late.push(row.document_id)
  }
  await shorten(ledger, job, rows)
  const statements = [
    ...tellRead(ledger, job.entity, late, now),
    upsertDocuments(ledger, rows, job),
    ...insertObligationRules(ledger, job.entity, obliging),
    ...(created > 0 ? [retireStatement(ledger, job, rows)] : []),
    ...(certificates.length > 0 ? [insertCertificates(ledger, job.entity, certificates)] : []),
  ]
  return { statements, created }
}

/** Leaves those fields of the rows out that earlier documents of their series have. */
async function shorten(ledger: D1Database, job: DocumentJob, rows: readonly KeptRow[]): Promise<void> {
  const read = rows.filter(({ fields }) => fields !== null)
  if (read.length === 0) return
  const bases = await basesOf(
    ledger,
    job,
    read.map(({ series }) => series),
  )
  for (const row of read) Object.assign(row, keptFields(row.fields, bases.get(row.series)))
}

const namesObligations = ({ kind }: Pick<KeptRow, 'kind'>): boolean => kind === 'csf' || kind === 'obligations'

/**
 * The id is derived from the document, so that the same document is never stored twice, and only from what everybody sees who reads it:
 * it is the same for all of them and tells none of the others. Ids sort by the document's date.
 */
async function rowOf({ entity, rfc, source }: DocumentJob, file: DocumentFile, created_at: number): Promise<KeptRow> {
  const { kind, series, name, title, content_type, size, sha256, document_date, period_end, attributes } = file
  const identity = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(JSON.stringify([rfc, source, name, sha256])))
  const hex = new Uint8Array(identity, 0, 10).toHex()
  const time = Date.parse(`${document_date}T00:00:00Z`).toString(16).padStart(12, '0')
  const uuid = `${time.slice(0, 8)}-${time.slice(8)}-${hex.slice(0, 4)}-${hex.slice(4, 8)}-${hex.slice(8, 20)}`
  return {
    ...{ entity, document_id: idOfUuid('doc', uuid), source, kind, series, name, title, content_type, size, sha256 },
    ...{ document_date, period_end, attributes: JSON.stringify(attributes), created_at, ...PENDING, fields_base: null },
  }
}
