import { integer } from 'drizzle-orm/sqlite-core'

/** An instant, stored as milliseconds since 1970 in UTC. A column without a name has that of its key. */
export const instant = (name = '') => integer(name, { mode: 'timestamp_ms' })

export const flag = (name = '') => integer(name, { mode: 'boolean' })
