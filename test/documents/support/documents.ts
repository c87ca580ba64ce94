import { createExecutionContext, createMessageBatch, getQueueResult } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { vi } from 'vitest'
import { consume } from '../../../src/app/work.ts'
import * as adapters from '../../../src/authority/adapters.ts'
import type { TaxAuthority } from '../../../src/authority/port/authority.ts'
import { fileOf, type InventedFile } from '../../../src/authority/sandbox/documents/port.ts'
import { relayOutbox } from '../../../src/delivery/relay/relay.ts'
import type { Document } from '../../../src/documents/contract.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { callOf, cfdiOf, subscriber } from '../../downloads/support/downloads.ts'
import { at } from '../../support/clock.ts'

export const SOURCES = ['sat_csf', 'sat_opinion_32d', 'sat_obligations', 'sat_certificates']

/** An organization whose runs fetch documents of these sources. */
export async function reader(rfc: string, data_source_keys: readonly string[] = SOURCES) {
  const of = await subscriber(rfc, cfdiOf(1, { data_source_keys }))
  return {
    ...of,
    documents: async (query = ''): Promise<Document[]> => (await of.ask('GET', `${of.path}/documents?limit=100${query}`)).body.data,
    profile: async () => (await of.ask('GET', `${of.path}/tax-profile`)).body,
    /** Events about documents, oldest first. */
    notified: async (): Promise<Record<string, unknown>[]> =>
      (await of.ask('GET', '/v1/events?limit=100')).body.data.filter(({ event }: { event: string }) => event.startsWith('document.')),
  }
}
export type Reader = Awaited<ReturnType<typeof reader>>

/** Runs of these organizations on a day, one after the other, and the jobs that they request, with these bindings. */
export async function runsOn(day: string, rfc: string, readers: readonly Reader[], bindings: Partial<Record<keyof Env, unknown>> = {}) {
  at(`${day}T18:00:00Z`)
  for (const one of readers) await one.run()
  await work(rfc, bindings)
}

/** Does all jobs of the RFC, and relays what is to be told. */
export async function work(rfc: string, bindings: Partial<Record<keyof Env, unknown>> = {}): Promise<void> {
  const hint = await callOf(rfc)
  const own = { ...env, ...bindings } as unknown as Env
  for (let n = 0; n < 3; n++) {
    const batch = createMessageBatch('fiscal-local-downloads', [{ id: `d${n}`, timestamp: new Date(), attempts: 1, body: hint }])
    await consume(batch, own)
    await getQueueResult(batch, createExecutionContext())
  }
  await relay(hint.shard)
}

export const relay = (shard = 0): Promise<void> => relayOutbox(systemOf(env, new Date(), 'test'), shard)

/** The reader of PDFs does not answer. */
export const DOWN = { PDF: { fetch: () => Promise.reject(new Error('There is no such Worker.')) } }

const real = adapters.authorityOf

/** From here on the authority delivers these files, until mocks are restored. */
export function delivers(files: (source: string) => InventedFile[]): void {
  vi.spyOn(adapters, 'authorityOf').mockImplementation(async (system) => {
    const { mailbox, ...authority } = await real(system)
    const documents: TaxAuthority['documents'] = async ({ source }) => {
      return { state: 'ready', files: await Promise.all(files(source).map(fileOf)), mailbox }
    }
    return { ...authority, mailbox, documents }
  })
}
