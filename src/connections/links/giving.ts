import { actingFor } from '../../accounts/organization/organization.ts'
import { type EfirmaInput, readEfirma } from '../../authority/efirma/efirma.ts'
import type { Ctx, System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { isGuardViolation } from '../../platform/db/guard.ts'
import { suffixOf } from '../../platform/db/id.ts'
import { Failure, invalid, Unavailable } from '../../platform/failures.ts'
import { log } from '../../platform/log.ts'
import { clipped } from '../../platform/names.ts'
import { networkKey } from '../../platform/network.ts'
import { insertOutboxEvents, wakeRelay } from '../../platform/outbox/outbox.ts'
import { dayOfEpoch, epochDayOf, firstInstantOf } from '../../platform/time/calendar.ts'
import { GENERIC_RFCS, isRfc, normalRfc } from '../../taxpayers/rfc.ts'
import { boundRuns, findConnectionByRfc } from '../../taxpayers/taxpayers.ts'
import { changeFiscalEntity, checkLogins, connect, type Granting } from '../connect.ts'
import { consentEvent, digestOfCode } from '../consents/consents.ts'
import { assertConsent, type ConsentRow, replaceConsent } from '../consents/store.ts'
import { consentText, isSignedBy, signedMessage } from '../consents/text.ts'
import type { ConsentText, PageLanguage } from '../tables.ts'
import { digestOfToken, isOpen, linkEvent, statusAt } from './links.ts'
import { assertClaim, assertStatus, claimLink, findByDigest, type LinkRow, releaseLink, updateLink } from './store.ts'

/** A link is verified by one request at a time. One that takes longer has died. */
const LEASE_MS = 60_000
const MEXICO = 'America/Mexico_City'
const MOST_AGENT = 200

/** The link of a token, which is noted as opened the first time. Undefined for an unknown token. */
export async function openLink(system: System, token: string): Promise<LinkRow | undefined> {
  const digest = await digestOfToken(token)
  const row = digest === null ? undefined : await findByDigest(system.db, digest)
  if (row === undefined || statusAt(row, system.now) !== 'created') return row
  try {
    await commit(system.db.$client, [
      assertStatus(row.connect_link_id, ['created']),
      updateLink(system.db, row.connect_link_id, { status: 'opened', opened_at: system.now }),
      ...insertOutboxEvents([linkEvent('connect_link.opened', row)], system.now.getTime()),
    ])
  } catch (error) {
    if (!isGuardViolation(error, 'connect_link.status')) throw error
  }
  await wakeRelay(system, 'control')
  return { ...row, status: 'opened' }
}

/** The text that a link asks to agree to; null when it asks for a login alone. */
export const textOfLink = async (row: LinkRow, language: PageLanguage): Promise<ConsentText | null> =>
  row.purposes.length === 0 ? null : consentText(row, language)

/** What a taxpayer sends. */
export interface Given {
  rfc: string
  language: PageLanguage
  /** The SHA-256 of the text that was shown; whether the necessary purposes are accepted, and which of the others. */
  text_sha256: string
  accepts: boolean
  purposes: readonly string[]
  subject: NonNullable<ConsentRow['subject']>
  login: { ciec: string } | { efirma: EfirmaInput }
  /** What the e.firma signed, in base64. */
  signature: string
  user_agent: string
}

const fault = (code: string, path: string, message: string) => invalid(`connect_link.${code}`, [{ path, message }])

/** What is wrong with a CIEC before anybody is asked. People send the password of their e.firma, which can be longer and have spaces. */
function checkCiec(ciec: string): void {
  if (/\s/.test(ciec)) throw fault('ciec_spaces', 'ciec', 'Must have no spaces. It may be the password of an e.firma.')
  if (ciec.length < 8 || ciec.length > 20)
    throw fault('ciec_length', 'ciec', 'Must have 8 to 20 characters. It may be the password of an e.firma.')
}

function rfcOf(row: LinkRow, given: Given): string {
  const rfc = row.rfc ?? normalRfc(given.rfc)
  if (!isRfc(rfc) || GENERIC_RFCS.includes(rfc)) throw fault('rfc', 'rfc', 'Must be an RFC.')
  return rfc
}

/** Checks all that can be checked before the authority is asked. Returns the RFC and the record of the consent as far as it is known. */
async function checkGiven(ctx: Ctx, row: LinkRow, given: Given) {
  const { login, subject } = given
  const rfc = rfcOf(row, given)
  const kind = 'ciec' in login ? 'ciec' : 'efirma'
  if (!row.logins.includes(kind)) throw fault('login', kind, 'Must be a login that the link asks for.')
  const text = await textOfLink(row, given.language)
  if (text !== null) {
    if (!given.accepts) throw fault('consent', 'accepts', 'Must be ticked.')
    if (subject.name === '') throw fault('name', 'name', 'Is required.')
    if (given.text_sha256 !== text.sha256) throw fault('text_changed', 'accepts', 'The text has changed since it was shown.')
  }
  if ('ciec' in login) checkCiec(login.ciec)
  checkLogins(ctx, rfc, login)
  const purposes = row.purposes.map((purpose) => ({ ...purpose, granted: purpose.necessary || given.purposes.includes(purpose.key) }))
  let certificate: string | null = null
  if ('efirma' in login && text !== null) {
    const read = readEfirma(login.efirma, rfc, ctx.now).certificate
    const granted = purposes.filter((purpose) => purpose.granted).map(({ key }) => key)
    if (given.signature === '') throw fault('unsigned', 'private_key', 'The e.firma has not signed the consent.')
    if (!(await isSignedBy(read.publicKey, given.signature, signedMessage(row.consent_id, text.sha256, granted))))
      throw invalid('efirma.key_mismatch', [{ path: 'private_key', message: 'Must be the private key of this certificate.' }])
    certificate = read.der.toBase64()
  }
  return { rfc, text, purposes, certificate }
}

/** The code of a receipt: 128 random bits, as people can copy them. */
const newCode = (): string => suffixOf(crypto.getRandomValues(new Uint8Array(16)).toHex()).toUpperCase()

/** The first instant after a day in Mexico City; null without one. */
const endOf = (until: string | null): Date | null => (until === null ? null : firstInstantOf(dayOfEpoch(epochDayOf(until) + 1), MEXICO))

/** What comes of a login. `code` withdraws the consent; null when none was asked for. */
export interface Received {
  status: 'connected' | 'submitted'
  rfc: string
  code: string | null
}

/**
 * Gives a login to the organization of a link, with the consent. The connection, the link, the consent and their events change in one commit. Throws
 * Failure 409 connect_link.ended when nobody can use the link, connect_link.no_tries and connect_link.busy; 422 connect_link.… for what can be
 * seen to be wrong, and as connectRfc.
 */
export async function giveLogin(system: System, row: LinkRow, given: Given): Promise<Received> {
  const ctx = await actingFor(system, row.organization_id, 'taxpayer')
  if (!isOpen(row) || row.expires_at <= ctx.now) throw ended()
  const checked = await checkGiven(ctx, row, given)
  const token = crypto.randomUUID()
  const now = ctx.now.getTime()
  const isClaimed = await claimLink(ctx.db, row.connect_link_id, { token, now, lease_until: now + LEASE_MS })
  const claimed = (await findByDigest(ctx.db, row.digest)) ?? row
  if (!isClaimed) throw claimed.status === 'verifying' ? busy() : isOpen(claimed) ? noTries() : ended()
  try {
    return await store(ctx, claimed, given, checked, token)
  } catch (error) {
    await giveBack(ctx, claimed, token, error)
    const isContended = error instanceof Failure && error.kind === 'contention'
    throw isContended && !isOpen((await findByDigest(ctx.db, row.digest)) ?? row) ? ended() : error
  }
}

const ended = () => new Failure('conflict', 'connect_link.ended', 'Nobody can use the link any more.')
const busy = () => new Failure('contention', 'connect_link.busy', 'A login of this link is being verified.')
const noTries = () => new Failure('conflict', 'connect_link.no_tries', 'Five logins of this link were refused. Another link is needed.')

/** Whether somebody has judged the login: the authority, or the key of the e.firma itself. */
const isRefusal = (error: unknown): error is Failure =>
  error instanceof Failure && error.kind === 'invalid' && /^(efirma\.|fiscal_entity\.(ciec|efirma)_rejected$)/.test(error.code)

/** Ends the work on a link without a connection. Only a refusal keeps the attempt. */
async function giveBack(ctx: Ctx, row: LinkRow, token: string, error: unknown): Promise<void> {
  const { connect_link_id } = row
  const statements = isRefusal(error)
    ? [
        assertClaim(connect_link_id, token),
        updateLink(ctx.db, connect_link_id, { status: 'refused', code: error.code, token: null, lease_until: null }),
        ...insertOutboxEvents([linkEvent('connect_link.refused', row, error)], ctx.now.getTime()),
      ]
    : [releaseLink(connect_link_id, token)]
  try {
    await commit(ctx.db.$client, statements)
    await wakeRelay(ctx, 'control')
  } catch (failure) {
    // It was revoked meanwhile, or is given back when the lease ends.
    if (!isGuardViolation(failure)) log.error(ctx, 'A connect link could not be given back.', { connect_link_id }, failure)
  }
}

async function store(
  ctx: Ctx,
  row: LinkRow,
  given: Given,
  { rfc, text, purposes, certificate }: Awaited<ReturnType<typeof checkGiven>>,
  token: string,
): Promise<Received> {
  const { db, now } = ctx
  const { login, subject, signature } = given
  const code = text === null ? null : newCode()
  const origin = {
    ...{ address_hash: await networkKey(ctx), user_agent: clipped(given.user_agent, MOST_AGENT) || null },
    code_digest: code === null ? null : await digestOfCode(code),
  }
  let status: Received['status'] = 'connected'
  const granting: Granting = (of, isAccepted) => {
    status = isAccepted ? 'connected' : 'submitted'
    const { fiscal_entity_id } = of
    const consent: ConsentRow | null = text && {
      ...{ consent_id: row.consent_id, organization_id: of.organization_id, fiscal_entity_id, entity: of.entity, rfc },
      ...{ connect_link_id: row.connect_link_id, consent_reference: null, subject, text, purposes, sources: row.sources },
      ...{ access_from: row.access_from, access_until: row.access_until, ends_at: endOf(row.access_until), granted_at: now, ...origin },
      method: certificate !== null ? 'efirma_signed' : isAccepted ? 'ciec_verified' : 'ciec_given',
      ...{ signature: certificate && signature, certificate, status: 'active', ended_at: null, withdrawn_by: null },
    }
    const changes = { status, rfc, fiscal_entity_id, code: null, token: null, lease_until: null, connected_at: now }
    const event = linkEvent('connect_link.connected', { ...row, rfc, fiscal_entity_id })
    return [
      assertClaim(row.connect_link_id, token),
      updateLink(db, row.connect_link_id, changes),
      ...(consent ? [...replaceConsent(db, consent), boundRuns(db, of, row.access_from)] : [assertConsent(of)]),
      ...insertOutboxEvents(
        [{ ...event, body: { ...event.body, status } }, ...(consent ? [consentEvent('consent.granted', consent)] : [])],
        now.getTime(),
      ),
    ]
  }
  const known = await findConnectionByRfc(db, ctx.organization.id, rfc)
  if (known && known.state !== 'unlinked') {
    const data_source_keys = text === null ? {} : { data_source_keys: row.sources }
    await changeFiscalEntity(ctx, known.fiscal_entity_id, { ...login, ...data_source_keys }, granting)
  } else if (row.is_relink) throw ended()
  else {
    const { external_id, metadata, sources } = row
    await connect(ctx, { rfc, ...login, external_id, metadata, data_source_keys: sources }, { former: known }, granting)
  }
  await wakeRelay(ctx, 'control')
  return { status, rfc, code }
}

/** The code of an error that the page of a link puts into words; null for one that nobody foresaw. */
export const codeOf = (error: unknown): string | null =>
  error instanceof Failure
    ? error.code
    : error instanceof Unavailable
      ? error.isLocked
        ? 'authority.account_locked'
        : 'authority.unavailable'
      : null
