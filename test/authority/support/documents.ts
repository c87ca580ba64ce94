import type { DataSourceKey, Login, TaxAuthority } from '../../../src/authority/port/authority.ts'
import type { InventedFile } from '../../../src/authority/sandbox/documents/port.ts'

/** The files that an authority which does not let wait delivers, with their bytes. */
export async function filesFrom(authority: TaxAuthority, login: Login, source: DataSourceKey, now: Date): Promise<InventedFile[]> {
  const step = await authority.documents({ shard: 0, entity: 0, login, source, now, asked_at: now })
  if (step.state !== 'ready') throw new Error('The authority is not done.')
  return Promise.all(step.files.map(async ({ size: _, sha256: __, read, ...file }) => ({ ...file, bytes: await read() })))
}
