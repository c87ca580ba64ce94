import { deleteStatement, detachStatements, isListed, moveStatement, strikeStatements } from '../../platform/outbox/pending.ts'
import type { Portion } from './portions.ts'

/** The statements that keep how far outbox events are relayed. */
export const progressStatements = (source: D1Database, portions: readonly Portion[]): D1PreparedStatement[] => {
  const events = portions.filter(({ progress }) => progress === null).map(({ event }) => event)
  const done = events.filter((event) => !isListed(event))
  const moved = portions.flatMap(({ event, progress }) =>
    progress === null || progress === event.progress ? [] : [{ ...event, progress }],
  )
  return [
    ...(done.length > 0 ? [deleteStatement(source, done)] : []),
    ...strikeStatements(source, events.filter(isListed)),
    ...detachStatements(source, moved),
    ...(moved.length > 0 ? [moveStatement(source, moved)] : []),
  ]
}
