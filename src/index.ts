/**
 * The Worker. Read the code in this order: app.ts (requests), schedule.ts and queues.ts (background work), extractors/runs/dispatch.ts →
 * downloads/downloads.ts → downloads/drain.ts → cfdi/ingest/ingest.ts (how documents come in), visibility/window.ts and cfdi/search/search.ts
 * (how they are read), webhooks/relay/relay.ts → webhooks/deliveries/delivery.ts (how customers learn of changes).
 */
import { appFor } from './app.ts'
import { consume } from './queues.ts'
import { tick } from './schedule.ts'

export { PdfReader } from './documents/pdf/reader.ts'
export { Egress, StorageEgress } from './platform/egress/egress.ts'
export { Cooldown } from './platform/locks/cooldown.ts'
export { Mutex } from './platform/locks/mutex.ts'
export { HostLimiter } from './webhooks/hosts/host-limiter.ts'

export default {
  fetch: (request: Request, env: Env, context?: ExecutionContext) => appFor(request).fetch(request, env, context),
  queue: consume,
  scheduled: tick,
} satisfies ExportedHandler<Env>
