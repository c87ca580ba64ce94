import type { DownloadRequest, Package, Step, TaxAuthority } from '../../../src/authority/port/authority.ts'
import { bytesInMemory } from '../../../src/platform/bytes/bytes.ts'

type Asked = Pick<DownloadRequest, 'login' | 'direction' | 'month' | 'until'>

/** A package of one month. */
export const packed = (kind: Package['kind'], bytes: Uint8Array): Package => ({ kind, bytes: bytesInMemory(bytes) })

/** What an authority says that has these packages ready. */
export const delivering = ({ until }: Pick<Asked, 'until'>, packages: AsyncIterable<Package>): Step => ({
  state: 'ready',
  until,
  is_whole: true,
  packages,
})

/** The step of an authority that has everything ready. */
export async function readyStep(authority: Pick<TaxAuthority, 'step'>, asked: DownloadRequest) {
  const step = await authority.step(asked)
  if (step.state !== 'ready') throw new Error('The authority is not done.')
  return step
}

/** The packages of a month, as the authority delivers them at once. The bytes of each are only valid until the next. */
export async function* downloadFrom(authority: Pick<TaxAuthority, 'step'>, asked: Asked) {
  const { packages } = await readyStep(authority, {
    shard: 0,
    entity: 1,
    asked_at: new Date(0),
    is_complete: false,
    is_interactive: false,
    ...asked,
  })
  for await (const { kind, bytes } of packages) yield { kind, bytes: await bytes.read(0, bytes.size) }
}
