import { WorkerEntrypoint } from 'cloudflare:workers'
import type { DestinationSpec } from '../src/storage/drivers/adapters.ts'
import { type LearnedCallback, openSession, type Session } from '../src/storage/drivers/session.ts'

/**
 * Opens customers' storage for the service. Nothing of a session is logged, and nothing of it is stored. Requests leave by STORAGE_EGRESS; where
 * it is hosted there is none, and they go to the public network and nothing else (global_fetch_strictly_public).
 */
export default class extends WorkerEntrypoint<{ STORAGE_EGRESS?: Fetcher }> {
  open(spec: DestinationSpec, publicHosts: readonly string[], onLearned: LearnedCallback): Session {
    const wayOut = this.env.STORAGE_EGRESS ?? globalThis
    return openSession({ publicHosts, fetch: (url, init) => wayOut.fetch(url, init) }, spec, onLearned)
  }
}
