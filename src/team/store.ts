import type { Database } from '../db/commit.ts'
import { members } from './tables.ts'

export type MemberRow = typeof members.$inferSelect

export const insertMember = (db: Database, row: MemberRow) => db.insert(members).values(row)
