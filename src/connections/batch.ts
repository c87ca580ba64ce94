import type { DataSourceKey } from '../authority/port/authority.ts'
import { withMandatory } from '../authority/sources.ts'
import type { Ctx } from '../platform/context.ts'
import { findConnectionsByRfc } from '../taxpayers/taxpayers.ts'
import { connect, mergeMetadata } from './connect.ts'
import { type ShownRow, viewOf } from './connections.ts'
import type { BatchResult, FiscalEntityBatchAnswer, FiscalEntityDraft } from './contract.ts'

/** The most statements of a draft, without conflicts; and of an RFC that is connected with a login, with the runs that it starts. */
const DRAFT_STATEMENTS = 12
const LOGIN_STATEMENTS = 80

type Result = Omit<BatchResult, 'fiscal_entity'> & { row?: ShownRow }

/** An RFC of the batch, or the error of reading it. */
export type ReadDraft = { draft: FiscalEntityDraft } | { error: unknown }

/** The refusal that a request for one RFC alone would get; null when nobody refused it. */
type RefusalOf = (error: unknown) => BatchResult['refusal']

/** The members of a draft that would change a connection. A CIEC or e.firma is not compared with the stored one. */
function differing(draft: FiscalEntityDraft, row: ShownRow): string[] {
  const { name, external_id, metadata, data_source_keys: keys } = draft
  const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)
  const sources = keys && withMandatory(keys as DataSourceKey[])
  const isDifferent: Record<Exclude<keyof FiscalEntityDraft, 'rfc'>, boolean> = {
    consent_reference: draft.consent_reference != null,
    ciec: draft.ciec !== undefined,
    efirma: draft.efirma !== undefined,
    data_source_keys: keys !== undefined && !isSame(sources?.toSorted() ?? null, row.data_source_keys?.toSorted() ?? null),
    name: name !== undefined && name !== row.name,
    external_id: external_id !== undefined && external_id !== row.external_id,
    metadata: metadata !== undefined && !isSame(mergeMetadata(row.metadata, metadata), row.metadata),
  }
  return Object.keys(isDifferent).filter((name) => isDifferent[name as keyof typeof isDifferent])
}

/** The warning about members that were sent for an RFC connected before: nothing of the connection is changed. */
function notApplied(members: readonly string[], row: ShownRow): BatchResult['warnings'] {
  if (members.length === 0) return []
  const message = `The RFC was connected before, and nothing was changed: ${members.join(', ')} of this request ${members.length === 1 ? 'was' : 'were'} not applied. PATCH /v1/fiscal-entities/${row.fiscal_entity_id} applies ${members.length === 1 ? 'it' : 'them'}.`
  return [{ code: 'fiscal_entity.not_applied', message }]
}

function refused(rfc: string | null, error: unknown, refusalOf: RefusalOf): Result {
  const refusal = refusalOf(error)
  if (refusal === null) throw error
  return { rfc, result: 'refused', refusal, warnings: [] }
}

/**
 * Connects RFCs one after the other, each as connectRfc does, with its own refusals. RFCs beyond the budget of the request are not
 * attempted. Every RFC has its own commit, and one that was connected before is answered with its connection: after a crash the same batch
 * continues where it ended. The warnings of such an RFC name the sent members that differ from the stored ones. A batch that was carried
 * out before, and whose answer was not kept, attempts nothing.
 */
export async function connectRfcs(ctx: Ctx, read: readonly ReadDraft[], refusalOf: RefusalOf): Promise<FiscalEntityBatchAnswer> {
  const several: Ctx = ctx.claim ? { ...ctx, claim: { ...ctx.claim, isSeveral: true } } : ctx
  const rfcs = read.flatMap((one) => ('draft' in one ? [one.draft.rfc] : []))
  const known = new Map((await findConnectionsByRfc(ctx.db, ctx.organization.id, rfcs)).map((row) => [row.rfc, row]))
  const results: Result[] = []
  for (const one of read) {
    if ('error' in one) results.push(refused(null, one.error, refusalOf))
    else {
      // Opening the key of an e.firma takes milliseconds of the processor: other requests run in between.
      await scheduler.wait(1)
      results.push(await connectOne(several, one.draft, known, refusalOf))
    }
  }
  const view = viewOf(ctx)
  const data = results.map(({ row, ...result }) => ({ ...result, fiscal_entity: row ? view(row) : null }))
  const count = (result: BatchResult['result']): number => data.filter((one) => one.result === result).length
  return {
    data,
    counts: {
      ...{ connected: count('connected'), already_connected: count('already_connected') },
      ...{ refused: count('refused'), not_attempted: count('not_attempted') },
    },
  }
}

async function connectOne(
  ctx: Ctx,
  draft: FiscalEntityDraft,
  known: Map<string, ShownRow & { connection: number }>,
  refusalOf: RefusalOf,
): Promise<Result> {
  const { rfc } = draft
  const isCarriedOut = ctx.claim?.isCarriedOut === true
  const already = (row: ShownRow): Result => {
    const members = differing(draft, row)
    // Whether it was this request that stored the login is not known any more.
    const known = isCarriedOut ? members.filter((member) => member !== 'ciec' && member !== 'efirma') : members
    return { rfc, result: 'already_connected', refusal: null, warnings: notApplied(known, row), row }
  }
  const former = known.get(rfc)
  if (former && former.state !== 'unlinked') return already(former)
  if (isCarriedOut || !ctx.budget.allows(draft.ciec || draft.efirma ? LOGIN_STATEMENTS : DRAFT_STATEMENTS))
    return { rfc, result: 'not_attempted', refusal: null, warnings: [] }
  try {
    const row = await connect(ctx, draft, { former })
    known.set(rfc, { connection: 0, ...row })
    return { rfc, result: 'connected', refusal: null, warnings: [], row }
  } catch (error) {
    const result = refused(rfc, error, refusalOf)
    if (result.refusal?.code !== 'fiscal_entity.already_linked') return result
    // Another request was faster.
    const [row] = await findConnectionsByRfc(ctx.db, ctx.organization.id, [rfc])
    return row ? already(row) : result
  }
}
