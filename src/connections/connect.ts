import { checkLoginEntitlement } from '../accounts/billing/billing.ts'
import { reserveQuota } from '../accounts/plans/reserve-quota.ts'
import { EfirmaRefused, iterationsOf } from '../authority/efirma/der.ts'
import { type EfirmaInput, openEfirma, type ReadEfirma, readEfirma } from '../authority/efirma/efirma.ts'
import { loginsOf } from '../authority/logins.ts'
import type { DataSourceKey } from '../authority/port/authority.ts'
import { LOGIN_KINDS, type Login, type LoginKind } from '../authority/port/login.ts'
import { defaultKeys, refuseUnknownKeys, withMandatory } from '../authority/sources.ts'
import { withdrawOpenings } from '../documents/mailbox/requests/requests.ts'
import { type Change, change } from '../platform/audit/audit.ts'
import type { Ctx } from '../platform/context.ts'
import type { Statement } from '../platform/db/commit.ts'
import { newId } from '../platform/db/id.ts'
import { Failure, invalid } from '../platform/failures.ts'
import { shardAmong } from '../platform/hash.ts'
import { insertOutboxEvents, wakeRelay } from '../platform/outbox/outbox.ts'
import { isOwn } from '../platform/tenant/bound.ts'
import { clock } from '../platform/time/clock.ts'
import { type Attempt, recordRefusal, releaseAttempt, reserveAttempt } from '../taxpayers/attempts/attempts.ts'
import { canLogIn, sealLogin, type VersionedLogin } from '../taxpayers/login.ts'
import { acceptance, loginVersionOf } from '../taxpayers/login-answers.ts'
import {
  assertConnectionUnchanged,
  assertMetadataUnchanged,
  type ConnectionRow,
  draftsUsed,
  type EntityRow,
  findByExternalId,
  findConnection,
  findConnectionByRfc,
  holds,
  insertConnection,
  isDraft,
  isInvalid,
  NO_LOGIN,
  NO_LOGINS,
  refusedLogin,
  updateConnection,
  upsertEntity,
  type WithGrantedRanges,
} from '../taxpayers/taxpayers.ts'
import {
  commitConnectionChange,
  getFiscalEntity,
  planActivation,
  requireConnection,
  resolveInvalid,
  type ShownRow,
  startDownloads,
  viewOf,
} from './connections.ts'
import { declareConsent, findActive, type OfConsent } from './consents/store.ts'
import type { FiscalEntity, FiscalEntityChanges, FiscalEntityDraft } from './contract.ts'

/** Returns the data sources of a request with the mandatory ones; null for the default. Throws Failure 422 data_source.unknown or .inactive. */
function checkDataSources(ctx: Ctx, keys: readonly string[] | null | undefined): DataSourceKey[] | null {
  if (keys === null || keys === undefined) return null
  refuseUnknownKeys(keys, 'data_source_keys', loginsOf(ctx).sources)
  return withMandatory(keys as DataSourceKey[])
}

/** A login as a request has it: an e.firma that is not opened, or a CIEC. */
type SentLogin = ReadEfirma | { rfc: string; ciec: string }

const isCiec = (sent: SentLogin): sent is { rfc: string; ciec: string } => 'ciec' in sent

/** The logins of a request: its e.firma, and its CIEC. Throws Failure 422 with the code of the fault of the e.firma's files. */
const loginsIn = (
  { now }: Ctx,
  rfc: string,
  { ciec, efirma }: { ciec?: string | null | undefined; efirma?: EfirmaInput | null | undefined },
): SentLogin[] => {
  try {
    return [...(efirma ? [readEfirma(efirma, rfc, now)] : []), ...(ciec ? [{ rfc, ciec }] : [])]
  } catch (error) {
    throw error instanceof EfirmaRefused ? faultOf(error) : error
  }
}

const faultOf = ({ code, member, message }: EfirmaRefused): Failure => invalid(code, [{ path: `efirma.${member}`, message }])

/** The logins of a request: those that the tax authority accepts, and those that it cannot be asked about. */
interface Taken {
  accepted: VersionedLogin[]
  unasked: Login[]
}

/**
 * Opens e.firmas and asks the tax authority whether logins are right, one after the other. `known` is the organization's connection to the
 * RFC, also an unlinked one. Throws Failure 429 fiscal_entity.ciec_attempts or organization.hourly_limit before either, 422 with the
 * code of an e.firma's fault, fiscal_entity.ciec_rejected or fiscal_entity.efirma_rejected, and Unavailable.
 */
async function verifyLogins(ctx: Ctx, logins: readonly SentLogin[], known: ConnectionRow | undefined): Promise<Taken> {
  const { kinds } = loginsOf(ctx)
  const taken: Taken = { accepted: [], unasked: [] }
  // Every authority takes e.firmas.
  for (const sent of logins)
    if (!isCiec(sent) || kinds.includes('ciec')) taken.accepted.push(await verifyLogin(ctx, sent, known))
    else {
      // It stays an attempt, because a fetcher will ask.
      if (ctx.settings.fetcherKeys !== null) await reserveAttempt(ctx, { rfc: sent.rfc, kind: 'ciec' }, known)
      taken.unasked.push(sent)
    }
  return taken
}

const REJECTED: Record<LoginKind, string> = {
  ciec: 'The tax authority rejected this CIEC for the RFC. Nothing was stored. Send the current CIEC.',
  efirma:
    'The tax authority rejected this e.firma, as it does when the certificate is revoked. Nothing was stored. Send the current e.firma.',
}

async function verifyLogin(ctx: Ctx, sent: SentLogin, known: ConnectionRow | undefined): Promise<VersionedLogin> {
  const { rfc } = sent
  const kind = isCiec(sent) ? 'ciec' : 'efirma'
  const attempt = await reserveAttempt(ctx, { rfc, kind }, known)
  const answer = await answerTo(ctx, sent, attempt)
  if (!(answer instanceof Failure)) return answer
  await recordRefusal(ctx, attempt, known && known.state !== 'unlinked' ? known.fiscal_entity_id : rfc, kind)
  throw answer
}

/** The login if it is right, and its refusal otherwise. Only a refusal keeps the attempt. Throws Unavailable. */
async function answerTo(ctx: Ctx, sent: SentLogin, attempt: Attempt): Promise<VersionedLogin | Failure> {
  let refusal: Failure | null = null
  try {
    const login = isCiec(sent) ? sent : await openCounted(ctx, sent)
    const asked = { login, version: await loginVersionOf(ctx, login) }
    if (await loginsOf(ctx).verify(login)) return asked
    refusal = invalid(`fiscal_entity.${attempt.kind}_rejected`, [{ path: attempt.kind, message: REJECTED[attempt.kind] }])
  } catch (error) {
    if (!(error instanceof EfirmaRefused)) throw error
    refusal = faultOf(error)
  } finally {
    if (refusal === null) await releaseAttempt(ctx, attempt)
  }
  return refusal
}

/** Opens an e.firma at the cost of the budget of the invocation. */
async function openCounted({ budget }: Ctx, sent: ReadEfirma): Promise<Login> {
  budget.derive(iterationsOf(sent.key, sent.password))
  return { rfc: sent.rfc, efirma: await openEfirma(sent) }
}

/**
 * Prepares the storing of logins: the statements of `acceptance` for those that the tax authority accepted now, the columns of the
 * connection for all of them, and whether logins of the RFC are to be verified. An accepted login that is not verified any more is to be
 * verified again, and one that nobody could be asked about for the first time.
 */
async function storing(ctx: Ctx, entity: number, fiscal_entity_id: string, { accepted, unasked }: Taken, own?: number) {
  const stored = await Promise.all(
    accepted.map(async (asked) => {
      const taken = await acceptance(ctx, entity, asked, own)
      return { ...taken, columns: await columnsOf(ctx, fiscal_entity_id, asked.login, taken.isVerified) }
    }),
  )
  const unverified = await Promise.all(unasked.map((login) => columnsOf(ctx, fiscal_entity_id, login, false)))
  for (const columns of unverified) {
    // The reason why the connection is invalid still holds.
    delete columns.invalid_reason
    columns.ciec_accepted_at = null
  }
  return {
    statements: stored.flatMap(({ statements }) => statements),
    columns: Object.assign({}, ...unverified, ...stored.map(({ columns }) => columns)) as Partial<WithGrantedRanges>,
    areOutstanding: stored.some(({ isVerified, areOthersOutstanding }) => areOthersOutstanding || !isVerified),
  }
}

async function columnsOf(ctx: Ctx, fiscal_entity_id: string, login: Login, isVerified: boolean): Promise<Partial<WithGrantedRanges>> {
  const { settings, organization, now } = ctx
  const sealed = await sealLogin(settings.ciecKeys, { organization_id: organization.id, fiscal_entity_id, rfc: login.rfc }, login)
  const verify_at = isVerified ? null : clock.date()
  if ('ciec' in login)
    return { ciec: sealed, ciec_accepted_at: now, ciec_verify_at: verify_at, ciec_verify_attempts: 0, invalid_reason: null }
  const { number, valid_from, valid_to } = login.efirma.certificate
  return {
    ...{ efirma: sealed, efirma_number: number, efirma_valid_from: valid_from, efirma_valid_to: valid_to },
    ...{ efirma_accepted_at: now, efirma_verify_at: verify_at, efirma_verify_attempts: 0, invalid_reason: null },
  }
}

/** The customer's own identifier and data of a connection. */
interface Labels {
  external_id?: string | null | undefined
  metadata?: Record<string, string | null> | null | undefined
}

const MOST_KEYS = 50

/**
 * Refuses an external_id of another connection of the organization than `fiscal_entity_id`, which is to have it. Throws Failure 409
 * fiscal_entity.external_id_taken.
 */
async function refuseTaken(ctx: Ctx, { external_id }: Labels, fiscal_entity_id?: string): Promise<void> {
  if (external_id === null || external_id === undefined) return
  const holder = await findByExternalId(ctx.db, ctx.organization.id, external_id)
  if (holder === undefined || holder === fiscal_entity_id) return
  const isShown = isOwn(ctx.organization, holder)
  throw new Failure(
    'conflict',
    'fiscal_entity.external_id_taken',
    `Another RFC of the organization has this external_id. Send another one${isShown ? `, or take it from that RFC with PATCH /v1/fiscal-entities/${holder}` : ''}.`,
    isShown ? { resource_id: holder } : {},
  )
}

/** Merges the sent keys into the metadata. */
export const mergeMetadata = (stored: Record<string, string>, given: Labels['metadata']): Record<string, string> =>
  given === null
    ? {}
    : (Object.fromEntries(Object.entries({ ...stored, ...given }).filter(([, value]) => value !== null)) as Record<string, string>)

/**
 * The columns that labels change, with their guards; the unique index guards the external_id. Throws Failure 409 as refuseTaken, and 422
 * fiscal_entity.metadata_keys when more than 50 keys would result.
 */
async function labelling(
  ctx: Ctx,
  row: WithGrantedRanges,
  labels: Labels,
): Promise<{ columns: Pick<Partial<WithGrantedRanges>, 'external_id' | 'metadata'>; guards: Statement[] }> {
  const { external_id, metadata } = labels
  await refuseTaken(ctx, labels, row.fiscal_entity_id)
  const merged = metadata === undefined ? undefined : mergeMetadata(row.metadata, metadata)
  const keys = Object.keys(merged ?? {}).length
  if (keys > MOST_KEYS)
    throw invalid('fiscal_entity.metadata_keys', [
      { path: 'metadata', message: `May have at most ${MOST_KEYS} keys, and ${keys} would result. Erase some with null.` },
    ])
  return {
    columns: { ...(external_id !== undefined && { external_id }), ...(merged && { metadata: merged }) },
    guards: merged ? [assertMetadataUnchanged(row)] : [],
  }
}

/**
 * What else the commit does that stores a login: it records why the organization may use it. `isAccepted` is false where the authority could
 * not be asked.
 */
export type Granting = (of: OfConsent, isAccepted: boolean) => Statement[]

/** The organization says that it has the consent of the taxpayer. */
const declaring =
  (ctx: Ctx, reference: string | null = null): Granting =>
  (of) => [declareConsent(ctx, of, reference)]

/** Refuses an e.firma whose files cannot be right for an RFC, before anybody is asked. Throws Failure 422 as loginsIn. */
export const checkLogins = (ctx: Ctx, rfc: string, logins: Parameters<typeof loginsIn>[2]): void => void loginsIn(ctx, rfc, logins)

/**
 * Refuses data sources beyond those that the taxpayer agreed to. What the organization declares itself is not compared. Throws Failure 409
 * consent.sources.
 */
async function refuseBeyondConsent(ctx: Ctx, row: ConnectionRow, { data_source_keys: keys }: FiscalEntityChanges): Promise<void> {
  const consent = keys === undefined ? undefined : await findActive(ctx.db, row)
  if (consent?.text == null) return
  const asked = keys ? withMandatory(keys) : defaultKeys(loginsOf(ctx).sources)
  const beyond = asked.filter((key) => !consent.sources?.includes(key))
  if (beyond.length === 0) return
  throw new Failure(
    'conflict',
    'consent.sources',
    `The taxpayer did not agree to ${beyond.join(', ')}. Ask with POST /v1/connect-links and the fiscal_entity_id.`,
  )
}

/** Returns the organization's unlinked connection to the RFC, if it had one. Throws Failure 409 fiscal_entity.already_linked. */
async function findUnlinked({ db, organization }: Ctx, rfc: string): Promise<ConnectionRow | undefined> {
  const row = await findConnectionByRfc(db, organization.id, rfc)
  if (!row || row.state === 'unlinked') return row
  const { fiscal_entity_id } = row
  throw new Failure(
    'conflict',
    'fiscal_entity.already_linked',
    `The organization is already connected to this RFC, as ${fiscal_entity_id}. PATCH /v1/fiscal-entities/${fiscal_entity_id} changes the connection.`,
    { fiscal_entity_id },
  )
}

/**
 * Connects an RFC. With a CIEC or an e.firma that the tax authority accepts, the connection is active and its extractors run. Without one,
 * or when the authority cannot be asked about it, it is a draft. An RFC that was unlinked gets its former visibility window back. Throws
 * Failure 402 before the tax authority is asked, as checkLoginEntitlement; 409 fiscal_entity.already_linked,
 * fiscal_entity.external_id_taken, and fiscal_entity.plan_limit for a draft beyond the plan's; 422 data_source.unknown or .inactive,
 * fiscal_entity.ciec_rejected, fiscal_entity.efirma_rejected, and as loginsIn; 429 as verifyLogins; and Unavailable.
 */
export const connectRfc = async (ctx: Ctx, draft: FiscalEntityDraft): Promise<FiscalEntity> => viewOf(ctx)(await connect(ctx, draft))

/** The same, answered as a row. `read` has the organization's unlinked connection to the RFC, if it was read before. */
export async function connect(
  ctx: Ctx,
  draft: FiscalEntityDraft,
  read?: { former: ConnectionRow | undefined },
  granting = declaring(ctx, draft.consent_reference),
): Promise<ShownRow> {
  const { rfc } = draft
  const keys = checkDataSources(ctx, draft.data_source_keys)
  const logins = loginsIn(ctx, rfc, draft)
  if (logins.length > 0) await checkLoginEntitlement(ctx, rfc)
  const known = read ? read.former : await findUnlinked(ctx, rfc)
  if (logins.length > 0) await refuseTaken(ctx, draft)
  const taken = await verifyLogins(ctx, logins, known)
  const entity = await upsertEntity(ctx.db, { rfc, shard: shardAmong(rfc, ctx.settings.openLedgers), created_at: ctx.now })
  let isAgain = false
  return commitConnectionChange(async () => {
    // The commit guards the earlier reading.
    const former = isAgain ? await findUnlinked(ctx, rfc) : known
    if (isAgain) await refuseTaken(ctx, draft, former?.fiscal_entity_id)
    isAgain = true
    return commitConnection(ctx, draft, keys, entity, former, taken, granting)
  })
}

/** The entitlement is checked again, because a concurrent request may have taken the last seat. */
async function commitConnection(
  ctx: Ctx,
  draft: FiscalEntityDraft,
  data_source_keys: DataSourceKey[] | null,
  { entity, shard, rfc }: EntityRow,
  former: ConnectionRow | undefined,
  taken: Taken,
  granting: Granting,
): Promise<ShownRow> {
  const { db, now, organization } = ctx
  const fiscal_entity_id = former?.fiscal_entity_id ?? newId('fe')
  const isActive = taken.accepted.length > 0
  const seat = isActive ? await checkLoginEntitlement(ctx, rfc) : []
  const active = isActive ? await planActivation(ctx, fiscal_entity_id, former?.first_active_at ?? null) : undefined
  const stored = await storing(ctx, entity, fiscal_entity_id, taken, former?.connection)
  const columns = {
    ...NO_LOGINS,
    ...({ state: 'draft', paused_from: null, paused_by: null } as const),
    ...stored.columns,
    ...active?.changes,
    name: draft.name ?? null,
    external_id: draft.external_id ?? null,
    metadata: mergeMetadata({}, draft.metadata),
    data_source_keys,
    access_from: null,
    linked_at: now,
    updated_at: now,
  }
  const identity = { organization_id: organization.id, fiscal_entity_id, entity, rfc, shard }
  const noWindows = {
    issued_from: null,
    issued_to: null,
    received_from: null,
    received_to: null,
    issued_revoked: null,
    received_revoked: null,
    widened_at: null,
    widened_before: null,
  }
  const initial = { first_active_at: null, active_since: null, ...noWindows, imported_at: null, unnotified: null }
  const row = { ...initial, ...former, ...identity, ...columns }
  const connected = (guards: readonly Statement[]) =>
    change(ctx, { action: 'fiscal_entity.connected', resource_id: fiscal_entity_id, changed: Object.keys(draft) }, [
      ...guards,
      ...stored.statements,
      ...(former ? [assertConnectionUnchanged(former), updateConnection(db, former.connection, columns)] : [insertConnection(db, row)]),
      ...(isActive || taken.unasked.length > 0 || draft.consent_reference != null ? granting(row, isActive) : []),
      ...(active?.planned.statements ?? []),
    ])
  if (active) await connected(seat)
  else await reserveQuota(ctx, 'drafts', draftsUsed(organization.id), connected)
  if (active) await startDownloads(ctx, { connection: 0, ...row }, active.planned.runs, stored.areOutstanding)
  return (active && (await findConnection(db, organization, fiscal_entity_id))) || row
}

/** The changes of a request besides its logins. */
interface Submitted {
  /** The members that were sent. */
  changed: readonly string[]
  columns: Partial<Pick<WithGrantedRanges, 'data_source_keys' | 'name' | 'external_id' | 'metadata'>>
  /** The logins to erase, because null was sent. */
  withdrawn: readonly LoginKind[]
}

/**
 * Changes the members that were sent. A CIEC or e.firma that the tax authority accepts activates a draft, and a connection without a valid
 * one; a paused connection stays paused. Null erases the stored one, even with unpaid invoices: an active connection without another one
 * becomes invalid_ciec. Throws Failure 402 before the tax authority is asked, as checkLoginEntitlement; 404 fiscal_entity.not_found; 409
 * fiscal_entity.changed, fiscal_entity.external_id_taken and consent.sources; 422 fiscal_entity.metadata_keys, data_source.unknown or .inactive,
 * fiscal_entity.ciec_rejected, fiscal_entity.efirma_rejected, and as loginsIn; 429 as verifyLogins; and Unavailable.
 */
export async function changeFiscalEntity(
  ctx: Ctx,
  fiscal_entity_id: string,
  changes: FiscalEntityChanges,
  granting?: Granting,
): Promise<FiscalEntity> {
  const { data_source_keys, name } = changes
  const read = await requireConnection(ctx, fiscal_entity_id)
  const keys = checkDataSources(ctx, data_source_keys)
  const logins = loginsIn(ctx, read.rfc, changes)
  if (!granting) await refuseBeyondConsent(ctx, read, changes)
  await refuseTaken(ctx, changes, fiscal_entity_id)
  if (logins.length > 0) await seatFor(ctx, read)
  const taken = await verifyLogins(ctx, logins, read)
  const submitted: Submitted = {
    changed: Object.keys(changes),
    columns: { ...(data_source_keys !== undefined && { data_source_keys: keys }), ...(name !== undefined && { name }) },
    withdrawn: LOGIN_KINDS.filter((kind) => changes[kind] === null),
  }
  if (submitted.changed.length > 0)
    await commitConnectionChange(async () => {
      const row = await requireConnection(ctx, fiscal_entity_id)
      const { columns, guards } = await labelling(ctx, row, changes)
      const labelled = { ...submitted, columns: { ...submitted.columns, ...columns } }
      const isAccepted = taken.accepted.length > 0
      const granted = logins.length > 0 ? (granting ?? declaring(ctx))(row, isAccepted) : []
      await (isAccepted ? commitLogins : commitColumns)(ctx, row, labelled, taken, [...guards, ...granted])
    })
  return getFiscalEntity(ctx, fiscal_entity_id)
}

const needsLogin = ({ state }: ConnectionRow): boolean => state === 'draft' || state === 'invalid_ciec'

/** Checks the entitlement to store a login. A connection with a seat takes no second one, and a paused connection takes none. */
const seatFor = async (ctx: Ctx, row: ConnectionRow): Promise<Statement[]> =>
  checkLoginEntitlement(ctx, row.rfc, { isNew: isDraft(row), takesSeat: row.state === 'draft' })

const without = (kinds: readonly LoginKind[]): Partial<WithGrantedRanges> => Object.assign({}, ...kinds.map((kind) => NO_LOGIN[kind]))

/** The columns of a connection from which the organization withdraws logins. */
function withdrawing(ctx: Ctx, row: ConnectionRow, kinds: readonly LoginKind[]): Partial<WithGrantedRanges> {
  const erased = without(kinds)
  const left = LOGIN_KINDS.filter((kind) => !kinds.includes(kind))
  if (kinds.length === 0 || isDraft(row) || canLogIn(ctx, row, left)) return erased
  // The refused login stays, with the reason of invalidity.
  if (left.some((kind) => kind === refusedLogin(row))) return erased
  const invalid = { ...erased, invalid_reason: 'withdrawn' as const }
  return row.state === 'paused' ? { ...invalid, paused_from: 'invalid_ciec' } : { ...invalid, state: 'invalid_ciec' }
}

/** Logins about which the authority cannot be asked are stored, and leave the connection in its state. */
async function commitColumns(
  ctx: Ctx,
  row: ConnectionRow,
  { changed, columns, withdrawn }: Submitted,
  taken: Taken,
  guards: readonly Statement[],
  what?: Change,
): Promise<void> {
  const unverified = await storing(ctx, row.entity, row.fiscal_entity_id, taken, row.connection)
  const action = withdrawn.length > 0 ? `fiscal_entity.${withdrawn.at(-1)}_withdrawn` : 'fiscal_entity.updated'
  await change(ctx, what ?? { action, resource_id: row.fiscal_entity_id, changed }, [
    ...guards,
    assertConnectionUnchanged(row),
    updateConnection(ctx.db, row.connection, {
      ...{ ...columns, ...withdrawing(ctx, row, withdrawn), ...unverified.columns },
      updated_at: ctx.now,
    }),
    ...(withdrawn.length > 0 ? withdrawOpenings(ctx) : []),
  ])
}

/**
 * Erases the logins of a connection because of something else, in the commit of that: `what` is recorded, and `statements` go with it. Throws
 * Failure 404 fiscal_entity.not_found and 409 fiscal_entity.changed.
 */
export const withdrawLogins = (ctx: Ctx, fiscal_entity_id: string, what: Change, statements: readonly Statement[]): Promise<void> =>
  commitConnectionChange(async () => {
    const row = await requireConnection(ctx, fiscal_entity_id)
    const submitted = { changed: [], columns: {}, withdrawn: [...LOGIN_KINDS] }
    await commitColumns(ctx, row, submitted, { accepted: [], unasked: [] }, statements, what)
  })

/**
 * Stores a stored login again that the tax authority accepts now, as if it had just been sent: it activates a draft, and a connection
 * without a valid login. `guardsOf` returns guards of the same commit, or throws when the connection has changed. Throws Failure 402 as
 * checkLoginEntitlement.
 */
export const acceptStored = (
  ctx: Ctx,
  fiscal_entity_id: string,
  accepted: VersionedLogin,
  guardsOf: (row: ConnectionRow) => Statement[],
): Promise<void> =>
  commitConnectionChange(async () => {
    const row = await requireConnection(ctx, fiscal_entity_id)
    const submitted = { changed: ['status'], columns: {}, withdrawn: [] }
    await commitLogins(ctx, row, submitted, { accepted: [accepted], unasked: [] }, guardsOf(row))
  })

/** The login of an invalid connection besides its refused one is to be verified, because others may have been refused with it since. */
const keeping = (row: ConnectionRow, gone: readonly LoginKind[]): Partial<WithGrantedRanges> =>
  Object.assign(
    {},
    ...LOGIN_KINDS.filter((kind) => isInvalid(row) && holds(row, kind) && !gone.includes(kind)).map((kind) => ({
      [`${kind}_verify_at`]: row[`${kind}_verify_at`] ?? clock.date(),
    })),
  )

/** An accepted login removes the refused one; other stored logins that were not sent stay. */
async function commitLogins(
  ctx: Ctx,
  row: ConnectionRow,
  submitted: Submitted,
  taken: Taken,
  guards: readonly Statement[] = [],
): Promise<void> {
  const { connection, fiscal_entity_id, state, first_active_at } = row
  const activates = needsLogin(row)
  const seat = activates || isDraft(row) ? await seatFor(ctx, row) : []
  const active = activates ? await planActivation(ctx, fiscal_entity_id, first_active_at) : undefined
  const paused = state === 'paused' ? { paused_from: 'active' as const } : {}
  const { statements, columns, areOutstanding } = await storing(ctx, row.entity, fiscal_entity_id, taken, connection)
  const gone = [...new Set([...submitted.withdrawn, ...[refusedLogin(row) ?? []].flat()])]
  const kept = { ...without(gone), ...keeping(row, gone) }
  const changed = [...new Set([...submitted.changed, ...gone])]
  await change(ctx, { action: 'fiscal_entity.updated', resource_id: fiscal_entity_id, changed }, [
    ...seat,
    ...guards,
    assertConnectionUnchanged(row),
    ...statements,
    updateConnection(ctx.db, connection, {
      ...{ ...submitted.columns, ...kept, ...columns, ...active?.changes, ...paused },
      updated_at: ctx.now,
    }),
    ...(active?.planned.statements ?? []),
    ...(isInvalid(row) ? insertOutboxEvents([relinked(row, ctx.now)], ctx.now.getTime()) : []),
  ])
  if (isInvalid(row)) {
    await resolveInvalid(ctx, row)
    await wakeRelay(ctx, 'control')
  }
  // An active connection, too, may have had a login that could not be opened.
  await startDownloads(ctx, row, active?.planned.runs ?? [], areOutstanding)
}

/** The outbox event of a connection that has a valid login again. */
const relinked = ({ connection, entity, organization_id }: ConnectionRow, now: Date) => ({
  ...{ outbox_event_id: `connection.relinked:${connection}:${now.getTime()}`, kind: 'connection.relinked' as const },
  ...{ entity, organizations: [organization_id], body: {} },
})
