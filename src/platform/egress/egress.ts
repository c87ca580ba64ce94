import { WorkerEntrypoint } from 'cloudflare:workers'
import { isHosted } from '../settings.ts'
import type { Purpose } from './sinks.ts'

/**
 * The one place that decides where a request may go that leaves for an address of a customer or of the tax authority. A hosted service
 * reaches the public network and nothing else (global_fetch_strictly_public). A local one reaches the sinks on loopback that are set, and
 * nothing else. It returns redirects instead of following them, and throws when there is no answer.
 */
abstract class PurposedEgress extends WorkerEntrypoint<Env> {
  protected abstract readonly purpose: Purpose

  override async fetch(request: Request): Promise<Response> {
    if (isHosted(this.env)) return fetch(request, { redirect: 'manual' })
    const { sendToSink } = await import('./sinks.ts')
    return sendToSink(this.env, this.purpose, request)
  }
}

/** Behind the binding EGRESS: requests to the tax authority, and deliveries of webhooks. */
export class Egress extends PurposedEgress {
  protected readonly purpose = 'webhooks'
}

/** Behind the binding STORAGE_EGRESS: requests of storage connectors. */
export class StorageEgress extends PurposedEgress {
  protected readonly purpose = 'storage'
}
