import { env } from 'cloudflare:workers'
import { expect } from 'vitest'
import type { Extractor } from '../../../../src/connections/extractors/contract.ts'
import type { Organization } from '../../../support/tenants.ts'

export const EXTRACTORS = '/v1/extractors'

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
