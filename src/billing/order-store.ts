import { asc, eq, isNull } from 'drizzle-orm'
import type { Database } from '../db/commit.ts'
import { operatorOrders } from './tables.ts'

export type OrderRow = typeof operatorOrders.$inferSelect

export const openOrders = (db: Database, limit: number) =>
  db.select().from(operatorOrders).where(isNull(operatorOrders.done_at)).orderBy(asc(operatorOrders.created_at)).limit(limit)

export const finishOrder = (db: Database, { order_id }: OrderRow, done_at: Date, refused: string | null = null) =>
  db.update(operatorOrders).set({ done_at, refused }).where(eq(operatorOrders.order_id, order_id))
