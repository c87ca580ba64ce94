import {
  completeFetch,
  deleteFetch,
  dropFetch,
  dueFetches,
  extendFetch,
  failFetch,
  noteFile,
  readHeld,
  takeFetch,
} from '../../authority/fetcher/fetches.ts'
import { type FetchedFile, type FetchRow, filesOf } from '../../authority/fetcher/states.ts'
import { deleteUploads } from '../../authority/fetcher/uploads.ts'
import { awaitingJob, stoppedWith, wakeJob } from '../../downloads/awaited/awaited.ts'
import { bytesOfObject } from '../../platform/bytes/bytes.ts'
import type { System } from '../../platform/context.ts'
import { Failure, invalid } from '../../platform/failures.ts'
import { log } from '../../platform/log.ts'
import { postponeLogin } from '../../taxpayers/fetched/fetched-logins.ts'
import { type DownloadLogin, Logins } from '../../taxpayers/login.ts'
import { rejectLogin } from '../../taxpayers/login-answers.ts'
import { type Completion, type FailureReport, type Lease, LOGIN_REJECTED } from './contract.ts'
import { completeDocuments } from './documents.ts'
import { acceptVerified, leaseLost, leaseVerification, loginOfLease, refuseVerified, untilOfLogin } from './logins.ts'
import { isWholeZip } from './whole-zip.ts'

/** How long a lease lasts. */
const LEASE_MS = 10 * 60_000
/** Fetches of a ledger that are looked at for one lease. */
const LOOKED_AT = 5

interface Held {
  shard: number
  ledger: D1Database
  fetch: number
  token: string
}

const idOf = (shard: number, { fetch }: FetchRow, token: string): string => `${shard}-${fetch}-${token}`

function heldOf({ settings }: System, lease_id: string): Held {
  const [shard = '', fetch = '', ...token] = lease_id.split('-')
  const ledger = settings.ledgers[Number(shard)]
  if (!ledger) throw leaseLost()
  return { shard: Number(shard), ledger, fetch: Number(fetch), token: token.join('-') }
}

/** Leases a job to the fetcher; null when nothing is to be done. Nothing else of its RFC is leased meanwhile. */
export async function leaseJob(system: System): Promise<Lease | null> {
  const login = await leaseVerification(system, Date.now() + LEASE_MS)
  if (login !== null) return login
  const { ledgers } = system.settings
  const first = Math.floor(Math.random() * ledgers.length)
  for (const n of ledgers.keys()) {
    const shard = (first + n) % ledgers.length
    for (const row of await dueFetches(ledgers[shard]!, Date.now(), LOOKED_AT)) {
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
    await wakeJob(system, { ...row, shard }, [deleteFetch(ledger, row.fetch)])
    return null
  }
  const now = Date.now()
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
async function readWanted(system: System, { shard, ledger, fetch, token }: Held): Promise<FetchRow> {
  const row = await readHeld(ledger, fetch, token)
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
  const held = heldOf(system, lease_id)
  const { ledger, fetch, token } = held
  await readWanted(system, held)
  const until = Date.now() + LEASE_MS
  const { meta } = await extendFetch(ledger, fetch, token, until).run()
  if (meta.changes === 0) throw leaseLost()
  return { until: new Date(until).toISOString() }
}

/** Notes an upload in the place of an earlier one of the same kind and number. Throws Failure 409 fetcher.lease_lost. */
export async function keepUpload(system: System, lease_id: string, name: string, file: FetchedFile): Promise<void> {
  const held = heldOf(system, lease_id)
  await readWanted(system, held)
  await noteUpload(system, held, name, file)
}

/** The same of a package. Throws Failure 409 fetcher.lease_lost, and 422 fetcher.package when it is no ZIP, or not all of one. */
export async function keepPackage(system: System, lease_id: string, name: string, file: FetchedFile): Promise<void> {
  const held = heldOf(system, lease_id)
  await readWanted(system, held)
  if (!(await isWholeZip(bytesOfObject(system.env.FILES, file.key, file.size))))
    throw invalid('fetcher.package', [{ path: 'body', message: 'The body is no ZIP, or its end is missing.' }])
  await noteUpload(system, held, name, file)
}

async function noteUpload(system: System, { ledger, fetch, token }: Held, name: string, file: FetchedFile): Promise<void> {
  const [before, noted] = await ledger.batch<{ key: string | null }>(noteFile(ledger, fetch, token, name, file))
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
    if (!isOfTask) throw invalid('fetcher.task', [{ path: 'body', message: 'Completes another task than that of the lease.' }])
  }
  const hasMonth = metadata + xml > 0 || !is_whole
  const hasDocuments = documents.length + notifications.length > 0
  const login = loginOfLease(lease_id)
  if (login) {
    requireTask(!hasMonth && !hasDocuments)
    return acceptVerified(system, login)
  }
  const { shard, ledger, fetch, token } = heldOf(system, lease_id)
  const row = await readHeld(ledger, fetch, token)
  if (row === null || row.state === 'failed') throw leaseLost()
  requireTask(isOfDocuments(row) ? !hasMonth : !hasDocuments)
  if (isOfDocuments(row)) return completeDocuments(system, shard, row, completion)
  requireNumbered(row, { metadata, xml })
  // Nothing says what the month has. Where the portal lists no documents, there is no XML either.
  if (xml > 0 && metadata === 0 && is_whole)
    throw invalid('fetcher.metadata', [
      {
        path: 'metadata',
        message: 'There are packages of XML and none of metadata. Upload the metadata, or say that the month is not whole.',
      },
    ])
  if (row.state === 'leased') await readWanted(system, { shard, ledger, fetch, token })
  const [completed] = await wakeJob(system, { ...row, shard }, [completeFetch(ledger, fetch, token, is_whole)])
  if (completed!.meta.changes === 0 && (await readHeld(ledger, fetch, token))?.state !== 'complete') throw leaseLost()
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
 * Ends a lease without what it was for. A refused login is recorded like one that the authority refuses at a download, unless another CIEC
 * was accepted or refused since. A repetition changes nothing. Throws Failure 409 fetcher.lease_lost.
 */
export async function failLease(system: System, lease_id: string, { error_class }: FailureReport): Promise<void> {
  const login = loginOfLease(lease_id)
  if (login) return error_class === LOGIN_REJECTED ? refuseVerified(system, login) : postponeLogin(system, login)
  const { shard, ledger, fetch, token } = heldOf(system, lease_id)
  const row = await readHeld(ledger, fetch, token)
  if (row === null || row.state === 'complete') throw leaseLost()
  log.error(system, 'The fetcher could not bring what it leased.', { fetch, entity: row.entity, error_class })
  if (error_class !== LOGIN_REJECTED) {
    await wakeJob(system, { ...row, shard }, [failFetch(ledger, fetch, token, error_class)])
    return
  }
  const job = await awaitingJob(system, { ...row, shard })
  const found = await loginOf(system, row, job)
  if (job && found && row.login === (await hashOf(system, row, found, row.login?.split(':')[0])))
    await rejectLogin(
      { ...system, now: new Date() },
      row.entity,
      { login: found.login, version: row.version! },
      await stoppedWith(system, { ...row, shard, job_id: job.job_id }),
    )
  await deleteUploads(system, row)
  await wakeJob(system, { ...row, shard }, [dropFetch(ledger, fetch, token)])
}
