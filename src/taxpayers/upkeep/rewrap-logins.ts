import { LOGIN_KINDS } from '../../authority/port/login.ts'
import type { System } from '../../platform/context.ts'
import { pageByPage } from '../../platform/work/pages.ts'
import { readLogin, rewrap } from '../login.ts'
import { type LoginRow, outdatedLogins } from '../login-store.ts'

const PAGE = 100

/**
 * Encrypts all stored CIECs and e.firmas with the current key, so that older keys can leave the keyring. Those that cannot be opened do not
 * stop the others. Nothing is read while the keyring has one key. A task, whose cursor is the number of the last connection.
 */
export const rewrapLogins = (system: System, cursor = ''): Promise<string | null> =>
  pageByPage(system, 2 * PAGE + 1, cursor, async (after, fail) => {
    const { all, current } = system.settings.ciecKeys
    if (all.length === 1) return null
    const page = await outdatedLogins(system.db, current.version, Number(after), PAGE)
    for (const row of page) await rewrapConnection(system, row).catch(fail)
    return page.length < PAGE ? null : String(page.at(-1)!.connection)
  })

async function rewrapConnection(system: System, row: LoginRow): Promise<void> {
  for (const kind of LOGIN_KINDS.filter((one) => row[one] !== null)) {
    const login = await readLogin(system, row, kind)
    if (login === null) throw new Error(`The ${kind} of ${row.fiscal_entity_id} cannot be opened with any key of CIEC_KEYS.`)
    await rewrap(system, row, kind, login)
  }
}
