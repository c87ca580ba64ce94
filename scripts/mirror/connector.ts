import './bytes.ts'
import { readFileSync } from 'node:fs'
import { destinationOf } from '../../src/copies/drivers/adapters.ts'
import { DestinationError } from '../../src/copies/drivers/port.ts'
import type { DestinationSpec } from '../../src/copies/provider-contract.ts'
import { PROVIDERS, readMember } from '../../src/copies/provider-contract.ts'
import { withPrefix } from '../../src/copies/template.ts'
import { sinkOf } from '../../src/platform/egress/sink.ts'
import { InvalidInput } from '../../src/platform/http/validation/faults.ts'
import { networkOf } from './network.ts'
import { type Manifest, type MirrorCopy, manifestIn } from './verification.ts'

/** A reason why a copy cannot be checked that the user has to fix. The message says how. */
export class Refusal extends Error {}

/** A destination with the connector that copies to it. */
export interface ConnectorCopy extends MirrorCopy {
  connector_id: string
  /** What the file says is the last manifest. */
  last_manifest: Manifest | undefined
  /** How many objects could be read, and the first error that says that one may not be read. */
  readonly seen: { read: number; denied: DestinationError | null }
}

/**
 * Opens the destination that a file describes: over the public network, or at the server that `sink` (STORAGE_SINK) names, if it is not
 * empty. What may not be read counts as not there: without the permission to list a bucket, S3 answers so for what is missing. Throws
 * Refusal. Reading throws DestinationError.
 */
export function openCopy(file: string, sink: string): ConnectorCopy {
  const { connector_id, last_manifest, spec, prefix } = readConnector(file)
  const destination = destinationOf(networkOf(readSink(sink)), spec, async (learned) => {
    if ('drive_id' in learned) return
    console.error('The provider has replaced the refresh token: the one in the file may no longer be valid.')
  })
  const seen: ConnectorCopy['seen'] = { read: 0, denied: null }
  const read = async (path: string): Promise<Uint8Array | null> => {
    try {
      const bytes = await destination.read(withPrefix(prefix, path))
      if (bytes !== null) seen.read++
      return bytes
    } catch (error) {
      if (!(error instanceof DestinationError && error.code === 'access_denied')) throw error
      seen.denied ??= error
      return null
    }
  }
  return { connector_id, last_manifest, seen, read }
}

function readConnector(file: string) {
  const given = readJson(file)
  const provider = PROVIDERS.find((one) => one === given['provider'])
  if (provider === undefined) throw new Refusal(`In ${file}, provider must be one of ${PROVIDERS.join(', ')}.`)
  try {
    const config = readMember('config', provider, given['config'])
    const credentials = readMember('credentials', provider, given['credentials'])
    const { connector_id } = given
    if (typeof connector_id !== 'string')
      throw new Refusal(`In ${file}, connector_id must be that of the connector: it is a part of the names of manifests.`)
    const spec = { provider, config, credentials } as DestinationSpec
    return { connector_id, last_manifest: manifestIn(given['last_manifest']), spec, prefix: config.prefix }
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    throw new Refusal(error.faults.map(({ path, message }) => `In ${file}, ${path} is not valid: ${message}`).join('\n'))
  }
}

/** The text of the file is not repeated: it contains secrets. */
function readJson(file: string): Record<string, unknown> {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    throw new Refusal(`The file ${file} cannot be read.`)
  }
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    throw new Refusal(`The file ${file} is not JSON.`)
  }
}

function readSink(text: string) {
  try {
    return sinkOf('STORAGE_SINK', text)
  } catch (error) {
    throw new Refusal((error as Error).message)
  }
}
