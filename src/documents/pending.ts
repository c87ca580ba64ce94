import type { System } from '../platform/context.ts'
import { commit } from '../platform/db/commit.ts'
import { readFirst } from '../platform/db/statement.ts'
import { wakeRelay } from '../platform/outbox/outbox.ts'
import { clock } from '../platform/time/clock.ts'
import { pageByPage } from '../platform/work/pages.ts'
import { keptFields } from './changes.ts'
import { objectOf, PENDING, type Reading, readFields, unreadable } from './documents.ts'
import { insertObligationRules, notifyRead, readStatement, takePending } from './keep-store.ts'
import { basesOf } from './store.ts'

/** Attempts after which a PDF counts as one that cannot be read: it may end the Worker that reads it. */
const MAX_ATTEMPTS = 20
/** The statements of one document. */
const STATEMENTS = 6

/**
 * Reads PDFs that could not be read when they were downloaded, the least tried first. A document that is not read is left for the next
 * time, with the rest of its ledger. A task, whose cursor is a ledger.
 */
export const readPending = (system: System, cursor: string): Promise<string | null> =>
  pageByPage(system, STATEMENTS, cursor, async (from, fail) => {
    const shard = Number(from)
    const isMore = await readOne(system, shard).catch((error: unknown) => {
      fail(error)
      return false
    })
    if (isMore) return String(shard)
    return shard + 1 < system.settings.ledgers.length ? `${shard + 1}` : null
  })

/** Reads one document. Returns whether it was read, so that another may follow. */
async function readOne(system: System, shard: number): Promise<boolean> {
  const ledger = system.settings.ledgers[shard]!
  const document = await readFirst(ledger, takePending())
  if (!document) return false
  let reading: Reading = await readObject(system, document)
  if (reading.fields_status === 'pending' && document.read_attempts >= MAX_ATTEMPTS)
    reading = unreadable('The PDF could not be read within its time.')
  if (reading.fields_status === 'pending') return false
  const { entity, document_id, series } = document
  const base = reading.fields === null ? undefined : (await basesOf(ledger, document, [series])).get(series)
  await commit(ledger, [
    ...notifyRead(entity, [document_id], clock.now()),
    readStatement(document, { ...reading, ...keptFields(reading.fields, base) }),
    ...insertObligationRules(entity, document.kind === 'csf' ? [document_id] : []),
  ])
  await wakeRelay(system, shard)
  return true
}

async function readObject(system: System, document: { kind: 'csf' | string; content_type: string; sha256: string }): Promise<Reading> {
  const object = await system.env.FILES.get(objectOf(document.sha256))
  if (!object) return PENDING
  return readFields(system, { ...document, size: object.size, read: () => object.bytes(), fields: null } as never)
}
