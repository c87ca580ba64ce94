/**
 * The header in which the local egress reports a status that a Worker cannot put into a Response: 1xx, or 600 and above. The egress then
 * answers 400. Because 400 is as final as the statuses that it stands for, a receiver that sends this header itself changes nothing but
 * the recorded number.
 */
export const STATUS_HEADER = 'egress-status'

/** Returns the status with which the receiver answered, given the answer of EGRESS. */
export function answerStatus(answer: Response): number {
  const reported = answer.headers.get(STATUS_HEADER)
  return answer.status === 400 && reported !== null && /^(1|[6-9])\d\d$/.test(reported) ? Number(reported) : answer.status
}
