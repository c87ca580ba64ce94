/** An object as it is to lie at a destination. */
export interface StoredObject {
  bytes: Uint8Array
  content_type: string
  /** SHA-256 of the bytes, hexadecimal. */
  sha256: string
}

/**
 * A customer's storage. Paths are relative, their parts separated by `/`, and valid at every provider (template.ts). Methods throw
 * DestinationError, and nothing else, when the provider does not do its part.
 */
export interface Destination {
  /** Stores an object, or replaces the one at its path. Returns when the provider has confirmed it. A repetition leaves one object. */
  put(path: string, object: StoredObject): Promise<void>
  /** Returns the bytes of an object; null when there is none. */
  read(path: string): Promise<Uint8Array | null>
  /** Removes an object. One that is not there is removed. */
  remove(path: string): Promise<void>
}

/** Why a destination did not carry out a request. */
export type DestinationFault =
  /** The provider refuses the credentials, or they lack a permission. */
  | 'access_denied'
  /** There is no such bucket, container, drive or folder. */
  | 'not_found'
  /** The provider's storage is full. */
  | 'storage_full'
  /** The provider asks to send less. */
  | 'rate_limited'
  /** The provider fails, or is down. */
  | 'unavailable'
  /** There was no answer in time. */
  | 'timeout'
  /** The connection could not be made, or broke. */
  | 'connection_failed'
  /** The address may not be called. */
  | 'address_refused'
  /** The provider refuses the request for another reason, or its answer is not what its documentation says. */
  | 'refused'

/** `message` is a sentence for the customer. It contains no credential, and no text of the provider beyond its short error code. */
export class DestinationError extends Error {
  readonly code: DestinationFault
  /** For how long the provider asks to wait; null when it does not say. */
  readonly retry_after_seconds: number | null

  constructor(code: DestinationFault, message: string, retry_after_seconds: number | null = null) {
    super(message)
    this.code = code
    this.retry_after_seconds = retry_after_seconds
  }
}

/** Whether a destination refuses a request, and does not only fail at it. It may accept another object. */
export const isRefusal = ({ code }: Pick<DestinationError, 'code'>): boolean => code === 'refused' || code === 'access_denied'
