import type { DestinationSpec } from '../provider-contract.ts'
import { type Network, oneDrive } from './drives.ts'
import { googleDrive } from './google-drive.ts'
import { azureBlob, s3 } from './object-stores.ts'
import { type Destination, DestinationError } from './port.ts'

/** A lasting fact that a driver learns of a destination: credentials with which the provider has replaced its own, or its drive. */
export type Learned = { credentials: object } | { drive_id: string }
/** Stores what a driver has learned, before the driver uses it. */
export type OnLearned = (learned: Learned) => Promise<void>

/** Returns the customer's storage that a connector names. Errors of `onLearned` pass through as they are. */
export function destinationOf(network: Network, spec: DestinationSpec, onLearned: OnLearned): Destination {
  switch (spec.provider) {
    case 's3':
      return checked(s3(network, spec))
    case 'azure_blob':
      return checked(azureBlob(network, spec))
    case 'google_drive':
      return googleDrive(network, spec)
    case 'onedrive':
      return oneDrive(network, spec, onLearned)
  }
}

/** Any other error means that a request cannot be written with a customer's values. */
function checked({ put, read, remove }: Destination): Destination {
  const check = async <T>(operation: () => Promise<T>): Promise<T> => {
    try {
      return await operation()
    } catch (error) {
      if (error instanceof DestinationError) throw error
      throw new DestinationError('refused', 'The configuration or the credentials contain what a request cannot contain.')
    }
  }
  return {
    put: (path, object) => check(() => put(path, object)),
    read: (path) => check(() => read(path)),
    remove: (path) => check(() => remove(path)),
  }
}
