import { env } from 'cloudflare:workers'
import type { EventPayload } from '../../../../src/delivery/catalog/payload-contract.ts'
import type { Notification } from '../../../../src/documents/mailbox/contract.ts'
import { cfdiOf, deliver, subscriber, work } from '../../../downloads/support/downloads.ts'
import { basic } from '../../../support/client.ts'
import { freshRfc } from '../../../support/tenants.ts'
import { send as wired } from '../../../support/wire.ts'

/** An organization whose extractor downloads nothing but the mandatory source, and a way into the mailbox of its RFC. */
export async function reader(rfc = freshRfc(), ciec: string | null = 'empty123', extractor: object = {}) {
  const of = await subscriber(rfc, cfdiOf(1, { data_source_keys: ['sat_miinformacion'], ...extractor }), ciec)
  const box = `${of.path}/buzon`
  const list = async (query = ''): Promise<Notification[]> => (await of.ask('GET', `${box}/notifications?limit=100${query}`)).body.data
  return {
    ...of,
    rfc,
    box,
    list,
    send: async (more: object = {}) =>
      of.ask('POST', '/v1/test-helpers/mailbox', { fiscal_entity_id: of.fiscal_entity_id, kind: 'requerimiento', ...more }),
    /** The organization's own run, and what it downloads. */
    receive: async () => {
      await of.run()
      await work(rfc)
    },
    document: async (notification_id: string, { ack = false, role = 'owner' }: { ack?: boolean; role?: string } = {}) =>
      of.ask(
        'GET',
        `${box}/document?notification_id=${notification_id}${ack ? '&acknowledge_notification=true' : ''}`,
        undefined,
        role as 'owner',
      ),
    /** A request for the document with headers of its own. */
    fetchDocument: async (
      notification_id: string,
      headers: Record<string, string>,
      { ack = false, role = 'owner' }: { ack?: boolean; role?: 'owner' | 'admin' | 'member' } = {},
    ) =>
      wired('GET', `${box}/document?notification_id=${notification_id}${ack ? '&acknowledge_notification=true' : ''}`, {
        authorization: basic(await of.as(role)),
        headers,
      }),
    head: async (notification_id: string, { ack = false, role = 'owner' }: { ack?: boolean; role?: 'owner' | 'admin' | 'member' } = {}) =>
      wired('HEAD', `${box}/document?notification_id=${notification_id}${ack ? '&acknowledge_notification=true' : ''}`, {
        authorization: basic(await of.as(role)),
      }),
    /** What the mailbox's worker does on a call of the organization. */
    open: async () => {
      const { entity } = (await env.DB.prepare('select entity from fiscal_entities where rfc = ?')
        .bind(rfc)
        .first<{ entity: number }>()) as { entity: number }
      await deliver([{ mailbox: { organization_id: of.id, entity } }])
    },
    notified: async (): Promise<Extract<EventPayload, { event: 'mailbox.notification_received' }>[]> => {
      await relayed()
      return (await of.ask('GET', '/v1/events?limit=100&event_key=mailbox.notification_received')).body.data
    },
    alerts: async () =>
      (await of.ask('GET', '/v1/alerts?limit=100')).body.data as { severity: string; message: string; resource_id: string }[],
  }
}
export type Reader = Awaited<ReturnType<typeof reader>>

/** The outboxes are relayed. */
export const relayed = () => deliver([{ outbox: 0 }, { outbox: 'control' }], 'webhooks')

/** The titles of the notifications to an RFC that the sandbox knows to be opened. */
export const openedAtAuthority = async (rfc: string): Promise<unknown[]> => {
  const opened = "select sent->>'title' as title from sandbox_notifications where rfc = ? and opened_at is not null"
  return (await env.DB.prepare(opened).bind(rfc).all<{ title: string }>()).results.map(({ title }) => title)
}
