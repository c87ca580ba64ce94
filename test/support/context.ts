import { env } from 'cloudflare:test'
import type { Ctx } from '../../src/platform/context.ts'
import { keyring } from '../../src/platform/crypto/keyring.ts'
import { connect } from '../../src/platform/db/commit.ts'
import { settingsOf } from '../../src/platform/settings.ts'
import type { Connection } from '../../src/platform/tenant/tenant.ts'
import { Budget } from '../../src/platform/work/budget.ts'

export const RFC = 'AAA010101AAA'
export const FISCAL_ENTITY = 'fe_01kabcdefghjkmnpqrstvwxyz0'

const KEY = `1:${new Uint8Array(32).fill(7).toBase64()}`

/** How far the runs of a connection have reached: a day, and an instant as text or in milliseconds. */
export type GrantedRange = readonly [from: string, to: string | number] | null

/** The columns of a connection whose runs have reached this of the issued and of the received CFDIs: the same of both unless it is said. */
export const reaching = (issued: GrantedRange, received: GrantedRange = issued) => ({
  issued_from: issued?.[0] ?? null,
  issued_to: issued && new Date(issued[1]).getTime(),
  received_from: received?.[0] ?? null,
  received_to: received && new Date(received[1]).getTime(),
})

/** What a verb is given, without the HTTP application: an active connection to entity 1 that sees everything, unless said otherwise. */
export const contextOf = (
  connection: Partial<Connection> | null = {},
  more: { extractor_count?: number; organization?: string; ledger?: D1Database; now?: Date } = {},
): Ctx => ({
  env,
  settings: {
    ...settingsOf(env),
    environment: 'test',
    apiSecretKeys: keyring('API_SECRET_KEYS', KEY),
    ciecKeys: keyring('CIEC_KEYS', KEY),
    cursorKeys: keyring('CURSOR_KEYS', KEY),
    webhookKeys: keyring('WEBHOOK_KEYS', KEY),
    sessionKeys: keyring('SESSION_KEYS', KEY),
    fetcherKeys: null,
    fetcherSources: null,
    publicHosts: [],
    ledgers: [more.ledger ?? env.LEDGER_0],
  },
  budget: new Budget(),
  db: connect(env.DB),
  now: more.now ?? new Date('2026-03-10T18:00:00Z'),
  requestId: 'req_test',
  ...{ address: '', network: '' },
  organization: {
    id: more.organization ?? 'org_01kabcdefghjkmnpqrstvwxyz0',
    name: 'Prueba',
    timezone: 'America/Mexico_City',
    plan: 'api',
    extractor_count: more.extractor_count ?? 0,
    events_shard: 0,
    email_confirmed_at: new Date('2026-01-01T00:00:00Z'),
  },
  actor: { kind: 'system', process: 'test' },
  connection: connection && {
    connection: 9,
    fiscal_entity_id: FISCAL_ENTITY,
    entity: 1,
    rfc: RFC,
    shard: 0,
    state: 'active',
    paused_by: null,
    first_active_at: null,
    inactive_since: null,
    ...reaching(null),
    issued_granted_ranges: '[]',
    received_granted_ranges: '[]',
    asked_ranges: '[]',
    imported_at: null,
    listed: '{}',
    listed_version: 0,
    ...connection,
  },
})
