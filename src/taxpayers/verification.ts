import { loginsOf } from '../authority/logins.ts'
import { kindOf, LOGIN_KINDS, type Login, type LoginKind } from '../authority/port/login.ts'
import type { System } from '../platform/context.ts'
import { commit } from '../platform/db/commit.ts'
import { retryOnConflict } from '../platform/db/guard.ts'
import { Unavailable } from '../platform/failures.ts'
import { log } from '../platform/log.ts'
import { clock } from '../platform/time/clock.ts'
import { pageByPage } from '../platform/work/pages.ts'
import { hasEnded, readLogin, type VersionedLogin } from './login.ts'
import { acceptance, changing, expireEfirma, holdsThis, keepVerified, rejectLogin } from './login-answers.ts'
import {
  claimVerification,
  dueConnections,
  dueEntities,
  type LoginRow,
  loginVersion,
  requireIdle,
  requireVerification,
  type VersionedRow,
} from './login-store.ts'

/** The most different logins of an RFC that one call verifies, while the budget allows it. The next call continues. */
const VALUES_A_CALL = 25
/** The most statements that verifying a login takes, and as many for what follows. */
const VALUE_STATEMENTS = 100
const FIRST_WAIT_MS = 30_000
const LONGEST_WAIT_MS = 60 * 60_000

/** The wait in milliseconds after so many questions without an answer: 30 s, 1 min, 2 min … 1 h. */
const waitAfter = (attempts: number): number => Math.min(FIRST_WAIT_MS * 2 ** attempts, LONGEST_WAIT_MS)

/** How long a login is trusted that no run has used, in milliseconds: seven days since 2026-11-22. */
const TRUSTED_MS = 7 * 86_400_000
/** Connections in one page. */
const IDLE_PAGE = 1_000

/** Has logins verified that no run uses, so that a connection without extractors does not keep reading with a dead one. A task. */
export const verifyIdle = (system: System, cursor = ''): Promise<string | null> =>
  pageByPage(system, 2, cursor, async (after) => {
    const last = await requireIdle(system.db, Number(after), IDLE_PAGE, new Date(system.now.getTime() - TRUSTED_MS))
    return last === 0 ? null : String(last)
  })

/** RFCs with logins that are to be verified now, or e.firmas that have ended. */
export const unverifiedEntities = (system: System, limit: number) => dueEntities(system.db, clock.now(), limit, asksAbout(system, 'ciec'))

/** Whether the authority can be asked about logins of a kind. A fetcher verifies the others. */
const asksAbout = (system: System, kind: LoginKind): boolean => loginsOf(system).kinds.includes(kind)

/** A login of a connection that is to be verified, or has ended. */
interface DueLogin {
  row: LoginRow
  kind: LoginKind
  version: number
  /** When it was to be verified; its end when it is an e.firma that has ended. */
  at: number
}

/** The due logins of these connections: the ended ones first, then the one that waits longest. */
function dueLogins(system: System, found: readonly VersionedRow[], now: number): DueLogin[] {
  const due = found.flatMap(({ row, versions }) =>
    LOGIN_KINDS.flatMap((kind): DueLogin[] => {
      if (!asksAbout(system, kind)) return []
      const at = kind === 'efirma' && hasEnded(row, now) ? row.efirma_valid_to : row[`${kind}_verify_at`]
      return at !== null && at.getTime() <= now ? [{ row, kind, version: versions[kind], at: at.getTime() }] : []
    }),
  )
  const hasPriority = ({ row, kind }: DueLogin) => Number(kind === 'efirma' && hasEnded(row, now))
  return due.sort((a, b) => hasPriority(b) - hasPriority(a) || a.at - b.at || a.row.connection - b.row.connection)
}

/**
 * Asks the authority about the RFC's logins that are to be verified now, and records its answers; it gives up ended e.firmas without
 * asking. Without an answer a login stays unverified, and the next question waits for a time that doubles from 30 s to 1 h. Returns whether
 * there was an answer.
 */
export async function verifyOutstanding(system: System, entity: number): Promise<boolean> {
  let isAnswered = false
  for (let n = 0; n < VALUES_A_CALL && system.budget.allows(VALUE_STATEMENTS); n++) {
    const now = clock.date()
    const due = dueLogins(system, await dueConnections(system.db, entity, now.getTime(), asksAbout(system, 'ciec')), now.getTime())
    const [first] = due
    if (!first) break
    const { row, kind, version } = first
    if (kind === 'efirma' && hasEnded(row, now.getTime())) {
      if (!(await expireEfirma(system, entity, row, version))) break
      continue
    }
    const login = await readLogin(system, row, kind)
    const same = login === null ? [row] : await equalOnes(system, due, login)
    const next = new Date(now.getTime() + waitAfter(row[`${kind}_verify_attempts`]))
    if (!(await claimVerification(system.db, same, kind, now, next))) break
    if (login === null) continue
    const asked = { login, version }
    const answer = await ask(system, asked)
    if (answer === null) break
    await (answer ? keepVerified(system, entity, asked) : rejectLogin(system, entity, asked))
    isAnswered = true
  }
  return isAnswered
}

async function equalOnes(system: System, due: readonly DueLogin[], login: Login): Promise<LoginRow[]> {
  const rows = due.filter(({ kind }) => kind === kindOf(login)).map(({ row }) => row)
  const areSame = await Promise.all(rows.map((row) => holdsThis(system, row, login)))
  return rows.filter((_, n) => areSame[n])
}

/** Null when the authority gives no answer. */
async function ask(system: System, { login }: VersionedLogin): Promise<boolean | null> {
  try {
    return await loginsOf(system).verify(login)
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    log.error(system, 'The authority did not answer whether a login is right. It is asked again later.', { error_class: error.error_class })
    return null
  }
}

/**
 * Asks the authority about the stored logins of a paused connection before it is resumed, and records the answers like those to sent logins
 * and to logins of downloads. A login is verified later when it cannot be opened, when the authority cannot be asked about it, or when the
 * authority accepts the other one and does not answer about it. Returns whether other logins are to be verified now. Throws Unavailable.
 */
export async function verifyStored(system: System, row: LoginRow): Promise<boolean> {
  let areOthersOutstanding = false
  let isAccepted = false
  let silence: Unavailable | undefined
  const later: LoginKind[] = []
  for (const kind of LOGIN_KINDS.filter((one) => row[one] !== null)) {
    const version = await loginVersion(system.db, row.rfc, kind)
    if (kind === 'efirma' && hasEnded(row, clock.now())) {
      if (!(await expireEfirma(system, row.entity, row, version))) throw changing()
      continue
    }
    const login = asksAbout(system, kind) ? await readLogin(system, row, kind) : null
    if (login === null) {
      later.push(kind)
      continue
    }
    const asked = { login, version }
    try {
      const accepts = await loginsOf(system).verify(login)
      isAccepted ||= accepts
      areOthersOutstanding =
        (await (accepts ? accept(system, row.entity, asked) : refuse(system, row.entity, asked))) || areOthersOutstanding
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      silence = error
      later.push(kind)
    }
  }
  if (silence && !isAccepted) throw silence
  if (later.length > 0)
    await commit(
      system.db.$client,
      later.map((kind) => requireVerification([row], kind, clock.date())),
    )
  return areOthersOutstanding
}

const accept = (system: System, entity: number, asked: VersionedLogin): Promise<boolean> =>
  retryOnConflict(async () => {
    const { statements, areOthersOutstanding } = await acceptance(system, entity, asked)
    await commit(system.db.$client, statements)
    return areOthersOutstanding
  }, changing)

async function refuse(system: System, entity: number, asked: VersionedLogin): Promise<boolean> {
  await rejectLogin(system, entity, asked)
  return true
}
