/** Events that the specification does not send: the feed records them, and no endpoint gets them. */
export const RECORDED_ONLY: readonly string[] = ['document.csf.updated', 'document.opinion_32d.changed']

/** Events that no webhook gets, although it can subscribe to them. */
const UNSENT: readonly string[] = ['cfdi.issued', ...RECORDED_ONLY]

/** The warnings about a subscription to such events. */
export const unsentWarnings = (event_keys: readonly string[]): { code: string; message: string }[] =>
  event_keys
    .filter((key) => UNSENT.includes(key))
    .map((key) => ({
      code: 'event.not_sent',
      message: RECORDED_ONLY.includes(key)
        ? `Nothing is sent for ${key}: webhooks are not sent it, and only the feed (GET /v1/events) has it.`
        : `Nothing is sent for ${key} yet: the service does not make this event. The subscription is kept.`,
    }))
