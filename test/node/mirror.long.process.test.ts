import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Customer } from '../../scripts/customer.ts'
import { ROOT } from '../../scripts/wrangler.ts'
import { zipOf } from '../support/zip.ts'
import { type Archive, archivesOf } from './support/archives.ts'
import { rfcOf } from './support/books.ts'
import { FINISHED_WITHIN, killAndReturn, Runners, victimOf } from './support/kills.ts'
import { Providers } from './support/providers.ts'
import { discard, freePort, freshState, type Started, until } from './support/runner.ts'
import { invoiceOf } from './support/uploads.ts'

const isFull = process.env['FUZZ'] === 'full'
const [DOCUMENTS, KILLS] = isFull ? [5_000, 10] : [120, 1]
/** What one commit copies at most: a kill repeats no more. */
const BATCH = 100
/** Puts for manifests at most, the interrupted ones included: each is named as the latest, too. */
const MANIFESTS = 2 * (5 + KILLS)
/** The lease of a worker that was killed, and the sweep after it. */
const LEASE = 150_000
const MINUTE = 60_000
/** For reading a copy whole. */
const READ_WITHIN = (isFull ? 10 : 2) * MINUTE

const providers = new Providers()
const archives = archivesOf(providers)
const KINDS = Object.keys(archives)
const RFC = rfcOf(20)
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

interface Connector {
  connector_id: string
  connector_status: string
  copied_count: number
  failed_count: number
  last_error: object | null
  backfill: { status: string; total: number | null; copied: number } | null
}

/** What one connector copies, and what has come of it at its provider. */
interface Copy {
  archive: Archive
  path: string
  kills: number
  puts: number
  /** How many there were at the last kill, and how many kills came after one: also a kill of another copy can interrupt a batch of this one. */
  putsBefore: number
  interruptions: number
  /** The requests since the last kill that interrupted it, and how many come before the next one. */
  requests: number
  next: number
}

let runners: Runners
let service: Started
let customer: Customer
const state = freshState()
const invoices = Array.from({ length: DOCUMENTS }, () => invoiceOf(RFC, 1))
const copies = new Map<string, Copy>()

/** The first kill may interrupt the very first steps; the others come anywhere, and leave something to be copied after the last one. */
const nextKill = (kills: number): number => 1 + Math.floor(Math.random() * (isFull && kills === 0 ? 20 : (0.9 * DOCUMENTS) / KILLS))

const connectorOf = ({ path }: Copy) => customer.ask<Connector>('GET', path)

async function importInvoices(): Promise<void> {
  const { fiscal_entity_id } = await customer.ask<{ fiscal_entity_id: string }>('POST', '/v1/fiscal-entities', { rfc: RFC, ciec: 'empty' })
  const imports = `/v1/fiscal-entities/${fiscal_entity_id}/cfdi/imports`
  const { api_key, api_secret } = customer.credential
  const sent = await fetch(`${service.url}${imports}`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${api_key}:${api_secret}`)}`, 'content-type': 'application/zip' },
    body: zipOf(invoices) as Uint8Array<ArrayBuffer>,
  })
  const { import_id } = (await sent.json()) as { import_id: string }
  const isImported = async () => (await customer.ask<{ status: string }>('GET', `${imports}/${import_id}`)).status === 'completed'
  await until('the import is completed', FINISHED_WITHIN, isImported, 500)
}

/**
 * Kills the service as often as each copy wants it, always while an answer to a request of that copy is held back: what was sent has
 * happened at the provider, and the service does not know it.
 */
async function killInTheMiddle(begin: () => Promise<void>): Promise<void> {
  let interrupted: Copy | null = null
  let release = () => {}
  let stored: Promise<void> | null = null
  providers.holdBack = (line) => {
    const copy = [...copies.values()].find(({ archive }) => archive.isOurs(line))
    if (!copy) return null
    if (copy.archive.isPut(line)) copy.puts++
    const isThere = ++copy.requests >= copy.next && copy.kills < KILLS
    // Another one that is where it is to be interrupted waits for its own kill.
    if (interrupted) return copy === interrupted || isThere ? stored : null
    if (!isThere) return null
    interrupted = copy
    stored = new Promise((done) => {
      release = done
    })
    return stored
  }
  await begin()
  const all = [...copies.values()]
  for (let round = 0; round < all.length * KILLS; round++) {
    await until('a copy is where it is to be interrupted', LEASE, () => interrupted !== null, 10)
    const copy = interrupted as unknown as Copy
    await sleep(Math.random() * 100)
    const { port } = service
    // Every copy is interrupted by each kind of kill.
    service = await killAndReturn(service, victimOf(copy.kills + all.indexOf(copy)), () => runners.start(state, port), `round ${round}`)
    for (const one of all) {
      if (one.puts > one.putsBefore) one.interruptions++
      one.putsBefore = one.puts
    }
    copy.kills++
    copy.requests = 0
    copy.next = nextKill(copy.kills)
    interrupted = null
    release()
  }
}

/** One service with a connector for each provider: a kill interrupts one of them, whose lease runs out while the others go on. */
beforeAll(
  async () => {
    await providers.start()
    runners = new Runners({ STORAGE_SINK: providers.sink })
    service = await runners.start(state, await freePort())
    customer = await Customer.signUp(service.url, 'Despacho que respalda')
    await customer.ask('POST', '/v1/test-helpers/organization', { plan: 'enterprise_gold' })
    await importInvoices()
    for (const [kind, archive] of Object.entries(archives)) {
      const { connector_id } = await customer.ask<Connector>('POST', '/v1/storage-connectors', { name: kind, ...archive.settings })
      const path = `/v1/storage-connectors/${connector_id}`
      copies.set(kind, { archive, path, kills: 0, puts: 0, putsBefore: 0, interruptions: 0, requests: 0, next: nextKill(0) })
    }
    await killInTheMiddle(async () => {
      for (const { path } of copies.values()) await customer.ask('POST', `${path}/backfill`)
    })
    const isCompleted = async (copy: Copy) => (await connectorOf(copy)).backfill?.status === 'completed'
    for (const [kind, copy] of copies)
      await until(`the backfill to ${kind} is completed`, LEASE + (isFull ? 10 : 2) * MINUTE, () => isCompleted(copy), 1_000)
  },
  (isFull ? 40 : 8) * MINUTE,
)
afterAll(async () => {
  await discard(state, runners?.all ?? [])
  providers.stop()
})

describe(`backfills of ${DOCUMENTS} documents to ${KINDS.join(', ')}, each of them interrupted when the service is killed ${isFull ? 'ten times' : 'once'}`, () => {
  it.each(KINDS)('counts each document to %s once, and repeats at most a batch for a kill', async (kind) => {
    const copy = copies.get(kind)!
    const { copied_count, connector_status, backfill, last_error, failed_count } = await connectorOf(copy)
    expect({ copied_count, connector_status, backfill, last_error, failed_count }).toMatchObject({
      ...{ copied_count: DOCUMENTS, connector_status: 'active', last_error: null, failed_count: 0 },
      backfill: { total: DOCUMENTS, copied: DOCUMENTS },
    })
    expect(copy.kills).toBe(KILLS)
    expect(copy.puts).toBeLessThanOrEqual(DOCUMENTS + copy.interruptions * BATCH + MANIFESTS)
  })

  it.each(KINDS)(
    'leaves each document at %s once, byte for byte, listed once in a manifest, and nothing else',
    async (kind) => {
      const isManifest = (path: string) =>
        /^manifests\/stc_[0-9a-z]{26}\/\d{4}-\d\d-\d\d\/manifest(?:-\d+)?\.jsonl$/.test(path) ||
        /^manifests\/stc_[0-9a-z]{26}\/latest\.json$/.test(path)
      const stored = await copies.get(kind)!.archive.objects()
      const expected = invoices
        .map(({ name, bytes }) => ({
          ...{ sha256: sha256(bytes), uuid: name.slice(0, -'.xml'.length), path: `${RFC}/2025/03/issued/${name}`, rfc: RFC },
          size: bytes.length,
        }))
        .sort((one, other) => (one.path < other.path ? -1 : 1))
      const documents = stored.filter(({ path }) => !isManifest(path)).map(({ path, bytes }) => `${path} ${sha256(bytes)}`)
      expect(documents.sort()).toEqual(expected.map((line) => `${line.path} ${line.sha256}`))
      const manifests = stored.filter(({ path }) => isManifest(path))
      expect(new Set(manifests.map(({ path }) => path)).size).toBe(manifests.length)
      const listing = manifests.filter(({ path }) => path.endsWith('.jsonl'))
      const lines = listing.flatMap(({ bytes }) => new TextDecoder().decode(bytes).trimEnd().split('\n').slice(0, -1))
      expect(lines.sort()).toEqual(expected.map((line) => JSON.stringify(line)).sort())
    },
    READ_WITHIN,
  )

  it.each(KINDS)(
    'leaves at %s what npm run verify-mirror finds whole',
    async (kind) => {
      const file = join(state, `${kind}.json`)
      const { archive, path } = copies.get(kind)!
      writeFileSync(file, JSON.stringify({ ...archive.settings, connector_id: path.split('/').at(-1) }))
      const since = new Date(Date.now() - 24 * 60 * MINUTE).toISOString().slice(0, 10)
      const { code, said } = await new Promise<{ code: number; said: string }>((done) => {
        const args = [join(ROOT, 'scripts/verify-mirror.ts'), '--connector', file, '--since', since]
        const env = { ...process.env, STORAGE_SINK: providers.sink }
        execFile(process.execPath, args, { env }, (error, stdout, stderr) =>
          done({ code: error ? Number(error.code) : 0, said: stdout + stderr }),
        )
      })
      rmSync(file)
      expect([code, said]).toEqual([0, expect.stringContaining(`list ${DOCUMENTS} objects: 0 are missing, and 0 are different.`)])
    },
    READ_WITHIN,
  )

  it('sends nothing that the documentation of a provider does not allow', () => {
    expect(providers.standIns.map(({ undocumented }) => undocumented)).toEqual([[], []])
  })
})
