/** Why the last attempt of a download failed (error_class), in words, for all reports of failures. */
const ERRORS: Readonly<Record<string, string>> = {
  invalid_credentials: 'The tax authority refuses the credential. The download waits for another one.',
  login_failed: 'The tax authority did not let the service log in.',
  sat_unavailable: 'The tax authority was not available, or did not deliver what it was asked for.',
  rate_limited: 'The tax authority takes no more requests for now.',
  request_exhausted: 'The tax authority does not accept the request again.',
  range_too_large: 'The request matches more documents than the tax authority delivers at once.',
  internal_error: 'The service failed. Its operator is told.',
}

/** An error_class with its sentence. */
export const errorInWords = (error_class: string): string => `${error_class}: ${ERRORS[error_class] ?? 'The download failed.'}`
