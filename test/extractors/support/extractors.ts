import { env } from 'cloudflare:workers'
import { expect, vi } from 'vitest'
import type { Extractor } from '../../../src/extractors/contract.ts'
import type { Role } from '../../../src/platform/tenant.ts'
import { api, type Caller } from '../../support/client.ts'
import { signUp } from '../../support/journeys.ts'

export const EXTRACTORS = '/v1/extractors'

/** From here on it is this instant, for the service as well. */
export const at = (instant: string): void => {
  if (vi.isFakeTimers()) vi.setSystemTime(instant)
  else vi.useFakeTimers({ toFake: ['Date'], now: new Date(instant) })
}

/** An organization without any extractor, on a plan, and a way to ask in its name. */
export async function organization(plan = 'api') {
  const owner = await signUp()
  const callers: Partial<Record<Role, Caller>> = { owner }
  const as = async (role: Role): Promise<Caller> =>
    (callers[role] ??= (await api(owner, 'POST', '/v1/credentials', { name: role, role })).body as Caller)
  const ask = async (method: string, path: string, body?: unknown, role: Role = 'owner') => api(await as(role), method, path, body)
  await ask('POST', '/v1/test-helpers/organization', { plan })
  // However far a test goes into the future, nothing is invoiced that nobody pays.
  await env.DB.prepare("update organizations set billed_month = '9999-12' where id = ?").bind(owner.organization_id).run()
  for (const { extractor_id } of (await ask('GET', EXTRACTORS)).body as Extractor[]) await ask('DELETE', `${EXTRACTORS}/${extractor_id}`)
  return { id: owner.organization_id, owner, ask }
}

export type Organization = Awaited<ReturnType<typeof organization>>

export const draft = { name: 'Uno', trigger_kind: 'connection_created', scope: 'full_history', data_source_keys: ['sat_csf'] }
export const scheduled = { ...draft, trigger_kind: 'schedule', schedule_kind: 'daily' }
export const weekly = { ...scheduled, schedule_kind: 'every_n_days', schedule_spec: { n: 7 } }
export const monthly = { ...scheduled, schedule_kind: 'nth_weekday_monthly', schedule_spec: { weekday: 0, nth: 1 } }

export async function created(of: Organization, body: object = draft): Promise<Extractor> {
  const reply = await of.ask('POST', EXTRACTORS, body)
  expect(reply).toEqual(expect.objectContaining({ status: 201 }))
  return reply.body
}

export const listed = async (of: Organization): Promise<Extractor[]> => (await of.ask('GET', EXTRACTORS)).body

/** The count that the limit and the window go by. */
export const counted = (of: Organization) =>
  env.DB.prepare('select extractor_count from organizations where id = ?').bind(of.id).first<number>('extractor_count')

export const audited = async (of: Organization, action: string): Promise<{ changed: string[] }[]> =>
  (await of.ask('GET', `/v1/audit-events?action=${action}&limit=100`)).body.data

export const pathsOf = (body: { errors: { path: string }[] }): string[] => body.errors.map(({ path }) => path).sort()
