import { createExecutionContext, createMessageBatch } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { type Completion, fetcherClient, Refused } from '../../../../scripts/fetcher/client.ts'
import { app } from '../../../../src/app/app.ts'
import { consume } from '../../../../src/app/work.ts'
import type { DataSourceKey } from '../../../../src/authority/port/authority.ts'
import { bookOf, callOf, cfdiOf, jobsOf, subscriber } from '../../../downloads/support/downloads.ts'
import { freshRfc } from '../../../support/tenants.ts'
import { askOf, FETCHER_KEY, withFetcher } from './deployment.ts'

/** A fetcher of a deployment. `see` is given what it sends. */
export const clientOf = (of: Env, see: (request: Request) => unknown = () => {}) =>
  fetcherClient('https://api.test', `1:${FETCHER_KEY.toBase64()}`, async (request) => {
    see(request)
    return app.fetch(request, of, createExecutionContext())
  })

export async function deliver(body: unknown, purpose = 'downloads', of: Env = withFetcher): Promise<void> {
  await consume(createMessageBatch(`fiscal-local-${purpose}`, [{ id: 'm', timestamp: new Date(), attempts: 1, body }]), of)
}

/** An organization whose runs download document sources in a deployment with a fetcher. sat_miinformacion comes with any of them. */
export async function reader(sources: readonly DataSourceKey[], ciec: string | null = 'deAna1', more: object = {}, rfc = freshRfc()) {
  const one = await subscriber(rfc, cfdiOf(1, { data_source_keys: sources }), ciec, { data_source_keys: sources, ...more })
  const ask = (method: string, path: string, json?: unknown) => askOf(withFetcher, one.owner, method, path, json)
  return {
    ...one,
    rfc,
    ask,
    run: async () => (await ask('POST', `/v1/extractors/${one.extractor_id}/run`)).body,
    entity: async () => (await ask('GET', one.path)).body,
    drain: async (of: Env = withFetcher) => deliver(await callOf(rfc), 'downloads', of),
    /** Status and reason of the RFC's jobs of a source, the earliest first. */
    states: async (source: DataSourceKey) =>
      (await jobsOf(rfc)).filter((job) => job.source === source).map(({ status, error_class }) => [status, error_class]),
    fetches: async () => (await bookOf(rfc, ['fetches']))['fetches'] as { source: string; state: string }[],
    stored: async () => (await bookOf(rfc, ['documents']))['documents'] as { name: string; sha256: string }[],
  }
}

/** Leaves an RFC without the job of the mandatory source. */
export async function without(rfc: string, source: DataSourceKey): Promise<void> {
  const { entity } = await callOf(rfc)
  await env.LEDGER_0.prepare('delete from sync_jobs where entity = ? and source = ?').bind(entity, source).run()
}

/** What the fetcher uploaded and the bucket has. */
export const uploads = async (): Promise<string[]> => (await env.FILES.list({ prefix: 'fetcher/' })).objects.map(({ key }) => key)

export const refusal = (asked: Promise<unknown>) =>
  asked.then(
    () => null,
    (error: unknown) => (error instanceof Refused ? [error.status, error.code] : error),
  )

/** A document as a list has it. */
export const listed = (rfc: string, n: number, sha256: string, more: object = {}) => ({
  ...{ n, sha256, rfc, name: `rug-${n}.json`, content_type: 'application/json', kind: 'rug', series: 'rug', title: 'RUG' },
  ...{ document_date: '2026-05-01', period_end: null, attributes: {}, fields: null, ...more },
})

export const listOf = (...documents: object[]): Completion => ({ documents })
