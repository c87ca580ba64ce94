/**
 * The header in which the local egress reports a status that a Worker cannot put into a Response: 1xx, or 600 and above. The egress then
 * answers 400. Because 400 is as final as the statuses that it stands for, a receiver that sends this header itself changes nothing but
 * the recorded number.
 */
export const STATUS_HEADER = 'egress-status'

/**
 * The messages of the local egress about a delivery that it could send nowhere. They name nothing but a setting, so the delivery log may
 * show them.
 */
export const SINK_FAULTS = {
  unset: 'Nothing was sent: this service runs locally without WEBHOOK_SINK. Start it with WEBHOOK_SINK=http://127.0.0.1:{port}.',
  closed: 'Nothing accepts connections where WEBHOOK_SINK says. Start the receiver there.',
} as const

/** The log's message about an attempt without an answer. The network's message could name internal hosts, and is not repeated. */
export const faultOf = (error: unknown): string =>
  Object.values<string>(SINK_FAULTS).find((one) => error instanceof Error && error.message.endsWith(one)) ?? 'The connection failed.'

/** Returns the status with which the receiver answered, given the answer of EGRESS. */
export function answerStatus(answer: Response): number {
  const reported = answer.headers.get(STATUS_HEADER)
  return answer.status === 400 && reported !== null && /^(1|[6-9])\d\d$/.test(reported) ? Number(reported) : answer.status
}
