/** The subject of a log line: anything with the id of a request, message or cron run. */
interface Source {
  requestId: string
}

/** The message of an error, without the values of SQL parameters: query builders put those into the outer errors of a chain of causes. */
export const errorMessage = (error: unknown): string =>
  error instanceof Error ? (error.cause instanceof Error ? errorMessage(error.cause) : `${error.name}: ${error.message}`) : String(error)

/** The stack of an error, without its message. */
const stackOf = (error: unknown): string | undefined => (error instanceof Error ? error.stack?.replace(error.message, '') : undefined)

const write = (level: 'info' | 'error', { requestId }: Source, members: Record<string, unknown>): string =>
  JSON.stringify({ level, request_id: requestId, ...members })

/** Writes structured log lines, one JSON object each. Never pass a secret or a body. */
export const log = {
  info: (source: Source, members: Record<string, unknown>): void => console.log(write('info', source, members)),

  /** Adds the message and the stack of `cause`, if there is one. */
  error: (source: Source, message: string, members: Record<string, unknown> = {}, cause?: unknown): void =>
    console.error(
      write('error', source, {
        message,
        ...members,
        ...(cause !== undefined && { error: errorMessage(cause), stack: stackOf(cause) }),
      }),
    ),
}
