import { completeWith, readHeld } from '../../authority/fetcher/fetches.ts'
import { type FetchedFile, type FetchedList, type FetchRow, filesOf } from '../../authority/fetcher/states.ts'
import type { DocumentKind } from '../../authority/port/authority.ts'
import { CertificateList, ComplianceOpinion, ObligationList, TaxStatus } from '../../authority/port/fields-contract.ts'
import { readFields } from '../../documents/reading.ts'
import { awaitingJob, FETCHED, wakeJob } from '../../downloads/awaited/awaited.ts'
import type { System } from '../../platform/context.ts'
import { Failure, type Fault, invalid } from '../../platform/failures.ts'
import type { Completion } from './contract.ts'
import { leaseLost } from './logins.ts'

type ListedDocument = Completion['documents'][number]

const RETURNS: readonly DocumentKind[] = ['declaracion', 'acuse']

/** The kinds of documents that a source has. */
const KINDS: Readonly<Record<string, readonly DocumentKind[]>> = {
  sat_csf: ['csf'],
  sat_opinion_32d: ['opinion_32d'],
  sat_obligations: ['obligations'],
  sat_declaracion_anual: RETURNS,
  sat_declaracion_mensual: RETURNS,
  sat_miinformacion: ['registration'],
  sat_certificates: ['certificates'],
  sat_rug: ['rug'],
}

/** The fields of the kinds that have any. */
const FIELDS = { csf: TaxStatus, opinion_32d: ComplianceOpinion, obligations: ObligationList, certificates: CertificateList }

/** What the declared taxes of a return are taken from. */
const OF_RETURNS = ['ejercicio', 'periodo', 'impuesto']

const FOREIGN = 'The document is of another RFC than the lease.'

/** The uploads that a list names, with the path to each in the body. */
const namedIn = ({ documents, notifications }: Completion) => [
  ...documents.map((document, n) => ({ ...document, path: `documents[${n}]` })),
  ...notifications.flatMap(({ document }, n) => (document ? [{ ...document, path: `notifications[${n}].document` }] : [])),
]

/**
 * Completes the lease of a document source with a list of what was uploaded, and has its job run with that. A repetition changes nothing.
 * Throws Failure 409 fetcher.lease_lost, and fetcher.incomplete when the list names other uploads than there are; 422 fetcher.documents when
 * what it says cannot be, or a document is of another RFC.
 */
export async function completeDocuments(system: System, shard: number, row: FetchRow, list: Completion): Promise<void> {
  const ledger = system.settings.ledgers[shard]!
  const job = { ...row, shard }
  if (row.state === 'complete') return void (await wakeJob(system, job))
  const found = await awaitingJob(system, job)
  if (found === null) throw leaseLost()
  const [first, ...others] = faultsOf(row.source, found.rfc, list)
  if (first) throw invalid('fetcher.documents', [first, ...others])
  const files = filesOf(row)
  requireUploaded(files, list)
  const documents: ListedDocument[] = []
  for (const [n, one] of list.documents.entries()) documents.push(await withFields(system, files, one, found.rfc, `documents[${n}]`))
  const kept: FetchedList = { documents, notifications: list.notifications }
  const bytes = new TextEncoder().encode(JSON.stringify(kept))
  const sha256 = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)).toHex()
  const file: FetchedFile = { key: FETCHED + crypto.randomUUID(), size: bytes.length, sha256 }
  await system.env.FILES.put(file.key, bytes)
  const [completed] = await wakeJob(system, job, [completeWith(ledger, row, JSON.stringify({ ...files, 'list-0': file }))])
  if (completed!.meta.changes > 0) return
  await system.env.FILES.delete(file.key)
  const now = await readHeld(ledger, row.fetch, row.token!)
  if (now === null || now.state === 'failed') throw leaseLost()
  if (now.state === 'leased') throw incomplete('Other documents were uploaded meanwhile.')
}

const incomplete = (what: string) => new Failure('conflict', 'fetcher.incomplete', `${what} Upload what the list names, and nothing else.`)

/** Refuses a list that does not name each upload once. Throws Failure 409 fetcher.incomplete. */
function requireUploaded(files: Readonly<Record<string, FetchedFile>>, list: Completion): void {
  const left = new Map(Object.entries(files))
  for (const { n, sha256, path } of namedIn(list)) {
    const name = `document-${n}`
    if (left.get(name)?.sha256 !== sha256)
      throw incomplete(`${path}: the upload ${n} does not exist, has another content, or is named twice.`)
    left.delete(name)
  }
  const [name] = left.keys()
  if (name !== undefined) throw incomplete(`The list does not name the upload ${name}.`)
}

/** What is wrong with a list, whatever was uploaded. */
function faultsOf(source: string, rfc: string, list: Completion): Fault[] {
  const faults: Fault[] = []
  const expect = (isRight: boolean, path: string, message: string) => {
    if (!isRight) faults.push({ path, message })
  }
  for (const one of namedIn(list)) expect(one.rfc === rfc, `${one.path}.rfc`, FOREIGN)
  const known = new Set<string>()
  for (const [n, { kind, name, sha256, attributes, fields }] of list.documents.entries()) {
    const path = `documents[${n}]`
    expect(KINDS[source]?.includes(kind) ?? false, `${path}.kind`, 'The source of the lease has no documents of this kind.')
    expect(!known.has(`${name} ${sha256}`), path, 'The same document is listed before.')
    known.add(`${name} ${sha256}`)
    expect(
      kind !== 'declaracion' || OF_RETURNS.every((one) => attributes[one] !== undefined),
      `${path}.attributes`,
      `A return has ${OF_RETURNS.join(', ')}.`,
    )
    const shape = FIELDS[kind as keyof typeof FIELDS]
    expect(fields === null || shape?.safeParse(fields).success === true, `${path}.fields`, 'These are not the fields of this kind.')
    expect(fields === null || !('rfc' in fields) || fields.rfc === rfc, `${path}.fields.rfc`, FOREIGN)
  }
  const { notifications } = list
  expect(notifications.length === 0 || source === 'sat_miinformacion', 'notifications', 'Notifications belong to sat_miinformacion.')
  expect(
    new Set(notifications.map(({ notification }) => notification)).size === notifications.length,
    'notifications',
    'A notification is listed twice.',
  )
  return faults
}

/**
 * A document with the fields that its PDF says, where it has some, so that one of another RFC never passes for one of this RFC. Throws
 * Failure 422 fetcher.documents, and 409 fetcher.unread while PDFs cannot be read.
 */
async function withFields(
  { env, ...system }: System,
  files: Readonly<Record<string, FetchedFile>>,
  one: ListedDocument,
  rfc: string,
  path: string,
): Promise<ListedDocument> {
  if (one.fields !== null) return one
  const { key, size } = files[`document-${one.n}`]!
  const read = async () => {
    const found = await env.FILES.get(key)
    if (found === null) throw incomplete(`The upload ${one.n} is gone.`)
    return found.bytes()
  }
  const { fields_status, fields } = await readFields({ ...system, env }, { ...one, size, read })
  if (fields_status === 'pending')
    throw new Failure('contention', 'fetcher.unread', 'The service cannot read PDFs now. Send the same request again in some seconds.')
  if (fields === null) return one
  const read_fields = JSON.parse(fields) as NonNullable<ListedDocument['fields']>
  if ('rfc' in read_fields && read_fields.rfc !== rfc) throw invalid('fetcher.documents', [{ path, message: FOREIGN }])
  return { ...one, fields: read_fields }
}
