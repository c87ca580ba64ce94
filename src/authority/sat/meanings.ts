/** What an answer of the bulk download means for what comes next. Source: sat.md 1.5 and 1.8. */
export type Meaning =
  /** 5000: received, or delivered. */
  | 'accepted'
  /** States 1 and 2: the request is not done yet. */
  | 'waiting'
  /** State 3: its packages can be downloaded. */
  | 'finished'
  /** 5004: no documents match. */
  | 'nothing'
  /** 300: the token is not valid, or no longer. */
  | 'token_refused'
  /** 301, by its message: the request is not right, asks for XML of cancelled received documents, reaches back too far, or names no receiver. */
  | 'request_malformed'
  | 'cancelled_refused'
  | 'too_old'
  | 'receiver_missing'
  /** 302 and 303. */
  | 'signature_refused'
  /** 304 and 305: the certificate is revoked, expired, or no e.firma. */
  | 'certificate_refused'
  /** 404, 5006 and state 4: the authority failed. */
  | 'failed'
  /** 5001: the RFC does not let this one ask. */
  | 'not_authorized'
  /** 5002: a request with exactly these parameters is never accepted again. */
  | 'parameters_used_up'
  /** 5003: the request matches more documents than a request may. */
  | 'too_many'
  /** 5005: an equal request is not done yet. */
  | 'duplicate'
  /** State 6, and 5004 for a request that the authority does not know. */
  | 'request_gone'
  /** 5007, and 5004 for a package. */
  | 'package_gone'
  /** 5008: the package was downloaded twice. */
  | 'package_used_up'
  /** 5011: no more single documents today. */
  | 'daily_limit'
  /** 5012: the single document is cancelled, and the authority does not deliver it. */
  | 'document_cancelled'
  /** Any other code or state. */
  | 'unknown'

const MEANINGS: ReadonlyMap<string, Meaning> = new Map([
  ['300', 'token_refused'],
  ['302', 'signature_refused'],
  ['303', 'signature_refused'],
  ['304', 'certificate_refused'],
  ['305', 'certificate_refused'],
  ['404', 'failed'],
  ['5000', 'accepted'],
  ['5001', 'not_authorized'],
  ['5002', 'parameters_used_up'],
  ['5003', 'too_many'],
  ['5004', 'nothing'],
  ['5005', 'duplicate'],
  ['5006', 'failed'],
  ['5007', 'package_gone'],
  ['5008', 'package_used_up'],
  ['5011', 'daily_limit'],
  ['5012', 'document_cancelled'],
])

/** The meaning of a code, and of the message where the code alone says too little. */
export function meaningOf(code: string, message: string): Meaning {
  if (code === '301') return meaningOf301(folded(message))
  return MEANINGS.get(code) ?? 'unknown'
}

function meaningOf301(message: string): Meaning {
  if (message.includes('cancelad')) return 'cancelled_refused'
  if (message.includes('antiguedad')) return 'too_old'
  if (message.includes('rfcreceptor')) return 'receiver_missing'
  return 'request_malformed'
}

/** A package that the authority does not find is gone; its requests have no package without documents. */
export const meaningForPackage = (code: string, message: string): Meaning => (code === '5004' ? 'package_gone' : meaningOf(code, message))

/** The meaning of a verification: of its own code, unless that is 5000, then of the state of the request, and of a rejection's code. */
export function meaningOfState(code: string, message: string, state: string, stateCode: string): Meaning {
  if (code === '5004' && (state === '0' || state === '')) return 'request_gone'
  if (code !== '5000') return meaningOf(code, message)
  switch (state) {
    case '1':
    case '2':
      return 'waiting'
    case '3':
      return 'finished'
    case '4':
      return 'failed'
    case '5':
      return stateCode === '5000' ? 'unknown' : meaningOf(stateCode, message)
    case '6':
      return 'request_gone'
    default:
      return 'unknown'
  }
}

/** In lower case and without accents. The authority's texts are not always spelled alike. */
export const folded = (text: string): string =>
  text
    .normalize('NFD')
    .replace(/\p{Mn}/gu, '')
    .toLowerCase()
    .replace(/\s+/g, ' ')
    .trim()

/** What an answer of the bulk download says, in words. */
export const MEANING_IN_WORDS: Readonly<Record<Meaning, string>> = {
  accepted: 'The tax authority accepted the request.',
  waiting: 'The tax authority is not done with the request yet.',
  finished: 'The packages are ready.',
  nothing: 'The tax authority has no documents for the request.',
  token_refused: 'The session with the tax authority has ended. The service opens another one.',
  request_malformed: 'The tax authority finds a fault in the request. The operator of the service has to look at it.',
  cancelled_refused: 'The tax authority delivers no XML of cancelled received documents.',
  too_old: 'The request reaches back further than the tax authority gives documents.',
  receiver_missing: 'The tax authority finds a fault in the request. The operator of the service has to look at it.',
  signature_refused: 'The tax authority refuses the signature of the request. The operator of the service has to look at it.',
  certificate_refused: 'The tax authority refuses the e.firma: its certificate is revoked, has expired, or is no e.firma.',
  failed: 'The tax authority failed. It is asked again later.',
  not_authorized: 'The tax authority does not let this taxpayer ask for the documents.',
  parameters_used_up: 'The tax authority does not accept exactly this period again. The service asks for another one.',
  too_many: 'The request matches more documents than one request may. The service divides its period.',
  duplicate: 'The tax authority is still busy with an equal request.',
  request_gone: 'The tax authority has deleted the request. The service asks anew.',
  package_gone: 'The tax authority has deleted the package. The service asks anew.',
  package_used_up: 'The tax authority does not deliver the package again. The service asks anew.',
  daily_limit: 'The tax authority delivers no more single documents today.',
  document_cancelled: 'The document is cancelled, and the tax authority does not deliver it.',
  unknown: 'The tax authority gave an answer that the service does not know. It is asked again later.',
}
