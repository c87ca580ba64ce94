import { env } from 'cloudflare:workers'
import { vi } from 'vitest'

/** Until a test restores mocks, something happens right before a batch that writes connections, so many times. */
export function beforeCommit(something: () => Promise<unknown>, times = 1): () => number {
  const proto = Object.getPrototypeOf(env.DB) as D1Database
  const batch = proto.batch
  let happened = 0
  let isInside = false
  vi.spyOn(proto, 'batch').mockImplementation(async function (this: D1Database, statements: D1PreparedStatement[]) {
    const writes = statements.some((one) =>
      /^(update|insert into) "?connections\b/.test((one as unknown as { statement: string }).statement),
    )
    if (writes && !isInside && happened < times) {
      happened++
      isInside = true
      await something()
      isInside = false
    }
    return batch.call(this, statements) as never
  })
  return () => happened
}

/** Until a test restores mocks, the nth batch that writes fails, once: before it is committed, or after it. Says whether it has happened. */
export function failCommit(nth: number, when: 'before' | 'after'): () => boolean {
  const proto = Object.getPrototypeOf(env.DB) as D1Database
  const batch = proto.batch
  let commits = 0
  vi.spyOn(proto, 'batch').mockImplementation(async function (this: D1Database, statements: D1PreparedStatement[]) {
    const writes = statements.some((one) => /^\s*(update|insert|delete)\b/i.test((one as unknown as { statement: string }).statement))
    if (!writes || ++commits !== nth) return batch.call(this, statements) as never
    if (when === 'after') await batch.call(this, statements)
    throw new Error(`A fault ${when} commit ${nth}.`)
  })
  return () => commits >= nth
}
