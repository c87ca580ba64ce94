import { type AzureSpec, azureBlob } from './azure.ts'
import type { Network } from './call.ts'
import { type Destination, DestinationError } from './port.ts'
import { type S3Spec, s3 } from './s3.ts'

/** What drivers need of a connector. The prefix is part of the paths that they are given. */
export type DestinationSpec =
  | ({ provider: 's3' } & S3Spec)
  | ({ provider: 'azure_blob' } & AzureSpec)
  | { provider: 'google_drive' | 'onedrive'; config: object; credentials: object }

/** Stores credentials in the place of those with which the destination was opened, because the provider has replaced them. */
export type OnNewCredentials = (credentials: object) => Promise<void>

/** Returns the customer's storage that a connector names. */
export function destinationOf(network: Network, spec: DestinationSpec, _onNewCredentials: OnNewCredentials): Destination {
  const { put, read, remove } = driverOf(network, spec)
  return {
    put: (path, object) => checked(() => put(path, object)),
    read: (path) => checked(() => read(path)),
    remove: (path) => checked(() => remove(path)),
  }
}

/** What else fails is that a request cannot be written with a customer's values. */
async function checked<T>(operation: () => Promise<T>): Promise<T> {
  try {
    return await operation()
  } catch (error) {
    if (error instanceof DestinationError) throw error
    throw new DestinationError('refused', 'The configuration or the credentials contain what a request cannot contain.')
  }
}

function driverOf(network: Network, spec: DestinationSpec): Destination {
  switch (spec.provider) {
    case 's3':
      return s3(network, spec)
    case 'azure_blob':
      return azureBlob(network, spec)
    default:
      throw new DestinationError('unavailable', 'This kind of destination is not available yet.')
  }
}
