import { and, asc, eq, isNull, sql } from 'drizzle-orm'
import type { Database } from '../../platform/db/commit.ts'
import { operatorOrders } from '../tables.ts'

export type OrderRow = typeof operatorOrders.$inferSelect

const open = (order_id: string) => and(eq(operatorOrders.order_id, order_id), isNull(operatorOrders.done_at))

/** Those that are still to be done, oldest first. */
export const openOrders = (db: Database, limit: number) =>
  db.select().from(operatorOrders).where(isNull(operatorOrders.done_at)).orderBy(asc(operatorOrders.created_at)).limit(limit)

export const isOpen = async (db: Database, { order_id }: OrderRow): Promise<boolean> =>
  (await db.select().from(operatorOrders).where(open(order_id)).limit(1)).length > 0

/** Refuses its whole batch, by making the kind null, when it is done already. */
export const takeOrder = (db: Database, { order_id }: OrderRow, done_at: Date) =>
  db
    .update(operatorOrders)
    .set({ done_at, kind: sql`case when done_at is null then kind end` })
    .where(eq(operatorOrders.order_id, order_id))

/** Ends one that changed nothing. */
export const finishOrder = (db: Database, { order_id }: OrderRow, done_at: Date, refused: string | null = null) =>
  db.update(operatorOrders).set({ done_at, refused }).where(open(order_id))
