import type { System } from '../../platform/context.ts'
import { pageByPage } from '../../platform/work/pages.ts'
import { runOperatorCommands } from './operator/commands.ts'
import { reviewOrganizations } from './subscription/review.ts'
import { lastDueAnywhere } from './subscription/status.ts'
import { type ExpiryCursor, FIRST_EXPIRED, findExpired } from './subscription/store.ts'
import type { Resume } from './subscription/subscription.ts'

/** The maximum number of organizations of each kind (grace period ended, trial ended) in one commit. */
const PAGE = 50
/** The statements of a page in which nothing fails: three lists and a commit. */
const STATEMENTS = 13
/** The place at which operator commands are carried out. */
const COMMANDS = 'commands'
const FIRST = JSON.stringify(FIRST_EXPIRED)

/**
 * Suspends organizations whose grace period or trial has ended, and ends suspensions for invoices whose grace period has not: a cron came with
 * a later time. Runs every quarter of an hour, before the night's downloads. Operator commands that were recorded by then are carried out
 * first. A task, whose cursor is a cursor as JSON.
 */
export const suspendExpired = (system: System, resume: Resume, cursor = ''): Promise<string | null> =>
  pageByPage(system, STATEMENTS, cursor, async (from, fail) => {
    const { db, now } = system
    const at = { now, due: lastDueAnywhere(now) }
    if (from === '' || from === COMMANDS) {
      if ((await findExpired(db, at, FIRST_EXPIRED, 1)).ids.length === 0) return null
      const isDone = await runOperatorCommands(system, resume).catch((error: unknown) => {
        fail(error)
        return true
      })
      return isDone ? FIRST : COMMANDS
    }
    const after = from === FIRST ? FIRST_EXPIRED : (JSON.parse(from) as ExpiryCursor)
    const page = await findExpired(db, at, after, PAGE)
    await reviewOrganizations(system, page.ids, resume, fail)
    return page.next === null ? null : JSON.stringify(page.next)
  })
