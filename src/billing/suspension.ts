import { findOrganization, updateOrganization } from '../account/account.ts'
import { audited, type Change, change } from '../audit/audit.ts'
import { commit, isGuardViolation, type Statement } from '../db/commit.ts'
import { resumeDownloads } from '../downloads/downloads.ts'
import { pauseActive, resumePaused, suspendedConnections } from '../entities/store.ts'
import type { Ctx, System } from '../env.ts'
import { each } from '../extractors/each.ts'
import { announceRuns, planRuns } from '../extractors/run.ts'
import { Failure, said } from '../failures.ts'
import { lastDueBeyondGrace, type Standing, standingOf, type Terms } from './standing.ts'
import { findTerms, findUnsettled, holdTerms, type StoredTerms, setSuspension } from './store.ts'

/** What a change of an organization's terms brings with it, for its commit and for after it. */
export interface Settled {
  statements: Statement[]
  /** Hints only: what is committed goes on without them. */
  follow(): Promise<void>
}

const nothing = async (): Promise<void> => {}

/** The service itself, acting for an organization. */
export const actingFor = async (system: System, organization_id: string, process = 'billing'): Promise<Ctx> => ({
  ...system,
  organization: await findOrganization(system.db, organization_id),
  actor: { kind: 'system', process },
  connection: null,
})

/**
 * Makes an organization's connections follow its terms as the statements before these in the batch leave them: suspended, the active
 * ones pause; suspended no more, those are active again that a suspension paused, as far as there are seats, and their extractors run
 * as on any reactivation. What the organization paused itself stays so.
 */
export async function settle(ctx: Ctx, { suspension, held }: StoredTerms, after: Terms): Promise<Settled> {
  const { db, organization, now } = ctx
  const hold = holdTerms(db, organization.id, after, suspension)
  const standing = standingOf(after, now)
  if (standing.suspension === suspension) return { statements: [hold], follow: nothing }
  const common = [hold, setSuspension(db, organization.id, standing.suspension)]
  const tell = (action: string) =>
    audited({ ...ctx, actor: { kind: 'system', process: 'billing' } }, organization.id, {
      action,
      resource_id: organization.id,
      changed: ['status'],
    })
  if (standing.suspension !== null)
    return {
      statements: [...common, pauseActive(db, organization.id, standing.suspension, now), tell('organization.suspended')],
      follow: nothing,
    }
  const { statements, follow } = await lift(ctx, held, standing)
  return { statements: [...common, ...statements, tell('organization.reactivated')], follow }
}

async function lift(ctx: Ctx, held: number, { allowance }: Standing): Promise<Settled> {
  const paused = await suspendedConnections(ctx.db, ctx.organization.id)
  const woken = allowance === null ? paused : paused.slice(0, Math.max(0, allowance - held))
  const ids = woken.map(({ fiscal_entity_id }) => fiscal_entity_id)
  const planned = await planRuns(ctx, 'connection_reactivated', ids)
  return {
    statements: [resumePaused(ctx.db, woken, ctx.now), ...planned.statements],
    follow: async () => {
      await announceRuns(ctx, planned.runs)
      for (const entity of woken) await resumeDownloads(ctx, entity)
    },
  }
}

/** Follows a commit: what fails here is done by the sweep, and is nobody's failure. */
export async function followed(ctx: Ctx, { follow }: Settled): Promise<void> {
  try {
    await follow()
  } catch (error) {
    console.error(
      JSON.stringify({ level: 'error', request_id: ctx.requestId, message: 'Reactivations are left to the sweep.', error: said(error) }),
    )
  }
}

const MAX_ATTEMPTS = 20

/** Decides and commits; when what it was decided on has changed, again. */
export async function decided<T>(attempt: () => Promise<T>): Promise<T> {
  for (let n = 1; ; n++) {
    try {
      return await attempt()
    } catch (error) {
      if (!isGuardViolation(error)) throw error
      if (n === MAX_ATTEMPTS)
        throw new Failure('conflict', 'billing.changed', 'Billing is being changed by others at the same time. Try again.')
    }
  }
}

/** Changes plan, seats or trial, and makes connections follow in the same commit. */
export const changeTerms = (
  ctx: Ctx,
  what: Change,
  changesOf: (read: Terms) => Partial<Pick<Terms, 'plan' | 'rfc_allowance' | 'trial_ends_at'>>,
  also: readonly Statement[] = [],
): Promise<void> =>
  decided(async () => {
    const read = (await findTerms(ctx.db, ctx.organization.id))!
    const changes = changesOf(read)
    const settled = await settle(ctx, read, { ...read, ...changes })
    const update = Object.keys(changes).length === 0 ? [] : [updateOrganization(ctx.db, ctx.organization.id, changes)]
    await change(ctx, what, [...also, ...update, ...settled.statements])
    await followed(ctx, settled)
  })

/** Makes the connections of one organization follow what its terms are now: a grace that ran out, a trial that is over. */
export async function reviewStanding(system: System, organization_id: string): Promise<void> {
  const ctx = await actingFor(system, organization_id)
  await decided(async () => {
    const read = (await findTerms(ctx.db, organization_id))!
    if (standingOf(read, ctx.now).suspension === read.suspension) return
    const settled = await settle(ctx, read, read)
    await commit(ctx.db.$client, settled.statements)
    await followed(ctx, settled)
  })
}

const PAGE = 200
/** Where days begin first. */
const EARLIEST_OFFSET_MS = 14 * 3_600_000

/** The daily look at whose grace or trial is over, or whose suspension is for no reason any more. Bears repetition and missed days. */
export async function reviewStandings(system: System): Promise<void> {
  const latestToday = new Date(system.now.getTime() + EARLIEST_OFFSET_MS).toISOString().slice(0, 10)
  const failures: unknown[] = []
  for (let after = ''; ; ) {
    const page = await findUnsettled(system.db, { now: system.now, due: lastDueBeyondGrace(latestToday), after, limit: PAGE })
    await each(page, (id) => reviewStanding(system, id)).catch((error: unknown) => failures.push(error))
    if (page.length < PAGE) break
    after = page[page.length - 1]!
  }
  if (failures.length > 0) throw failures[0]
}
