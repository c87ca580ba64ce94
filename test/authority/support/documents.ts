import type { DataSourceKey, Login, TaxAuthority } from '../../../src/authority/port/authority.ts'
import { filesOf } from '../../../src/authority/sandbox/documents/documents.ts'
import type { InventedFile, SandboxDocuments } from '../../../src/authority/sandbox/documents/port.ts'
import { letterOf, notificationsOf } from '../../../src/authority/sandbox/mailbox/notifications.ts'
import { statusOf } from '../../../src/authority/sandbox/statuses.ts'

/** The documents of the sandbox without the Worker that invents them. */
export const DOCUMENTS: SandboxDocuments = {
  files: async (...asked) => filesOf(...asked),
  notifications: async (...asked) => notificationsOf(...asked),
  letter: async (...asked) => letterOf(...asked),
  status: async (...asked) => statusOf(...asked),
}

/** The files that an authority which does not let wait delivers, with their bytes. */
export async function filesFrom(authority: TaxAuthority, login: Login, source: DataSourceKey, now: Date): Promise<InventedFile[]> {
  const step = await authority.documents({ shard: 0, entity: 0, login, source, now, asked_at: now })
  if (step.state !== 'ready') throw new Error('The authority is not done.')
  return Promise.all(step.files.map(async ({ size: _, sha256: __, read, ...file }) => ({ ...file, bytes: await read() })))
}
