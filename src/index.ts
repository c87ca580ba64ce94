/**
 * The Worker that answers requests. Read the code in this order: app.ts (requests; those of surfaces.ts go to the Worker of surfaces/),
 * schedule.ts and queues.ts (background work, which the Worker of background/ runs), extractors/runs/dispatch.ts → downloads/downloads.ts →
 * downloads/drain.ts → cfdi/ingest/ingest.ts (how documents come in), visibility/window.ts and cfdi/search/search.ts (how they are read),
 * webhooks/relay/relay.ts → webhooks/deliveries/delivery.ts (how customers learn of changes).
 */
import { appAt } from './app.ts'
import { isOfSurfaces, pathOf } from './surface-paths.ts'

export { Egress } from './platform/egress.ts'
export { Cooldown } from './platform/locks/cooldown.ts'
export { Mutex } from './platform/locks/mutex.ts'
export { Secrets } from './platform/secrets.ts'
export { HostLimiter } from './webhooks/hosts/host-limiter.ts'

/** What `npm start` adds, where the runtime fires every cron at this Worker. Hosted, crons reach the Worker of background/ by themselves. */
interface Local {
  BACKGROUND?: { tick(cron: string, scheduledTime: number): Promise<void> }
}

export default {
  fetch(request, env, context) {
    const path = pathOf(request)
    return isOfSurfaces(path) ? env.SURFACES.fetch(request) : appAt(path).fetch(request, env, context)
  },
  scheduled: ({ cron, scheduledTime }: ScheduledController, { BACKGROUND }: Env & Local) => BACKGROUND?.tick(cron, scheduledTime),
} satisfies ExportedHandler<Env>
