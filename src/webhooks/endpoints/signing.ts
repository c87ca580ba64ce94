import type { System } from '../../platform/context.ts'
import { errorMessage } from '../../platform/log.ts'
import { type Digests, isWrappedAnew, type Owner, unwrapDigests, type Wrapped, wrapDigests } from './secret.ts'
import { rewrap, type WebhookRow, wrappedOtherwise } from './store.ts'

interface Holder {
  organization_id: string
  webhook_id: string
  secret_version: number
}

export const ownerOf = ({ settings }: System, { organization_id, webhook_id, secret_version }: Holder): Owner => ({
  environment: settings.environment,
  organization_id,
  webhook_id,
  secret_version,
})

/** The digests that an endpoint's deliveries are signed with. Throws when they cannot be opened: nothing is sent unsigned. */
export const openDigests = (system: System, endpoint: Holder & { digests: string }): Promise<Digests> =>
  unwrapDigests(system.settings.webhookKeys, ownerOf(system, endpoint), JSON.parse(endpoint.digests) as Wrapped)

const REWRAPPED_AT_ONCE = 100

/**
 * Wraps under the current key what is wrapped under an older one, so that the older can be taken out of the keyring. Nobody notices.
 * Throws, when all others are done, if some cannot be opened.
 */
export async function rewrapSecrets(system: System): Promise<void> {
  const { db, settings } = system
  const failures: unknown[] = []
  let rows: WebhookRow[] = []
  do {
    rows = await wrappedOtherwise(db, settings.webhookKeys.current.version, rows.at(-1)?.webhook ?? 0, REWRAPPED_AT_ONCE)
    for (const row of rows) await rewrapRow(system, row).catch((error: unknown) => failures.push(error))
  } while (rows.length === REWRAPPED_AT_ONCE)
  if (failures.length > 0)
    throw new AggregateError(failures, `${failures.length} webhooks keep an older key. The first: ${errorMessage(failures[0])}`)
}

async function rewrapRow(system: System, row: WebhookRow): Promise<void> {
  const keys = system.settings.webhookKeys
  const anew = async (wrapped: Wrapped, owner: Owner): Promise<Wrapped> =>
    isWrappedAnew(keys, wrapped) ? wrapped : wrapDigests(keys, owner, await unwrapDigests(keys, owner, wrapped))
  const owner = ownerOf(system, row)
  const { digests, next_digests: next } = row
  const to = {
    digests: await anew(digests, owner),
    next: next && (await anew(next, { ...owner, secret_version: owner.secret_version + 1 })),
  }
  await rewrap(system.db, row.webhook, { digests, next }, to).run()
}
