/**
 * The Worker. Read on in this order: app.ts (what a customer can ask), schedule.ts and queues/queues.ts (what happens by itself),
 * extractors/run.ts → downloads/downloads.ts → downloads/drain.ts → cfdi/ingest.ts (how documents come in), visibility/window.ts and
 * cfdi/search.ts (how they are read), webhooks/relay.ts → webhooks/delivery.ts (how changes are told).
 */
import { app } from './app.ts'
import { consume } from './queues/queues.ts'
import { tick } from './schedule.ts'

export { Cooldown } from './cooldown/cooldown.ts'
export { Lane } from './downloads/lane.ts'
export { Egress } from './webhooks/egress.ts'
export { Gate } from './webhooks/gate.ts'

export default {
  fetch: app.fetch,
  queue: consume,
  scheduled: tick,
} satisfies ExportedHandler<Env>
