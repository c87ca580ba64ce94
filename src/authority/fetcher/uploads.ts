import type { System } from '../../platform/context.ts'
import { filesOf } from './states.ts'

/** Deletes uploads of the fetcher. */
export async function deleteUploads({ env }: System, row: { files: string }): Promise<void> {
  const keys = Object.values(filesOf(row)).map(({ key }) => key)
  for (let at = 0; at < keys.length; at += 1_000) await env.FILES.delete(keys.slice(at, at + 1_000))
}
