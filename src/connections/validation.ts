import { loginsOf } from '../authority/logins.ts'
import type { Login } from '../authority/port/authority.ts'
import type { DataSourceKey } from '../authority/port/catalog.ts'
import { refuseUnknownKeys, withMandatory } from '../authority/sources.ts'
import { invalid } from '../failures.ts'
import type { Ctx } from '../platform/context.ts'
import { type Attempt, recordRefusal, releaseAttempt, reserveAttempt } from '../taxpayers/attempts.ts'
import { sealCiec } from '../taxpayers/ciec.ts'
import type { VersionedLogin } from '../taxpayers/login.ts'
import type { ConnectionRow } from '../taxpayers/taxpayers.ts'
import { ciecVersionOf } from '../taxpayers/verification.ts'

/** Returns the data sources of a request with the mandatory ones; null for the default. Throws Failure 422 data_source.unknown. */
export function checkDataSources(ctx: Ctx, keys: readonly string[] | null | undefined): DataSourceKey[] | null {
  if (keys === null || keys === undefined) return null
  refuseUnknownKeys(keys, 'data_source_keys', loginsOf(ctx).sources)
  return withMandatory(keys as DataSourceKey[])
}

/**
 * Asks the tax authority whether the CIEC is right. `known` is the organization's connection to the RFC, also an unlinked one. Throws
 * Failure 429 fiscal_entity.ciec_attempts without asking, 422 fiscal_entity.ciec_rejected, and Unavailable.
 */
export async function verifyCiec(ctx: Ctx, rfc: string, ciec: string, known: ConnectionRow | undefined): Promise<VersionedLogin> {
  const asked = { login: { rfc, ciec }, version: await ciecVersionOf(ctx, rfc) }
  const attempt = await reserveAttempt(ctx, rfc, known)
  if (await isAccepted(ctx, asked.login, attempt)) return asked
  await recordRefusal(ctx, attempt, known && known.state !== 'unlinked' ? known.fiscal_entity_id : rfc)
  throw invalid('fiscal_entity.ciec_rejected', [
    { path: 'ciec', message: 'The tax authority rejected this CIEC for the RFC. Nothing was stored. Send the current CIEC.' },
  ])
}

/** Only a refusal keeps the attempt. */
async function isAccepted(ctx: Ctx, login: Login, attempt: Attempt): Promise<boolean> {
  let isRefused = false
  try {
    isRefused = !(await loginsOf(ctx).verify(login))
  } finally {
    if (!isRefused) await releaseAttempt(ctx, attempt)
  }
  return !isRefused
}

/** The columns of a CIEC that the tax authority accepted now. Unless it is still verified, it is to be verified again. */
export const ciecColumns = async ({ settings, organization, now }: Ctx, fiscal_entity_id: string, ciec: string, isVerified: boolean) => ({
  ciec: await sealCiec(settings.ciecKeys, { organization_id: organization.id, fiscal_entity_id }, ciec),
  ciec_accepted_at: now,
  verify_at: isVerified ? null : new Date(),
  verify_attempts: 0,
  invalid_reason: null,
})
