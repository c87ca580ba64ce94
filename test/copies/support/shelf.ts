import { applyD1Migrations, reset } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { sealCredentials } from '../../../src/copies/connector.ts'
import { type Destination, DestinationError, type DestinationFault, type StoredObject } from '../../../src/copies/drivers/port.ts'
import type { ConnectorScope } from '../../../src/copies/provider-contract.ts'
import { STORED_KINDS } from '../../../src/copies/provider-contract.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { commit } from '../../../src/platform/db/commit.ts'
import { newId } from '../../../src/platform/db/id.ts'
import { api, basic, request } from '../../support/client.ts'
import type { Tenant } from '../../support/tenants.ts'
import { destinationsAre } from './destinations.ts'

/** Empties the whole service. */
export async function emptied(): Promise<void> {
  await reset()
  await Promise.all([
    applyD1Migrations(env.DB, env.CONTROL_MIGRATIONS),
    applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS),
    applyD1Migrations(env.EVENTS_0, env.EVENTS_MIGRATIONS),
  ])
}

/** A customer's storage in a test's hands. */
export class Shelf implements Destination {
  readonly objects = new Map<string, StoredObject>()
  /** Each put that was confirmed, in order. */
  readonly puts: string[] = []
  /** What happens before a put; what it throws is its outcome. */
  before: (path: string) => void | Promise<void> = () => {}

  async put(path: string, object: StoredObject): Promise<void> {
    await this.before(path)
    this.objects.set(path, object)
    this.puts.push(path)
  }
  async read(path: string): Promise<Uint8Array | null> {
    return this.objects.get(path)?.bytes ?? null
  }
  async remove(path: string): Promise<void> {
    this.objects.delete(path)
  }

  /** The paths of documents, without manifests. */
  documents(): string[] {
    return [...this.objects.keys()].filter((path) => !path.startsWith('manifests/')).sort()
  }

  /** The lines about objects of all manifests, or of those below a path. */
  lines(below = 'manifests/'): { sha256: string; uuid?: string; document_id?: string; path: string; rfc: string; size: number }[] {
    return [...this.objects]
      .filter(([path]) => path.startsWith(below) && path.endsWith('.jsonl'))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([, { bytes }]) => new TextDecoder().decode(bytes).trimEnd().split('\n').slice(0, -1))
      .map((line) => JSON.parse(line))
  }

  refuse(code: DestinationFault, retry_after_seconds: number | null = null): void {
    this.before = () => {
      throw new DestinationError(code, 'The destination does not want this.', retry_after_seconds)
    }
  }
}

/** Until a test restores mocks, every connector of this access key writes to its shelf. */
export function shelves(): (key: string) => Shelf {
  const all = new Map<string, Shelf>()
  const of = (key: string): Shelf => {
    const shelf = all.get(key) ?? new Shelf()
    all.set(key, shelf)
    return shelf
  }
  destinationsAre(({ credentials }) => of((credentials as { access_key_id: string }).access_key_id))
  return of
}

/** A connector of an organization, as its row. Its access key is its own id. */
export async function connectorOf(
  { organization_id }: Pick<Tenant, 'organization_id'>,
  scope: Partial<ConnectorScope> = {},
  path_template = '{rfc}/{direction}/{uuid}.xml',
): Promise<{ connector: number; connector_id: string }> {
  const system = systemOf(env, new Date(), 'test')
  const connector_id = newId('stc' as never)
  const credentials = await sealCredentials(system, { organization_id, connector_id }, {
    access_key_id: connector_id,
    secret_access_key: 'secret',
  } as never)
  const shard = await env.DB.prepare('select events_shard from organizations where id = ?')
    .bind(organization_id)
    .first<number>('events_shard')
  const d1 = system.settings.events[shard!]!
  const { results } = await d1
    .prepare(
      `insert into storage_connectors (connector_id, organization_id, name, provider, config, scope, credentials, credentials_version,
         connector_status, is_planned, failures, retry_at, copied_count, failed_count, lease_until, created_at, updated_at)
       values (?1, ?2, 'Respaldo', 's3', ?3, ?4, ?5, 1, 'active', 0, 0, 0, 0, 0, 0, ?6, ?6) returning connector`,
    )
    .bind(
      ...[connector_id, organization_id, JSON.stringify({ bucket: 'b', prefix: '', path_template })],
      ...[JSON.stringify({ fiscal_entity_ids: null, kinds: STORED_KINDS, ...scope }), credentials, Date.now()],
    )
    .all<{ connector: number }>()
  return { connector: results[0]!.connector, connector_id }
}

export interface ConnectorState {
  connector_status: string
  failures: number
  retry_at: number
  last_error: string | null
  copied_count: number
  failed_count: number
  backfill: string | null
  parts: number
  manifest: string | null
  token: string | null
  is_planned: number
}

export const stateOf = async (connector: number): Promise<ConnectorState> =>
  (await env.EVENTS_0.prepare('select * from storage_connectors where connector = ?').bind(connector).first<ConnectorState>())!

/** What `POST …/backfill` commits. */
export async function startBackfill(connector: number): Promise<void> {
  const backfill = JSON.stringify({
    status: 'queued',
    total: null,
    copied: 0,
    failed: 0,
    requested_at: new Date().toISOString(),
    completed_at: null,
  })
  const { forgetCopied } = await import('../../../src/copies/store.ts')
  await commit(env.EVENTS_0, [
    env.EVENTS_0.prepare('update storage_connectors set backfill = ?2 where connector = ?1').bind(connector, backfill),
    ...forgetCopied(connector),
  ])
}

/** Bytes that have been read before, by the document and the time of its last change: a history asks for them again and again. */
export type ReadBefore = Map<string, Uint8Array>

/** The XMLs that the service shows of a fiscal entity, by the path that the connector's template makes. */
export async function shownBy(tenant: Tenant, fiscal_entity_id: string, before: ReadBefore = new Map()): Promise<Map<string, Uint8Array>> {
  const shown = new Map<string, Uint8Array>()
  const { body: entity } = await api(tenant, 'GET', `/v1/fiscal-entities/${fiscal_entity_id}`)
  for (let cursor: string | null = ''; cursor !== null; ) {
    const reply = await api(
      tenant,
      'GET',
      `/v1/cfdi?fiscal_entity_id=${fiscal_entity_id}&has_xml=true&limit=100${cursor && `&cursor=${cursor}`}`,
    )
    if (reply.status !== 200) return shown
    for (const { uuid, direction, origin, updated_at } of reply.body.data) {
      const key = [fiscal_entity_id, uuid, origin, updated_at].join()
      const bytes = before.get(key) ?? (await xmlOf(tenant, fiscal_entity_id, uuid))
      before.set(key, bytes)
      shown.set(`${entity.rfc}/${direction}/${uuid}.xml`, bytes)
    }
    cursor = reply.body.next_cursor
  }
  return shown
}

async function xmlOf(tenant: Tenant, fiscal_entity_id: string, uuid: string): Promise<Uint8Array> {
  const { body } = await request('GET', `/v1/cfdi/${uuid}/xml?fiscal_entity_id=${fiscal_entity_id}`, {
    headers: { authorization: basic(tenant) },
  })
  return new TextEncoder().encode(body as string)
}
