import { env } from 'cloudflare:workers'
import { vi } from 'vitest'
import * as adapters from '../../../src/authority/adapters.ts'
import type { DownloadRequest, Package } from '../../../src/authority/port/authority.ts'
import { markReadersDue } from '../../../src/copies/due.ts'
import { drain } from '../../../src/downloads/drain.ts'
import { systemOf } from '../../../src/platform/context.ts'

/** The sandbox with somebody at the port: `fetching` is reported of every fetch before it begins, and may hold it up. */
export function watchAuthority(fetching: (rfc: string, source: string, month: string) => unknown) {
  const real = adapters.authorityOf
  const watched = async function* (packages: AsyncIterable<Package>, { login, direction, month }: DownloadRequest) {
    let isFirst = true
    for await (const one of packages) {
      if (isFirst) await fetching(login.rfc, `sat_cfdi_${direction}`, month)
      isFirst = false
      yield one
    }
    if (isFirst) await fetching(login.rfc, `sat_cfdi_${direction}`, month)
  }
  return vi.spyOn(adapters, 'authorityOf').mockImplementation(async (system) => {
    const authority = await real(system)
    return {
      ...authority,
      async step(request) {
        const step = await authority.step(request)
        return step.state === 'ready' ? { ...step, packages: watched(step.packages, request) } : step
      },
      async documents(request) {
        await fetching(request.login.rfc, request.source, '')
        return authority.documents(request)
      },
    }
  })
}

/** What a consumer does on a call for the RFC, now. */
export const drainNow = (entity: number): Promise<void> =>
  drain(systemOf(env, new Date(), 'req_test'), { shard: 0, entity }, markReadersDue)

/** What SQL a prepared statement holds, which D1 tells nobody. */
const sqlOf = (statement: D1PreparedStatement): string => (statement as unknown as { statement: string }).statement

/** Does something else just before the next batch that holds this SQL: `spoil` makes that batch fail at its last statement. */
export function beforeBatch(importSource: string, act: 'spoil' | (() => Promise<unknown>)): void {
  const prototype = Object.getPrototypeOf(env.DB) as D1Database
  const batch = prototype.batch
  const spied = vi.spyOn(prototype, 'batch').mockImplementation(async function (this: D1Database, statements) {
    if (!statements.some((statement) => sqlOf(statement).includes(importSource))) return batch.call(this, statements)
    spied.mockRestore()
    if (act === 'spoil') return batch.call(this, [...statements, this.prepare('select json(?)').bind('no JSON')])
    await act()
    return batch.call(this, statements)
  } as D1Database['batch'])
}
