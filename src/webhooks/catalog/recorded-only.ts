/** Events that the specification does not send: the feed records them, and no endpoint gets them. */
export const RECORDED_ONLY: readonly string[] = ['document.csf.updated', 'document.opinion_32d.changed']
