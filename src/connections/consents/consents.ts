import { actingFor } from '../../accounts/organization/organization.ts'
import type { Ctx, System } from '../../platform/context.ts'
import { Failure, notFound } from '../../platform/failures.ts'
import { insertOutboxEvents, type OutboxEvent, wakeRelay } from '../../platform/outbox/outbox.ts'
import { openCursor, paginate } from '../../platform/paging/cursor.ts'
import { clock } from '../../platform/time/clock.ts'
import { pageByPage } from '../../platform/work/pages.ts'
import { withdrawLogins } from '../connect.ts'
import type { Consent, ConsentQuery } from './contract.ts'
import { type ConsentRow, endConsent, endedConsents, findByCode, findConsent, listConsentRows } from './store.ts'
import { signedMessage } from './text.ts'

const grantedKeys = ({ purposes }: Pick<ConsentRow, 'purposes'>): string[] =>
  purposes.filter(({ granted }) => granted).map(({ key }) => key)

/** The outbox event of a consent, for its organization. */
export const consentEvent = (
  kind: 'consent.granted' | 'consent.withdrawn' | 'consent.expired',
  row: Pick<ConsentRow, 'consent_id' | 'entity' | 'organization_id' | 'method' | 'purposes' | 'access_until' | 'withdrawn_by'>,
): OutboxEvent => ({
  ...{ outbox_event_id: `${kind}:${row.consent_id}`, kind, entity: row.entity, organizations: [row.organization_id] },
  body: {
    ...{ consent_id: row.consent_id, method: row.method, purposes: grantedKeys(row), access_until: row.access_until },
    ...(kind === 'consent.withdrawn' && { withdrawn_by: row.withdrawn_by }),
  },
})

function view(row: ConsentRow): Consent {
  const { consent_id, text, signature, certificate } = row
  return {
    ...{ consent_id, fiscal_entity_id: row.fiscal_entity_id, rfc: row.rfc, connect_link_id: row.connect_link_id },
    ...{ consent_reference: row.consent_reference, subject: row.subject, text, purposes: row.purposes, sources: row.sources },
    access: { from: row.access_from, until: row.access_until },
    ...{ granted_at: row.granted_at.toISOString(), address_hash: row.address_hash, user_agent: row.user_agent, method: row.method },
    signature:
      signature && certificate && text
        ? {
            algorithm: 'RSASSA-PKCS1-v1_5-SHA-256',
            message: signedMessage(consent_id, text.sha256, grantedKeys(row)),
            ...{ value: signature, certificate },
          }
        : null,
    ...{ status: row.status, ended_at: row.ended_at?.toISOString() ?? null, withdrawn_by: row.withdrawn_by },
  }
}

/** Lists the organization's consents, newest first. */
export async function listConsents(ctx: Ctx, query: ConsentQuery) {
  const scope = { list: 'consents', filters: query }
  const [before] = (await openCursor(ctx, scope, query.cursor)) ?? []
  const rows = await listConsentRows(ctx.db, ctx.organization, query, before === undefined ? undefined : String(before), query.limit + 1)
  return paginate(ctx, scope, query.limit, rows, ({ consent_id }) => [consent_id], view)
}

async function requireConsent(ctx: Ctx, consent_id: string): Promise<ConsentRow> {
  const row = await findConsent(ctx.db, ctx.organization, consent_id)
  if (!row) throw notFound('consent')
  return row
}

/** Throws Failure 404 consent.not_found. */
export const getConsent = async (ctx: Ctx, consent_id: string): Promise<Consent> => view(await requireConsent(ctx, consent_id))

/**
 * Ends a consent and erases the logins of its connection, in one commit: nothing is downloaded any more. Throws Failure 409 consent.ended
 * unless it counts.
 */
async function end(
  ctx: Ctx,
  row: ConsentRow,
  as: { status: 'withdrawn'; withdrawn_by: 'subject' | 'customer' } | { status: 'expired'; withdrawn_by: null },
): Promise<void> {
  if (row.status !== 'active') throw ended()
  const kind = `consent.${as.status}` as const
  const event = consentEvent(kind, { ...row, withdrawn_by: as.withdrawn_by })
  const statements = [...endConsent(ctx.db, row, { ...as, ended_at: ctx.now }), ...insertOutboxEvents([event], ctx.now.getTime())]
  try {
    await withdrawLogins(ctx, row.fiscal_entity_id, { action: kind, resource_id: row.consent_id }, statements)
  } catch (error) {
    // Unlinking or another consent has ended it meanwhile.
    const now = await findConsent(ctx.db, ctx.organization, row.consent_id)
    throw now?.status === 'active' ? error : ended()
  }
  await wakeRelay(ctx, 'control')
}

const ended = (): Failure =>
  new Failure('conflict', 'consent.ended', 'The consent is not active any more. GET /v1/consents?status=active lists those that are.')

/** Withdraws a consent for the organization. Throws Failure 404 consent.not_found and 409 consent.ended. */
export async function withdrawConsent(ctx: Ctx, consent_id: string): Promise<Consent> {
  await end(ctx, await requireConsent(ctx, consent_id), { status: 'withdrawn', withdrawn_by: 'customer' })
  return getConsent(ctx, consent_id)
}

const CODE = /^[0-9A-HJKMNP-TV-Z]{26}$/

/** The SHA-256 of the code on a receipt; null when it cannot be one. */
export async function digestOfCode(code: string): Promise<string | null> {
  const plain = code.toUpperCase().replace(/[\s-]/g, '')
  if (!CODE.test(plain)) return null
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(plain))).toHex()
}

/** The consent of a receipt. Whoever has the code gave the consent. Undefined for an unknown code. */
export async function consentOfCode(system: System, code: string): Promise<ConsentRow | undefined> {
  const digest = await digestOfCode(code)
  return digest === null ? undefined : findByCode(system.db, digest)
}

/** Withdraws a consent for the taxpayer. Throws Failure 409 consent.ended. */
export const withdrawAsSubject = async (system: System, row: ConsentRow): Promise<void> =>
  end(await actingFor(system, row.organization_id, 'taxpayer'), row, { status: 'withdrawn', withdrawn_by: 'subject' })

const PAGE = 20
/** The most statements that ending a consent takes. */
const STATEMENTS = 20

/** Ends the consents whose last day is over. A task, which no longer finds what it has done. */
export const expireConsents = (system: System, cursor = ''): Promise<string | null> =>
  pageByPage(system, PAGE * STATEMENTS, cursor, async (_, fail) => {
    const rows = await endedConsents(system.db, clock.date(), PAGE)
    for (const row of rows) {
      const ctx = await actingFor({ ...system, now: clock.date() }, row.organization_id, 'consent')
      await end(ctx, row, { status: 'expired', withdrawn_by: null }).catch((error: unknown) => {
        if (!(error instanceof Failure && error.code === 'consent.ended')) fail(error)
      })
    }
    return rows.length < PAGE ? null : ''
  })
