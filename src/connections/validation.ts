import { type EfirmaInput, openEfirma } from '../authority/efirma/efirma.ts'
import { EfirmaRefused } from '../authority/efirma/refused.ts'
import { loginsOf } from '../authority/logins.ts'
import type { DataSourceKey } from '../authority/port/catalog.ts'
import { kindOf, type Login, type LoginKind } from '../authority/port/login.ts'
import { refuseUnknownKeys, withMandatory } from '../authority/sources.ts'
import type { Ctx } from '../platform/context.ts'
import { invalid } from '../platform/failures.ts'
import { type Attempt, recordRefusal, releaseAttempt, reserveAttempt } from '../taxpayers/attempts/attempts.ts'
import type { VersionedLogin } from '../taxpayers/login.ts'
import { acceptance, loginVersionOf } from '../taxpayers/login-answers.ts'
import { sealLogin } from '../taxpayers/sealed-login.ts'
import type { ConnectionRow, WithReaches } from '../taxpayers/taxpayers.ts'

/** Returns the data sources of a request with the mandatory ones; null for the default. Throws Failure 422 data_source.unknown or .inactive. */
export function checkDataSources(ctx: Ctx, keys: readonly string[] | null | undefined): DataSourceKey[] | null {
  if (keys === null || keys === undefined) return null
  refuseUnknownKeys(keys, 'data_source_keys', loginsOf(ctx).sources)
  return withMandatory(keys as DataSourceKey[])
}

/** The logins of a request: its e.firma, opened, and its CIEC. Throws Failure 422 with the code of what is wrong with the e.firma. */
export async function loginsIn(
  { now }: Ctx,
  rfc: string,
  { ciec, efirma }: { ciec?: string | null | undefined; efirma?: EfirmaInput | null | undefined },
): Promise<Login[]> {
  return [...(efirma ? [{ rfc, efirma: await orInvalid(() => openEfirma(efirma, rfc, now)) }] : []), ...(ciec ? [{ rfc, ciec }] : [])]
}

async function orInvalid<T>(open: () => Promise<T>): Promise<T> {
  try {
    return await open()
  } catch (error) {
    if (!(error instanceof EfirmaRefused)) throw error
    throw invalid(error.code, [{ path: `efirma.${error.member}`, message: error.message }])
  }
}

/** The logins of a request: those that the tax authority accepts, and those about which it cannot be asked. */
export interface Taken {
  accepted: VersionedLogin[]
  unasked: Login[]
}

/**
 * Asks the tax authority whether logins are right, one after the other. `known` is the organization's connection to the RFC, also an unlinked
 * one. Throws Failure 429 fiscal_entity.ciec_attempts without asking, 422 fiscal_entity.ciec_rejected or fiscal_entity.efirma_rejected, and
 * Unavailable.
 */
export async function verifyLogins(ctx: Ctx, logins: readonly Login[], known: ConnectionRow | undefined): Promise<Taken> {
  const { kinds } = loginsOf(ctx)
  const taken: Taken = { accepted: [], unasked: [] }
  for (const login of logins)
    if (kinds.includes(kindOf(login))) taken.accepted.push(await verifyLogin(ctx, login, known))
    else {
      // It stays an attempt, because a fetcher will ask.
      if (ctx.settings.fetcherKeys !== null) await reserveAttempt(ctx, login, known)
      taken.unasked.push(login)
    }
  return taken
}

const REJECTED: Record<LoginKind, string> = {
  ciec: 'The tax authority rejected this CIEC for the RFC. Nothing was stored. Send the current CIEC.',
  efirma:
    'The tax authority rejected this e.firma, as it does when the certificate is revoked. Nothing was stored. Send the current e.firma.',
}

async function verifyLogin(ctx: Ctx, login: Login, known: ConnectionRow | undefined): Promise<VersionedLogin> {
  const kind = kindOf(login)
  const asked = { login, version: await loginVersionOf(ctx, login) }
  const attempt = await reserveAttempt(ctx, login, known)
  if (await isAccepted(ctx, login, attempt)) return asked
  await recordRefusal(ctx, attempt, known && known.state !== 'unlinked' ? known.fiscal_entity_id : login.rfc, kind)
  throw invalid(`fiscal_entity.${kind}_rejected`, [{ path: kind, message: REJECTED[kind] }])
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

/**
 * What storing logins takes: of those that the tax authority accepted now the statements of `acceptance`, and of all of them the columns of
 * the connection, and whether logins of the RFC are to be verified. One that is not verified any more is to be verified again, and one about
 * which nobody could be asked for the first time.
 */
export async function storing(ctx: Ctx, entity: number, fiscal_entity_id: string, { accepted, unasked }: Taken, own?: number) {
  const stored = await Promise.all(
    accepted.map(async (asked) => {
      const taken = await acceptance(ctx, entity, asked, own)
      return { ...taken, columns: await columnsOf(ctx, fiscal_entity_id, asked.login, taken.isVerified) }
    }),
  )
  const unverified = await Promise.all(unasked.map((login) => columnsOf(ctx, fiscal_entity_id, login, false)))
  for (const columns of unverified) {
    // Why the connection is invalid is still true.
    delete columns.invalid_reason
    columns.ciec_accepted_at = null
  }
  return {
    statements: stored.flatMap(({ statements }) => statements),
    columns: Object.assign({}, ...unverified, ...stored.map(({ columns }) => columns)) as Partial<WithReaches>,
    areOutstanding: stored.some(({ isVerified, areOthersOutstanding }) => areOthersOutstanding || !isVerified),
  }
}

async function columnsOf(ctx: Ctx, fiscal_entity_id: string, login: Login, isVerified: boolean): Promise<Partial<WithReaches>> {
  const { settings, organization, now } = ctx
  const sealed = await sealLogin(settings.ciecKeys, { organization_id: organization.id, fiscal_entity_id, rfc: login.rfc }, login)
  const verify_at = isVerified ? null : new Date()
  if ('ciec' in login)
    return { ciec: sealed, ciec_accepted_at: now, ciec_verify_at: verify_at, ciec_verify_attempts: 0, invalid_reason: null }
  const { number, valid_from, valid_to } = login.efirma.certificate
  return {
    ...{ efirma: sealed, efirma_number: number, efirma_valid_from: valid_from, efirma_valid_to: valid_to },
    ...{ efirma_accepted_at: now, efirma_verify_at: verify_at, efirma_verify_attempts: 0, invalid_reason: null },
  }
}
