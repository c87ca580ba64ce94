/**
 * The Worker. Read on in this order: app.ts (what a customer can ask), schedule.ts and queues/queues.ts (what happens by itself),
 * extractors/run.ts → downloads/downloads.ts → downloads/drain.ts → cfdi/ingest.ts (how documents come in), visibility/window.ts and
 * cfdi/search.ts (how they are read), webhooks/relay.ts → webhooks/delivery.ts (how changes are told).
 */
import { app } from './app.ts'
import { consume } from './queues.ts'
import { tick } from './schedule.ts'

export { Cooldown } from './platform/locks/cooldown.ts'
export { Mutex } from './platform/locks/mutex.ts'
export { Egress } from './webhooks/deliveries/egress.ts'
export { HostLimiter } from './webhooks/deliveries/host-limiter.ts'

export default {
  fetch: app.fetch,
  queue: consume,
  scheduled: tick,
} satisfies ExportedHandler<Env>
