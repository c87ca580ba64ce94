import type { System } from '../../platform/context.ts'
import { base64ToBytes, bytesToBase64 } from '../../platform/crypto/keyring.ts'

/** The endpoint that a header belongs to. What was sealed for one endpoint cannot be opened for another. */
interface Endpoint {
  organization_id: string
  webhook_id: string
}

const contextOf = ({ settings }: System, { organization_id, webhook_id }: Endpoint): string =>
  JSON.stringify(['webhook-header', settings.environment, organization_id, webhook_id])

/** Encrypts the value of a header for an endpoint. */
export async function sealHeader(system: System, endpoint: Endpoint, value: string): Promise<string> {
  const { current } = system.settings.webhookKeys
  return `${current.version}:${bytesToBase64(await current.seal(value, contextOf(system, endpoint)))}`
}

async function openValue(system: System, endpoint: Endpoint, sealed: string): Promise<string> {
  const [version = '', encoded = ''] = sealed.split(':')
  const opened = await system.settings.webhookKeys.of(version)?.open(base64ToBytes(encoded), contextOf(system, endpoint))
  if (opened == null) throw new Error(`The header of ${endpoint.webhook_id} cannot be opened with any key of WEBHOOK_KEYS.`)
  return opened
}

/** Returns the header of the customer's own that deliveries have. Throws when its value cannot be opened, so that nothing is sent without it. */
export const openHeader = async (
  system: System,
  endpoint: Endpoint & { header_name: string | null; header_value: string | null },
): Promise<Record<string, string>> =>
  endpoint.header_name === null || endpoint.header_value === null
    ? {}
    : { [endpoint.header_name]: await openValue(system, endpoint, endpoint.header_value) }

/** Encrypts the same value under the current key. */
export const resealHeader = async (system: System, endpoint: Endpoint, sealed: string): Promise<string> =>
  sealed.startsWith(`${system.settings.webhookKeys.current.version}:`)
    ? sealed
    : sealHeader(system, endpoint, await openValue(system, endpoint, sealed))
