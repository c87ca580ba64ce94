import api from '../../src/index.ts'
import { consume } from '../../src/queues.ts'
import { tick } from '../../src/schedule.ts'

export * from '../../src/index.ts'

/** Both Workers in one isolate, for tests and for the bench: what answers requests and what does background work. */
export default { fetch: api.fetch, queue: consume, scheduled: tick } satisfies ExportedHandler<Env>
