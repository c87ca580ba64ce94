/** What an operator decides about one dead letter, or about all. */
export interface DeadLetterCommand {
  wanted: 'retry' | 'drop'
  /** Null for all. */
  dead_letter_id: string | null
}

/** The command that the words of a command line give; null when they give none. */
export function deadLetterCommandOf([verb, id = '', ...rest]: readonly string[]): DeadLetterCommand | null {
  if ((verb !== 'retry' && verb !== 'drop') || id === '' || rest.length > 0) return null
  return { wanted: verb, dead_letter_id: id === 'all' ? null : id }
}

/** The latest 100 dead letters, newest first, and how many there are. */
export const DEAD_LETTERS = `select created_at, dead_letter_id, case wanted when 'retry' then '(is put back) ' when 'drop' then '(is dropped) ' else '' end || reason as reason,
  count(*) over () as dead_letters from dead_letters order by created_at desc, dead_letter_id limit 100`

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** The statement that records a command. It returns the dead letters that it is about. */
export const deadLetterSqlOf = ({ wanted, dead_letter_id }: DeadLetterCommand): string =>
  `update dead_letters set wanted = '${wanted}'${dead_letter_id === null ? '' : ` where dead_letter_id = ${quoted(dead_letter_id)}`} returning dead_letter_id`
