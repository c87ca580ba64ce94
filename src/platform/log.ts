/** Who writes a log line: anything that carries the id of its request. */
interface Source {
  requestId: string
}

/** What an error says, without the values of SQL parameters: query builders put those into the outer errors of a chain of causes. */
export const errorMessage = (error: unknown): string =>
  error instanceof Error ? (error.cause instanceof Error ? errorMessage(error.cause) : `${error.name}: ${error.message}`) : String(error)

/** Where an error was thrown, without its message. */
export const stackOf = (error: unknown): string | undefined =>
  error instanceof Error ? error.stack?.replace(error.message, '') : undefined

const write = (level: 'info' | 'error', { requestId }: Source, members: Record<string, unknown>): string =>
  JSON.stringify({ level, request_id: requestId, ...members })

/** Structured log lines, one JSON object each. Never pass a secret or a body. */
export const log = {
  info: (source: Source, members: Record<string, unknown>): void => console.log(write('info', source, members)),

  /** `cause` adds the error's message; `withStack` where it was thrown. */
  error: (source: Source, message: string, members: Record<string, unknown> = {}, cause?: unknown): void =>
    console.error(
      write('error', source, {
        message,
        ...members,
        ...(cause !== undefined && { error: errorMessage(cause), stack: stackOf(cause) }),
      }),
    ),
}
