import { createMessageBatch } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { vi } from 'vitest'
import { consume } from '../../../../src/app/work.ts'
import type { EfirmaInput } from '../../../../src/authority/efirma/efirma.ts'
import * as logins from '../../../../src/authority/logins.ts'
import * as sending from '../../../../src/authority/sat/send.ts'
import type { Authority } from '../../../../tools/stand-in/authority.ts'
import type { Behaviour } from '../../../../tools/stand-in/requests.ts'
import type { Step } from '../../../../tools/stand-in/script.ts'
import { newAuthority, sendTo } from '../../../../tools/stand-in/stand-in.ts'
import { generate, type Wanted } from '../../../../tools/stand-in/truth/generate.ts'
import type { Truth } from '../../../../tools/stand-in/truth/truth.ts'
import { at } from '../../../support/clock.ts'
import { efirmaOf } from '../../../taxpayers/support/efirmas.ts'
import { bookOf, callOf, jobsOf, subscriber } from '../../support/downloads.ts'
import { Mortal } from './mortal.ts'

export const START = Date.parse('2026-05-20T18:00:00Z')

interface Sent {
  at: number
  body: unknown
}

/**
 * A deployment that asks the stand-in of the authority, in one process and on a clock of its own: messages arrive when they are due, and
 * waiting takes no time. What is not said behaves as it should.
 */
export class SatWorld {
  now = START
  readonly rfc: string
  readonly truth: Truth
  readonly authority: Authority
  readonly queue: Sent[] = []
  readonly env: Env
  readonly mortal = new Mortal()
  /** The bodies of all messages that were delivered. */
  readonly delivered: unknown[] = []

  constructor(rfc: string, wanted: Partial<Wanted> = {}, behaviour: Partial<Behaviour> = {}, steps: readonly Step[] = []) {
    this.rfc = rfc
    this.truth = generate({ rfc, from: '2026-03', months: 3, ...wanted })
    this.authority = newAuthority({ truth: this.truth, script: steps, now: () => new Date(this.now), strict: true, ...behaviour })
    const send = sendTo(this.authority)
    const downloads = {
      send: async (body: unknown, options?: { delaySeconds?: number }) => this.#send(body, options?.delaySeconds),
      sendBatch: async (all: Iterable<{ body: unknown; delaySeconds?: number }>) => {
        for (const { body, delaySeconds } of all) this.#send(body, delaySeconds)
      },
    }
    this.env = {
      ...env,
      ...{ TAX_AUTHORITY: 'sat', DOWNLOADS: downloads, DOWNLOADS_SPREAD: downloads },
      EGRESS: { fetch: (url: string, init: RequestInit) => this.mortal.step(() => send(url, init)) },
      ...{ LEDGER_0: this.mortal.database(env.LEDGER_0), FILES: this.mortal.bucket(env.FILES) },
    } as unknown as Env
    at(new Date(this.now).toISOString())
  }

  /** Lets time pass. */
  pass(milliseconds: number): void {
    this.now += milliseconds
    vi.setSystemTime(this.now)
  }

  #send(body: unknown, delaySeconds = 0): void {
    if (!this.mortal.isDead) this.queue.push({ at: this.now + 1_000 * delaySeconds, body })
  }

  /** An organization whose runs ask for CFDIs, with an e.firma. */
  subscriber(extractor: object, efirma: EfirmaInput = efirmaOf(this.rfc)) {
    return subscriber(this.rfc, extractor, null, { efirma })
  }

  /** Puts a message of the RFC into the queue. */
  async call(): Promise<void> {
    this.#send(await callOf(this.rfc))
  }

  /** Delivers messages in the order in which they are due, until there is none within so many milliseconds. */
  async work(milliseconds = 8 * 86_400_000): Promise<void> {
    const end = this.now + milliseconds
    for (let n = 0; n < 5_000; n++) {
      const [next] = this.queue.sort((one, other) => one.at - other.at)
      if (next === undefined || next.at > end) return
      this.queue.shift()
      if (next.at > this.now) this.pass(next.at - this.now)
      await this.deliver(next.body)
    }
    throw new Error('There is no end of messages.')
  }

  /** Delivers a message to its consumer. */
  async deliver(body: unknown, purpose = 'downloads-spread'): Promise<void> {
    this.delivered.push(body)
    const messages = [{ id: `m${this.delivered.length}`, timestamp: new Date(), attempts: 1, body }]
    await consume(createMessageBatch(`fiscal-local-${purpose}`, messages), this.env)
  }

  /** Lets a process that was killed start again, without the messages that were under way, and work minute by minute until all jobs have ended. */
  async recover(minutes = 60): Promise<void> {
    this.mortal.revive()
    this.queue.splice(0)
    for (let n = 0; n < minutes; n++) {
      if ((await jobsOf(this.rfc)).every(({ status }) => status === 'succeeded' || status === 'failed')) return
      this.pass(61_000)
      for (const task of ['sweepJobs', 'sweepConversations']) await this.deliver({ task, at: this.now, cursor: '' }, 'tasks')
      await this.work(30_000)
    }
    throw new Error('The jobs do not end.')
  }

  /** Why the ledger does not hold what the authority announces, with XML where it is given, and cancelled where it is; empty when it does. */
  async differences(): Promise<string[]> {
    const rows = (await bookOf(this.rfc, ['cfdi']))['cfdi'] as {
      uuid: string
      cancelled: number
      xml_crc: number | null
      direction: number
      kind: string
    }[]
    const stored = new Map(rows.map((row) => [row.uuid, row]))
    const months = [...new Set(this.truth.documents.map(({ fecha }) => fecha.slice(0, 7)))]
    const now = new Date(this.now)
    const families = new Map(this.truth.documents.map(({ uuid, family }) => [uuid, family]))
    return (['sat_cfdi_issued', 'sat_cfdi_received'] as const).flatMap((source) =>
      months.flatMap((month) => {
        const of = [this.rfc, source, month, now] as const
        const [obtainable, cancelled] = [this.truth.obtainable(...of), this.truth.cancelled(...of)]
        return [...this.truth.announced(...of)].flatMap((uuid) => {
          const row = stored.get(uuid)
          if (!row) return `${source} ${month} ${uuid} is missing.`
          const hasXml = row.xml_crc !== null
          if (obtainable.has(uuid) && !hasXml) return `${source} ${month} ${uuid} has no XML.`
          if (row.kind !== families.get(uuid)) return `${source} ${month} ${uuid} is of the kind ${row.kind}.`
          return (row.cancelled === 1) === cancelled.has(uuid) ? [] : `${source} ${month} ${uuid} has another state.`
        })
      }),
    )
  }

  /** The requests of the taxpayer as they are stored. */
  async requests(): Promise<Record<string, unknown>[]> {
    return (await bookOf(this.rfc, ['authority_requests']))['authority_requests'] as Record<string, unknown>[]
  }

  async conversation(): Promise<Record<string, unknown> | undefined> {
    return ((await bookOf(this.rfc, ['authority_conversations']))['authority_conversations'] as Record<string, unknown>[])[0]
  }

  /** How often each operation was asked for. */
  asked(family?: 'cfdi' | 'retenciones'): Record<string, number> {
    const counts: Record<string, number> = {}
    for (const { operation, ...entry } of this.authority.log.entries)
      if (family === undefined || entry.family === family) counts[operation!] = (counts[operation!] ?? 0) + 1
    return counts
  }
}

/** From here on the deployment asks the authority for CFDIs only, and a turn takes the time that it waits for. */
export function asWithAuthority(world: SatWorld): void {
  vi.spyOn(sending, 'rateLimiterOf').mockReturnValue({ turn: async () => world.pass(2_500), answered: () => {} })
  const real = logins.loginsOf
  vi.spyOn(logins, 'loginsOf').mockImplementation((system) => ({ ...real(system), sources: ['sat_cfdi_issued', 'sat_cfdi_received'] }))
}
