import { integer } from 'drizzle-orm/sqlite-core'

/** An instant, stored as milliseconds since 1970 in UTC. */
export const instant = (name: string) => integer(name, { mode: 'timestamp_ms' })

export const flag = (name: string) => integer(name, { mode: 'boolean' })
