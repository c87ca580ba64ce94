import { isUsed, loginsOf } from '../authority/logins.ts'
import type { Ctx } from '../platform/context.ts'
import { uuidOf } from '../platform/db/id.ts'
import { retryOnConflict } from '../platform/db/retry.ts'
import { Failure, notFound } from '../platform/failures.ts'
import { openCursor, paginate } from '../platform/paging/cursor.ts'
import { daysLeft } from '../platform/time/calendar.ts'
import { hasValidCheckDigit } from '../taxpayers/rfc.ts'
import { sourcesOf } from '../taxpayers/sources.ts'
import { type ConnectionRow, findConnection, isInvalid, latestCeilings, listShown, type WithReaches } from '../taxpayers/taxpayers.ts'
import { viewWindow, viewWindows } from '../taxpayers/visibility/contract.ts'
import { hullOf, reachOf, windowStateOf, windowsOf } from '../taxpayers/visibility/window.ts'
import type { FiscalEntity, FiscalEntityQuery } from './contract.ts'

const CHECK_DIGIT = {
  code: 'rfc.check_digit',
  message: 'The check digit of the RFC is not the expected one. Some real RFCs have another one, so the RFC was accepted.',
}

/** A valid e.firma downloads all that is downloaded here: then nothing is to be done. */
const noFetcher = (row: ShownRow) => ({
  code: 'ciec.no_fetcher',
  message: `The CIEC is stored, and nothing is downloaded with it: this deployment has no fetcher, which alone can log in with a CIEC at the portal of the tax authority. ${
    row.state === 'active' && row.efirma_number !== null
      ? 'CFDIs are downloaded with the e.firma, and there is nothing to do.'
      : 'Connect a valid e.firma with PATCH /v1/fiscal-entities/{id}.'
  }`,
})

const NOT_VERIFIED = {
  code: 'ciec.not_verified',
  message:
    'The CIEC waits for its first login at the portal of the tax authority, which the fetcher of this deployment makes. A draft becomes active when it is accepted.',
}

/** What of a connection is needed to show it. */
export type ShownRow = Omit<ConnectionRow, 'connection'> & Pick<WithReaches, 'metadata'>

const NO_DOCUMENTS = {
  code: 'ciec.missing',
  message:
    'Only CFDIs are downloaded with an e.firma. The fetcher of this deployment downloads the other data sources with a CIEC. Send a CIEC with PATCH /v1/fiscal-entities/{id}.',
}

function viewEfirma({ now, organization }: Ctx, { efirma_number, efirma_valid_from, efirma_valid_to }: ShownRow): FiscalEntity['efirma'] {
  if (efirma_number === null || efirma_valid_from === null || efirma_valid_to === null) return null
  return {
    certificate_number: efirma_number,
    valid_from: efirma_valid_from.toISOString(),
    valid_to: efirma_valid_to.toISOString(),
    days_to_expiry: daysLeft(efirma_valid_to, now, organization.timezone),
  }
}

/** Makes the function that shows these connections of the organization. */
export async function viewsOf(ctx: Ctx, rows: readonly ShownRow[]): Promise<(row: ShownRow) => FiscalEntity> {
  const { sources: active, kinds, documentKind } = loginsOf(ctx)
  const isAwaited = ({ ciec_verify_at }: ShownRow): boolean => ciec_verify_at !== null && !kinds.includes('ciec')
  const latest = await latestCeilings(
    ctx.db,
    rows.map(({ entity }) => entity),
  )
  return (row) => {
    const bounds = { ...row, issued_to: row.issued_to?.getTime() ?? null, received_to: row.received_to?.getTime() ?? null }
    const reached = reachOf(bounds)
    return {
      fiscal_entity_id: row.fiscal_entity_id,
      fiscal_entity_uuid: uuidOf(row.fiscal_entity_id),
      rfc: row.rfc,
      name: row.name,
      external_id: row.external_id,
      metadata: row.metadata,
      status: row.state as FiscalEntity['status'],
      data_source_keys: sourcesOf(row, active),
      invalid_reason: isInvalid(row) ? row.invalid_reason : null,
      ciec_set: row.ciec !== null,
      credential_kind: row.ciec === null ? (row.efirma_number === null ? null : 'efirma') : row.efirma_number === null ? 'ciec' : 'both',
      efirma: viewEfirma(ctx, row),
      ...viewWindow(hullOf(reached)),
      windows: viewWindows(reached),
      window_state: windowStateOf(windowsOf(ctx.organization.extractor_count, bounds), latest.get(row.entity)),
      warnings: [
        ...(hasValidCheckDigit(row.rfc) ? [] : [CHECK_DIGIT]),
        ...(row.ciec === null ? [] : isUsed(ctx, 'ciec') ? (isAwaited(row) ? [NOT_VERIFIED] : []) : [noFetcher(row)]),
        ...(documentKind === 'ciec' && ctx.settings.fetcherKeys !== null && row.ciec === null && row.efirma_number !== null
          ? [NO_DOCUMENTS]
          : []),
      ],
      linked_at: row.linked_at.toISOString(),
      updated_at: row.updated_at.toISOString(),
    }
  }
}

/** How a connection is shown. */
export const viewConnection = async (ctx: Ctx, row: ShownRow): Promise<FiscalEntity> => (await viewsOf(ctx, [row]))(row)

/** Returns the organization's connection to a fiscal entity. Throws Failure 404 fiscal_entity.not_found. */
export async function requireConnection(ctx: Ctx, fiscal_entity_id: string): Promise<WithReaches> {
  const row = await findConnection(ctx.db, ctx.organization.id, fiscal_entity_id)
  if (!row) throw notFound('fiscal_entity')
  return row
}

/** Returns one connection of the organization as it is shown. Throws Failure 404 fiscal_entity.not_found. */
export const getFiscalEntity = async (ctx: Ctx, fiscal_entity_id: string): Promise<FiscalEntity> =>
  viewConnection(ctx, await requireConnection(ctx, fiscal_entity_id))

/** Lists the organization's connections in the order of their ids. */
export async function listFiscalEntities(ctx: Ctx, query: FiscalEntityQuery) {
  const scope = { list: 'fiscal_entities', filters: query }
  const [after] = (await openCursor(ctx, scope, query.cursor)) ?? []
  const rows = await listShown(ctx.db, ctx.organization.id, query, after === undefined ? undefined : String(after), query.limit + 1)
  return paginate(ctx, scope, query.limit, rows, (row) => [row.fiscal_entity_id], await viewsOf(ctx, rows))
}

/**
 * Reads, decides and commits a change of a connection, again when a concurrent change refuses the commit. Throws Failure 409
 * fiscal_entity.changed.
 */
export const commitConnectionChange = <T>(attempt: () => Promise<T>): Promise<T> =>
  retryOnConflict(
    attempt,
    () => new Failure('contention', 'fiscal_entity.changed', 'Other requests keep changing this connection. Try again.'),
  )
