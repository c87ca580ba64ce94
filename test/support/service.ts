import { appAt } from '../../src/app.ts'
import { consume } from '../../src/queues.ts'
import { tick } from '../../src/schedule.ts'
import { pathOf } from '../../src/surface-paths.ts'
import { app } from '../../src/whole.ts'

// By name: what a star exports is not found by `exports` of cloudflare:workers.
export { Cooldown, Egress, HostLimiter, Mutex, Secrets } from '../../src/index.ts'

/** The Workers of the service in one isolate, for tests and for the bench. */
export default {
  fetch: (request: Request, env: Env, context?: ExecutionContext) => appAt(pathOf(request), app).fetch(request, env, context),
  queue: consume,
  scheduled: tick,
} satisfies ExportedHandler<Env>
