import { and, asc, eq, isNull, sql } from 'drizzle-orm'
import type { Database } from '../../../platform/db/commit.ts'
import { assertThat } from '../../../platform/db/guard.ts'
import { APPLIED_ONCE } from '../subscription/store.ts'
import { operatorCommands } from './tables.ts'

export type OperatorCommandRow = typeof operatorCommands.$inferSelect

const open = (command_id: string) => and(eq(operatorCommands.command_id, command_id), isNull(operatorCommands.done_at))

/** Commands that are not done, oldest first. */
export const listOpenCommands = (db: Database, limit: number) =>
  db.select().from(operatorCommands).where(isNull(operatorCommands.done_at)).orderBy(asc(operatorCommands.created_at)).limit(limit)

export const isOpen = async (db: Database, { command_id }: OperatorCommandRow): Promise<boolean> =>
  (await db.select().from(operatorCommands).where(open(command_id)).limit(1)).length > 0

/** Refuses its batch when the command was carried out. */
export const assertCommandOpen = (db: Database, { command_id }: OperatorCommandRow): D1PreparedStatement =>
  assertThat(
    db.$client,
    sql`exists (select 1 from ${operatorCommands} where ${operatorCommands.command_id} = ${command_id}
      and ${operatorCommands.done_at} is null)`,
    APPLIED_ONCE,
  )

/** Marks the command as done, or as refused for this reason; one that is done stays as it is. */
export const finishCommand = (db: Database, { command_id }: OperatorCommandRow, done_at: Date, refused: string | null = null) =>
  db.update(operatorCommands).set({ done_at, refused }).where(open(command_id))
