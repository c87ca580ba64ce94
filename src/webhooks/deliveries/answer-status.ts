/**
 * The status that a receiver answered with, of what EGRESS returned. A Worker cannot make a Response of 1xx or of 600 and above: the
 * local egress answers 400 then, and names the true one in this header. All of them are final like 400, so a receiver that sends the
 * header itself changes nothing but the number that is noted down.
 */
export const STATUS_HEADER = 'egress-status'

export function answerStatus(answer: Response): number {
  const said = answer.headers.get(STATUS_HEADER)
  return answer.status === 400 && said !== null && /^(1|[6-9])\d\d$/.test(said) ? Number(said) : answer.status
}
