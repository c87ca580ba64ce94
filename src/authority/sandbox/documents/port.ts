import type { DocumentFile } from '../../port/authority.ts'
import type { SANDBOX_OUTCOMES } from '../tables.ts'

/** A document whose bytes are in memory. */
export type InventedFile = Omit<DocumentFile, 'size' | 'sha256' | 'read'> & { bytes: Uint8Array }

export async function fileOf({ bytes, ...file }: InventedFile): Promise<DocumentFile> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  // The reference fetcher runs in a Node whose arrays have no toHex().
  const sha256 = [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  return { ...file, size: bytes.length, sha256, read: async () => bytes }
}

/** A cancellation, or the end of a request for one, that a test helper or an answer arranged. */
export interface CancellationOverride {
  cancelled_at: Date
  cancellation_reason: string | null
  outcome?: (typeof SANDBOX_OUTCOMES)[number] | null
}
