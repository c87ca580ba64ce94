import type { System } from '../platform/context.ts'
import { Unavailable } from '../platform/failures.ts'
import type { AuthorityStatus, CancellationReplies, CfdiStatus } from './port/status.ts'
import { replyInSandbox, sandboxOverrides } from './sandbox/overrides.ts'
import { Unanswered } from './sat/answers.ts'
import type { SatRequest } from './sat/exchange.ts'
import { exchange, textOf } from './sat/exchange.ts'
import { sendOf } from './sat/send.ts'
import { readStatus, statusRequest } from './sat/status.ts'

const TIMEOUT_MS = 10_000
const UNKNOWN: CfdiStatus = { estatus: 'unknown', es_cancelable: null, estatus_cancelacion: null, validacion_efos: null }

/** The status service of the real authority. */
const satStatuses = (system: Pick<System, 'env'>): AuthorityStatus => ({
  async status(document) {
    let request: SatRequest
    try {
      request = statusRequest(document)
    } catch (error) {
      // No expression can be made of a total below zero, which faulty documents have.
      if (error instanceof TypeError) return UNKNOWN
      throw error
    }
    try {
      const answer = readStatus(await exchange(sendOf(system), request, TIMEOUT_MS, textOf))
      return answer.estatus === 'unknown' ? UNKNOWN : answer
    } catch (error) {
      if (error instanceof Unanswered) throw new Unavailable('sat_unavailable', error.message)
      throw error
    }
  },
})

/** The status service of the sandbox. */
const sandboxStatuses = (system: System): AuthorityStatus => ({
  async status(document, now) {
    const cancellations = await sandboxOverrides(system.db, system.settings.ciecKeys).cancellations(document.rfc)
    const { statusOf } = await import('./sandbox/statuses.ts')
    return statusOf(document, cancellations.get(document.uuid), now)
  },
})

const ADAPTERS: Record<System['settings']['taxAuthority'], (system: System) => AuthorityStatus> = {
  sandbox: sandboxStatuses,
  sat: satStatuses,
}

/** Returns the status service of the adapter that TAX_AUTHORITY names. */
export const statusesOf = (system: System): AuthorityStatus => ADAPTERS[system.settings.taxAuthority](system)

/** Returns what answers requests for cancellation; null where no certified provider is configured, as with the real authority so far. */
export const repliesOf = (system: System): CancellationReplies | null =>
  system.settings.taxAuthority === 'sandbox'
    ? {
        async reply(rfc, uuid, reply) {
          await replyInSandbox(system.db, rfc, uuid, reply === 'accept' ? 'accepted' : 'rejected', system.now)
        },
      }
    : null
