import type { System } from '../../platform/context.ts'
import { connect, type Database } from '../../platform/db/commit.ts'
import { pageByPage, START } from '../../platform/pages.ts'
import { resealHeader } from './header.ts'
import { type Digests, isWrappedWithCurrent, type Owner, unwrapDigests, type Wrapped, wrapDigests } from './secret.ts'
import { listOutdatedDigests, replaceDigests, type WebhookRow } from './store.ts'
import { endpointKey } from './wake.ts'

type Endpoint = Omit<Owner, 'environment'>

/** The owner to which an endpoint's wrapped digests are bound. */
export const ownerOf = ({ settings }: System, { organization_id, webhook_id, secret_version }: Endpoint): Owner => ({
  environment: settings.environment,
  organization_id,
  webhook_id,
  secret_version,
})

/** Returns the digests that sign an endpoint's deliveries. Throws when they cannot be opened. */
export const openDigests = (system: System, endpoint: Endpoint & { digests: string }): Promise<Digests> =>
  unwrapDigests(system.settings.webhookKeys, ownerOf(system, endpoint), JSON.parse(endpoint.digests) as Wrapped)

const PAGE = 100

/**
 * Wraps all digests with the current key, so that older keys can leave the keyring. Signatures do not change. Digests that cannot be
 * opened do not stop the others. A task, whose place is the shard and the number of the last webhook.
 */
export const rewrapSecrets = (system: System, place = START): Promise<string> =>
  pageByPage(system, PAGE + 1, place, async (from, fail) => {
    const [shard = 0, after = 0] = from === '' ? [] : from.split('.').map(Number)
    const db = connect(system.settings.events[shard]!)
    const rows = await listOutdatedDigests(db, system.settings.webhookKeys.current.version, after, PAGE)
    for (const row of rows)
      await rewrapSecret(system, db, row).catch((error: unknown) =>
        fail(new Error(`The digests of ${row.webhook_id} are still wrapped with an older key.`, { cause: error })),
      )
    if (rows.length === PAGE) return endpointKey(shard, rows.at(-1)!.webhook)
    return shard + 1 < system.settings.events.length ? endpointKey(shard + 1, 0) : ''
  })

async function rewrapSecret(system: System, db: Database, row: WebhookRow): Promise<void> {
  const keys = system.settings.webhookKeys
  const rewrap = async (wrapped: Wrapped, owner: Owner): Promise<Wrapped> =>
    isWrappedWithCurrent(keys, wrapped) ? wrapped : wrapDigests(keys, owner, await unwrapDigests(keys, owner, wrapped))
  const owner = ownerOf(system, row)
  const { digests, next_digests: next, header_value: header } = row
  const rewrapped = {
    header: header && (await resealHeader(system, row, header)),
    digests: await rewrap(digests, owner),
    next: next && (await rewrap(next, { ...owner, secret_version: owner.secret_version + 1 })),
  }
  await replaceDigests(db, row.webhook, { digests, next, header }, rewrapped).run()
}
