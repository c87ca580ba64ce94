import { actingFor } from '../../accounts/organization/organization.ts'
import {
  completeFetch,
  completeWith,
  deleteFetch,
  dropFetch,
  dueFetches,
  extendFetch,
  failFetch,
  noteFile,
  readLeased,
  takeFetch,
} from '../../authority/fetcher/fetches.ts'
import { deleteUploads, type FetchedFile, type FetchedList, type FetchRow, filesOf } from '../../authority/fetcher/states.ts'
import type { DocumentKind } from '../../authority/port/authority.ts'
import { CertificateList, ComplianceOpinion, ObligationList, TaxStatus } from '../../authority/port/fields-contract.ts'
import { readFields } from '../../documents/documents.ts'
import { awaitingJob, FETCHED, stoppedWith, wakeJob } from '../../downloads/awaited.ts'
import { resumeDownloads } from '../../downloads/downloads.ts'
import { type Bytes, bytesOfObject } from '../../platform/bytes/bytes.ts'
import type { System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { changesOf } from '../../platform/db/statement.ts'
import { Failure, type Fault, invalid } from '../../platform/failures.ts'
import { log } from '../../platform/log.ts'
import { clock } from '../../platform/time/clock.ts'
import {
  assertLeased,
  type LeasedLogin,
  leasedLogin,
  leaseLogin,
  postponeLogin,
  refuseLogin,
} from '../../taxpayers/fetched/fetched-logins.ts'
import { type DownloadLogin, Logins, type VersionedLogin } from '../../taxpayers/login.ts'
import { keepVerified, rejectLogin } from '../../taxpayers/login-answers.ts'
import { isDraft, isInvalid, type WithGrantedRanges } from '../../taxpayers/taxpayers.ts'
import { acceptStored } from '../connect.ts'
import { type Completion, type FailureReport, type Lease, LOGIN_REJECTED } from './contract.ts'

const leaseLost = () =>
  new Failure('conflict', 'fetcher.lease_lost', 'The lease expired and somebody else holds it, or the job is no longer needed. Drop it.')

/** The verification of a lease; null for the lease of a month. */
function loginOfLease(lease_id: string): LeasedLogin | null {
  const [, connection, version, until] = /^login-(\d+)-(\d+)-(\d+)$/.exec(lease_id) ?? []
  return connection === undefined ? null : { connection: Number(connection), version: Number(version), until: Number(until) }
}

/** The end of the lease of a login, which is never extended. Throws Failure 409 fetcher.lease_lost when it has run out or there is none. */
async function untilOfLogin(system: System, leased: LeasedLogin): Promise<Date> {
  if (leased.until <= clock.now() || (await leasedLogin(system, leased)) === null) throw leaseLost()
  return new Date(leased.until)
}

/** Leases the verification of a CIEC until an instant; null when none is to be verified. */
async function leaseVerification(system: System, until: number): Promise<Lease | null> {
  const leased = await leaseLogin(system, until)
  if (leased === null) return null
  const { connection, version, rfc, ciec } = leased
  const lease_id = `login-${connection}-${version}-${until}`
  return { lease_id, until: new Date(until).toISOString(), task: 'login', rfc, ciec, source: null, month: null }
}

/**
 * Records that the portal accepts a leased CIEC, as if its organization had sent it now and the authority had accepted it. Without a seat for
 * it the connection stays as it is, and the CIEC is verified again later. Throws Failure 409 fetcher.lease_lost.
 */
async function acceptVerified(system: System, leased: LeasedLogin): Promise<void> {
  const found = await leasedLogin(system, leased)
  if (found === null) throw leaseLost()
  const { row, login } = found
  const accepted = { login, version: leased.version }
  // It was accepted before, and is verified again.
  if (row.ciec_accepted_at !== null && !isDraft(row) && !isInvalid(row)) return keepAccepted(system, row, accepted)
  const ctx = await actingFor(system, row.organization_id, 'fetcher')
  try {
    await acceptStored(ctx, row.fiscal_entity_id, accepted, ({ ciec_verify_at }) => {
      if (ciec_verify_at?.getTime() !== leased.until) throw leaseLost()
      return [assertLeased(leased)]
    })
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== 'payment_required') throw error
    log.error(system, 'A CIEC was accepted, and there is no seat for its connection.', { connection: leased.connection })
    await postponeLogin(system, leased)
  }
}

async function keepAccepted(system: System, { entity, shard }: WithGrantedRanges, accepted: VersionedLogin): Promise<void> {
  await keepVerified(system, entity, accepted)
  await resumeDownloads(system, [{ entity, shard }])
}

/** Records that the portal refuses a leased CIEC. Throws Failure 409 fetcher.lease_lost. */
async function refuseVerified(system: System, leased: LeasedLogin): Promise<void> {
  const found = await leasedLogin(system, leased)
  if (found === null) throw leaseLost()
  await refuseLogin(await actingFor(system, found.row.organization_id, 'fetcher'), leased, found)
}

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

/** The attributes that say which taxes a return declares. */
const OF_RETURNS = ['ejercicio', 'periodo', 'impuesto']

const FOREIGN = 'The document is of another RFC than the lease.'

/** The uploads that a list names, with the path to each in the body. */
const namedIn = ({ documents, notifications }: Completion) => [
  ...documents.map((document, n) => ({ ...document, path: `documents[${n}]` })),
  ...notifications.flatMap(({ document }, n) => (document ? [{ ...document, path: `notifications[${n}].document` }] : [])),
]

/**
 * Completes the lease of a document source with a list of its uploads, and has its job run with them. A repetition changes nothing. Throws
 * Failure 409 fetcher.lease_lost, and fetcher.incomplete when the list names other uploads than there are; 422 fetcher.documents when the
 * list is contradictory, or a document is of another RFC.
 */
async function completeDocuments(system: System, shard: number, row: FetchRow, list: Completion): Promise<void> {
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
  const [completed] = await wakeJob(system, job, [completeWith(row, JSON.stringify({ ...files, 'list-0': file }))])
  if (completed!.meta.changes > 0) return
  await system.env.FILES.delete(file.key)
  const now = await readLeased(ledger, row.fetch, row.token!)
  if (now === null || now.state === 'failed') throw leaseLost()
  if (now.state === 'leased') throw incomplete('Other documents were uploaded during this request.')
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

/** The faults of a list, whatever was uploaded. */
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
 * Adds the fields in its PDF to a document, if its kind has any. They show a document of another RFC, which is refused. Throws
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

const LOCAL = 0x04034b50
const END = 0x06054b50
const U32 = 0xffffffff
/** The end record, and the longest comment behind it. */
const END_BYTES = 22
const TAIL_BYTES = END_BYTES + 0xffff

/**
 * Whether a file begins like a ZIP and has its end, behind its directory. Pages of a portal and half ZIPs fail. Other faults are found when
 * its job reads it, which is background work.
 */
async function isWholeZip(file: Bytes): Promise<boolean> {
  if (file.size < END_BYTES) return false
  const start = viewOf(await file.read(0, 4)).getUint32(0, true)
  if (start !== LOCAL && start !== END) return false
  const from = Math.max(0, file.size - TAIL_BYTES)
  const tail = viewOf(await file.read(from, file.size - from))
  for (let at = tail.byteLength - END_BYTES; at >= 0; at--) {
    if (tail.getUint32(at, true) !== END || at + END_BYTES + tail.getUint16(at + 20, true) > tail.byteLength) continue
    const [size, offset] = [tail.getUint32(at + 12, true), tail.getUint32(at + 16, true)]
    // A large ZIP has its sizes elsewhere.
    return size === U32 || offset === U32 || offset + size <= from + at
  }
  return false
}

const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView => new DataView(buffer, byteOffset, byteLength)

/** How long a lease lasts. */
const LEASE_MS = 10 * 60_000
/** Fetches of a ledger that are looked at for one lease. */
const LOOKED_AT = 5

interface Leased {
  shard: number
  ledger: D1Database
  fetch: number
  token: string
}

const idOf = (shard: number, { fetch }: FetchRow, token: string): string => `${shard}-${fetch}-${token}`

function leasedOf({ settings }: System, lease_id: string): Leased {
  const [shard = '', fetch = '', ...token] = lease_id.split('-')
  const ledger = settings.ledgers[Number(shard)]
  if (!ledger) throw leaseLost()
  return { shard: Number(shard), ledger, fetch: Number(fetch), token: token.join('-') }
}

/** Leases a job to the fetcher; null when nothing is to be done. Nothing else of its RFC is leased at the same time. */
export async function leaseJob(system: System): Promise<Lease | null> {
  const login = await leaseVerification(system, clock.now() + LEASE_MS)
  if (login !== null) return login
  const { ledgers } = system.settings
  const first = Math.floor(Math.random() * ledgers.length)
  for (const n of ledgers.keys()) {
    const shard = (first + n) % ledgers.length
    for (const row of await dueFetches(ledgers[shard]!, clock.now(), LOOKED_AT)) {
      const lease = await leaseFetch(system, shard, row)
      if (lease) return lease
    }
  }
  return null
}

async function leaseFetch(system: System, shard: number, row: FetchRow): Promise<Lease | null> {
  const ledger = system.settings.ledgers[shard]!
  const job = await awaitingJob(system, { ...row, shard })
  const found = await loginOf(system, row, job)
  if (found === null || !('ciec' in found.login)) {
    await deleteUploads(system, row)
    await wakeJob(system, { ...row, shard }, [deleteFetch(row.fetch)])
    return null
  }
  const now = clock.now()
  const lease = { token: crypto.randomUUID(), now, until: now + LEASE_MS, version: found.version, login: await hashOf(system, row, found) }
  if (!(await takeFetch(ledger, row, lease))) return null
  await deleteUploads(system, row)
  const { rfc, ciec } = found.login
  const until = new Date(lease.until).toISOString()
  const task = isOfDocuments(row) ? 'documents' : 'month'
  return { lease_id: idOf(shard, row, lease.token), until, task, rfc, ciec, source: row.source, month: row.month || null }
}

const isOfDocuments = ({ month }: FetchRow): boolean => month === ''

/** The login with which a job is done. Documents need a CIEC, also where there is an e.firma. */
const loginOf = async (system: System, row: FetchRow, job: Awaited<ReturnType<typeof awaitingJob>>): Promise<DownloadLogin | null> =>
  job && (await new Logins(system, row.entity).of(job.organizations, isOfDocuments(row) ? 'ciec' : null))

/** A keyed hash of a CIEC, by which it is known again. */
async function hashOf({ settings }: System, { entity }: FetchRow, { login }: DownloadLogin, version?: string): Promise<string> {
  const key = settings.ciecKeys.of(version ?? '') ?? settings.ciecKeys.current
  const mac = await key.hmac(JSON.stringify(['fetch', entity, (login as { ciec?: string }).ciec ?? null]))
  return `${key.version}:${mac.toHex()}`
}

/** The fetch of a lease whose job still waits for it. Throws Failure 409 fetcher.lease_lost. */
async function readWanted(system: System, { shard, ledger, fetch, token }: Leased): Promise<FetchRow> {
  const row = await readLeased(ledger, fetch, token)
  if (row === null || (await awaitingJob(system, { ...row, shard })) === null) throw leaseLost()
  return row
}

/**
 * Extends a lease. One that has run out is taken again unless somebody else has it; that of a login is never extended. Throws Failure 409
 * fetcher.lease_lost.
 */
export async function renewLease(system: System, lease_id: string): Promise<{ until: string }> {
  const login = loginOfLease(lease_id)
  if (login) return { until: (await untilOfLogin(system, login)).toISOString() }
  const leased = leasedOf(system, lease_id)
  const { ledger, fetch, token } = leased
  await readWanted(system, leased)
  const until = clock.now() + LEASE_MS
  if ((await changesOf(ledger, extendFetch(fetch, token, until))) === 0) throw leaseLost()
  return { until: new Date(until).toISOString() }
}

/** Notes an upload, which replaces an earlier one of the same kind and number. Throws Failure 409 fetcher.lease_lost. */
export async function keepUpload(system: System, lease_id: string, name: string, file: FetchedFile): Promise<void> {
  const leased = leasedOf(system, lease_id)
  await readWanted(system, leased)
  await noteUpload(system, leased, name, file)
}

/** The same of a package. Throws Failure 409 fetcher.lease_lost, and 422 fetcher.package when it is no ZIP, or not all of one. */
export async function keepPackage(system: System, lease_id: string, name: string, file: FetchedFile): Promise<void> {
  const leased = leasedOf(system, lease_id)
  await readWanted(system, leased)
  if (!(await isWholeZip(bytesOfObject(system.env.FILES, file.key, file.size))))
    throw invalid('fetcher.package', [{ path: 'body', message: 'The body is no ZIP, or its end is missing.' }])
  await noteUpload(system, leased, name, file)
}

async function noteUpload(system: System, { ledger, fetch, token }: Leased, name: string, file: FetchedFile): Promise<void> {
  const [before, noted] = await commit<{ key: string | null }>(ledger, noteFile(fetch, token, name, file))
  if (noted!.meta.changes === 0) throw leaseLost()
  const replaced = before!.results[0]?.key
  if (replaced) await system.env.FILES.delete(replaced)
}

/**
 * Ends a lease whose packages or documents are all uploaded, and has the job run with them. A repetition changes nothing. Throws Failure 409
 * fetcher.lease_lost, or fetcher.incomplete when something else was uploaded; 422 fetcher.task, fetcher.metadata for XML that nothing
 * announces, or fetcher.documents (documents.ts).
 */
export async function completeLease(system: System, lease_id: string, completion: Completion): Promise<void> {
  const { metadata, xml, is_whole, documents, notifications } = completion
  const requireTask = (isOfTask: boolean) => {
    if (!isOfTask)
      throw invalid('fetcher.task', [{ path: 'body', message: 'The request completes a different task from the task of the lease.' }])
  }
  const hasMonth = metadata + xml > 0 || !is_whole
  const hasDocuments = documents.length + notifications.length > 0
  const login = loginOfLease(lease_id)
  if (login) {
    requireTask(!hasMonth && !hasDocuments)
    return acceptVerified(system, login)
  }
  const { shard, ledger, fetch, token } = leasedOf(system, lease_id)
  const row = await readLeased(ledger, fetch, token)
  if (row === null || row.state === 'failed') throw leaseLost()
  requireTask(isOfDocuments(row) ? !hasMonth : !hasDocuments)
  if (isOfDocuments(row)) return completeDocuments(system, shard, row, completion)
  requireNumbered(row, { metadata, xml })
  // The contents of the month are unknown. Where the portal lists no documents, there is no XML either.
  if (xml > 0 && metadata === 0 && is_whole)
    throw invalid('fetcher.metadata', [
      {
        path: 'metadata',
        message: 'There are XML packages but no metadata packages. Upload the metadata, or send `is_whole: false`.',
      },
    ])
  if (row.state === 'leased') await readWanted(system, { shard, ledger, fetch, token })
  const [completed] = await wakeJob(system, { ...row, shard }, [completeFetch(fetch, token, is_whole)])
  if (completed!.meta.changes === 0 && (await readLeased(ledger, fetch, token))?.state !== 'complete') throw leaseLost()
}

/** Refuses counts that are not those of the uploads, whose numbers begin with 0. Throws Failure 409 fetcher.incomplete. */
function requireNumbered(row: FetchRow, counts: Readonly<Record<'metadata' | 'xml', number>>): void {
  const names = (['metadata', 'xml'] as const).flatMap((kind) => Array.from({ length: counts[kind] }, (_, n) => `${kind}-${n}`))
  const [counted, uploaded] = [new Set(names), new Set(Object.keys(filesOf(row)))]
  const [absent] = counted.difference(uploaded)
  const [more] = uploaded.difference(counted)
  if (absent === undefined && more === undefined) return
  const what = absent === undefined ? `The request does not count the package ${more}` : `There is no package ${absent}`
  throw new Failure('conflict', 'fetcher.incomplete', `${what}. Packages of a kind are numbered from 0 on; upload those that are absent.`)
}

/**
 * Ends a lease without its result. A refused login is recorded like one that the authority refuses at a download, unless another CIEC was
 * accepted or refused since. A repetition changes nothing. Throws Failure 409 fetcher.lease_lost.
 */
export async function failLease(system: System, lease_id: string, { error_class }: FailureReport): Promise<void> {
  const login = loginOfLease(lease_id)
  if (login) return error_class === LOGIN_REJECTED ? refuseVerified(system, login) : postponeLogin(system, login)
  const { shard, ledger, fetch, token } = leasedOf(system, lease_id)
  const row = await readLeased(ledger, fetch, token)
  if (row === null || row.state === 'complete') throw leaseLost()
  log.error(system, 'The fetcher could not bring what it leased.', { fetch, entity: row.entity, error_class })
  if (error_class !== LOGIN_REJECTED) {
    await wakeJob(system, { ...row, shard }, [failFetch(fetch, token, error_class)])
    return
  }
  const job = await awaitingJob(system, { ...row, shard })
  const found = await loginOf(system, row, job)
  if (job && found && row.login === (await hashOf(system, row, found, row.login?.split(':')[0])))
    await rejectLogin(
      { ...system, now: clock.date() },
      row.entity,
      { login: found.login, version: row.version! },
      await stoppedWith(system, { ...row, shard, job_id: job.job_id }),
    )
  await deleteUploads(system, row)
  await wakeJob(system, { ...row, shard }, [dropFetch(fetch, token)])
}
