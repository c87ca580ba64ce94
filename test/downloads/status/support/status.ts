import { createMessageBatch } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { consume } from '../../../../src/app/work.ts'
import { relayOutbox } from '../../../../src/delivery/relay/relay.ts'
import { systemOf } from '../../../../src/platform/context.ts'
import { drainNow } from '../../../authority/support/authority.ts'
import { pagesOf } from '../../../delivery/support/feed.ts'
import { connected, fetching, runNow } from '../../../platform/outbox/support/outbox-events.ts'
import type { Organization } from '../../../support/tenants.ts'

const BOTH = ['sat_cfdi_issued', 'sat_cfdi_received']

// biome-ignore lint/suspicious/noExplicitAny: a test looks at what it expects; the shape has been checked against the route.
export type Notified = any

export const systemNow = (more: Partial<Env> = {}) => systemOf({ ...env, ...more } as Env, new Date(), 'req_test')

/** What the consumer does with the doubts that were announced. Returns how many messages there were. */
export async function settled(sent: unknown[], through: Env = env): Promise<number> {
  const bodies = sent.splice(0).filter((body) => 'partition' in (body as object))
  const batch = bodies.map((body, n) => ({ id: `s${n}`, timestamp: new Date(), attempts: 1, body }))
  await consume(createMessageBatch('fiscal-local-downloads', batch), through)
  await relayOutbox(systemNow(), 0)
  return bodies.length
}

/** An organization that has downloaded some months of an RFC. */
export async function holder(months = 2, rfc?: string) {
  const of = await fetching(BOTH, months)
  const made = await connected(of, rfc)
  await drainNow(made.entity)
  await relayOutbox(systemNow(), 0)
  const query = `fiscal_entity_id=${made.fiscal_entity_id}`
  return {
    ...of,
    ...made,
    list: async (filter = ''): Promise<Notified[]> => (await pagesOf<Notified>(of, `/v1/cfdi?limit=100&${query}${filter}`)).items,
    get: async (uuid: string): Promise<Notified> => (await of.ask('GET', `/v1/cfdi/${uuid}?${query}`)).body,
    check: (uuid: string) => of.ask('POST', `/v1/cfdi/${uuid}/status-check?${query}`),
    cancel: (uuid: string, cancelled_at?: string, outcome?: string) =>
      of.ask('POST', `/v1/test-helpers/cfdi/${uuid}/cancel`, {
        fiscal_entity_id: made.fiscal_entity_id,
        cancellation_reason: '02',
        ...(cancelled_at && { cancelled_at }),
        ...(outcome && { outcome }),
      }),
    download: async () => {
      await runNow(of)
      await drainNow(made.entity)
      await relayOutbox(systemNow(), 0)
    },
    summary: async (): Promise<Notified> => (await of.ask('GET', `/v1/cfdi/summary/monthly?${query}&from=2026-01&to=2026-03`)).body,
  }
}
export type Holder = Awaited<ReturnType<typeof holder>>

export const eventsOf = async (of: Organization): Promise<Notified[]> =>
  (await pagesOf<Notified>(of, '/v1/events?limit=100')).items.filter(({ event }: Notified) => event.startsWith('cfdi.'))

/** The members of a row that a status check says. */
export const checkedIn = ({ status_answer, es_cancelable, estatus_cancelacion, validacion_efos, status_checked_at }: Notified) => ({
  ...{ status_answer, es_cancelable, estatus_cancelacion, validacion_efos, status_checked_at },
})

export const rechecksIn = async (entity: number): Promise<Notified[]> =>
  (await env.LEDGER_0.prepare('select uuid, due_at, recheck from status_rechecks where entity = ? order by uuid').bind(entity).all())
    .results
