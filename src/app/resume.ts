import type { Resume } from '../accounts/billing/subscription/subscription.ts'
import { announceRuns, planRuns } from '../connections/extractors/runs/dispatch.ts'
import { resumeDownloads } from '../downloads/downloads.ts'
import { announceUnnotified } from '../downloads/missed-cancellations.ts'

/** When a suspension ends, runs the extractors of the connections that are active again and continues their downloads. */
export const resume: Resume = async (ctx, active) => {
  const ids = active.map(({ fiscal_entity_id }) => fiscal_entity_id)
  const { statements, runs } = await planRuns(ctx, 'connection_reactivated', ids)
  return {
    statements,
    afterCommit: async () => {
      await announceRuns(ctx, runs)
      await resumeDownloads(ctx, active)
      await announceUnnotified(ctx, active)
    },
  }
}
