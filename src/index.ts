/**
 * The Worker. Read the code in this order: app.ts (requests), work.ts and schedule.ts (background work), connections/extractors/runs/dispatch.ts →
 * downloads/downloads.ts → downloads/drain.ts → cfdi/ingest/ingest.ts (how documents come in), taxpayers/visibility/window.ts and cfdi/search/search.ts
 * (how they are read), delivery/relay/relay.ts → delivery/deliveries/delivery.ts (how customers learn of changes).
 */
import { entries } from './app/clock/entries.ts'

export { HostLimiter } from './delivery/hosts/host-limiter.ts'
export { PdfReader } from './documents/pdf/reader.ts'
export { DownloadTurns } from './downloads/turns/download-turns.ts'
export { Egress, StorageEgress } from './platform/egress/egress.ts'
export { Cooldown, Mutex } from './platform/locks/locks.ts'

export default entries satisfies ExportedHandler<Env>
