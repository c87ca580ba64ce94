import type { Efirma } from '../../authority/efirma/efirma.ts'
import { efirmaOf } from '../../authority/sat/conversation/adapter.ts'
import { announceConversations, type ConversationHint, converse } from '../../authority/sat/conversation/conversation.ts'
import type { AwaitedMonth, ConversationPorts } from '../../authority/sat/conversation/ports.ts'
import { stuckConversations } from '../../authority/sat/conversation/upkeep.ts'
import type { System } from '../../platform/context.ts'
import { ledgerByLedger } from '../../platform/work/pages.ts'
import { Logins } from '../../taxpayers/login.ts'
import { isWhole } from '../../taxpayers/visibility/coverage.ts'
import { announce } from '../downloads.ts'
import { readMetadata, readXml } from './compare.ts'
import { coveredOf, holdsAny, openMonths, wakeStatements } from './months-store.ts'

/** How long a login is used without being read again, in milliseconds. */
const KEPT_MS = 5_000

/** Continues the conversation about a taxpayer for the jobs that wait for it. */
export async function continueConversation(system: System, { shard, entity }: ConversationHint): Promise<void> {
  const ledger = system.settings.ledgers[shard]!
  const location = { ledger, files: system.env.FILES, entity }
  const logins = new Logins(system, entity)
  const efirmas = new Map<string, { efirma: Efirma | null; read_at: number }>()
  const around: ConversationPorts = {
    async months() {
      const now = Date.now()
      return (await openMonths(ledger, entity)).map(
        (row): AwaitedMonth => ({
          ...{ source: row.source, month: row.month, asked_at: row.asked_at, ahead: row.ahead, is_complete: isWhole(coveredOf(row)) },
          organizations: JSON.parse(row.organizations) as string[],
          is_interactive: row.is_interactive === 1,
          lists: Math.max(0, row.is_continued - 1),
          is_asleep: row.error_class === null && row.not_before > now,
        }),
      )
    },
    async efirmaOf(organizations) {
      const key = JSON.stringify(organizations)
      const known = efirmas.get(key)
      if (known && Date.now() - known.read_at < KEPT_MS) return known.efirma
      const found = await logins.of(organizations)
      const efirma = found === null ? null : efirmaOf(found.login)
      efirmas.set(key, { efirma, read_at: Date.now() })
      return efirma
    },
    async wake(months) {
      if (months.length === 0) return
      await ledger.batch(wakeStatements(ledger, entity, months))
      await announce(system, [{ shard, entity }])
    },
    holdsAny: (request) => holdsAny(ledger, entity, request),
    readMetadata: (request, k) => readMetadata(location, request, k),
    readXml: (request, metadata) => readXml(location, request, metadata),
  }
  await converse(system, { shard, entity }, around)
}

/** A conversation that is overdue by this much has lost its message. */
const LATE_MS = 60_000
const SWEEP_LIMIT = 1_000

/** Announces conversations again after a lost message or the death of a worker. A task, whose cursor is a ledger. */
export const sweepConversations = async (system: System, cursor = ''): Promise<string | null> =>
  system.settings.taxAuthority === 'sandbox'
    ? null
    : ledgerByLedger(system, cursor, async (shard, ledger) => {
        const now = Date.now()
        const { results } = await stuckConversations(ledger, now, now - LATE_MS, SWEEP_LIMIT)
        await announceConversations(
          system,
          results.map(({ entity }) => ({ shard, entity })),
          now,
        )
      })
