import type { System } from '../platform/context.ts'
import { base64ToBytes, bytesToBase64 } from '../platform/crypto/keyring.ts'
import type { ConnectorCredentials } from './provider-contract.ts'

/** The connector that credentials belong to. What was sealed for one connector cannot be opened for another. */
interface CredentialsHolder {
  organization_id: string
  connector_id: string
}

const contextOf = ({ settings }: System, { organization_id, connector_id }: CredentialsHolder): string =>
  JSON.stringify(['storage-connector', settings.environment, organization_id, connector_id])

/** Encrypts text for a connector: `version:base64`, the key's version and the nonce and ciphertext of AES-256-GCM. */
async function seal(system: System, holder: CredentialsHolder, plain: string): Promise<string> {
  const { current } = system.settings.ciecKeys
  return `${current.version}:${bytesToBase64(await current.seal(plain, contextOf(system, holder)))}`
}

async function open(system: System, holder: CredentialsHolder, sealed: string): Promise<string> {
  const [version = '', encoded = ''] = sealed.split(':')
  const opened = await system.settings.ciecKeys.of(version)?.open(base64ToBytes(encoded), contextOf(system, holder))
  if (opened == null) throw new Error(`The credentials of ${holder.connector_id} cannot be opened with any key of CIEC_KEYS.`)
  return opened
}

/** Encrypts credentials for storage. */
export const sealCredentials = (system: System, holder: CredentialsHolder, credentials: ConnectorCredentials): Promise<string> =>
  seal(system, holder, JSON.stringify(credentials))

/** Decrypts the credentials of a connector. Throws when no configured key opens them. */
export const openCredentials = async (system: System, row: CredentialsHolder & { credentials: string }): Promise<ConnectorCredentials> =>
  JSON.parse(await open(system, row, row.credentials)) as ConnectorCredentials

/** Encrypts the same credentials under the current key. */
export const resealCredentials = async (system: System, row: CredentialsHolder & { credentials: string }): Promise<string> =>
  seal(system, row, await open(system, row, row.credentials))
