import { and, asc, eq, isNull, sql } from 'drizzle-orm'
import type { Database } from '../../platform/db/commit.ts'
import { operatorCommands } from '../tables.ts'

export type OperatorCommandRow = typeof operatorCommands.$inferSelect

const open = (order_id: string) => and(eq(operatorCommands.order_id, order_id), isNull(operatorCommands.done_at))

/** Those that are still to be done, oldest first. */
export const openCommands = (db: Database, limit: number) =>
  db.select().from(operatorCommands).where(isNull(operatorCommands.done_at)).orderBy(asc(operatorCommands.created_at)).limit(limit)

export const isOpen = async (db: Database, { order_id }: OperatorCommandRow): Promise<boolean> =>
  (await db.select().from(operatorCommands).where(open(order_id)).limit(1)).length > 0

/** Refuses its whole batch, by making the kind null, when it is done already. */
export const takeCommand = (db: Database, { order_id }: OperatorCommandRow, done_at: Date) =>
  db
    .update(operatorCommands)
    .set({ done_at, kind: sql`case when done_at is null then kind end` })
    .where(eq(operatorCommands.order_id, order_id))

/** Ends one that changed nothing. */
export const finishCommand = (db: Database, { order_id }: OperatorCommandRow, done_at: Date, refused: string | null = null) =>
  db.update(operatorCommands).set({ done_at, refused }).where(open(order_id))
