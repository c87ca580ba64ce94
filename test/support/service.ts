import api from '../../src/index.ts'
import { consume } from '../../src/queues.ts'
import { tick } from '../../src/schedule.ts'

// By name: what a star exports is not found by `exports` of cloudflare:workers.
export { Cooldown, Egress, HostLimiter, Mutex, Secrets } from '../../src/index.ts'

/** Both Workers in one isolate, for tests and for the bench: what answers requests and what does background work. */
export default { fetch: api.fetch, queue: consume, scheduled: tick } satisfies ExportedHandler<Env>
