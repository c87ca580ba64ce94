import { createExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { app } from '../../../../src/app/app.ts'
import { callOf, ledgerOf } from '../../../downloads/support/downloads.ts'
import type { Caller, Reply } from '../../../support/client.ts'
import { basic } from '../../../support/client.ts'

export const FETCHER_KEY = new Uint8Array(32).fill(7)
const KEYRING = `1:${FETCHER_KEY.toBase64()}`

/** A deployment with TAX_AUTHORITY = sat, on the databases of the tests. */
export const withoutFetcher = { ...env, TAX_AUTHORITY: 'sat' } as unknown as Env
export const withFetcher = { ...env, TAX_AUTHORITY: 'sat', FETCHER_KEYS: KEYRING } as unknown as Env

/** Sends a request of a customer to a deployment. */
// biome-ignore lint/suspicious/noExplicitAny: a test looks at what it expects.
export async function askOf(of: Env, caller: Caller, method: string, path: string, json?: unknown): Promise<Reply<any>> {
  const body = json === undefined ? {} : { body: JSON.stringify(json), headers: { 'content-type': 'application/json' } }
  const request = new Request(`https://api.test${path}`, { method, ...body })
  request.headers.set('authorization', basic(caller))
  const response = await app.fetch(request, of, createExecutionContext())
  return { status: response.status, headers: response.headers, body: JSON.parse((await response.text()) || 'null') }
}

/** Leaves an RFC without the jobs of document sources, which every run requests of the mandatory one. */
export async function onlyMonths(rfc: string): Promise<void> {
  const [{ entity }, ledger] = [await callOf(rfc), await ledgerOf(rfc)]
  await ledger.prepare("delete from sync_jobs where entity = ? and month = ''").bind(entity).run()
}
