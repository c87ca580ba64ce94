const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\b/
/** Paths whose answer is a file as it is kept, JSON included. */
const FILES = /\/content$/

/**
 * Whether the answer of an operation is taken as bytes: every one that is no JSON, also text. A text that was decoded has lost the mark of
 * its encoding, and a hash of it is no hash of the file.
 */
export const isBytes = (path: string, contentType: string | null): boolean =>
  contentType !== null && (FILES.test(path) || !JSON_TYPE.test(contentType))
