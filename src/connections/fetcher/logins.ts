import { actingFor } from '../../accounts/organization/acting.ts'
import { resumeDownloads } from '../../downloads/downloads.ts'
import type { System } from '../../platform/context.ts'
import { Failure } from '../../platform/failures.ts'
import { log } from '../../platform/log.ts'
import {
  assertLeased,
  type LeasedLogin,
  leasedLogin,
  leaseLogin,
  postponeLogin,
  refuseLogin,
} from '../../taxpayers/fetched/fetched-logins.ts'
import type { VersionedLogin } from '../../taxpayers/login.ts'
import { keepVerified } from '../../taxpayers/login-answers.ts'
import { isDraft, isInvalid, type WithReaches } from '../../taxpayers/taxpayers.ts'
import { acceptStored } from '../change.ts'
import type { Lease } from './contract.ts'

export const leaseLost = () =>
  new Failure('conflict', 'fetcher.lease_lost', 'The lease has run out and somebody else has it, or the job is needed no longer. Drop it.')

/** The verification that a lease is of; null when it is of a month. */
export function loginOfLease(lease_id: string): LeasedLogin | null {
  const [, connection, version, until] = /^login-(\d+)-(\d+)-(\d+)$/.exec(lease_id) ?? []
  return connection === undefined ? null : { connection: Number(connection), version: Number(version), until: Number(until) }
}

/** The end of the lease of a login, which is never extended. Throws Failure 409 fetcher.lease_lost when it has run out or there is none. */
export async function untilOfLogin(system: System, leased: LeasedLogin): Promise<Date> {
  if (leased.until <= Date.now() || (await leasedLogin(system, leased)) === null) throw leaseLost()
  return new Date(leased.until)
}

/** Leases the verification of a CIEC until an instant; null when none is to be verified. */
export async function leaseVerification(system: System, until: number): Promise<Lease | null> {
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
export async function acceptVerified(system: System, leased: LeasedLogin): Promise<void> {
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
      return [assertLeased(system, leased)]
    })
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== 'payment_required') throw error
    log.error(system, 'A CIEC was accepted, and there is no seat for its connection.', { connection: leased.connection })
    await postponeLogin(system, leased)
  }
}

async function keepAccepted(system: System, { entity, shard }: WithReaches, accepted: VersionedLogin): Promise<void> {
  await keepVerified(system, entity, accepted)
  await resumeDownloads(system, [{ entity, shard }])
}

/** Records that the portal refuses a leased CIEC. Throws Failure 409 fetcher.lease_lost. */
export async function refuseVerified(system: System, leased: LeasedLogin): Promise<void> {
  const found = await leasedLogin(system, leased)
  if (found === null) throw leaseLost()
  await refuseLogin(await actingFor(system, found.row.organization_id, 'fetcher'), leased, found)
}
