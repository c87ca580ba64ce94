import { inflateRawSync } from 'node:zlib'
import * as saxes from 'saxes'
import type { SliceOutcome } from '../../../src/cfdi/ingest/ingest.ts'
import { readDirectory } from '../../../src/cfdi/package/directory.ts'
import { entriesOf } from '../../../src/cfdi/package/entries.ts'
import { type Dispatch, evaluateCadences, planPage } from '../../../src/connections/extractors/ticks/ticks.ts'
import { sealCredentials } from '../../../src/copies/connector.ts'
import { workOnConnector } from '../../../src/copies/mirror/work.ts'
import { deliverDue } from '../../../src/delivery/deliveries/delivery.ts'
import type { Granted } from '../../../src/delivery/hosts/host-permits.ts'
import { relayOutbox } from '../../../src/delivery/relay/relay.ts'
import { releaseLease, takeLease } from '../../../src/downloads/lease-store.ts'
import { requestStatements } from '../../../src/downloads/request-store.ts'
import { claimJob, commitJob, finishJobStatements, type Job, progressStatements } from '../../../src/downloads/store.ts'
import { loadList } from '../../../src/lists/loading/load.ts'
import { bytesInMemory } from '../../../src/platform/bytes/bytes.ts'
import type { System } from '../../../src/platform/context.ts'
import { keyring } from '../../../src/platform/crypto/keyring.ts'
import { commit, connect, jsonChunks } from '../../../src/platform/db/commit.ts'
import { uuidOf } from '../../../src/platform/db/id.ts'
import { Budget } from '../../../src/platform/work/budget.ts'
import { countSlice } from '../../../src/taxpayers/visibility/slice-counts.ts'
import { ingestZip } from '../../../test/cfdi/support/ingest-zip.ts'

interface Work {
  DB: D1Database
  LEDGER_0: D1Database
  EVENTS_0: D1Database
  /** The table of bare work, which no change of the service changes. */
  BARE: D1Database
  FILES: R2Bucket
  WEBHOOK_KEYS: string
}

/** What a Worker without a product is given to do the same with. */
interface Bare {
  statements: { database: 'control' | 'ledger'; sql: string; params: unknown[] }[]
  rows: { columns: string[]; values: unknown[][] }
}

const packages = new Map<string, Uint8Array>()
const bare: Bare = { statements: [], rows: { columns: [], values: [] } }

const isIdle = ({ created, updated, cancelled, rejected }: SliceOutcome): boolean => created + updated + cancelled + rejected === 0

/** A system whose queue keeps in mind what it is told, and whose network is a receiver that answers 200. */
function webhooksIn({ DB, LEDGER_0, EVENTS_0, WEBHOOK_KEYS }: Work) {
  const endpoints = new Set<string>()
  let relays = 0
  const env = {
    WEBHOOKS: {
      sendBatch: async (messages: { body: { endpoint: string } | { outbox: number } }[]) => {
        for (const { body } of messages) {
          if ('endpoint' in body) endpoints.add(body.endpoint)
          else relays++
        }
      },
    },
    MUTEXES: { getByName: () => ({ enter: async () => true, leave: async () => false }) },
    HOST_LIMITERS: {
      getByName: () => ({
        acquire: async (_token: string, _caller: unknown, wanted: number): Promise<Granted> => ({ permits: wanted, next: [] }),
        release: async () => [],
      }),
    },
    EGRESS: { fetch: async () => new Response(null, { status: 200 }) },
  }
  const settings = {
    environment: 'test',
    webhookKeys: keyring('WEBHOOK_KEYS', WEBHOOK_KEYS),
    publicHosts: [],
    ledgers: [LEDGER_0],
    events: [EVENTS_0],
  }
  const system = {
    env,
    settings,
    budget: new Budget(),
    db: connect(DB),
    is_interactive: true,
    now: new Date(),
    requestId: 'bench',
  } as unknown as System
  return { system, endpoints, isMore: () => relays-- > 0 }
}

/** A system whose destinations answer 200. */
function mirrorIn({ DB, LEDGER_0, EVENTS_0, FILES, WEBHOOK_KEYS }: Work) {
  let [puts, messages] = [0, 0]
  const fetch = async (url: string) => {
    if (!url.includes('/manifests/')) puts++
    return new Response(null, { status: 200, headers: { etag: '"0"' } })
  }
  const env = {
    FILES,
    STORAGE: { sendBatch: async () => void messages++ },
    STORAGE_EGRESS: { fetch },
  }
  const settings = {
    environment: 'test',
    ciecKeys: keyring('CIEC_KEYS', WEBHOOK_KEYS),
    publicHosts: [],
    ledgers: [LEDGER_0],
    events: [EVENTS_0],
  }
  const system = { env, settings, budget: new Budget(), db: connect(DB), now: new Date(), requestId: 'bench' } as unknown as System
  return { system, puts: () => puts, isMore: () => messages-- > 0 }
}

type Route = (asked: { entity: number; rfc: string; name: string; request: Request }, env: Work) => Promise<unknown>

const routes: Record<string, Route> = {
  /** Keeps a package here, so that the time of a round is not that of its upload. */
  '/package': async ({ name, request }) => {
    packages.set(name, new Uint8Array(await request.arrayBuffer()))
  },

  /** Asks for a month of an RFC as a run does, and claims the job as a consumer does. */
  '/claim': async ({ entity, rfc, name }, { LEDGER_0 }) => {
    const now = Date.now()
    const wanted = [{ entity, source: 'sat_cfdi_issued', month: name, job_id: crypto.randomUUID(), not_before: now, is_gap: false }]
    await commit(
      LEDGER_0,
      requestStatements(
        { organization_id: 'org', run_id: crypto.randomUUID(), instant: now, now, spared_since: now, is_interactive: true },
        [{ entity, rfc }],
        wanted,
      ),
    )
    const token = crypto.randomUUID()
    const { jobs } = (await takeLease(LEDGER_0, { entity, token }, now, 1))!
    return claimJob(LEDGER_0, { entity, token, now, claimPerJob: false }, jobs[0]!)
  },

  /** A package through the product's ingest, with the progress of a job when there is one, as the downloads do it. */
  '/ingest': async ({ entity, rfc, name, request }, { LEDGER_0, FILES }) => {
    const job = (await request.json()) as Job | null
    const sideStatements = (outcome: SliceOutcome) =>
      job === null || isIdle(outcome)
        ? []
        : [...progressStatements(job, { ...outcome, counts: countSlice(outcome.changes, job.as_of, []), rejected_files: [] })]
    const target = { ledger: LEDGER_0, files: FILES, entity, rfc, now: new Date(), provenance: 'authority' as const, sideStatements }
    const slices = []
    for await (const { created, unchanged, rejected } of ingestZip(target, packages.get(name)!))
      slices.push({ created, unchanged, rejected })
    return slices
  },

  '/settle': async ({ request }, { LEDGER_0 }) => {
    const job = (await request.json()) as Job
    await commitJob(LEDGER_0, job, finishJobStatements(job, null, Date.now()))
    await releaseLease(LEDGER_0, job, Date.now())
  },

  /** A tick at a time, and its pages planned one after the other, as the consumer of the queue does. */
  '/tick': async ({ name }, { DB }) => {
    const pages: Dispatch[] = []
    const sendBatch = async (messages: { body: Dispatch }[]) => {
      for (const { body } of messages) if ('page' in body) pages.push(body)
    }
    const budget = new Budget()
    const system = {
      env: { DISPATCH: { sendBatch } },
      budget,
      db: connect(DB),
      now: new Date(name),
      requestId: 'bench',
    } as unknown as System
    await evaluateCadences(system)
    for (let it = pages.shift(); it !== undefined; it = pages.shift()) if ('page' in it) await planPage(system, it.page)
  },

  /** A list as the daily work loads it. */
  '/list': async ({ request }, { DB }) => {
    const system = { db: connect(DB), budget: new Budget(), now: new Date('2026-08-05T10:00:00Z'), requestId: 'bench' } as unknown as System
    return loadList(system, 'sat_69b', new Uint8Array(await request.arrayBuffer()), system.now)
  },

  /** Relays until there is nothing left, and answers for which endpoints there is something now. */
  '/relay': async (_, env) => {
    const { system, endpoints, isMore } = webhooksIn(env)
    do await relayOutbox(system, 0)
    while (isMore())
    return [...endpoints]
  },

  /** Delivers what endpoints have due, to receivers that answer 200, and answers for which there is more. */
  '/deliver': async ({ request }, env) => {
    const { system, endpoints } = webhooksIn(env)
    for (const endpoint of (await request.json()) as string[]) await deliverDue(system, endpoint)
    return [...endpoints]
  },

  /** A connector of an organization, to a destination that answers 200. */
  '/connector': async ({ request }, env) => {
    const { organization_id } = (await request.json()) as { organization_id: string }
    const { system } = mirrorIn(env)
    const holder = { organization_id, connector_id: 'stc_00000000000000000000000001' }
    const sealed = await sealCredentials(system, holder, { access_key_id: 'id', secret_access_key: 'secret' })
    const config = { bucket: 'b', region: 'us-east-1', endpoint: null, path_style: null, prefix: '', path_template: '{rfc}/{uuid}.xml' }
    await env.EVENTS_0.prepare(
      `insert into storage_connectors (connector_id, organization_id, name, provider, config, scope, credentials, credentials_version,
         connector_status, is_planned, failures, retry_at, copied_count, failed_count, lease_until, created_at, updated_at)
       values (?1, ?2, 'Bench', 's3', ?3, '{"fiscal_entity_ids":null,"kinds":["cfdi_xml"]}', ?4, 1, 'active', 0, 0, 0, 0, 0, 0, ?5, ?5)`,
    )
      .bind(holder.connector_id, organization_id, JSON.stringify(config), sealed, Date.now())
      .run()
  },

  /** Tells of a download, and copies what is due. Answers how many documents were put at the destination. */
  '/mirror': async ({ request }, env) => {
    const { organization_id, fiscal_entity_id } = (await request.json()) as Record<'organization_id' | 'fiscal_entity_id', string>
    const event = { event: 'sync.completed', fiscal_entity_id: uuidOf(fiscal_entity_id), created_count: 1_000 }
    await env.EVENTS_0.prepare('insert into events (organization_id, seq, body) values (?1, ?2, ?3)')
      .bind(organization_id, Date.now(), JSON.stringify(event))
      .run()
    const { system, puts, isMore } = mirrorIn(env)
    do await workOnConnector(system, { shard: 0, connector: 1 })
    while (isMore())
    return puts()
  },

  '/bare': async ({ request }) => {
    Object.assign(bare, await request.json())
  },

  /** The least that has to be done with a package: inflate, read the XML without looking, one insert of rows that were mapped before. */
  '/bare-ingest': async ({ entity, name }, { BARE }) => {
    const bytes = packages.get(name)!
    let elements = 0
    const file = bytesInMemory(bytes)
    for await (const { offset, compressed_size, size } of entriesOf(file, await readDirectory(file))) {
      const xml = inflateRawSync(bytes.subarray(offset, offset + compressed_size), { maxOutputLength: size })
      const parser = new saxes.SaxesParser({ xmlns: false })
      parser.on('opentag', () => {
        elements++
      })
      parser.write(new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(xml)).close()
    }
    const { columns, values } = bare.rows
    const insert = `insert into cfdi (entity, ${columns.join(', ')}) select ?1, ${columns.map((_, n) => `value->>${n}`).join(', ')} from json_each(?2)`
    await BARE.batch(jsonChunks(values).map((chunk) => BARE.prepare(insert).bind(entity, chunk)))
    return elements
  },

  /** A page of a bare Worker: the product's own statements, and their rows as JSON. */
  '/bare-page': async (_, { DB, LEDGER_0 }) => {
    let found: unknown[] = []
    for (const { database, sql, params } of bare.statements)
      found = (
        await (database === 'control' ? DB : LEDGER_0)
          .prepare(sql)
          .bind(...params)
          .all()
      ).results
    return found
  },
}

export default {
  async fetch(request: Request, env: Work): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    const route = routes[pathname]
    if (!route) return new Response(null, { status: 404 })
    const asked = {
      entity: Number(searchParams.get('entity')),
      rfc: searchParams.get('rfc') ?? '',
      name: searchParams.get('name') ?? '',
      request,
    }
    return Response.json((await route(asked, env)) ?? null)
  },
}
